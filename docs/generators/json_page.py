"""The schemas of what the commands print and write as JSON, and the page about them."""

import ast
import dataclasses
import inspect
import re
import sys
from types import UnionType
from typing import TYPE_CHECKING, Any, get_args, get_type_hints, is_typeddict

import msgspec

from canonry.crawler.cli.all_printed import PRINTED, ROWS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_COMMENT = re.compile(r"^    (\w+): [^#\n]+  # (.+)$", re.MULTILINE)
_LINES = frozenset({"canon"}) | ROWS.keys()  # these write an object on each line
SHOWN = PRINTED | ROWS

_ON_THE_PAGE_OF_THE_LOG = "crawl.log"
_HEAD = """# JSON

Every command that prints a result has `--json`:

```sh
canonry status --json | jq .urls
canonry canon --json < urls.txt     # an object on each line
canonry export pages | jq -r .url   # rows are JSON Lines without any option
```

It prints one JSON object on standard output; `canon` prints one on each line. After an error that
ends the command, there is none: look at the [exit code](exit-codes.md) first. What is
[promised](compatibility.md#the-command):

- Fields stay, with their types; new ones may be added. Their order means nothing.
- Times are texts in UTC, with milliseconds (RFC 3339): `2026-11-22T04:08:45.963Z`. What is not
  known, or has never happened, is `null`. Durations are numbers of seconds.
- Keys and digests are hexadecimal. Sizes are bytes. Passwords in URLs are `***`.

**Types and meanings** of all fields, also of those inside, are in a JSON Schema (2020-12) for each
command. In a checkout, `python docs/generate.py --schemas FOLDER` writes them; the site of the
documentation has them in `schemas/` beside this page.

`dedup`, `migrate`, `rules mine` and `rules convert` write their lines or rules to `-o`, and with
`--json` a summary to standard output. `rules export` writes [a file of rules](rule-files.md).
"""
_ROWS_HEAD = """
## Rows

`export` writes a table: to standard output as JSONL, an object on each line, or to a file
(`-o FILE.jsonl`). So do options of `dedup` and `migrate` with such files. In CSV and Parquet the
columns have the same names; in CSV, lists are JSON. The lines of `crawl.log` are on
[a page of their own](log-and-metrics.md), and so is how an
[index follows clusters](../how-to/search-index.md).
"""


def schema_name(command: str) -> str:
    """Return the name of the schema file of a command, or of an option that writes rows."""
    return f"{re.sub('[ -]+', '-', command)}.json"


def schema_of(command: str) -> dict[str, Any]:
    """Return the JSON Schema of what a command prints with --json, or writes as JSONL."""
    (*alternatives,), types = msgspec.json.schema_components(
        kinds := kinds_of(command), ref_template="#/$defs/{name}"
    )
    for name, kind in _types_below(kinds):
        _describe(types[name], kind)
    shape = alternatives[0] if len(alternatives) == 1 else {"anyOf": alternatives}
    each = " (each line)" if command in _LINES else ""
    return {
        "$schema": _DRAFT,
        "title": f"canonry {command}{'' if command in ROWS else ' --json'}{each}",
        **shape,
        "$defs": dict(sorted(types.items())),
    }


def kinds_of(command: str) -> tuple[Any, ...]:
    """Return the types that a command prints or writes: one of these."""
    kind = SHOWN[command]
    return get_args(kind) if isinstance(kind, UnionType) else (kind,)


def schema_text(command: str) -> str:
    """Return a schema as its file holds it."""
    return msgspec.json.format(msgspec.json.encode(schema_of(command)), indent=2).decode() + "\n"


def _types_below(kinds: "tuple[Any, ...]") -> "Iterator[tuple[str, type]]":
    """Yield the structs and dataclasses that types are made of, each once, with their names."""
    seen: dict[str, type] = {}
    waiting: list[Any] = list(kinds)
    while waiting:
        kind = waiting.pop()
        if isinstance(kind, type) and _fields_of(kind) and kind.__name__ not in seen:
            seen[kind.__name__] = kind
            waiting += [hint for _name, _encoded, hint in _fields_of(kind)]
        waiting += get_args(kind)
    yield from seen.items()


def _fields_of(kind: Any) -> list[tuple[str, str, Any]]:  # noqa: ANN401 - any type
    """Return the fields of a struct or a dataclass: name, name in JSON, type."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return [(f.name, f.encode_name, f.type) for f in msgspec.structs.fields(kind)]
    if is_typeddict(kind):
        return [(name, name, hint) for name, hint in get_type_hints(kind).items()]
    if dataclasses.is_dataclass(kind):
        return [(f.name, f.name, f.type) for f in dataclasses.fields(kind)]
    return []


def _bases_of(kind: Any) -> "Iterator[Any]":  # noqa: ANN401 - any type
    """Yield the typed dictionaries that one extends; they are none of its classes."""
    if is_typeddict(kind):
        [defined] = ast.parse(inspect.getsource(kind)).body
        for named in defined.bases:
            base = getattr(sys.modules[kind.__module__], named.id)
            if is_typeddict(base):
                yield base
                yield from _bases_of(base)


def _describe(schema: dict[str, Any], kind: type) -> None:
    """Add the meaning of each field: the comment behind it in the code."""
    said: dict[str, str] = {}
    for base in reversed([*kind.__mro__[:-1], *_bases_of(kind)]):
        if base.__module__.startswith("canonry"):
            source = inspect.getsource(getattr(base, "made_of", base))  # it may be made of a row
            said |= dict(_COMMENT.findall(source))
    for name, encoded, _hint in _fields_of(kind):
        if name in said:
            schema["properties"][encoded]["description"] = said[name]


def json_page() -> str:
    """Return the page: what is promised of each result, and the rows in full."""
    lines = _HEAD.splitlines()
    lines += _ROWS_HEAD.splitlines()
    for command in ROWS:
        if command == _ON_THE_PAGE_OF_THE_LOG:
            continue
        types = schema_of(command)["$defs"]
        first = kinds_of(command)[0].__name__
        lines += ["", f"### `canonry {command}`"]
        for name in sorted(types, key=lambda one: one != first):
            about = types[name].get("description", "")
            lines += ["", about, ""] if name == first else ["", f"#### {name}", "", about, ""]
            lines += _table(types[name])
    return "\n".join(lines) + "\n"


def _table(schema: dict[str, Any]) -> list[str]:
    """Return a table of the fields of a type."""
    lines = ["| field | type | meaning |", "|---|---|---|"]
    for field, kind in schema["properties"].items():
        meaning = kind.get("description", "").replace("|", r"\|")
        lines.append(f"| `{field}` | {kind_of(kind)} | {meaning} |")
    return lines


def kind_of(schema: "Mapping[str, Any]") -> str:
    """Return the type that a schema describes, in words."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if several := schema.get("anyOf"):
        return " or ".join(map(kind_of, several))
    if names := schema.get("enum"):
        return " or ".join(f"`{name}`" for name in names)
    kind = str(schema.get("type", "any"))
    if kind == "array":
        pair = schema.get("prefixItems")
        return f"array of {len(pair)} values" if pair else f"array of {kind_of(schema['items'])}"
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"object with values {kind_of(schema['additionalProperties'])}"
    return "time" if schema.get("format") == "date-time" else kind
