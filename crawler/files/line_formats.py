"""Formats of which every line is a record: each function here finds the URL of a line.

Each takes a file's first line and the wanted column, and returns a function from a line to its URL,
whether the first line holds column names only, and perhaps a faster function for many lines.
"""

import difflib
import re
import shlex
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec

from canonry.crawler.files.sniffing import named_like_a_url

Pick = Callable[[bytes], bytes | None]  # from a line to its URL; None: it has none, or is broken
PickAll = Callable[
    [bytes, int], bytes | None
]  # from lines and their number to URLs; None: use `one`

CDX_LEGEND = re.compile(rb"(?P<mark>[ \t])CDX(?P<letters>(?:(?P=mark)[a-zA-Z])+)\s*")

# The fields of a CDX line as CDX servers call them, by the letters of its legend.
_CDX = {
    "N": "urlkey",
    "b": "timestamp",
    "a": "original",
    "m": "mimetype",
    "s": "statuscode",
    "k": "digest",
    "r": "redirect",
    "M": "robotflags",
    "S": "length",
    "V": "offset",
    "g": "filename",
}


def place_of(column: str, names: list[str]) -> int:
    """Return the place of a column among names.

    Raises:
        OSError: naming the existing columns.
    """
    if column in names:
        return names.index(column)
    if not any(map(str.strip, names)):
        raise OSError(f"no column {column!r}; its first line is blank")
    raise OSError(f"no column {column!r}; it has {among(names, column)}")


def among(names: Sequence[str], column: str) -> str:
    """Return names as text for people, and suggest the one that may be meant by a column."""
    shown = ", ".join(names[:20])
    near = difflib.get_close_matches(column, names, 1) or filter(None, [named_like_a_url(names)])
    return shown + "".join(f"; did you mean --column {shlex.quote(name)}?" for name in near)


def as_bytes(text: str) -> bytes | None:
    """Return a text as bytes, or None for half of a surrogate pair, which JSON can write."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return None


class LinePicks(NamedTuple):
    """How to find URLs in lines."""

    one: Pick
    has_names: bool = False  # the first line holds column names only
    all: PickAll | None = None


def of_tsv(first: bytes, column: str | None) -> LinePicks:
    """Take a column, by its number or by its name in the first line."""
    wanted = column or "1"
    named = not wanted.isdecimal()
    names = [name.decode("utf-8", "replace") for name in tsv_fields(first)]
    place = place_of(wanted, names) if named else int(wanted) - 1

    field = _field(b"\t", place)

    def pick(line: bytes) -> bytes | None:
        found = field(line)
        return found if found is None else _unquoted(found)

    return LinePicks(pick, named)


def _field(mark: bytes, place: int) -> Pick:
    """Return a function that takes a field of a line."""

    def pick(line: bytes) -> bytes | None:
        fields = line.split(mark, place + 1)
        return fields[place] if place < len(fields) else (None if line else b"")

    return pick


def tsv_fields(line: bytes) -> list[bytes]:
    """Return the fields of a line of TSV.

    Quotes have no meaning, but some programs put them around a field with a hash or a quote. They
    are removed, since no URL begins and ends with one.
    """
    return [_unquoted(field) for field in line.rstrip(b"\r").split(b"\t")]


def _unquoted(field: bytes) -> bytes:
    if field[:1] == b'"' and len(field) > 1 and (whole := field.rstrip(b"\r"))[-1:] == b'"':
        return whole[1:-1].replace(b'""', b'"')
    return field


def of_jsonl(_first: bytes, column: str | None) -> LinePicks:
    """Take the value of a key; ``a.b`` is the key ``b`` of the object ``a``."""
    *outer, last = (column or "url").split(".")
    inner: type = msgspec.defstruct("Record", [("url", str)], rename={"url": last}, gc=False)
    for name in reversed(outer):
        inner = msgspec.defstruct("Record", [("url", inner)], rename={"url": name}, gc=False)
    decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(inner)
    decode = decoder.decode

    def pick(line: bytes) -> bytes | None:
        if not line or line.isspace():
            return b""
        try:
            found: Any = decode(line)
            while not isinstance(found, str):
                found = found.url
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):  # the last: deep nesting
            return None
        return as_bytes(found)

    def pick_all(lines: bytes, count: int) -> bytes | None:
        # If each line end is between "}" and "{", no record continues on the next line.
        if lines[:1] != b"{" or lines[-1:] != b"}" or lines.count(b"}\n{") != count - 1:
            return None
        try:
            records = decoder.decode_lines(lines)
            for _ in outer:
                records = [record.url for record in records]
            urls = "\n".join([record.url for record in records]).encode()
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            return None
        return urls if len(records) == count and urls.count(b"\n") == count - 1 else None

    return LinePicks(pick, all=pick_all)


def cdx_fields(first: bytes) -> tuple[bytes, list[str]]:
    """Return what separates the fields of CDX, and their names, given the legend if there is one.

    Names are those of CDX servers, such as ``statuscode``.
    """
    legend = CDX_LEGEND.fullmatch(first)
    mark, letters = (legend["mark"], legend["letters"]) if legend else (b" ", b"NbamskS")
    return mark, [_CDX.get(one, one) for one in letters.replace(mark, b"").decode()]


def of_cdx(first: bytes, _column: str | None) -> LinePicks:
    """Take the original URL: the field "a" of the legend, or the third field without a legend."""
    mark, names = cdx_fields(first)
    if "original" not in names:
        raise OSError("its legend names no field 'a', the original URL")
    pick = _field(mark, names.index("original"))
    is_legend = CDX_LEGEND.fullmatch  # also of an appended file
    return LinePicks(lambda line: b"" if is_legend(line) else pick(line), bool(is_legend(first)))


def of_cdxj(_first: bytes, _column: str | None) -> LinePicks:
    """Take the key "url" of the JSON after a line's key and timestamp."""
    of_json = of_jsonl(b"", None).one

    def pick(line: bytes) -> bytes | None:
        if line.startswith(b"!"):  # !OpenWayback-CDXJ 1.0, !meta
            return b""
        start = line.find(b" {")
        return of_json(line[start + 1 :]) if start >= 0 else (None if line else b"")

    return LinePicks(pick)


# A line of an access log in the common or combined format: who asked, when, and what for.
LOG_LINE = re.compile(
    rb'[^\n]*?\[[0-9]{1,2}/[A-Za-z]{3}/[0-9]{4}:[^\]"\n]*\] "(?P<request>(?:[^"\\\n]|\\.)*)"'
)
_REQUEST = re.compile(rb"[A-Z]+ (?P<target>\S.*?)(?: HTTP/[0-9.]+)?")
# How Apache and nginx write quotes, backslashes and what cannot be printed.
_ESCAPED = re.compile(rb'\\(?:x([0-9A-Fa-f]{2})|(["\\]))')
_ORIGIN = re.compile(r"(https?://[^/?#\\\s]+)(?:[/?#].*)?", re.IGNORECASE)


def origin_of(base: str) -> str | None:
    """Return the beginning of a URL, up to its path; None if it is none of the web."""
    found = _ORIGIN.fullmatch(base)
    return None if found is None else found[1]


def of_log(_first: bytes, base: str | None) -> LinePicks:
    """Take the target of the request, which is a path of the base's site or a whole URL.

    A path is appended to the site, not resolved as a reference, since ``//x`` is a path there
    (RFC 9112, sections 3.2 and 3.3). Other targets, such as that of CONNECT, are no URLs.
    """
    origin = (origin_of(base or "") or "").encode()

    def pick(line: bytes) -> bytes | None:
        if not line or line.isspace():
            return b""
        found = LOG_LINE.match(line)
        request = found and _REQUEST.fullmatch(found["request"])
        if not request:
            return None
        target = _ESCAPED.sub(_unescaped, request["target"])
        if target.startswith(b"/"):
            return origin + target
        return target if b"://" in target else None

    return LinePicks(pick)


def _unescaped(found: re.Match[bytes]) -> bytes:
    return found[2] or bytes.fromhex(found[1].decode())
