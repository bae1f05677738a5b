"""The sketch of a page: what its visible text says, in 99 bytes at most."""

import struct
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from canonry.crawler.content.plain_scan import (
    MOST_SHINGLES,
    NUMBERS,
    PASSAGES,
    VERSION,
    read,
    scan,
)

try:
    from canonry.crawler.content import _sketch
except ImportError:  # Canonry was installed without a C compiler: the same sketches, but slower
    _scan: Callable[[bytes, bool], bytes] = scan
    _read: Callable[[bytes, bool], bytes] = read
else:
    # A kernel compiled from another version of the source is ignored.
    _is_current = _sketch.VERSION == VERSION
    _scan = _sketch.scan if _is_current else scan
    _read = _sketch.read if _is_current else read

_HEAD = struct.Struct(f">BII{NUMBERS}s")
_WORDS = struct.calcsize(">BI")  # where the hash of all words stands, ...
_NUMBERS = struct.calcsize(">BII")  # ... and where numbers do
_NO_HEADING = bytes(4)
_FLAG = 0x80  # of a sketch that is whole
WHOLE = 0xFFFFFF  # the largest shingle that there may be
_PLAIN = {"application/json", "application/javascript", "application/x-ndjson"}
_SNIFFED = 1024  # bytes of an answer without a content type


class Sketch(NamedTuple):
    """The sketch of a page."""

    shingles: tuple[int, ...]  # the smallest hashes of four words in a row, ascending; 24 bits
    whole: bool  # True if the page has no other shingles than these
    numbers: bytes  # for each bucket, a sum of hashes; the first one is for the headings
    heading: int  # hash of the words of <title> and <h1>
    text: int  # hash of all words without a digit
    passages: str  # for each bucket, a sum of hashes of words, in hexadecimal; "" before version 4
    links: bytes  # one sum of hashes, of the last segments that links lead to; empty before

    @property
    def end(self) -> int:
        """Up to which hash the shingles are all that the page has."""
        return WHOLE if self.whole else self.shingles[-1]

    def encode(self) -> bytes:
        """Return the sketch as the store keeps it, in 99 bytes at most."""
        first = len(self.shingles) | (_FLAG if self.whole else 0)
        head = _HEAD.pack(first, self.heading, self.text, self.numbers)
        shingles = b"".join(shingle.to_bytes(3) for shingle in self.shingles)
        return head + bytes.fromhex(self.passages) + self.links + shingles

    @classmethod
    @lru_cache(maxsize=256)  # a page is compared with several others
    def decode(cls, encoded: bytes) -> "Sketch":
        """Return the sketch that `encode` was called on, now or by an earlier version."""
        first, heading, text, numbers = _HEAD.unpack_from(encoded)
        begin = _where_shingles_begin(encoded)
        added = encoded[_HEAD.size : begin]
        passages, links = added[: PASSAGES // 2].hex(), added[PASSAGES // 2 :]
        padded = bytearray((len(encoded) - begin) // 3 * 4)  # four bytes each: read at once
        for place in (1, 2, 3):
            padded[place::4] = encoded[begin + place - 1 :: 3]
        shingles = struct.unpack(f">{len(padded) // 4}I", padded)
        return cls(shingles, first >= _FLAG, numbers, heading, text, passages, links)


def without_details(encoded: bytes) -> bytes:
    """Return what an encoded sketch says of heading and shingles, without numbers and words."""
    return encoded[:_WORDS] + encoded[_where_shingles_begin(encoded) :]


def words_of(encoded: bytes) -> bytes:
    """Return what an encoded sketch says of heading and words; pages that share it say the same."""
    return encoded[1:_NUMBERS]


def _where_shingles_begin(encoded: bytes) -> int:
    """Return where the shingles begin: after passages and links, if there are any."""
    after = _HEAD.size + PASSAGES // 2 + 1
    return after if (len(encoded) - after) % 3 == 0 else _HEAD.size


def has_heading(encoded: bytes) -> bool:
    """Return True if the page of an encoded sketch has words in its title or first heading."""
    return encoded[1:_WORDS] != _NO_HEADING


def sketch(body: bytes, content_type: str | None) -> Sketch | None:
    """Return the sketch of a body; None if it is not text.

    Args:
        body: the body, decoded from its content encoding.
        content_type: the ``Content-Type`` header, as sent.
    """
    encoded = encoded_sketch(body, content_type)
    return None if encoded is None else Sketch.decode(encoded)


def encoded_sketch(body: bytes, content_type: str | None) -> bytes | None:
    """Return the sketch of a body as the store keeps it; None if it is not text."""
    markup = is_markup(body, content_type)
    return None if markup is None else _scan(body, markup)


def hashes_of(body: bytes, content_type: str | None) -> bytes | None:
    """Return the hashes of all that a body says, for a `PageReading`; None if it is not text."""
    markup = is_markup(body, content_type)
    return None if markup is None else _read(body, markup)


def is_markup(body: bytes, content_type: str | None) -> bool | None:
    """Return True if a body is HTML or XML, False if it is other text, None if it is none."""
    kind = (content_type or "").partition(";")[0].strip().lower()
    if not kind:
        if not body or b"\0" in body[:_SNIFFED]:
            return None
        return body.lstrip()[:1] == b"<"
    if kind in {"text/html", "text/xml", "application/xml"} or kind.endswith("+xml"):
        return True
    return False if kind.startswith("text/") or kind in _PLAIN or kind.endswith("+json") else None


__all__ = [
    "MOST_SHINGLES",
    "WHOLE",
    "Sketch",
    "encoded_sketch",
    "has_heading",
    "hashes_of",
    "is_markup",
    "sketch",
    "without_details",
]
