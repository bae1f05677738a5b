"""What browsers mend in a reference before they read it, as rules of their own for `explain`.

The URL Standard's parser does all of this in one go, and its answer is what counts; these rules
name what it did. Whatever they cannot account for is put down to the rule `url-standard`.
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
    """Remove tabs and line breaks, wherever they stand."""
    return text.translate(REMOVED)


def turn_backslashes(text: str) -> str:
    """Read backslashes before the query as slashes, in URLs of the web's own schemes."""
    scheme = _SCHEME.match(text)
    if "\\" not in text or scheme is None or scheme[1].lower() not in SPECIAL:
        return text
    end = re.search(r"[?#]|\Z", text)
    cut = end.start() if end else len(text)
    return text[:cut].replace("\\", "/") + text[cut:]


def two_slashes(text: str) -> str:
    """Read any number of slashes behind ``http:`` as two."""
    match = _SLASHES.match(text)
    if match is None or match[1].lower() not in SPECIAL - {"file"}:
        return text
    return f"{match[1]}://{text[match.end() :]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair(Rule):
    """A row of the table of repairs: the rule and the function on the whole text."""

    rung: Rung = Rung.REPAIR
    lossless: bool = True
    apply: Callable[[str], str]


REPAIRS: tuple[Repair, ...] = (
    Repair(
        name="strip",
        why="Spaces and control characters around a URL are not part of it.",
        before=" http://example.com/\n",
        after="http://example.com/",
        cites="URL Standard section 4.4",
        apply=strip,
    ),
    Repair(
        name="tabs-and-newlines",
        why="Tabs and line breaks inside a URL come from the way the document was written.",
        before="http://example.com/a\nb",
        after="http://example.com/ab",
        cites="URL Standard section 4.4",
        apply=drop_tabs,
    ),
    Repair(
        name="backslashes",
        why="Browsers read a backslash as a slash.",
        before="http:\\\\example.com\\a",
        after="http://example.com/a",
        cites="URL Standard section 4.4",
        apply=turn_backslashes,
    ),
    Repair(
        name="slashes",
        why="Browsers read any number of slashes behind the scheme as two.",
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
    why="The URL Standard reads it so: numeric and escaped hosts, drive letters, opaque paths.",
    before="http://0x7f.1/",
    after="http://127.0.0.1/",
    cites="URL Standard section 4.4",
    rung=Rung.REPAIR,
    lossless=True,
)
