"""The page of the library: its public names in tables, made from docstrings, and their details."""

import enum
import inspect
import re
from importlib import import_module
from types import UnionType

from generators.table_cells import code

_HEAD = """# The library

`import canonry` offers these names, and `canonry.claims` and `canonry.seen`
one more each. `make docs` makes this page from
their docstrings: first each name with what it does, and then, on the site of the documentation,
all that a docstring says. In Python, `help(canonry.key)` shows the same. Every example runs in the
tests. What is promised about the names is on the page of [compatibility](compatibility.md).
"""
_WITH_MEMBERS = {"Canonicalizer", "ClaimedURLs", "Policy", "RuleSet", "Trace", "URI"}
# By the title of a section: the module of its names, and the names.
SECTIONS: dict[str, tuple[str, tuple[str, ...]]] = {
    "Canonical forms and keys": (
        "canonry",
        (
            *("canonicalize", "key", "surt", "same", "equivalent", "Canonicalizer", "Canonical"),
            *("Refused", "Trace", "Change", "Rung", "is_compiled"),
        ),
    ),
    "Syntax and references": (
        "canonry",
        (
            *("parse", "URI", "resolve", "establish_base", "same_document", "from_suffix"),
            "matches",
        ),
    ),
    "What a URL means, and what it may hide": (
        "canonry",
        ("interpret", "Form", "cautions", "Caution", "extract", "Found", "redact"),
    ),
    "Columns": ("canonry.canon.columns", ("canonicalize", "Columns")),
    "Policies, learned rules and errors": (
        "canonry",
        (
            *("Policy", "RuleSet", "LearnedRule", "Evidence", "InvalidURL", "Reason"),
            *("PolicyError", "RulesError"),
        ),
    ),
    "URLs of a crawler, each claimed once": ("canonry.claims", ("ClaimedURLs",)),
    "URLs that somebody has seen": ("canonry.seen", ("is_seen",)),
}
_ABOUT = {
    "Columns": "They are in `canonry.columns`: `canonry.columns.canonicalize(urls)`.",
    "URLs of a crawler, each claimed once": (
        "`from canonry.claims import ClaimedURLs`, which needs the extra `crawl`: "
        "[any other crawler](../how-to/any-crawler.md) shows it at work."
    ),
    "URLs that somebody has seen": (
        "`from canonry.seen import is_seen`, which needs the extra `dedup`: look URLs up in "
        "[published keys](dedup.md#against-yesterdays-lines)."
    ),
}
_FORMS = """
## Forms of URLs

What `interpret` returns, scheme by scheme:

```{eval-rst}
.. automodule:: canonry.canon.inspect.forms
   :members:
   :exclude-members: Form
```
"""


def api_page() -> str:
    """Return the page."""
    return _HEAD + "".join(map(_section, SECTIONS)) + _FORMS


def _section(title: str) -> str:
    """Return a section: a table of its names, and the directives for their docstrings."""
    place, names = SECTIONS[title]
    module = import_module(place)
    about = f"{_ABOUT[title]}\n\n" if title in _ABOUT else ""
    rows = "".join(_row(name, getattr(module, name)) for name in names)
    details = "".join(_directive(place, name, getattr(module, name)) for name in names)
    table = f"| name | what it is |\n|---|---|\n{rows}"
    return f"\n## {title}\n\n{about}{table}\n```{{eval-rst}}\n{details}```\n"


def _row(name: str, named: object) -> str:
    """Return the row of a name, and those of its methods."""
    rows = f"| {code(name + _signature(named))} | {_sentence(named)} |\n"
    if name in _WITH_MEMBERS:
        for member, method in vars(named).items():
            if member == "__call__" or (inspect.isfunction(method) and member[0] != "_"):
                shown = f"{name}(...)" if member == "__call__" else f"{name}.{member}"
                call = code(shown + _signature(method))
                rows += f"| {call} | {_sentence(method)} |\n"
    return rows


def _signature(named: object) -> str:
    """Return the arguments of a callable, without types and ``self``; "" for what has none."""
    if not callable(named) or isinstance(named, enum.EnumMeta):
        return ""
    try:
        signature = inspect.signature(named)
    except ValueError:  # an exception, which takes a message
        return ""
    parameters = [
        one.replace(annotation=inspect.Parameter.empty)
        for one in signature.parameters.values()
        if one.name != "self"
    ]
    bare = signature.replace(parameters=parameters, return_annotation=inspect.Signature.empty)
    return re.sub(r"<function .*? at 0x[0-9a-f]+>", "...", str(bare))


def _sentence(named: object) -> str:
    """Return the first paragraph of a docstring."""
    if isinstance(named, UnionType):
        return "What a URL means: one of [these forms](#forms-of-urls)."
    first = (inspect.getdoc(named) or "").partition("\n\n")[0].replace("\n", " ")
    return re.sub(r"`+", "`", first).replace("|", r"\|")


def _directive(place: str, name: str, named: object) -> str:
    """Return the directive for a name."""
    kind = "function"
    if isinstance(named, UnionType):
        kind = "class"
    elif isinstance(named, type):
        kind = "exception" if issubclass(named, Exception) else "class"
    lines = f".. auto{kind}:: {place}.{name}\n"
    if name in _WITH_MEMBERS:
        lines += "   :members:\n"
    if name == "Canonicalizer":
        lines += "   :special-members: __call__\n"
    return lines
