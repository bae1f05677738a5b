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

from canonry.crawler.documents.tokenizer import EMPTY, END, Token, values_in

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
_SENTENCE_ENDS = frozenset(b".!?")
_SPACES = b"\t\n\f\r "
_number = int.from_bytes
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
        name, content, mark = token
        if self._hidden:
            if mark == END and name == self._hidden:
                self._hidden = b""
        elif not name:
            self._text.add(content)
        elif mark == END:
            self._text.close(name[:_LONGEST])
        else:
            if name == b"img" and (source := _image_source(content)):
                self._text.add_image(source)
            if mark == EMPTY or name in _VOID:
                return
            if name in _HIDDEN:
                self._hidden = name
            else:
                self._text.open(name[:_LONGEST], _value_of(b"class", content))


def _value_of(name: bytes, attributes: bytes) -> bytes:
    """Return the value of an attribute; b"" if it has none."""
    if name in attributes.lower():
        for other, value in values_in(attributes):
            if other.lower() == name:
                return value
    return b""


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
        self._place, self._is_placed = 0, False
        self._blocks = array("I")
        self._rest = 0

    def open(self, tag: bytes, kind: bytes) -> None:
        """Enter an element."""
        if tag in _CLOSED_BY_NEXT and self._open and self._open[-1][0] == tag:
            self._open.pop()
        if len(self._open) < _MOST_OPEN:
            in_lines = tag == b"pre" or (bool(self._open) and self._open[-1][2])
            self._open.append((tag, _hash_of_element(tag, kind), in_lines))
        self._is_placed = False

    def close(self, tag: bytes) -> None:
        """Leave an element and the unclosed ones in it; ignore an end tag without a start."""
        for at in range(len(self._open) - 1, -1, -1):
            if self._open[at][0] == tag:
                del self._open[at:]
                self._is_placed = False
                return

    def add(self, text: bytes) -> None:
        """Add the text between two tags."""
        in_lines = self._is_plain or (bool(self._open) and self._open[-1][2])
        mixed = count = 0
        for word in (_WORD_OR_LINE if in_lines else _WORD).findall(text):
            if word == b"\n":
                if count:
                    self._put(mixed)
                mixed = count = 0
                continue
            last = len(word) & -8  # the last eight bytes are filled with a space, and zeros
            for at in range(0, last, 8):
                mixed = (mixed ^ _number(word[at : at + 8], "little")) * _M & _64
                mixed ^= mixed >> 32
                count += at % _LONG == _LONG - 8
                if count == _WORDS:
                    self._put(mixed)
                    mixed = count = 0
            mixed = (mixed ^ _number(word[last:] + b" ", "little")) * _M & _64
            mixed ^= mixed >> 32
            count += 1
            if count == _WORDS or word[-1] in _SENTENCE_ENDS:
                self._put(mixed)
                mixed = count = 0
        if count:
            self._put(mixed)

    def add_image(self, source: bytes) -> None:
        """Add an image by its source."""
        self._put(hash_of(source, 1))

    def _put(self, mixed: int) -> None:
        if not self._is_placed:
            self._is_placed, self._place = True, 0
            for _tag, element, _in_lines in self._open[-_DEPTH:]:
                self._place = (self._place ^ element) * _M & _64
                self._place ^= self._place >> 29
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
        mixed = (mixed ^ _number(text[at : at + 8], "little")) * _M & _64
        mixed ^= mixed >> 32
    return mixed


@lru_cache(maxsize=_REMEMBERED)
def _hash_of_element(tag: bytes, kind: bytes) -> int:
    """Return a hash of an element's name and class; "post-17" equals "post-18"."""
    found = _NOT_DIGITS.match(kind)
    return hash_of(b"" if found is None else found[0].strip(_SPACES), hash_of(tag))
