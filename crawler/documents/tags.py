"""The tags of an HTML page as browsers read them, in one pass and without a tree.

Building a tree takes time quadratic in the depth, and even more memory. Links need none: only the
tokens (HTML Standard section 13.2.5), and the elements whose content is text.
"""

import re
import sys
from collections.abc import Iterable
from functools import lru_cache
from html import unescape
from html.entities import html5
from itertools import islice
from string import ascii_lowercase
from typing import Protocol

from canonry.canon.syntax import compile_pattern

VERSION = 1  # as in _tags.c; raise both when other tags are read
_SPACE = r"[\t\n\f\r ]"
_END = r"[\t\n\f\r />]"  # ends the name of a tag
_MAX_ATTRIBUTES = 1000  # read from one tag
# Matches the attributes of a tag, up to its ">" (sections 13.2.5.32 to 39); _REST skips them.
_VALUE = (
    rf"""={_SPACE}*+(?:"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z)|[^\t\n\f\r >"'][^\t\n\f\r >]*+)?"""
    r"[^>=]*+"
)
_ATTRIBUTES = rf"[^>=]*+(?:{_VALUE}){{0,{_MAX_ATTRIBUTES}}}+[^>]*+"
_REST = rf"[^>=]*+(?:>|(?:{_VALUE}){{0,{_MAX_ATTRIBUTES}}}+[^>]*+(?:>|\Z))"
# A fast path for most links: plain attributes, and none of them is rel.
_PLAIN_LINK = (
    r'[aA](?: (?!href|rel)[a-z\-]++="[^"]*+")*+ href="([^"]*+)"(?: (?!rel)[a-z\-]++="[^"]*+")*+>'
)
_ATTRIBUTE = compile_pattern(
    rf"([^\t\n\f\r />][^\t\n\f\r />=]*+)(?:{_SPACE}*+={_SPACE}*+"
    r"""(?:"([^"]*+)"|'([^']*+)'|([^\t\n\f\r >"'][^\t\n\f\r >]*+))?)?"""
)
_SHORT = 2 * _MAX_ATTRIBUTES  # characters, too short for more attributes
_STRIDE = 1000  # most tokens that one match skips, so that other threads can run
_MAX_TITLE = 16_000  # characters that are read, before white space collapses
_GAP = 64  # most characters of text that a pattern skips; str.find is faster for more
# Elements whose content is text up to their end tag (section 13.2.6), and those with other
# content: svg and math honour "/>", and a template is not part of the page.
_TEXTS = frozenset(
    {"iframe", "noembed", "noframes", "plaintext", "script", "style", "textarea", "title", "xmp"}
)
_FOREIGN = frozenset({"svg", "math"})
_ENDS = frozenset({"/svg", "/math", "/template", "/form"})
_READ = _TEXTS | _FOREIGN | _ENDS | {"template"}
_TEXT_ENDS = {name: re.compile(rf"</{name}(?={_END})", re.ASCII | re.IGNORECASE) for name in _TEXTS}
# In a comment in a script, another script may be nested (13.2.5.20 to 31).
_IN_SCRIPT = re.compile(rf"<!(?=--)|-->|<(/?)script(?={_END})", re.ASCII | re.IGNORECASE)
_REFERENCE = re.compile(
    r"&(?:#(?:[xX]([0-9a-fA-F]++)|([0-9]++));?|([a-zA-Z][a-zA-Z0-9]*+)(;?)(=?))"
)
_MAX_DIGITS = 7  # of a numeric character reference
_REPLACEMENT = "\ufffd"
_NO_CHARACTERS = (range(1), range(0xD800, 0xE000))  # NUL, and surrogates
# Numbers of C1 controls mean bytes of windows-1252, if that defines them.
_C1 = {
    number: bytes([number]).decode("cp1252")
    for number in range(0x80, 0xA0)
    if number not in {0x81, 0x8D, 0x8F, 0x90, 0x9D}
}


class StartTags(Protocol):
    """Collects the start tags of a page. The names are in lower case."""

    def add_link(self, reference: str, /) -> None:
        """Take the ``href`` of a link without ``rel``."""

    def add_title(self, text: str, /) -> None:
        """Take the text of a title."""

    def add(self, name: str, attributes: dict[str, str], /) -> None:
        """Take any other start tag."""


def read_tags(text: str, page: StartTags, names: frozenset[str], *, xml: bool = False) -> None:
    """Read start tags from markup, and pass them to a page in document order.

    Args:
        text: the markup.
        page: collects the tags.
        names: of the tags to collect.
        xml: True if every tag that ends with "/>" is empty, as in XHTML.
    """
    if "\0" in text:
        text = text.replace("\0", "\ufffd")
    match, find = _pattern(names | _READ).match, text.find
    around = _Around(xml=xml)
    at = 0
    while (start := find("<", at)) >= 0:
        found = match(text, start)
        assert found is not None  # noqa: S101 - the pattern matches the empty text
        at = found.end()
        link, name, rest = found.groups()
        if link is not None:
            if not around.templates:
                page.add_link(in_attribute(link))
        elif name is not None:
            at = _read_tag(name.lower(), rest, text, at, page, names, around)
        elif at == start:
            return  # the tag has no end


class _Around:
    """The open elements around a tag that change how it is read."""

    def __init__(self, *, xml: bool) -> None:
        self.xml = xml
        self.foreign = self.templates = 0
        self.form = False

    def opens(self, name: str, rest: str) -> bool:
        """Track a start or end tag; return True if content follows."""
        if name[0] == "/":
            self.foreign -= self.foreign > 0 and name[1:] in _FOREIGN
            self.templates -= self.templates > 0 and name == "/template"
            self.form = self.form and name != "/form"
            return False
        if rest[-1:] == "/" and (self.foreign or self.xml or name in _FOREIGN):
            return False
        self.foreign += name in _FOREIGN
        self.templates += name == "template"
        return True

    def ignores(self, name: str) -> bool:
        """Return True if a start tag is not part of the page; remember an open form."""
        if name == "form":  # in another form (section 13.2.6.4.7)
            nested, self.form = self.form, True
            return nested
        return name == "title" and self.foreign > 0


def _read_tag(
    name: str,
    rest: str,
    text: str,
    at: int,
    page: StartTags,
    names: frozenset[str],
    around: _Around,
) -> int:
    """Pass a tag that ends at a position to a page; return where reading continues."""
    content = at
    if name in _READ or around.templates:
        if around.opens(name, rest) and name in _TEXTS:
            at = _end_of_text(name, text, at)
        if around.templates or name not in names:
            return at
    if around.ignores(name):
        return at
    if name == "title":
        page.add_title(title_of(text[content:at]))
    else:
        page.add(name, _attributes(rest))
    return at


def title_of(text: str) -> str:
    """Return a title with its character references replaced, shortened if it is too long."""
    return unescape(text[:_MAX_TITLE])


def _attributes(text: str) -> dict[str, str]:
    """Return the attributes of a tag; the first of each name counts."""
    if len(text) <= _SHORT:
        found = _ATTRIBUTE.findall(text)
    else:
        found = [one.groups("") for one in islice(_ATTRIBUTE.finditer(text), _MAX_ATTRIBUTES)]
    found.reverse()
    attributes = {name.lower(): first or second or third for name, first, second, third in found}
    if "&" in text:
        return {name: in_attribute(value) for name, value in attributes.items()}
    return attributes


def _end_of_text(name: str, text: str, at: int) -> int:
    """Return where an element's text ends: at its end tag, or at the end of the page."""
    found = None if name == "plaintext" else _TEXT_ENDS[name].search(text, at)
    end = len(text) if found is None else found.start()
    if name != "script" or text.find("<!--", at, end) < 0:
        return end
    comment = nested = False
    for mark in _IN_SCRIPT.finditer(text, at):
        if mark[0] == "<!":
            comment = True
        elif mark[0] == "-->":
            comment = nested = False
        elif not mark[1]:
            nested = comment
        elif nested:
            nested = False
        else:
            return mark.start()
    return len(text)


@lru_cache(8)
def _pattern(names: frozenset[str]) -> re.Pattern[str]:
    """Return a pattern that skips to the next tag with one of these names, and matches that tag.

    Its groups are a plain link's ``href``, the name and the attributes. It never backtracks, so its
    time is linear. It skips most tags by their first letters, which is faster than by their names.
    """
    ends = {name[1:] for name in names if name[0] == "/"}
    starts = {name for name in names if name[0] != "/"}
    named = f"{_any_of(starts)}|/(?:{_any_of(ends)})"
    return compile_pattern(
        rf"(?:<(?:(?:{_others(starts)}|/(?:{_others(ends)})|(?!(?:{named}){_END})/?[a-zA-Z]){_REST}"
        r"|!--(?:-?>|(?:[^-]++|-(?!-!?>))*+(?:--!?>|\Z))"
        r"|(?:[!?]|/(?![a-zA-Z]))[^>]*+(?:>|\Z)"
        rf"|(?![a-zA-Z!/?]))[^<]{{0,{_GAP}}}+){{0,{_STRIDE}}}+"
        rf"(?:<(?:{_PLAIN_LINK}|({named})(?={_END})({_ATTRIBUTES})>))?"
    )


def _any_of(names: Iterable[str]) -> str:
    """Return a pattern for any of these names, in any case."""
    return "|".join("".join(f"[{c}{c.upper()}]" for c in name) for name in sorted(names))


def _others(names: Iterable[str]) -> str:
    """Return a pattern for the first letters of most other names, in any case."""
    seconds: dict[str, str] = {}
    for name in names:
        seconds[name[0]] = seconds.get(name[0], "") + (name[1:2] or r"\t\n\f\r />")
    free = "".join(c + c.upper() for c in ascii_lowercase if c not in seconds)
    shared = (f"[{c}{c.upper()}](?![{s}{s.upper()}])" for c, s in seconds.items() if "\\" not in s)
    return "|".join((f"[{free}]", *shared))


def in_attribute(value: str) -> str:
    """Return the value of an attribute with its character references replaced.

    Unlike in text, ``&copy=1`` is left alone, since it is a field of a query.
    """
    if "&" not in value:
        return value
    if value.count("&") == value.count("&amp;"):  # the usual case
        return value.replace("&amp;", "&")
    return _REFERENCE.sub(_replaced, value)


def _replaced(reference: re.Match[str]) -> str:
    """Return the character that a reference means; the reference itself if it means none."""
    hexadecimal, decimal, name, semicolon, equals = reference.groups()
    if name is None:
        return _numbered(hexadecimal, 16) if hexadecimal else _numbered(decimal, 10)
    if semicolon:
        character = html5.get(f"{name};")
        return reference[0] if character is None else character + equals
    return reference[0] if equals else html5.get(name, reference[0])


def _numbered(digits: str, radix: int) -> str:
    """Return the character with a number (section 13.2.5.80)."""
    digits = digits.lstrip("0") or "0"
    number = int(digits, radix) if len(digits) <= _MAX_DIGITS else 0
    if number > sys.maxunicode or any(number in none for none in _NO_CHARACTERS):
        return _REPLACEMENT
    return _C1.get(number) or chr(number)
