"""Character references (``&amp;``) in attributes (HTML Standard sections 13.2.5.72 to 80)."""

import re
import sys
from html.entities import html5

_REFERENCE = re.compile(
    r"&(?:#(?:[xX]([0-9a-fA-F]++)|([0-9]++));?|([a-zA-Z][a-zA-Z0-9]*+)(;?)(=?))"
)
_MAX_DIGITS = 7  # of a character's number
_REPLACEMENT = "\ufffd"
_NO_CHARACTERS = (range(1), range(0xD800, 0xE000))  # NUL, and surrogates
# What the numbers of C1 controls mean: bytes of windows-1252, where these are defined.
_C1 = {
    number: bytes([number]).decode("cp1252")
    for number in range(0x80, 0xA0)
    if number not in {0x81, 0x8D, 0x8F, 0x90, 0x9D}
}


def in_attribute(value: str) -> str:
    """Return the value of an attribute with its character references replaced.

    Unlike in text, ``&copy=1`` and ``&copyright`` are left alone: they are fields of a query.
    """
    if "&" not in value:
        return value
    if value.count("&") == value.count("&amp;"):  # as in most queries
        return value.replace("&amp;", "&")
    return _REFERENCE.sub(_replaced, value)


def _replaced(found: re.Match[str]) -> str:
    """Return the character that a reference means; the reference itself if it means none."""
    hexadecimal, decimal, name, semicolon, equals = found.groups()
    if name is None:
        return _numbered(hexadecimal, 16) if hexadecimal else _numbered(decimal, 10)
    if semicolon:
        known = html5.get(f"{name};")
        return found[0] if known is None else known + equals
    return found[0] if equals else html5.get(name, found[0])


def _numbered(digits: str, radix: int) -> str:
    """Return the character with a number (section 13.2.5.80)."""
    digits = digits.lstrip("0") or "0"
    number = int(digits, radix) if len(digits) <= _MAX_DIGITS else 0
    if number > sys.maxunicode or any(number in none for none in _NO_CHARACTERS):
        return _REPLACEMENT
    return _C1.get(number) or chr(number)
