"""Generate the pages that are made from code. ``--check`` only compares."""

import re
import sys
from functools import partial
from inspect import cleandoc
from pathlib import Path
from typing import TYPE_CHECKING

from click import Context, Group, Option, Parameter
from generators.disagreements import DISAGREEMENTS, answers
from generators.json_page import SHOWN, json_page, schema_name, schema_text
from generators.man_pages import man_names, man_page
from generators.rfc9309 import FETCHED, ROWS
from generators.settings_page import settings_page
from generators.store_page import store_page

from canonry.canon.learned import FAMILIES
from canonry.canon.policies import preset, preset_names, released
from canonry.canon.references.resolve import DIALECTS
from canonry.canon.rules.repair import REPAIRS, RESOLVE, URL_STANDARD
from canonry.canon.rules.table import DIALECTS as LADDERS
from canonry.canon.rules.table import EDITION, STEPS, rows_of
from canonry.canon.syntax.grammar import DOCUMENTS, productions_of
from canonry.crawler.cli.commands import main as command
from canonry.crawler.cli.described import examples_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from click import Command

    from canonry.canon.rules.rule import Rule

_DOCS = Path(__file__).parent
_PAGES = _DOCS / "reference"


def rules_page() -> str:
    """Return the page of rules, from the tables of rules."""
    lines = [
        "# The rules",
        "",
        "`make docs` makes this page from `canon/rules/repair.py` and `canon/rules/table.py`.",
        "",
        "Rules make the identity, which is compared. No rule changes the URL that is requested.",
        "The specifications guarantee *lossless* rules, and these always run, but for those that",
        "only [some dialects](#lossless-rules-of-some-dialects) have. The others are guesses; a",
        "policy chooses among them.",
        "",
        "## Repairs, as browsers make them",
        "",
        "Under policies with the dialect `whatwg`, the URL Standard's parser makes all of them in",
        "one pass.",
        "",
        *_table([*REPAIRS, RESOLVE, URL_STANDARD]),
        "",
        "## The steps, in the order in which they run",
        "",
        *_table(rows_of(EDITION)),
        "",
        *_changed_rules(),
        "## Lossless rules of some dialects",
        "",
        "The dialect of a policy names the document that it follows. These rules belong to some of",
        "them only ([decision](../decisions/0028-the-ladder-of-2003.md)).",
        "",
        f"| rule | {' | '.join(LADDERS)} |",
        f"|---|{'---|' * len(LADDERS)}",
        *(
            f"| `{step.name}` | {_marks(dialect in step.dialects for dialect in LADDERS)} |"
            for step in rows_of(EDITION)
            if len(step.dialects) < len(LADDERS)
        ),
        "",
        "## The guesses of each policy",
        "",
        f"| rule | {' | '.join(preset_names())} |",
        f"|---|{'---|' * len(preset_names())}",
    ]
    for step in rows_of(EDITION):
        if not step.lossless:
            marks = _marks(step.name in preset(name).practice for name in preset_names())
            lines.append(f"| `{step.name}` | {marks} |")
    lines += [
        "",
        "## Learned rules",
        "",
        "The families of learned rules, from `canon/learned/families.py`. They run after the",
        "steps, in this order. A rule holds for one host, or for a part of it: see",
        "[learning](../explanation/learning.md).",
        "",
        *_table(FAMILIES.values()),
    ]
    return "\n".join(lines) + "\n"


def _changed_rules() -> list[str]:
    """Return the section about rules that have changed, and who still uses the old ones."""
    lines = [
        "## Rules that have changed",
        "",
        "An old version of a policy goes on using the old function: see",
        "[compatibility](compatibility.md).",
        "",
        "| rule | until edition | used by |",
        "|---|---|---|",
    ]
    every = [preset(f"{name}@{one}") for name, versions in released().items() for one in versions]
    for step in STEPS:
        if step.until is not None:
            row = step.name, step.since
            using = (p for p in every if row in {(s.name, s.since) for s in p.steps()})
            by = [policy.label.replace("/", "@") for policy in using]
            lines.append(f"| `{step.name}` | {step.until} | {', '.join(by) or 'none'} |")
    return [*lines, ""]


def _marks(holds: "Iterable[bool]") -> str:
    """Return the cells of a row that say "yes" or nothing."""
    return " | ".join("yes" if mark else "" for mark in holds)


def _table(rules: "Iterable[Rule]") -> list[str]:
    """Return a table of rules."""
    lines = ["| rule | rung | lossless | example | why | source |", "|---|---|---|---|---|---|"]
    for rule in rules:
        example = f"{_code(rule.before)} → {_code(rule.after)}"
        rung = rule.rung.name.lower()
        lossless = "yes" if rule.lossless else "no"
        page = f"../{rule.cites.removeprefix('docs/')}"
        cites = f"[decision]({page})" if rule.cites.endswith(".md") else rule.cites
        lines.append(f"| `{rule.name}` | {rung} | {lossless} | {example} | {rule.why} | {cites} |")
    return lines


def _code(text: str) -> str:
    """Return a text as code in a table cell."""
    return f"`{text.encode('unicode_escape').decode().replace('|', chr(92) + '|')}`"


def commands_page() -> str:
    """Return the page of commands, from their definitions."""
    lines = ["# The command", "", "Made from `crawler/cli/` by `make docs`.", ""]
    lines += [_paragraphs(command.help), ""]
    lines += [
        "Every command has `-q` (`--quiet`): say only what went wrong; `-v` (`--verbose`): also",
        "say what a report of a bug needs; and `-h` (`--help`). What programs may rely on is on a",
        "page of its own: [exit codes and JSON](json.md).",
        "",
    ]
    for name, sub in _commands(command):
        words = " ".join(p.make_metavar(Context(sub)) for p in sub.params if _is_argument(p))
        lines += [
            f"## `canonry {name}{f' {words}' if words else ''}`",
            "",
            _paragraphs(sub.help),
            "",
        ]
        options = [p for p in sub.params if isinstance(p, Option) and p.expose_value]
        lines += ["| option | meaning | default |", "|---|---|---|"] if options else []
        for option in options:
            lines.append(f"| `{_usage(option)}` | {option.help or ''} | {_default(option)} |")
        if not isinstance(sub, Group):
            lines += ["", "```sh", *examples_of(sub, Context(sub)), "```"]
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _commands(group: Group, before: str = "") -> "Iterator[tuple[str, Command]]":
    """Yield commands with their names; the commands of a group follow it."""
    context = Context(group)
    for name in sorted(group.list_commands(context)):
        sub = group.get_command(context, name)
        assert sub is not None  # noqa: S101 - the group listed it
        yield before + name, sub
        if isinstance(sub, Group):
            yield from _commands(sub, f"{before}{name} ")


def _paragraphs(text: str | None) -> str:
    """Return a docstring without its indentation."""
    return cleandoc(text or "")


def _is_argument(parameter: Parameter) -> bool:
    """Return True if a parameter is an argument, not an option."""
    return parameter.param_type_name == "argument"


def _usage(option: Option) -> str:
    """Return an option as users type it."""
    if option.is_flag:
        return option.opts[0]
    choices = getattr(option.type, "choices", None)
    value = "|".join(choices) if choices else option.metavar or (option.name or "").upper()
    return f"{option.opts[0]} {value}".replace("|", "\\|")


def _default(option: Option) -> str:
    """Return the default of an option, as code."""
    if not option.show_default or option.default is None or option.is_flag:
        return ""
    return f"`{', '.join(option.default) if option.multiple else option.default}`"


def disagreements_page() -> str:
    """Return the page of disagreements, with the answer of every dialect."""
    lines = [
        "# Where the specifications disagree",
        "",
        "`make docs` makes this page: each answer is the result of `canonry.resolve` in that",
        "`dialect`.",
        "",
        "The default is `rfc3986`. References found in web pages are resolved in `whatwg`, as",
        "browsers do. The other dialects resolve references as documents of their time meant them.",
        "",
        "| | base | reference |" + "".join(f" `{dialect}` |" for dialect in DIALECTS),
        "|---|---|---|" + "---|" * len(DIALECTS),
    ]
    for row in DISAGREEMENTS:
        cells = [_code(text) if text else "(empty)" for text in (row.base, row.reference)]
        cells += [text if text.startswith("refused") else _code(text) for text in answers(row)]
        lines.append(f"| {row.question} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n" + _OTHER_DISAGREEMENTS


_OTHER_DISAGREEMENTS = """
Other disagreements:

- **An empty or fragment-only reference.** Before RFC 3986 it means the current document, whatever
  the base is: pass `document=` to `canonry.resolve`. Since RFC 3986 section 4.4 only the base
  counts (`canonry.same_document`).
- **An empty reference that starts a new request.** In a FORM or an IMG it means the current
  document in the draft of 1997 (section 3): pass `document=`. In a FORM it means the base in the
  draft of 2003 (section 4.2): leave `document` out.
- **More `..` than the path has levels.** The draft of 2003 leaves three choices (section 5.2, step
  6e): to keep them, as its examples do and as is the default here, to drop them, or not to follow
  the reference: `excess="keep"`, `"drop"` or `"refuse"`. RFC 3986 and browsers drop them.
- **A base without a path, in 1997.** By the letter of section 5.2, step 6a, `g` against `http://a`
  is `http://ag`: another host. We follow the later documents: `http://a/g`. The draft of 2003
  begins the path with `/` whatever the authority is (`foo:/g`), RFC 3986 only after one (`foo:g`).
- **A path that begins with two slashes, without authority.** By the letter of the drafts, `..//g`
  against `foo:/a/b` is `foo://g`: a host. In every dialect here it is `foo:/.//g`, as the URL
  Standard writes it.
- **The default base.** It is the empty text in the draft of 1997 (section 5.1.4): against it,
  absolute references resolve to themselves, and others are refused. In the later documents the
  application has to give one (`default=` of `canonry.establish_base`).
- **Runs of slashes.** The draft of 1993 says nothing of three and more slashes: there,
  `url-1993` follows RFC 1630, from which the `magic://` examples come, too.
- **What the draft of 1993 leaves open.** Empty and fragment-only references, `..` above the root,
  bases without a path and the base's search part: `url-1993` does as the draft of 1997 does.
- **Dot segments where the path is no hierarchy.** RFC 3986 removes them from every path (section
  6.2.2.3). In RFC 1738 they are data in gopher, wais and prospero, and so the canonical form keeps
  them ([decision](../decisions/0032-dots-that-are-data.md)). Browsers remove them, and with them
  the policies that read URLs as browsers do.
- **A question mark in a file.** It is a part of the name in RFC 1738; RFC 8089 has none, RFC 3986
  takes it for a query. `canonry.interpret` takes it for a part of the name, and so it does in ftp,
  gopher and prospero. In nntp and telnet no document allows it: it is refused.
- **A user or a port in a file.** No document allows them. They are read (`File.user`), and refused
  with `strict=True`.
- **A `?` in a user name.** RFC 1738 allows it; in RFC 3986 and in browsers, it ends the authority:
  in `ftp://a?b@c/`, `a` is the host. We follow these: the host must be the same for everybody.
- **A user in http.** RFC 1738 has none, RFC 9110 tells to be careful with it (section 4.2.4).
  `canonry.interpret` reads it, and refuses it with `strict=True`.
- **What the older grammars exclude.** `strict=True` refuses what every document of the scheme
  excludes. RFC 1738 alone is stricter: no `~`, no `_` in hosts, no empty port, no IPv6, a slash
  before `?` in http, two slashes in file. `document="rfc1738"` reads by its letter.
- **What follows two slashes in `mailto:` and `javascript:`.** A host in the generic syntax, data in
  their own documents: `canonry.interpret` and the rules of hosts and ports leave it alone.
- **`?` and `+` in the schemes of 1993.** There, `?` begins a search in gopher, too, and `+` joins
  the words of any search. Since RFC 1738, `?` is part of a gopher selector, searches follow `%09`,
  and `+` is a character like others. `canonry.interpret` reads them so; `document="url-1993"`
  reads them as in 1993, and the results have `words`.
- **A wais document.** In 1993 its length stands before its path: `/database/type/1024/path`. RFC
  1738 has no length, and no slash in the path. `canonry.interpret` reads both, and each alone if
  `document` names it. A search and a document together are in no grammar: only `strict=True`
  refuses them.
- **A version in prospero.** In 1993 it follows `%00`, and attributes follow it; in RFC 1738 `%00`
  is a character of the name, and a version is the field `OBJECT-VERSION`. `canonry.interpret` reads
  both, and each alone if `document` names it.
- **Ports of telnet, tn3270 and rlogin.** The draft of 1993 names none. RFC 1738 and RFC 6270 have
  23 for the first two; no document has one for rlogin, so it has no default.
- **The base of a MIME part.** The draft of 1997 puts `Content-Base` before `Content-Location`;
  RFC 2557 has only the latter. `canonry.establish_base` accepts both, in the given order.
- **Ports.** Before RFC 3986 every port that is not the scheme's default is to be looked at twice
  (RFC 1738 section 6; 1997 section 7; 2003 section 7.2); RFC 3986 names only 0 to 1023.
  `canonry.cautions` has a name for each: `PORT`, `RESERVED_PORT`.
- **White space inside delimiters.** It is ignored in all documents, and so does
  `canonry.extract`, with two exceptions: where another URL follows it, and where in quotes two
  words follow it, as in `"http://a.example/ is down"`. There the URL ends before it.
- **`~`.** It is unsafe in RFC 1738, and unreserved since RFC 2396: `%7E` and `~` are equal
  (`percent-unreserved`).
- **`!`, `*`, `'`, `(`, `)`, `$`, `,` and `+`.** They equal their escapes in RFC 1738 (section 2.2)
  and, but for `+`, in the draft of 1997 (section 2.3). RFC 2396 reserves `$` and `,`, and RFC 3986
  all of them: `%21` and `!` stay distinct.
- **`%2D` and `%2E`.** The draft of 2003 unescapes only letters, digits, `_` and `~` (section 2.3),
  RFC 3986 `-` and `.`, too. The policy `rfc2396bis-01` follows the draft, all others RFC 3986.
- **The octets of an escape.** They are ISO Latin 1 in 1993, and open in RFC 1738 and the draft of
  1997. Characters are escaped as UTF-8 here, as since RFC 3986 (section 2.5); no octet is changed.
- **A base that is not hierarchical.** The drafts of 1997 and 2003 allow no relative references
  there (section 5). RFC 3986 merges them by its steps; so do all dialects here but `whatwg`.
- **Dot segments in a path without a leading slash.** RFC 3986 removes them from every path (section
  6.2.2.3). In `urn:a/../b` they are data of the scheme, so canonical forms keep them.
- **A relative BASE or Content-Base.** The drafts of 1997 and 2003 want an absolute URL (appendix D,
  section 5.1.1). HTML resolves a relative one against the document's URL, and so do we, in headers,
  too.
- **Hosts in brackets.** They are new in RFC 2732. Browsers refuse them with a zone identifier
  (RFC 6874), and so do we.
"""


def grammars_page() -> str:
    """Return the page of grammars, with the productions of every document."""
    lines = [
        "# The grammars",
        "",
        "`make docs` makes this page from `canon/syntax/grammars/`.",
        "",
        "`canonry.matches(production, text, document=…)` returns True if the whole text matches a",
        "production of a document's grammar:",
        "",
        "```python",
        ">>> import canonry",
        '>>> canonry.matches("URI", "1a:b")',
        "False",
        '>>> canonry.matches("absoluteURL", "1a:b", document="url-syntax-05")',
        "True",
        '>>> canonry.matches("httpurl", "http://user@example.com/", document="rfc1738")',
        "False",
        "",
        "```",
        "",
        "They follow the letter of the documents, also where the prose says more: a port has any",
        "number of digits, and in the draft of 1993 a host may hold spaces. Schemes of single URLs",
        "(`ftpurl`) are in lower case in the documents before 2003.",
    ]
    for document in DOCUMENTS:
        names = ", ".join(f"`{name}`" for name in productions_of(document))
        lines += ["", f"## `{document}`", "", names]
    return "\n".join(lines) + "\n"


def robots_page() -> str:
    """Return the page about RFC 9309, row by row."""
    lines = [
        "# robots.txt",
        "",
        "RFC 9309 row by row; `make docs` makes this page from `docs/generators/rfc9309.py`. The",
        "tests run every row with the product token `canonry`.",
        "",
        "| section | rule | file | path | |",
        "|---|---|---|---|---|",
    ]
    for row in ROWS:
        file = "<br>".join(_code(line) for line in re.split("[\r\n]+", row.file) if line.strip())
        answer = "allowed" if row.allowed else "not allowed"
        lines.append(f"| {row.section} | {row.says} | {file} | {_code(row.path)} | {answer} |")
    lines += [
        "",
        "## Fetching the file",
        "",
        "| section | what is done | test |",
        "|---|---|---|",
        *(f"| {row.section} | {row.says} | `{row.test}` |" for row in FETCHED),
        "",
        "A group for `canon` is not for `canonry` (section 2.2.1); many parsers take it so.",
    ]
    return "\n".join(lines) + "\n"


PAGES = {
    "robots.md": robots_page,
    "rules.md": rules_page,
    "commands.md": commands_page,
    "settings.md": settings_page,
    "store.md": store_page,
    "disagreements.md": disagreements_page,
    "grammars.md": grammars_page,
    "json.md": json_page,
    **{f"schemas/{schema_name(name)}": partial(schema_text, name) for name in SHOWN},
}
FILES = {
    **{_PAGES / name: make for name, make in PAGES.items()},
    **{_DOCS / "man" / f"{name}.1": partial(man_page, name) for name in man_names()},
}
_MADE = (_PAGES / "schemas", _DOCS / "man")  # folders that hold nothing but generated files


def left_over() -> list[Path]:
    """Return the generated files that nothing makes any more."""
    return sorted(path for folder in _MADE for path in folder.iterdir() if path not in FILES)


def main() -> int:
    """Write the files, or report which are out of date."""
    stale = []
    for path, make in FILES.items():
        if "--check" in sys.argv:
            if not path.exists() or path.read_text(encoding="utf-8") != make():
                stale.append(path)
        else:
            path.parent.mkdir(exist_ok=True)
            path.write_text(make(), encoding="utf-8")
    for path in left_over():
        if "--check" in sys.argv:
            stale.append(path)
        else:
            path.unlink()
    if stale:
        names = ", ".join(path.relative_to(_DOCS).as_posix() for path in stale)
        sys.stderr.write(f"out of date, in docs: {names}; run: make docs\n")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
