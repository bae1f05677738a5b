"""Encodings of pages, as the Encoding Standard has them; and of the queries in their links."""

import codecs
import re
from typing import NamedTuple

import webencodings

_HEADER = re.compile(r"""charset\s*=\s*["']?([^\s"';]+)""", re.IGNORECASE)
_META = re.compile(
    rb"""<meta[^>]{0,512}?charset\s*=\s*["']?\s*([A-Za-z0-9_:.\-]+)""", re.IGNORECASE
)
_PRESCAN = 1024  # bytes in which a <meta charset> counts (HTML Standard section 13.2.3.2)
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16le"),
    (codecs.BOM_UTF16_BE, "utf-16be"),
)
# What a <meta> cannot mean: it could be read (HTML Standard section 13.2.3.2).
_OF_META = {"utf-16le": "utf-8", "utf-16be": "utf-8", "x-user-defined": "windows-1252"}
# Encodings whose queries go as UTF-8 ("get an output encoding", Encoding Standard section 4.3).
_SENT_AS_UTF8 = frozenset({"utf-8", "utf-16le", "utf-16be", "replacement"})
_QUERY = re.compile(r"[^?#]*\?([^#]*)")
_BEYOND_ASCII = re.compile(r"[^\0-\x7f]+")
# What a query may show of an encoded character (URL Standard, special-query percent-encode set).
_SHOWN = frozenset(range(0x21, 0x7F)) - frozenset(b"\"#<>'")


def _of_its_own(error: UnicodeError) -> tuple[str | bytes, int]:
    """Take a byte that windows-1252 leaves open as the control character of its number, and back.

    So has the Encoding Standard; Python's codec refuses these five.
    """
    if isinstance(error, UnicodeDecodeError):
        return chr(error.object[error.start]), error.start + 1
    if isinstance(error, UnicodeEncodeError):
        return error.object[error.start].encode("latin-1"), error.start + 1
    raise error


codecs.register_error("canonry-open", _of_its_own)


class Text(NamedTuple):
    """A decoded body, and the name of its encoding in the Encoding Standard."""

    text: str
    encoding: str


def decode(body: bytes, content_type: str | None) -> Text:
    """Decode a page: by its byte order mark, its header, its <meta>, as UTF-8, as windows-1252.

    Source: HTML Standard section 13.2.3; the labels are the Encoding Standard's.
    """
    for mark, name in _BOMS:
        if body.startswith(mark):
            return Text(body[len(mark) :].decode(name, "replace"), name)
    header = _HEADER.search(content_type or "")
    name = _named(header[1]) if header else ""
    if not name and (meta := _META.search(body[:_PRESCAN])):
        name = _named(meta[1].decode("ascii"))
        name = _OF_META.get(name, name)
    if name:
        return Text(_decode(body, name), name)
    try:
        return Text(body.decode("utf-8"), "utf-8")
    except UnicodeDecodeError:
        return Text(_decode(body, "windows-1252"), "windows-1252")


def _named(label: str) -> str:
    """Return the encoding that a label stands for; "" for a label of none."""
    found = webencodings.lookup(label)
    return "" if found is None else str(found.name)


def _decode(body: bytes, name: str) -> str:
    """Decode by an encoding of the Encoding Standard."""
    if name == "windows-1252":
        return body.decode("cp1252", "canonry-open")
    if name == "gbk":  # its decoder is that of gb18030 (section 10.1)
        return body.decode("gb18030", "replace")
    text, _length = webencodings.lookup(name).codec_info.decode(body, "replace")
    return str(text)


def encode_query(reference: str, encoding: str) -> str:
    """Return a reference with its query as a browser sends it from a page of some encoding.

    In a page in windows-1252, ``?q=é`` asks for ``?q=%E9``, and not for ``?q=%C3%A9``.

    Args:
        reference: as written in the page.
        encoding: of the page, by its name in the Encoding Standard.

    Source: URL Standard, query state, "percent-encode after encoding".
    """
    if reference.isascii() or encoding in _SENT_AS_UTF8:
        return reference
    found = _QUERY.match(reference)
    if found is None or found[1].isascii():
        return reference
    start, end = found.span(1)
    query = _BEYOND_ASCII.sub(lambda part: _percent(part[0], encoding), found[1])
    return reference[:start] + query + reference[end:]


def _percent(text: str, encoding: str) -> str:
    """Percent-encode characters by an encoding; those that it lacks as decimal references."""
    shown = []
    for character in text:
        try:
            encoded = _encode(character, encoding)
        except (UnicodeError, LookupError):
            shown.append(f"%26%23{ord(character)}%3B")
            continue
        shown += [chr(byte) if byte in _SHOWN else f"%{byte:02X}" for byte in encoded]
    return "".join(shown)


def _encode(character: str, name: str) -> bytes:
    """Encode a character by an encoding of the Encoding Standard."""
    if name == "windows-1252":
        return character.encode(
            "cp1252", "canonry-open" if "\x80" <= character < "\xa0" else "strict"
        )
    encoded, _length = webencodings.lookup(name).codec_info.encode(character, "strict")
    return bytes(encoded)
