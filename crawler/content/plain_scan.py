"""Scanning a page for its sketch, in plain Python: what the compiled `_sketch` does, byte for byte.

Text is what stands outside tags, comments, scripts and styles. It is read as bytes in any encoding
that extends ASCII. A word is a run of ASCII letters, digits and bytes from 0x80 up. Words with a
digit are kept apart as *numbers*: prices, codes, dates, clocks and tokens. A *passage* is the words
that stand under tags of one kind: a tag's name, the last class before it, and which part of a page
began or ended last, such as a footer.
"""

import re
import struct
from array import array
from bisect import insort
from functools import lru_cache

VERSION = 6  # the compiled kernel has the same: raise both when what it gives changes
MOST_SHINGLES = 15
NUMBERS = 32  # buckets; the first one is for the numbers in headings
PASSAGES = 24  # buckets of four bits; each passage has two

_64 = 0xFFFFFFFFFFFFFFFF
_M = 0x9E3779B97F4A7C15
_K1, _K2, _K3 = 0xD6E8FEB86659FD93, 0xA0761D6478BD642F, 0xE7037ED1A0B428DB
_WORDS_IN_SHINGLE = 4
_FIRST_NUMBER = 1
_IN_HEADINGS = 64  # words of them that count
_NEXT = re.compile(rb"[0-9A-Za-z\x80-\xff]+|<")
_NEXT_PLAIN = re.compile(rb"[0-9A-Za-z\x80-\xff]+")
_DIGIT = re.compile(rb"[0-9]")
_NAME = re.compile(rb"[A-Za-z][0-9A-Za-z]*")
_SPACE = rb"[ \t\n\r\f]"
_NEXT_IN_TAG = re.compile(rb"[=>]")
_VALUE = re.compile(_SPACE + rb"*+(?:\"([^\"]*+)\"|'([^']*+)'|([^ \t\n\r\f>]*+))")
_PARTS = {
    *(b"article", b"aside", b"dl", b"footer", b"form", b"h1", b"h2", b"h3", b"h4", b"h5", b"h6"),
    *(b"header", b"main", b"nav", b"ol", b"section", b"table", b"ul"),
}
_LINKING = {b"a": b"href", b"img": b"src"}  # attributes
_HIDDEN = {
    name: re.compile(b"(?i)</" + name) for name in (b"script", b"style", b"noscript", b"template")
}
_WITHIN_PASSAGES = {*_HIDDEN, b"img"}  # tags that begin none


def scan(body: bytes, markup: bool) -> bytes:  # noqa: FBT001 - as the compiled function
    """Return the encoded sketch of a body.

    Args:
        body: the bytes.
        markup: True for HTML and XML, False for plain text.
    """
    text = _Text()
    _scan_all(body, text, markup=markup)
    return text.encoded()


def read(body: bytes, markup: bool) -> bytes:  # noqa: FBT001 - as the compiled function
    """Return the hashes of all that a body says, 32 bits each as the machine has them, in order.

    They are those of each word with the three before it, of each number with the word before it
    and with three, and of the names of images and of what is linked to.

    Args:
        body: the bytes.
        markup: as for `scan`.
    """
    text = _Reading()
    _scan_all(body, text, markup=markup)
    return text.read.tobytes()


def _scan_all(body: bytes, text: "_Text", *, markup: bool) -> None:
    """Give the words of a body to what keeps them, with its headings, passages and links."""
    at = 0
    search = (_NEXT if markup else _NEXT_PLAIN).search
    while (found := search(body, at)) is not None:
        start, at = found.span()
        if body[start] == ord("<"):
            at = _skip(body, start, text)
        elif not _is_entity(body, start, at):
            text.add(body[start:at].lower())


def _is_entity(body: bytes, start: int, end: int) -> bool:
    """Return True if a word is the name or the number of a character reference."""
    if body[end : end + 1] != b";":
        return False
    return body[max(start - 1, 0) : start] == b"&" or body[max(start - 2, 0) : start] == b"&#"


def _skip(body: bytes, at: int, text: "_Text") -> int:
    """Return where the text goes on after a ``<``: after a tag, a comment, or what is hidden."""
    after = body[at + 1 : at + 2]
    name = _NAME.match(body, at + 1 + (after == b"/"))
    if name is not None:
        return _skip_tag(body, name, text, is_end=after == b"/")
    if body.startswith(b"<!--", at):
        return _after(b"-->", body, at + 2)
    if body.startswith(b"<![CDATA[", at):
        return at + 9
    return _after(b">", body, at + 2) if after in {b"!", b"?", b"/"} else at + 1


def _after(ending: bytes, body: bytes, at: int) -> int:
    """Return where an ending ends; the end of the body if there is none."""
    found = body.find(ending, at)
    return len(body) if found < 0 else found + len(ending)


def _skip_tag(body: bytes, name: re.Match[bytes], text: "_Text", *, is_end: bool) -> int:
    """Return where the text goes on after the name of a tag."""
    kind = name[0].lower()
    at, style, places = _attributes(body, name.end(), _LINKING.get(kind, b""))
    if not is_end:
        for place in places:
            (text.add_image if kind == b"img" else text.add_link)(place)
    if at is None:
        return len(body)
    if kind in {b"title", b"h1"}:
        text.heading(kind, opened=not is_end)
    if style is not None and not is_end:
        text.style(style)
    if kind in _HIDDEN and not is_end:
        end_tag = _HIDDEN[kind].search(body, at)
        return len(body) if end_tag is None else end_tag.start()
    if kind not in _WITHIN_PASSAGES:
        text.passage(kind, is_end=is_end)
    return at


def _attributes(
    body: bytes, begin: int, linking: bytes
) -> tuple[int | None, bytes | None, list[bytes]]:
    """Return what a tag says after its name.

    Args:
        body: of the page.
        begin: where the name ends.
        linking: the name of the attribute that links, in lower case.

    Returns:
        Its end, None if it has none; the value of its last attribute ``class``; and of all that
        link.
    """
    style, places = None, list[bytes]()
    at = begin
    while (found := _NEXT_IN_TAG.search(body, at)) is not None:
        at = found.end()
        if found[0] == b">":
            return at, style, places
        value = _VALUE.match(body, at)
        quoted = value is not None and value[3] is None
        unclosed = value is not None and not quoted and value[3][:1] in {b'"', b"'"}
        if value is not None and not unclosed:
            said = value[value.lastindex or 0]
            named = at - 1 - len(linking)
            if linking and named >= begin and body[named : at - 1].lower() == linking:
                places.append(said)
            if at - 6 >= begin and body[at - 6 : at - 1].lower() == b"class":
                style = said
        if quoted and value is not None:
            at = value.end()
    return None, style, places


def _last_segment(url: bytes) -> bytes:
    """Return the last segment of a URL's path, in lower case, without parameters."""
    path = re.split(rb"[?#;]", url, maxsplit=1)[0]
    return path[path.rfind(b"/") + 1 :].lower()


@lru_cache(1 << 14)
def _hash(word: bytes) -> int:
    """Return the hash of a lower-cased word."""
    mixed = len(word) * _K3 & _64
    for at in range(0, len(word), 8):
        mixed = (mixed ^ int.from_bytes(word[at : at + 8], "little")) * _M & _64
        mixed ^= mixed >> 32
    return mixed


def _mix(x: int) -> int:
    """Return 64 mixed bits, of which the high ones are the best."""
    return (x ^ x >> 32) * _M & _64


def _passage(tag: int, style: int, part: int) -> tuple[int, tuple[int, int]]:
    """Return the hash of a kind of passages, and their two buckets."""
    label = _mix(_mix(tag + style * _K1 + part * _K2 & _64))
    first = (label >> 32) * PASSAGES >> 32
    second = (label & 0xFFFFFFFF) * (PASSAGES - 1) >> 32
    return label, (first, second + (second >= first))


class _Text:
    """The words of a page, as they come, and what the sketch keeps of them."""

    def __init__(self) -> None:
        self._words = (0, 0, 0, 0)
        self._count = 0
        self._run = 0  # hash of the numbers directly before
        self._text = 0
        self._numbers = bytearray(NUMBERS)
        self._links = 0
        self._style = self._part = 0  # hashes of the last class, and of the last tag of a part
        self._passages = bytearray(PASSAGES)
        self._passage, self._places = _passage(0, 0, 0)
        self._shingles: list[int] = []
        self._whole = True
        self._heading = 0
        self._in_heading = 0  # words of it that still count
        self._seen: set[bytes] = set()

    def heading(self, kind: bytes, *, opened: bool) -> None:
        """Note the start or the end of a title or an h1; only the first of each counts."""
        self._in_heading = _IN_HEADINGS if opened and kind not in self._seen else 0
        if opened:
            self._seen.add(kind)

    def style(self, value: bytes) -> None:
        """Note the value of an attribute ``class``; ``post-17`` is as ``post-18``."""
        self._style = _hash(_DIGIT.split(value, maxsplit=1)[0].lower())

    def passage(self, kind: bytes, *, is_end: bool) -> None:
        """Note that a passage begins with a tag, and perhaps a part of the page."""
        tag = _hash(kind) + is_end
        if kind in _PARTS:
            self._part = tag
        self._passage, self._places = _passage(tag, self._style, self._part)

    def add(self, word: bytes) -> None:
        """Add a word, lower-cased."""
        mixed = _hash(word)
        in_heading = self._in_heading > 0
        if in_heading:
            self._in_heading -= 1
        if _DIGIT.search(word):
            self._run = _mix(mixed + self._run & _64)
            *_, b, c, d = self._words
            self._note(_mix(self._run + d & _64))
            self._note(_mix(b * _K3 + c * _K2 + d * _K1 + self._run & _64))
            self._add_number(self._run, self._bucket() if not in_heading else 0)
            self._add_to_passage(self._run)
            return
        self._run = 0
        self._text = (self._text ^ mixed) * _M & _64
        if in_heading:
            self._heading = (self._heading ^ mixed) * _M & _64
        self._add_to_passage(mixed)
        *_, b, c, d = self._words
        self._words = (b, c, d, mixed)
        self._count += 1
        shingle = _mix(b * _K3 + c * _K2 + d * _K1 + mixed & _64)
        self._note(shingle)
        if self._count >= _WORDS_IN_SHINGLE:
            self._add_shingle(shingle >> 40)

    def add_image(self, source: bytes) -> None:
        """Add an image: the last segment of its path is a number of the page."""
        if source[:5].lower() == b"data:":
            return
        if name := _last_segment(source):
            mixed = _mix(_hash(name))
            self._note(_mix(mixed + _K1 & _64))
            self._add_number(mixed, self._bucket())

    def add_link(self, target: bytes) -> None:
        """Add a link: the last segment of its path, in any order."""
        if name := _last_segment(target):
            mixed = _mix(_hash(name))
            self._note(_mix(mixed + _K2 & _64))
            self._links = (self._links + (mixed >> 56)) & 0xFF

    def _bucket(self) -> int:
        """Return the bucket of numbers after the last word."""
        label = _mix(self._words[3]) >> 32
        return _FIRST_NUMBER + (label * (NUMBERS - _FIRST_NUMBER) >> 32)

    def _add_number(self, mixed: int, bucket: int) -> None:
        self._numbers[bucket] = (self._numbers[bucket] + (mixed >> 56)) & 0xFF

    def _add_to_passage(self, mixed: int) -> None:
        added = _mix(mixed + self._passage & _64)
        for place, half in zip(self._places, (added >> 60, added >> 56), strict=True):
            self._passages[place] = self._passages[place] + half & 0xF

    def _note(self, mixed: int) -> None:
        """Note the hash of something that the page says; a sketch has no need of it."""

    def _add_shingle(self, shingle: int) -> None:
        kept = self._shingles
        if len(kept) == MOST_SHINGLES and shingle > kept[-1]:
            self._whole = False
        elif shingle not in kept:
            insort(kept, shingle)
            if len(kept) > MOST_SHINGLES:
                kept.pop()
                self._whole = False

    def encoded(self) -> bytes:
        """Return the encoded sketch."""
        first = len(self._shingles) | (0x80 if self._whole else 0)
        head = struct.pack(
            f">BII{NUMBERS}s{PASSAGES // 2}sB",
            first,
            self._heading >> 32,
            self._text >> 32,
            bytes(self._numbers),
            bytes.fromhex("".join(f"{half:x}" for half in self._passages)),
            self._links,
        )
        return head + b"".join(shingle.to_bytes(3) for shingle in self._shingles)


class _Reading(_Text):
    """The hashes of all that a page says, as they come."""

    def __init__(self) -> None:
        super().__init__()
        self.read = array("I")

    def _note(self, mixed: int) -> None:
        self.read.append(mixed >> 32)
