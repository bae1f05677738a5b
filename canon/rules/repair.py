"""Repairs that browsers make to a reference before they parse it, as rules for `explain`.

The URL Standard's parser makes all of them in one pass, and only its answer counts; these rules
describe it. The rule `url-standard` stands for whatever they do not cover.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from canonry.canon.references.whatwg import REMOVED, STRIPPED
from canonry.canon.rules.rule import Rule, Rung
from canonry.canon.syntax.schemes import SPECIAL

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*):")
_SLASHES = re.compile(r"([A-Za-z]+):[/\\]*")


def strip(text: str) -> str:
    """Strip spaces and control characters from both ends."""
    return text.strip(STRIPPED)


def drop_tabs(text: str) -> str:
    """Remove tabs and line breaks everywhere."""
    return text.translate(REMOVED)


def replace_backslashes(text: str) -> str:
    """Replace backslashes before the query by slashes, in URLs with special schemes."""
    scheme = _SCHEME.match(text)
    if "\\" not in text or scheme is None or scheme[1].lower() not in SPECIAL:
        return text
    end = re.search(r"[?#]|\Z", text)
    cut = end.start() if end else len(text)
    return text[:cut].replace("\\", "/") + text[cut:]


def two_slashes(text: str) -> str:
    """Write two slashes after a special scheme, whatever number is there."""
    match = _SLASHES.match(text)
    if match is None or match[1].lower() not in SPECIAL - {"file"}:
        return text
    return f"{match[1]}://{text[match.end() :]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair(Rule):
    """A row of the table of repairs: the rule, and the function that applies it to a text."""

    rung: Rung = Rung.REPAIR
    lossless: bool = True
    apply: Callable[[str], str]


REPAIRS: tuple[Repair, ...] = (
    Repair(
        name="strip",
        why="Leading and trailing spaces and control characters are not part of a URL.",
        before=" http://example.com/\n",
        after="http://example.com/",
        cites="URL Standard section 4.4",
        apply=strip,
    ),
    Repair(
        name="tabs-and-newlines",
        why="Browsers remove tabs and line breaks inside a URL.",
        before="http://example.com/a\nb",
        after="http://example.com/ab",
        cites="URL Standard section 4.4",
        apply=drop_tabs,
    ),
    Repair(
        name="backslashes",
        why="Browsers treat a backslash as a slash.",
        before="http:\\\\example.com\\a",
        after="http://example.com/a",
        cites="URL Standard section 4.4",
        apply=replace_backslashes,
    ),
    Repair(
        name="slashes",
        why="Browsers treat any number of slashes after the scheme as two.",
        before="http:/example.com/",
        after="http://example.com/",
        cites="URL Standard section 4.4",
        apply=two_slashes,
    ),
)

RESOLVE = Rule(
    name="resolve",
    why="A relative reference is resolved against the base URL.",
    before="../b",
    after="http://example.com/b",
    cites="RFC 3986 section 5.2",
    rung=Rung.REPAIR,
    lossless=True,
)
URL_STANDARD = Rule(
    name="url-standard",
    why="The URL Standard's parser does this for numeric hosts, drive letters, opaque paths.",
    before="http://0x7f.1/",
    after="http://127.0.0.1/",
    cites="URL Standard section 4.4",
    rung=Rung.REPAIR,
    lossless=True,
)
