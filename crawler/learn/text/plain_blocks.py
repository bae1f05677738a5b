"""Read the blocks of a page in plain Python; returns the same bytes as the compiled `_blocks`.

The visible text of a page is a sequence of blocks. Each has a *place*, the path of tags with their
classes in which it stands, and a *text*: the text between two tags, cut at the end of a sentence
or of a line of ``<pre>``, and after sixteen words. So a clock in a long paragraph changes one
block, not the page. An image is a block: its source without the query. Link targets are ignored.
"""

import re
from array import array
from typing import Protocol

VERSION = 1  # as in the compiled kernel; raise both when the output changes
MOST = 4096  # blocks; the rest of a page becomes one more

_64 = 0xFFFFFFFFFFFFFFFF
_M = 0x9E3779B97F4A7C15
_DEPTH = 6  # tags that make a place
_MOST_OPEN = 64  # tags that are remembered
_WORDS = 16
_LONGEST = 64  # bytes of a tag's name; no real tag is longer
_LONG = 48  # bytes of a word; longer ones are split, since some scripts have no spaces
_NAME = re.compile(rb"[A-Za-z][0-9A-Za-z-]*")
_CLASS = re.compile(rb"(?i)\sclass\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s>]+))")
_SOURCE = re.compile(rb"(?i)\ssrc\s*=\s*(?:\"([^\"?#]*)|'([^'?#]*)|([^\s>?#]+))")
_TAG_END = re.compile(rb"(?:[^\"'>]|\"[^\"]*\"|'[^']*')*>")
_DIGIT = re.compile(rb"[0-9]")
_WORD = re.compile(rb"[^ \t\n\r\f]+")
_WORD_OR_LINE = re.compile(rb"[^ \t\n\r\f]+|\n")
_HIDDEN = {
    name: re.compile(b"(?i)</" + name) for name in (b"script", b"style", b"noscript", b"template")
}
_VOID = frozenset(b"area base br col embed hr img input link meta param source track wbr".split())
# A start tag of these closes an open element of the same name.
_CLOSED_BY_NEXT = frozenset(b"li p tr td th dt dd option".split())


def hash_of(text: bytes, seed: int = 0) -> int:
    """Return a 64-bit hash of bytes; the seed chains it to an earlier hash."""
    mixed = (seed ^ len(text)) * _M & _64
    for at in range(0, len(text), 8):
        mixed = (mixed ^ int.from_bytes(text[at : at + 8], "little")) * _M & _64
        mixed ^= mixed >> 32
    return mixed


def read(body: bytes, markup: bool) -> bytes:  # noqa: FBT001 - as the compiled function
    """Return the blocks of a body: for each its place and its text, 32 bits each.

    Args:
        body: the bytes, in any encoding that extends ASCII.
        markup: True for HTML and XML, False for plain text.
    """
    page = _Page(in_lines=not markup)
    scan(body, page, markup=markup)
    return page.encoded()


class VisibleText(Protocol):
    """Takes the visible text of a body, and the elements around it, in document order."""

    def open(self, tag: bytes, inside: bytes, /) -> None:
        """Enter an element, whose name is in lower case; void elements are left out."""

    def close(self, tag: bytes, /) -> None:
        """Take an end tag, which may have no start."""

    def add(self, text: bytes, /) -> None:
        """Take the text between two tags."""

    def add_image(self, source: bytes, /) -> None:
        """Take the source of an image, without its query; ``data:`` URLs are left out."""


def scan(body: bytes, page: VisibleText, *, markup: bool) -> None:
    """Pass the visible text of a body to a page.

    Args:
        body: the bytes, in any encoding that extends ASCII.
        page: takes the text.
        markup: True for HTML and XML, False for plain text.
    """
    at = 0
    while at < len(body):
        start = body.find(b"<", at) if markup else -1
        if start < 0:
            page.add(body[at:])
            break
        page.add(body[at:start])
        at = _after_markup(body, start, page)


def _after_markup(body: bytes, at: int, page: VisibleText) -> int:
    """Return where the text continues after a ``<``: after a tag, a comment, or hidden text."""
    is_end = body[at + 1 : at + 2] == b"/"
    name = _NAME.match(body, at + 1 + is_end)
    if name is None:
        return _after_other_markup(body, at)
    tag = name[0][:_LONGEST].lower()
    ending = _TAG_END.match(body, name.end())
    end = ending.end() if ending is not None else body.find(b">", name.end()) + 1 or len(body)
    if is_end:
        page.close(tag)
        return end
    inside = body[name.end() : end]
    if tag in _HIDDEN:
        hidden_until = _HIDDEN[tag].search(body, end)
        return len(body) if hidden_until is None else hidden_until.start()
    if tag == b"img" and (source := _image_source(inside)):
        page.add_image(source)
    if tag not in _VOID and not inside.endswith(b"/>"):
        page.open(tag, inside)
    return end


def _image_source(inside: bytes) -> bytes:
    """Return the source of an image without its query; b"" if there is none to compare."""
    found = _SOURCE.search(inside)
    source = b"" if found is None else found[found.lastindex or 0]
    return b"" if source.lower().startswith(b"data:") else source


def _after_other_markup(body: bytes, at: int) -> int:
    """Return where the text continues after a ``<`` that begins no tag."""
    if body.startswith(b"<![CDATA[", at):
        return at + 9
    is_comment = body.startswith(b"<!--", at)
    if not is_comment and body[at + 1 : at + 2] not in {b"!", b"?", b"/"}:
        return at + 1
    ending = b"-->" if is_comment else b">"
    found = body.find(ending, at + 2 * is_comment)
    return len(body) if found < 0 else found + len(ending)


class _Page:
    """The open elements of a page, and its blocks so far."""

    def __init__(self, *, in_lines: bool) -> None:
        self._is_plain = self._in_lines = in_lines
        self._open: list[tuple[bytes, int]] = []  # tags, and the hashes of tag and class
        self._place = 0
        self._blocks = array("I")
        self._rest = 0

    def open(self, tag: bytes, inside: bytes) -> None:
        """Enter an element."""
        if tag in _CLOSED_BY_NEXT and self._open and self._open[-1][0] == tag:
            self._open.pop()
        if len(self._open) < _MOST_OPEN:
            found = _CLASS.search(inside)
            name = b"" if found is None else found[found.lastindex or 0]
            kind = _DIGIT.split(name, maxsplit=1)[0]  # "post-17" equals "post-18"
            self._open.append((tag, hash_of(kind.strip(), hash_of(tag))))
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
        self._in_lines = self._is_plain or any(tag == b"pre" for tag, _mixed in self._open)
        for _tag, mixed in self._open[-_DEPTH:]:
            self._place = (self._place ^ mixed) * _M & _64
            self._place ^= self._place >> 29

    def add(self, text: bytes) -> None:
        """Add the text between two tags."""
        mixed = count = 0
        for found in (_WORD_OR_LINE if self._in_lines else _WORD).finditer(text):
            word = found[0]
            if word == b"\n":
                if count:
                    self._put(mixed)
                mixed = count = 0
                continue
            for at in range(0, len(word), _LONG):
                mixed = hash_of(word[at : at + _LONG], mixed)
                count += 1
                if count == _WORDS or (at + _LONG >= len(word) and word[-1:] in b".!?"):
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
        """Return the blocks; everything beyond the limit is one block."""
        if self._rest:
            self._blocks.extend((0, self._rest >> 32))
        return self._blocks.tobytes()
