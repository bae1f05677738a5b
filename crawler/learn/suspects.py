"""Suspects: pages under unlike paths that share text which no other pages of the site have. Pure.

Each group of them is found by some of this text, so a page costs as much on a site of any size.
"""

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from canonry.canon.syntax import Parts
from canonry.crawler.documents.text_blocks import TextBlock, block_set, place_of, places_in
from canonry.crawler.learn.rules.loose_forms import loose_path

Blocks = frozenset[TextBlock]

FEWEST = 3  # unlike paths
SIZES = 128  # bytes by which the bodies of one wall differ at most, with their tokens and names
_FEW = 64  # blocks
_NEVER = 1 << 62
_SUSPECTED = 128  # groups of suspects of a site that are watched at once
# Bytes of blocks, 8 each: walls have little text, and servers to try things with have less.
SMALLEST, _LARGEST = 8 * 3, 8 * 256
# Of a group: suspects, bytes of their blocks, and paths that are counted.
_KEPT, _MOST_BYTES, _MOST_PATHS = 300, 64_000, 1_000
_BYTES_OF_GROUP, _BYTES_OF_SUSPECT = 2_500, 300  # approximate, without their blocks
# Pages of other kinds that are remembered; while there are fewer, each of the first answers is
# looked at, and then one of so many.
_OTHERS, _ALL, _EVERY = 12, 500, 50


class AnsweredPage(NamedTuple):
    """The text of a page that answered 200."""

    url: str
    url_id: int
    encoded: bytes  # its blocks
    size: int  # bytes of the body

    @property
    def blocks(self) -> Blocks:
        """Its blocks, as a set."""
        return block_set(self.encoded)

    @property
    def kind(self) -> int:
        """A hash of the places of its text: pages of a template have the same, and walls."""
        return hash(places_in(self.encoded))


@dataclass(slots=True)
class Suspects:
    """Pages of one kind under unlike paths, and the questions about them."""

    first: AnsweredPage
    sketch: tuple[tuple[int, TextBlock], ...]  # under which they are found
    common: Blocks | None = None  # blocks in all of them; None: there is one
    kept: list[AnsweredPage] = field(default_factory=list)
    bytes: int = 0  # of their blocks
    paths: set[int] = field(default_factory=set)
    ask_at: int = FEWEST  # so many paths
    # The answers so far, by the URLs of the questions; None: no page.
    missing: dict[str, AnsweredPage | None] = field(default_factory=dict)
    again: dict[str, AnsweredPage | None] = field(default_factory=dict)
    other: dict[str, AnsweredPage | None] = field(default_factory=dict)
    awaited: set[str] = field(default_factory=set)
    before: AnsweredPage | None = None  # the page in `other`, as it was known

    @property
    def shared(self) -> Blocks:
        """The blocks that all of them have."""
        return self.first.blocks if self.common is None else self.common

    @property
    def changing(self) -> frozenset[int]:
        """The places that differ in two answers of the first, if these are of one kind."""
        [again] = self.again.values()
        is_alike = again is not None and again.kind == self.first.kind
        return places(self.first.blocks ^ again.blocks) if again and is_alike else frozenset()

    def has_room_for(self, answer: AnsweredPage, elsewhere: Blocks) -> bool:
        """Return True if a page has text in common with all of them that is not elsewhere."""
        is_alike = abs(self.first.size - answer.size) <= SIZES
        return is_alike and not self.shared & answer.blocks <= elsewhere

    def add(self, answer: AnsweredPage) -> None:
        """Add a page."""
        if answer.url != self.first.url:
            self.common = self.shared & answer.blocks
        if len(self.paths) < _MOST_PATHS:
            self.paths.add(hash(path_of(answer)))
        if len(self.kept) < _KEPT and self.bytes < _MOST_BYTES:
            self.kept.append(answer)
            self.bytes += len(answer.encoded)


class SuspectGroups:
    """The groups of suspects of one site, and some pages that show its frame."""

    def __init__(self) -> None:
        """Start without any."""
        self._suspects: OrderedDict[int, Suspects] = OrderedDict()  # the latest at the end
        self._by_sketch: dict[tuple[int, TextBlock], Suspects] = {}  # by kind and hashes of text
        self._texts: dict[int, Blocks] = {}  # what `elsewhere` has found
        self._first: list[AnsweredPage] = []  # the first pages of the first kind
        self._frame: Blocks = frozenset()  # text of its pages, as long as there is no other kind
        self._others: OrderedDict[int, AnsweredPage] = OrderedDict()  # one of each kind

    @property
    def size(self) -> int:
        """The approximate memory that they take, in bytes."""
        groups = self._suspects.values()
        kept = sum(one.bytes + _BYTES_OF_SUSPECT * len(one.kept) for one in groups)
        return kept + _BYTES_OF_GROUP * len(self._suspects)

    def shrink(self, most_bytes: int) -> None:
        """Forget the oldest groups, so that no more memory is taken than this."""
        while self._suspects and self.size > most_bytes:
            self.drop(next(iter(self._suspects.values())))

    def of_kind(self, kind: int) -> Iterator[Suspects]:
        """Yield the groups of a kind."""
        return (one for one in self._suspects.values() if one.first.kind == kind)

    def remember(self, answer: AnsweredPage, number: int) -> None:
        """Keep some pages of many kinds, to know the frame of the site; of late ones, a few."""
        is_turn = number % _EVERY == 0 or (number < _ALL and len(self._others) < _OTHERS)
        if is_turn and answer.kind not in self._others:
            self._others[answer.kind] = answer
            if len(self._others) > _OTHERS:
                self._others.popitem(last=False)
            self._texts.clear()
        if len(self._first) < FEWEST and all(one.kind == answer.kind for one in self._first):
            self._first.append(answer)
            if len(self._first) == FEWEST:
                self._note_frame()

    def _note_frame(self) -> None:
        """Note what the first pages have in common, if each has text of its own besides."""
        every = [one.blocks for one in self._first]
        common = every[0].intersection(*every)
        if all(blocks > common for blocks in every):
            self._frame = common
            self._texts.clear()

    def are_of_template(self, found: Suspects) -> None:
        """Ask no more about suspects, which are pages of a template."""
        found.ask_at = _NEVER
        if found.first.kind == self._first[0].kind:
            self._frame |= found.shared
            self._texts.clear()
            self.drop(found)

    def group_of(self, answer: AnsweredPage) -> Suspects | None:
        """Return the group that shares some text of its own with a page; add it where it is new.

        Text that pages share is found by the smallest and the largest of its hashes, which they
        are likely to have in common (Broder 1997).
        """
        if not SMALLEST <= len(answer.encoded) <= _LARGEST:
            return None
        elsewhere = self.elsewhere(answer.kind)
        own = answer.blocks - elsewhere
        # Tokens and clocks make a part of little text.
        ranked = [min(own), max(own)] if len(own) > _FEW else sorted(own)
        sketch = list(dict.fromkeys(ranked[:2] + ranked[-2:]))
        for one in sketch:
            found = self._by_sketch.get((answer.kind, one))
            if found is not None and found.has_room_for(answer, elsewhere):
                self._suspects.move_to_end(id(found))
                return found
        if not sketch:
            return None
        found = Suspects(answer, tuple((answer.kind, one) for one in sketch))
        self._suspects[id(found)] = found
        self._by_sketch |= dict.fromkeys(found.sketch, found)
        if len(self._suspects) > _SUSPECTED:
            self.drop(next(iter(self._suspects.values())))
        return found

    def drop(self, found: Suspects) -> None:
        """Forget a group of suspects."""
        self._suspects.pop(id(found), None)
        for one in found.sketch:
            if self._by_sketch.get(one) is found:
                del self._by_sketch[one]

    def other_than(self, found: Suspects) -> AnsweredPage | None:
        """Return a page of another kind, or with other text if there is one kind; None if none."""
        kind = found.first.kind
        for other in reversed(self._others):
            if other != kind:
                return self._others[other]
        own = found.shared - self.elsewhere(kind)
        is_other = bool(self._frame) and own.isdisjoint(self._first[0].blocks)
        return self._first[0] if is_other else None

    def elsewhere(self, kind: int) -> Blocks:
        """Return the text of some pages that are not of a kind; the frame, if there is only one."""
        if kind not in self._others:
            kind = 0  # the same text for all such kinds
        if (found := self._texts.get(kind)) is None:
            others = [other.blocks for one, other in self._others.items() if one != kind]
            found = self._texts[kind] = (
                frozenset[TextBlock]().union(*others) if others else self._frame
            )
        return found


def places(blocks: Blocks) -> frozenset[int]:
    """Return the places of blocks."""
    return frozenset(map(place_of, blocks))


def path_of(answer: AnsweredPage) -> str:
    """Return the path of a page, without what learned rules may change."""
    return loose_path(Parts.of(answer.url).path)
