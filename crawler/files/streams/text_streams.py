"""Texts of other systems, read as UTF-8 with line feeds: UTF-16, and carriage returns alone."""

import codecs
import re
from typing import Any

from canonry.crawler.compression import Stream

_LOOKED_AT = 4096  # bytes
# Excel's line above the names, which says what separates the columns.
_SEPARATOR = re.compile(rb"(?:\xef\xbb\xbf)?sep=.\r?\n", re.IGNORECASE)


def in_utf8(stream: Stream, looked_at: int = _LOOKED_AT) -> Stream:
    """Return the same content, or what it is in UTF-8 with line feeds.

    UTF-16 is known by its mark, or by a zero in each of its first characters. If the beginning has
    carriage returns and no line feed, these are the line ends. A first line ``sep=;`` is left out:
    Excel writes and reads it above a table.

    Args:
        stream: the content of a file.
        looked_at: bytes to wait for before the beginning is looked at. 1: what arrives first.
    """
    encoding = _encoding(stream.head(looked_at)[:_LOOKED_AT])
    if encoding is not None:
        stream = Stream(_Decoded(stream, encoding))
    head = stream.head(looked_at)[:_LOOKED_AT]
    if b"\r" in head[:-1] and b"\n" not in head and b"\0" not in head and head[:4] != b"PAR1":
        stream = Stream(_LineFeeds(stream))
    separator = _SEPARATOR.match(stream.head(looked_at)[:_LOOKED_AT])
    if separator is not None:
        stream.read1(separator.end())
    return stream


def _encoding(head: bytes) -> str | None:
    """Return the kind of UTF-16 that a text begins in, or None."""
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    first = head[:16]  # an ASCII letter has a zero before or after it
    if len(first) < 4 or len(first) % 2:  # noqa: PLR2004 - two characters
        return None
    if not any(first[1::2]) and all(first[::2]):
        return "utf-16-le"
    if not any(first[::2]) and all(first[1::2]):
        return "utf-16-be"
    return None


class _Decoded:
    """The content of a stream, in UTF-8."""

    def __init__(self, source: Stream, encoding: str) -> None:
        self._source = source
        self._decoder = codecs.getincrementaldecoder(encoding)("replace")

    def read1(self, size: int) -> bytes:
        """Return some bytes; b"" at the end."""
        while part := self._source.read1(size):
            if text := self._decoder.decode(part):
                return text.encode()
        return self._decoder.decode(b"", final=True).encode()


class _LineFeeds:
    """The content of a stream, with line feeds in the place of carriage returns."""

    def __init__(self, source: Any) -> None:  # noqa: ANN401 - they have read1 in common, and no type
        self._source = source

    def read1(self, size: int) -> bytes:
        """Return some bytes; b"" at the end."""
        return bytes(self._source.read1(size)).replace(b"\r", b"\n")
