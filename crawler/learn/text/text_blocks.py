"""The blocks of an answer: its visible text, and where it stands; see `plain_blocks`."""

import sys
from collections.abc import Callable, Sequence
from functools import lru_cache

from canonry.crawler.learn.text import plain_blocks
from canonry.crawler.media_types import media_type

try:
    from canonry.crawler.learn.text import _blocks
except ImportError:  # installed without a C compiler: same blocks, slower
    _read: Callable[[bytes, bool], bytes] = plain_blocks.read
else:
    # A kernel compiled from another version of the source is ignored.
    _read = _blocks.read if _blocks.VERSION == plain_blocks.VERSION else plain_blocks.read

TextBlock = int  # 64 bits: half for the place, half for the text
_SHIFT = 0 if sys.byteorder == "little" else 32  # to the place, which is the first half in memory
_PLAIN = {"application/json", "application/javascript", "application/x-ndjson"}
_SNIFFED = 1024  # bytes of an answer without a content type
_REMEMBERED = 512  # decoded pages, since each is compared with several others


def blocks_of(body: bytes, content_type: str | None) -> bytes | None:
    """Return the blocks of a body, encoded; None if it is not text.

    Args:
        body: the body, decoded from its content encoding.
        content_type: the ``Content-Type`` header, as sent.
    """
    markup = is_markup(body, content_type)
    return None if markup is None else _read(body, markup)


def is_markup(body: bytes, content_type: str | None) -> bool | None:
    """Return True if a body is HTML or XML, False if it is other text, None if it is not text."""
    kind = media_type(content_type)
    if not kind:
        if not body or b"\0" in body[:_SNIFFED]:
            return None
        return body.lstrip()[:1] == b"<"
    if kind in {"text/html", "text/xml", "application/xml"} or kind.endswith("+xml"):
        return True
    return False if kind.startswith("text/") or kind in _PLAIN or kind.endswith("+json") else None


def decoded(blocks: bytes) -> Sequence[TextBlock]:
    """Return a view of encoded blocks as numbers, in their order."""
    return memoryview(blocks).cast("Q")


@lru_cache(maxsize=_REMEMBERED)
def block_set(blocks: bytes) -> frozenset[TextBlock]:
    """Return encoded blocks as a set."""
    return frozenset(decoded(blocks))


@lru_cache(maxsize=_REMEMBERED)
def places_in(blocks: bytes) -> frozenset[int]:
    """Return the places of encoded blocks."""
    return frozenset(memoryview(blocks).cast("I")[::2])


def place_of(block: TextBlock) -> int:
    """Return the place of a block."""
    return block >> _SHIFT & 0xFFFF_FFFF
