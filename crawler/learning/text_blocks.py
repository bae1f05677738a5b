"""The blocks of an answer: what its visible text says, and where; see `plain_blocks`."""

from array import array
from collections.abc import Callable

from canonry.crawler.content.sketch import is_markup
from canonry.crawler.learning import plain_blocks

try:
    from canonry.crawler.learning import _blocks
except ImportError:  # Canonry was installed without a C compiler: the same blocks, but slower
    _read: Callable[[bytes, bool], bytes] = plain_blocks.read
else:
    # A kernel compiled from another version of the source is ignored.
    _read = _blocks.read if _blocks.VERSION == plain_blocks.VERSION else plain_blocks.read

TextBlock = int  # the place in the high 32 bits, the text in the low ones


def blocks_of(body: bytes, content_type: str | None) -> bytes | None:
    """Return the blocks of a body, encoded; None if it is not text.

    Args:
        body: the body, decoded from its content encoding.
        content_type: the ``Content-Type`` header, as sent.
    """
    markup = is_markup(body, content_type)
    return None if markup is None else _read(body, markup)


def decoded(blocks: bytes) -> tuple[TextBlock, ...]:
    """Return encoded blocks one by one, in their order."""
    words = array("I", blocks)
    return tuple([place << 32 | text for place, text in zip(words[::2], words[1::2], strict=True)])


def place_of(block: TextBlock) -> int:
    """Return the place of a block."""
    return block >> 32
