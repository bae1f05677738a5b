"""Blocks: what the visible text of a page says, and where it stands.

The visible text of a page is a sequence of blocks. Each has a *place*, the path of tags with their
classes in which it stands, and a *text*: the text between two tags, cut at the end of a sentence
or of a line of ``<pre>``, and after sixteen words. So a clock in a long paragraph changes one
block, not the page. An image is a block: its source without the query. Link targets are ignored.
"""

import re
import sys
from array import array
from collections.abc import Sequence
from functools import lru_cache
from typing import Protocol

from canonry.crawler.documents.tokenizer import Token, values_in

TextBlock = int  # 64 bits: half for the place, half for the text
MOST = 4096  # blocks; the rest of a page becomes one more

_64 = 0xFFFFFFFFFFFFFFFF
_M = 0x9E3779B97F4A7C15
_DEPTH = 6  # tags that make a place
_MOST_OPEN = 64  # tags that are remembered
_WORDS = 16
_LONGEST = 64  # bytes of a tag's name; no real tag is longer
_LONG = 48  # bytes of a word; longer ones are split, since some scripts have no spaces
_WORD = re.compile(rb"[^\x00- ]+")
_WORD_OR_LINE = re.compile(rb"[^\x00- ]+|\n")
_SPACES = b"\t\n\f\r "
_NOT_DIGITS = re.compile(rb"[^0-9]*")
_SOURCE = re.compile(rb"[^?#]*")
_HIDDEN = frozenset(b"iframe noembed noframes noscript script style".split())
_VOID = frozenset(
    b"area base br col embed frame hr img input link meta param source track wbr".split()
)
# A start tag of these closes an open element of the same name.
_CLOSED_BY_NEXT = frozenset(b"li p tr td th dt dd option".split())
_SHIFT = 0 if sys.byteorder == "little" else 32  # to the place, which is the first half in memory
_REMEMBERED = 512  # decoded pages, since each is compared with several others


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


class VisibleText(Protocol):
    """Takes the visible text of a page, and the elements around it, in document order."""

    def open(self, tag: bytes, kind: bytes, /) -> None:
        """Enter an element that has content, of a class; its name is in lower case."""

    def close(self, tag: bytes, /) -> None:
        """Take an end tag, which may have no start."""

    def add(self, text: bytes, /) -> None:
        """Take the text between two tags."""

    def add_image(self, source: bytes, /) -> None:
        """Take the source of an image, without its query; ``data:`` URLs are left out."""


class Visible:
    """Passes what is visible of a page, without scripting, to a text."""

    def __init__(self, text: VisibleText) -> None:
        """Begin a page."""
        self._text = text
        self._hidden = b""  # the name of the element that hides what is in it

    def read(self, token: Token) -> None:
        """Read a token."""
        name = token.name
        if self._hidden:
            if token.is_end and name == self._hidden:
                self._hidden = b""
        elif not name:
            self._text.add(token.content)
        elif token.is_end:
            self._text.close(name[:_LONGEST])
        else:
            if name == b"img" and (source := _image_source(token.content)):
                self._text.add_image(source)
            if token.is_empty or name in _VOID:
                return
            if name in _HIDDEN:
                self._hidden = name
            else:
                self._text.open(name[:_LONGEST], _value_of(b"class", token.content))


def _value_of(name: bytes, attributes: bytes) -> bytes:
    """Return the value of an attribute; b"" if it has none."""
    return next((value for other, value in values_in(attributes) if other.lower() == name), b"")


def _image_source(attributes: bytes) -> bytes:
    """Return the source of an image without its query; b"" if there is none to compare."""
    found = _SOURCE.match(_value_of(b"src", attributes))
    source = b"" if found is None else found[0]
    return b"" if source.lower().startswith(b"data:") else source


class BlockWriter:
    """The open elements of a page, and its blocks so far."""

    def __init__(self, *, in_lines: bool = False) -> None:
        """Begin a page; in plain text, the end of a line ends a block."""
        self._is_plain = in_lines
        # The names of tags, the hashes of name and class, and whether they stand in <pre>.
        self._open: list[tuple[bytes, int, bool]] = []
        self._place = 0
        self._blocks = array("I")
        self._rest = 0

    def open(self, tag: bytes, kind: bytes) -> None:
        """Enter an element."""
        if tag in _CLOSED_BY_NEXT and self._open and self._open[-1][0] == tag:
            self._open.pop()
        if len(self._open) < _MOST_OPEN:
            found = _NOT_DIGITS.match(kind)  # "post-17" equals "post-18"
            kind = b"" if found is None else found[0].strip(_SPACES)
            in_lines = tag == b"pre" or (bool(self._open) and self._open[-1][2])
            self._open.append((tag, hash_of(kind, hash_of(tag)), in_lines))
        self._find_place()

    def close(self, tag: bytes) -> None:
        """Leave an element and the unclosed ones in it; ignore an end tag without a start."""
        for at in range(len(self._open) - 1, -1, -1):
            if self._open[at][0] == tag:
                del self._open[at:]
                self._find_place()
                return

    def _find_place(self) -> None:
        self._place = 0
        for _tag, mixed, _in_lines in self._open[-_DEPTH:]:
            self._place = (self._place ^ mixed) * _M & _64
            self._place ^= self._place >> 29

    def add(self, text: bytes) -> None:
        """Add the text between two tags."""
        in_lines = self._is_plain or (bool(self._open) and self._open[-1][2])
        mixed = count = 0
        for found in (_WORD_OR_LINE if in_lines else _WORD).finditer(text):
            if found[0] == b"\n":
                if count:
                    self._put(mixed)
                mixed = count = 0
                continue
            word = found[0] + b" "
            for at in range(0, len(word), 8):
                mixed = _mixed(mixed, word[at : at + 8])
                is_last = at + 8 >= len(word)
                count += is_last or (at + 8) % _LONG == 0
                if count == _WORDS or (is_last and word[-2] in b".!?"):
                    self._put(mixed)
                    mixed = count = 0
        if count:
            self._put(mixed)

    def add_image(self, source: bytes) -> None:
        """Add an image by its source."""
        self._put(hash_of(source, 1))

    def _put(self, mixed: int) -> None:
        if len(self._blocks) < 2 * MOST:
            self._blocks.extend((self._place >> 32, mixed >> 32))
        else:
            self._rest = (self._rest ^ mixed) * _M & _64

    def encoded(self) -> bytes:
        """Return the blocks, 32 bits each for place and text; those beyond the limit are one."""
        if self._rest:
            self._blocks.extend((0, self._rest >> 32))
        return self._blocks.tobytes()


def plain_text_blocks(body: bytes) -> bytes:
    """Return the blocks of a body that is plain text."""
    writer = BlockWriter(in_lines=True)
    writer.add(body)
    return writer.encoded()


def hash_of(text: bytes, seed: int = 0) -> int:
    """Return a 64-bit hash of bytes; the seed chains it to an earlier hash."""
    mixed = (seed ^ len(text)) * _M & _64
    for at in range(0, len(text), 8):
        mixed = _mixed(mixed, text[at : at + 8])
    return mixed


def _mixed(mixed: int, part: bytes) -> int:
    """Return a hash with at most 8 bytes added to it."""
    mixed = (mixed ^ int.from_bytes(part, "little")) * _M & _64
    return mixed ^ mixed >> 32
