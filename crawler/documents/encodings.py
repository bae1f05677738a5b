"""Decode pages, and encode the queries of their links, by the Encoding Standard."""

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
_WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
# A page with a readable <meta> cannot be in these encodings; what to use instead (same section).
_META_INSTEAD = {"utf-16le": "utf-8", "utf-16be": "utf-8", "x-user-defined": "windows-1252"}
# Pages whose queries are sent as UTF-8 (Encoding Standard section 4.3, "get an output encoding").
_SENT_AS_UTF8 = frozenset({"utf-8", "utf-16le", "utf-16be", "replacement"})
_QUERY = re.compile(r"[^?#]*\?([^#]*)")
_BEYOND_ASCII = re.compile(r"[^\0-\x7f]+")
# Bytes that a query does not percent-encode (URL Standard, special-query percent-encode set).
_UNESCAPED = frozenset(range(0x21, 0x7F)) - frozenset(b"\"#<>'")


def _c1_controls(error: UnicodeError) -> tuple[str | bytes, int]:
    """Map the five bytes that windows-1252 leaves undefined to C1 control characters, and back.

    The Encoding Standard defines them so; Python's codec rejects them.
    """
    if isinstance(error, UnicodeDecodeError):
        return chr(error.object[error.start]), error.start + 1
    if isinstance(error, UnicodeEncodeError):
        return error.object[error.start].encode("latin-1"), error.start + 1
    raise error


codecs.register_error("canonry-c1", _c1_controls)


class DecodedText(NamedTuple):
    """A decoded body, and the name of its encoding in the Encoding Standard."""

    text: str
    encoding: str


def decode(body: bytes, content_type: str | None) -> DecodedText:
    """Decode a page by its byte order mark, header or <meta>; else as UTF-8 or windows-1252.

    Source: HTML Standard section 13.2.3; the labels are the Encoding Standard's.
    """
    for mark, name in _BOMS:
        if body.startswith(mark):
            return DecodedText(body[len(mark) :].decode(name, "replace"), name)
    if name := _declared(body, content_type):
        return DecodedText(_decode(body, name), name)
    try:
        return DecodedText(body.decode("utf-8"), "utf-8")
    except UnicodeDecodeError:
        return DecodedText(_decode(body, "windows-1252"), "windows-1252")


def encoded_in_utf8(body: bytes, content_type: str | None) -> tuple[bytes, str]:
    """Return a page in UTF-8, and the name of its original encoding.

    A page in UTF-8 is returned unchanged, so the caller has to replace invalid bytes.
    """
    if body.startswith(codecs.BOM_UTF8):
        return body[len(codecs.BOM_UTF8) :], "utf-8"
    if body.startswith(_WIDE):
        name = ""
    elif not (name := _declared(body, content_type)) and body.isascii():
        name = "utf-8"
    if name == "utf-8":
        return body, name
    text, name = decode(body, content_type)
    return (body if name == "utf-8" else text.encode("utf-8", "replace")), name


def _declared(body: bytes, content_type: str | None) -> str:
    """Return the encoding that the header or a <meta> declares; "" if none does."""
    header = _HEADER.search(content_type or "")
    name = _named(header[1]) if header else ""
    if not name and (meta := _META.search(body[:_PRESCAN])):
        name = _named(meta[1].decode("ascii"))
        name = _META_INSTEAD.get(name, name)
    return name


def _named(label: str) -> str:
    """Return the name of the encoding with a label; "" if there is none."""
    found = webencodings.lookup(label)
    return "" if found is None else str(found.name)


def _decode(body: bytes, name: str) -> str:
    """Decode with an encoding of the Encoding Standard."""
    if name == "windows-1252":
        return body.decode("cp1252", "canonry-c1")
    if name == "gbk":  # it is decoded as gb18030 (section 10.1)
        return body.decode("gb18030", "replace")
    text, _length = webencodings.lookup(name).codec_info.decode(body, "replace")
    return str(text)


def encode_query(reference: str, encoding: str) -> str:
    """Encode the query of a reference as a browser does on a page in this encoding.

    On a page in windows-1252, ``?q=é`` requests ``?q=%E9`` and not ``?q=%C3%A9``.

    Args:
        reference: as written in the page.
        encoding: the page's encoding, by its name in the Encoding Standard.

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
    """Percent-encode text; a character that the encoding lacks becomes a decimal reference."""
    escaped = []
    for character in text:
        try:
            encoded = _encode(character, encoding)
        except (UnicodeError, LookupError):
            escaped.append(f"%26%23{ord(character)}%3B")
            continue
        escaped += [chr(byte) if byte in _UNESCAPED else f"%{byte:02X}" for byte in encoded]
    return "".join(escaped)


def _encode(character: str, name: str) -> bytes:
    """Encode a character with an encoding of the Encoding Standard."""
    if name == "windows-1252":
        return character.encode(
            "cp1252", "canonry-c1" if "\x80" <= character < "\xa0" else "strict"
        )
    encoded, _length = webencodings.lookup(name).codec_info.encode(character, "strict")
    return bytes(encoded)
