"""The tags and the text of a page as browsers read them, in one pass and without a tree.

Building a tree takes time quadratic in the depth, and even more memory. Links and visible text need
none: only the tokens (HTML Standard section 13.2.5), and the elements whose content is text.
"""

import re
import sys
from collections.abc import Iterator
from functools import lru_cache
from html import unescape
from html.entities import html5
from itertools import islice

from canonry.canon.syntax import compile_pattern

_END = rb"[\t\n\f\r />]"  # ends the name of a tag
_MAX_ATTRIBUTES = 1000  # read from one tag
_SHORT = 2 * _MAX_ATTRIBUTES  # bytes, too short for more attributes
# An attribute (sections 13.2.5.33 to 39), with braces around its name and values. One whose quote
# does not end is none, nor is its tag.
_ATTRIBUTE = (
    rb"[\t\n\f\r /]*+{[^\t\n\f\r />][^\t\n\f\r />=]*+}(?:[\t\n\f\r ]*+=[\t\n\f\r ]*+(?:"
    rb"""\"{[^"]*+}"|'{[^']*+}'|{[^\t\n\f\r >"'][^\t\n\f\r >]*+}|(?=>|\Z))|(?![\t\n\f\r ]*+=))"""
)
_ATTRIBUTES = compile_pattern(_ATTRIBUTE.replace(b"{", b"(").replace(b"}", b")"))
_REST = rb"(?:" + _ATTRIBUTE.translate(None, b"{}") + rb")*+"
_NAME = rb"[a-zA-Z][^\t\n\f\r />]*+"
# A comment, or what is read as one; feeds have HTML in CDATA.
_OTHER = rb"!--(?:-?>|(?:[^-]++|-(?!-!?>))*+(?:--!?>|\Z))%s|(?:[!?]|/(?![a-zA-Z]))[^>]*+(?:>|\Z)"
# The text up to a tag; whether it is an end tag, its name and attributes, and the "/" at its end.
_TOKEN = (
    rb"([^<]*+(?:<(?![a-zA-Z/!?])[^<]*+)*+)"
    rb"(?:<(?:(/?+)(" + _NAME + rb")(" + _REST + rb")[\t\n\f\r /]*?(/?)>|" + _OTHER + rb")|)"
)
# What precedes a tag with one of these names, so that fewer tokens are read.
_SKIPPED = (
    rb"(?:[^<]++|<(?:(?![a-zA-Z/!?])|(?!(?:%s)" + _END + rb")/?" + _NAME
    + rb"(?:[^>=]*+>|" + _REST + rb"[\t\n\f\r /]*+>)|" + _OTHER + rb")){0,1000}+"
)  # fmt: skip
_CDATA = rb"|!\[CDATA\["
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


# What a token is: an end tag; a tag that ends with "/>", where that means that it has no content;
# a start tag, or a text; a start tag in a drawing or a formula.
END, EMPTY, START, DRAWN = range(-1, 3)
# The name of a tag in lower case, b"" for a text; the text, or the attributes; one of the above.
Token = tuple[bytes, bytes, int]


def tokens(markup: bytes, *, xml: bool, names: frozenset[bytes] | None = None) -> Iterator[Token]:
    """Yield the tags and texts of a page, without its templates.

    The content of an element that is text, as of a title, is one token, perhaps an empty one.

    Args:
        markup: the page in UTF-8, or in any encoding that extends ASCII.
        xml: True if every tag that ends with "/>" is empty, as in XHTML.
        names: of the tags that matter; most others, and most texts, are skipped. None: all do.
    """
    match = _pattern(names, xml=xml).match
    at = foreign = templates = 0
    while at < len(markup):
        found = match(markup, at)
        assert found is not None  # noqa: S101 - the pattern matches the empty text
        text, slash, name, attributes, closed = found.groups()
        at = found.end()
        if text and not templates:
            yield b"", text, START
        if name is None:
            if at == found.end(1):
                return  # the tag has no end
            continue
        name, hidden, content = name.lower(), templates, at
        is_empty = closed and (foreign or xml or name in _FOREIGN)
        mark = END if slash else EMPTY if is_empty else START
        if name in _FOREIGN:
            foreign = max(foreign + mark, 0)
        elif name == b"template":
            templates = max(templates + mark, 0)
        is_raw = mark == START and name in _RAW
        if is_raw:
            at = _end_of_raw(name, markup, at)
        if not (hidden or templates):
            yield name, attributes, DRAWN if mark == START and foreign else mark
            if is_raw:
                yield b"", markup[content:at], START


@lru_cache(8)
def _pattern(names: frozenset[bytes] | None, *, xml: bool) -> re.Pattern[bytes]:
    """Return a pattern for the next token. It never backtracks, so its time is linear."""
    cdata = _CDATA if xml else b""
    if names is None:
        return compile_pattern(_TOKEN % cdata)
    read = sorted(
        {*names, *_RAW, *_FOREIGN, b"template", b"/form", b"/svg", b"/math", b"/template"}
    )
    any_case = (re.sub(b"[a-z]", lambda c: b"[%b%b]" % (c[0], c[0].upper()), one) for one in read)
    return compile_pattern((_SKIPPED + _TOKEN) % (b"|".join(any_case), cdata, cdata))


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


def values_in(attributes: bytes) -> list[tuple[bytes, bytes]]:
    """Return the names and values of the attributes of a tag, as they are written."""
    if len(attributes) <= _SHORT:
        found = _ATTRIBUTES.findall(attributes)
    else:
        some = islice(_ATTRIBUTES.finditer(attributes), _MAX_ATTRIBUTES)
        found = [one.groups(b"") for one in some]
    return [(name, first or second or third) for name, first, second, third in found]


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
