"""What of a page has changed, and what of that counts. Pure.

A page is remembered by the places of its text: for each one number that stands for all text there,
in any order. Text that changes by itself (a token, a clock, an advertisement) shows when the page
is asked twice in a row: that is a *control*. Text that becomes the same on many pages (the date,
the latest news) belongs to the frame of the site. Neither is a change of the page.
"""

import struct
from array import array
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from canonry.crawler.documents.text_blocks import decoded, place_of

MOST_PLACES = 128  # of one page; further text counts as one place more
_MOST_KEPT = 512  # places of a host whose text has changed
_BOTH = 2  # controls of a place
_SHARED = 3  # pages in a row with the same new text in one place, from which on it is shared
_FRAME = 4  # shared changes, and times as many as own ones, that make a place part of the frame
_LARGEST = 255
_ROW = struct.Struct("<I5BI")
_TEXT = 0xFFFF_FFFF


def folded(blocks: bytes) -> bytes:
    """Return the places of a page, each with a number for its text: 8 bytes each.

    Args:
        blocks: of its text, as `blocks_of` returns them.
    """
    texts: dict[int, int] = {}
    for block in decoded(blocks):
        place = place_of(block)
        if place not in texts and len(texts) >= MOST_PLACES:
            place = 0
        text = block ^ (block >> 32)  # the two halves are in an order that depends on the machine
        texts[place] = (texts.get(place, 0) + (text ^ place)) & _TEXT
    return _encoded(texts)


def folded_bytes(digest: bytes) -> bytes:
    """Return the same for a body that is no text: one place, which its digest stands for."""
    return _encoded({0: int.from_bytes(digest[:4], "little")})


def _encoded(texts: Mapping[int, int]) -> bytes:
    return array("I", [n for place in sorted(texts) for n in (place, texts[place])]).tobytes()


def _texts(places: bytes) -> dict[int, int]:
    numbers = memoryview(places).cast("I")
    return dict(zip(numbers[::2], numbers[1::2], strict=True))


def changed_places(before: bytes, after: bytes) -> dict[int, int]:
    """Return the places whose text differs, with the number of the new text; 0: it has gone."""
    if before == after:
        return {}
    old, new = _texts(before), _texts(after)
    return {
        place: new.get(place, 0) for place in old.keys() | new if old.get(place) != new.get(place)
    }


class PlaceRecord(NamedTuple):
    """What is known of a place whose text has changed."""

    stayed: int = 0  # in controls
    went: int = 0
    own: int = 0  # changes to a text that few pages have got
    shared: int = 0  # changes to a text that many have got
    pages: int = 0  # in a row that have changed to the latest text
    text: int = 0  # the number of that text

    @property
    def is_ignored(self) -> bool:
        """True if its changes are no changes of a page."""
        is_volatile = self.went > self.stayed * _BOTH
        return is_volatile or (self.shared >= _FRAME and self.shared > self.own * _FRAME)


class HostPlaces:
    """The places of a host's pages whose text has changed."""

    def __init__(self, encoded: bytes = b"") -> None:
        """Read what `encoded` returned."""
        self._places = {place: PlaceRecord(*rest) for place, *rest in _ROW.iter_unpack(encoded)}

    def encoded(self) -> bytes:
        """Return all that is known, 13 bytes for each place."""
        return b"".join(_ROW.pack(place, *record) for place, record in self._places.items())

    def counting(self, changed: Iterable[int]) -> list[int]:
        """Return those of some changed places that make a page another one."""
        return [one for one in changed if not self._of(one).is_ignored]

    def is_unsure(self, place: int) -> bool:
        """Return True if a control would say more about a place."""
        record = self._of(place)
        return record.stayed + record.went < _BOTH

    def note_control(self, places: Iterable[int], changed: Iterable[int]) -> None:
        """Note which of some places were other ones when a page was asked again at once."""
        went = set(changed)
        for place in went.union(places):
            record = self._of(place)
            is_gone = place in went
            self._put(
                place,
                record._replace(stayed=record.stayed + (not is_gone), went=record.went + is_gone),
            )

    def note_changes(self, changed: Mapping[int, int]) -> None:
        """Note the changes of a page: places, with numbers for their new texts."""
        for place, text in changed.items():
            record = self._of(place)
            pages = record.pages + 1 if text == record.text else 1
            own, shared = record.own, record.shared
            if pages < _SHARED:
                own += 1
            else:  # the first ones looked like own changes
                before = (_SHARED - 1) * (pages == _SHARED)
                own, shared = max(own - before, 0), shared + 1 + before
            pages = min(pages, _LARGEST)
            self._put(place, record._replace(own=own, shared=shared, pages=pages, text=text))

    def _of(self, place: int) -> PlaceRecord:
        return self._places.get(place, PlaceRecord())

    def _put(self, place: int, record: PlaceRecord) -> None:
        """Keep a record; numbers that grow too large are halved, so that what is new counts."""
        counts = record[:4]
        if max(counts) > _LARGEST:
            stayed, went, own, shared = (number // 2 for number in counts)
            record = record._replace(stayed=stayed, went=went, own=own, shared=shared)
        if place in self._places or len(self._places) < _MOST_KEPT:
            self._places[place] = record
