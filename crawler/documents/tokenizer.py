"""The tags and the text of a page as browsers read them, in one pass and without a tree.

Building a tree takes time quadratic in the depth, and even more memory. Links and visible text need
none: only the tokens (HTML Standard section 13.2.5), and the elements whose content is text.
"""

import re
import sys
from collections.abc import Iterator
from html import unescape
from html.entities import html5
from itertools import islice
from typing import NamedTuple

from canonry.canon.syntax import compile_pattern

_SPACE, _END = rb"[\t\n\f\r ]", rb"[\t\n\f\r />]"  # the latter ends the name of a tag
_MAX_ATTRIBUTES = 1000  # read from one tag
# An attribute (sections 13.2.5.33 to 39). One whose quote does not end is none, nor is its tag.
_ATTRIBUTE = (
    rb"[\t\n\f\r /]*+%s[^\t\n\f\r />][^\t\n\f\r />=]*+%s(?:" + _SPACE + rb"*+=" + _SPACE + rb"*+"
    rb"""(?:"%s[^"]*+%s"|'%s[^']*+%s'|%s[^\t\n\f\r >"'][^\t\n\f\r >]*+%s|(?=>|\Z))|(?!"""
    + _SPACE
    + rb"*+=))"
)
_ATTRIBUTES = compile_pattern(_ATTRIBUTE % ((b"(", b")") * 4))
# The text up to a tag; whether it is an end tag, its name and attributes, and the "/" at its end.
# Else a comment, or what is read as one.
_TOKEN = (
    rb"([^<]*+(?:<(?![a-zA-Z/!?])[^<]*+)*+)(?:"
    rb"<(/?+)([a-zA-Z][^\t\n\f\r />]*+)((?:" + _ATTRIBUTE % ((b"",) * 8) + rb")*+)"
    rb"[\t\n\f\r /]*?(/?)>|<(?:!--(?:-?>|(?:[^-]++|-(?!-!?>))*+(?:--!?>|\Z))%s"
    rb"|(?:[!?]|/(?![a-zA-Z]))[^>]*+(?:>|\Z))|)"
)
_HTML = compile_pattern(_TOKEN % b"")
_XML = compile_pattern(_TOKEN % rb"|!\[CDATA\[")  # feeds have HTML in such a section
_MAX_TITLE = 16_000  # characters that are read, before white space collapses
# Elements whose content is text up to their end tag (section 13.2.6), and those with other
# content: svg and math honour "/>", and a template is not part of the page.
_RAW = frozenset(b"iframe noembed noframes plaintext script style textarea title xmp".split())
_FOREIGN = frozenset({b"svg", b"math"})
_RAW_ENDS = {name: re.compile(b"</%b(?=%b)" % (name, _END), re.IGNORECASE) for name in _RAW}
# In a comment in a script, another script may be nested (13.2.5.20 to 31).
_IN_SCRIPT = re.compile(rb"<!(?=--)|-->|<(/?)script(?=" + _END + rb")", re.IGNORECASE)
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


class Token(NamedTuple):
    """A tag, or a text."""

    name: bytes  # of a tag, in lower case; b"" for a text
    content: bytes  # the text, or the attributes
    is_end: bool = False
    is_empty: bool = False  # it ends with "/>", where that means that it has no content
    is_foreign: bool = False  # it stands in a drawing or a formula


def tokens(markup: bytes, *, xml: bool) -> Iterator[Token]:
    """Yield the tags and texts of a page, without its templates.

    The content of an element that is text, as of a title, is one token, perhaps an empty one.

    Args:
        markup: the page in UTF-8, or in any encoding that extends ASCII.
        xml: True if every tag that ends with "/>" is empty, as in XHTML.
    """
    match = (_XML if xml else _HTML).match
    at = foreign = templates = 0
    while at < len(markup):
        found = match(markup, at)
        assert found is not None  # noqa: S101 - the pattern matches the empty text
        text, slash, name, attributes, closed = found.groups()
        at = found.end()
        if text and not templates:
            yield Token(b"", text)
        if name is None:
            if at == found.end(1):
                return  # the tag has no end
            continue
        name = name.lower()
        if slash:
            if not templates:
                yield Token(name, b"", is_end=True)
            foreign -= foreign > 0 and name in _FOREIGN
            templates -= templates > 0 and name == b"template"
            continue
        is_empty = bool(closed) and (foreign > 0 or xml or name in _FOREIGN)
        foreign += not is_empty and name in _FOREIGN
        templates += not is_empty and name == b"template"
        content = at
        if not is_empty and name in _RAW:
            at = _end_of_raw(name, markup, at)
        if not templates:
            yield Token(name, attributes, is_empty=is_empty, is_foreign=foreign > 0)
            if name in _RAW and not is_empty:
                yield Token(b"", markup[content:at])


def _end_of_raw(name: bytes, markup: bytes, at: int) -> int:
    """Return where an element's text ends: at its end tag, or at the end of the page."""
    found = None if name == b"plaintext" else _RAW_ENDS[name].search(markup, at)
    end = len(markup) if found is None else found.start()
    if name != b"script" or markup.find(b"<!--", at, end) < 0:
        return end
    comment = nested = False
    for mark in _IN_SCRIPT.finditer(markup, at):
        if mark[0] == b"<!":
            comment = True
        elif mark[0] == b"-->":
            comment = nested = False
        elif not mark[1]:
            nested = comment
        elif nested:
            nested = False
        else:
            return mark.start()
    return len(markup)


def values_in(attributes: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the names and values of the attributes of a tag, as they are written."""
    for found in islice(_ATTRIBUTES.finditer(attributes), _MAX_ATTRIBUTES):
        name, *values = found.groups(b"")
        yield name, b"".join(values)


def attributes_in(attributes: bytes) -> dict[str, str]:
    """Return the attributes of a tag, with their character references replaced.

    The first of each name counts. The names are in lower case.
    """
    values: dict[str, str] = {}
    for name, value in values_in(attributes):
        values.setdefault(text_of(name).lower(), in_attribute(text_of(value)))
    return values


def text_of(markup: bytes) -> str:
    """Return a part of a page as text."""
    return markup.decode("utf-8", "replace").replace("\0", _REPLACEMENT)


def title_of(text: str) -> str:
    """Return a title with its character references replaced, shortened if it is too long."""
    return unescape(text[:_MAX_TITLE])


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
