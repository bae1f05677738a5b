"""The seen set: of all claims of a key, exactly one is ever answered with "new"."""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import compress, repeat
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from canonry.storage.records import Admission
from canonry.storage.seen.key_rows import (
    LARGEST,
    MANY,
    ClaimTally,
    insert_keys,
    joined_keys,
    url_ids_of_keys,
)
from canonry.storage.sql import write_locks
from canonry.storage.sql.bulk import next_id
from canonry.storage.sql.row_ids import take_url_ids
from canonry.storage.sql.schema import url_rows

if TYPE_CHECKING:
    from canonry.storage.seen.bloom import KeyFilter

_RECENT = 1 << 17
_AT_ONCE = 100_000  # keys that the filter reads with each claim
_ADMISSION = partial(tuple.__new__, Admission)  # takes a fifth of the time of calling the class


class Recent:
    """An exact cache of the latest keys, bounded by keeping two generations of a dict."""

    def __init__(self, size: int = _RECENT) -> None:
        """Create an empty cache that holds up to twice ``size`` keys, and one batch."""
        self._size = size
        self._young: dict[bytes, int] = {}
        self._old: dict[bytes, int] = {}

    def update(self, answers: dict[bytes, int]) -> None:
        """Remember keys; when the young generation is full, the old one is dropped."""
        if len(self._young) + len(answers) > self._size:
            self._old, self._young = self._young, {}
        self._young.update(answers)

    @property
    def generations(self) -> tuple[dict[bytes, int], dict[bytes, int]]:
        """Return both generations, the young one first."""
        return self._young, self._old


def _first_of(wanted: Sequence[bytes], won: Mapping[bytes, int]) -> list[bool]:
    """Return for each key True if it was won and stands here for the first time."""
    news = [len(won) == len(wanted)] * len(wanted)
    if not won or news[0]:
        return news
    left = set(won)
    for place, key in enumerate(wanted):
        if key in left:
            left.remove(key)
            news[place] = True
    return news


class SeenSet:
    """Answers claims: first from recent keys, then from the filter, then from the table.

    The filter only saves look-ups; the table decides. A store of few URLs has none. It is filled
    from the table while claims are made, some keys with each, in the order of the keys. Keys beyond
    the last one that it has read are looked up in the table.

    Everything happens inside the caller's transaction, which holds the write lock or shares it.
    Call `committed` or `rolled_back` when it has ended.

    Of keys that other processes insert later, the filter knows none until one of them is claimed:
    then the table refuses a second row of it.
    """

    def __init__(self, newest: int) -> None:
        """Start without a filter.

        Args:
            newest: the largest ``urls.id``.
        """
        self.filter: KeyFilter | None = None
        self.tally = ClaimTally()
        self.newest = newest  # when the filter began: the keys up to it are read from the table
        self.read_up_to = b""  # the last key that the filter has read
        self._won = 0  # keys
        self._recent = Recent()
        self._fresh: dict[bytes, int] = {}  # answers of the open transaction

    def is_confirmed(self, connection: Connection) -> bool:
        """Return False if the table lacks a recent key, or has another URL for it."""
        met = {
            key: url_id
            for part in reversed(self._recent.generations)
            for key, url_id in part.items()
        }
        return url_ids_of_keys(connection, list(met)) == met

    def _read_on(self, connection: Connection) -> None:
        """Read some more keys of the table into the filter, unless it has them all."""
        if self.filter is None and self.newest + self._won >= MANY:
            from canonry.storage.seen.bloom import KeyFilter  # noqa: PLC0415 - loads NumPy

            self.newest = next_id(connection, url_rows) - 1
            self.filter = KeyFilter.for_keys(self.newest)
        if self.filter is not None and self.read_up_to != LARGEST:
            joined, end = joined_keys(connection, self.read_up_to, _AT_ONCE, self.newest)
            self.filter.add_joined(joined)
            self.read_up_to = end

    def claim(self, connection: Connection, wanted: Sequence[bytes]) -> list[Admission]:
        """Claim keys, in order.

        Args:
            connection: in a transaction that holds the write lock, or shares it. If it shares it,
                it must not be exclusive yet.
            wanted: 16-byte keys; of equal keys the first wins.

        Returns:
            One admission for each key. For a new key, the caller inserts its URL under the
            admission's ``url_id`` in the same transaction. New ids rise in the order of the keys.

        Raises:
            RuntimeError: if a transaction that shares the lock is exclusive already. Others may
                hold keys that it would wait for, while they wait for that.
        """
        if write_locks.is_shared(connection) and write_locks.is_exclusive(connection):
            raise RuntimeError("keys are claimed once in such a transaction, and first")
        self._read_on(connection)
        self.tally.claims += len(wanted)
        distinct = dict.fromkeys(wanted)
        ids_by_key = self._look_up(connection, distinct)
        new = [key for key in distinct if key not in ids_by_key] if ids_by_key else list(distinct)
        won: dict[bytes, int] = {}
        if new:
            won = dict(zip(new, take_url_ids(connection, len(new)), strict=True))
            ids_by_key.update(won)
            others = self._insert(connection, won)
            ids_by_key.update(others)
            for key in others:
                del won[key]
            self._won += len(won)
        # If all are new, their ids are in the order of the keys already.
        ids = won.values() if len(won) == len(wanted) else map(ids_by_key.__getitem__, wanted)
        found = zip(ids, _first_of(wanted, won), repeat(None), strict=False)
        answers = list(map(_ADMISSION, found))
        if len(self._fresh) > _RECENT:  # the table has them, even before the commit
            self._fresh.clear()
        self._fresh.update(ids_by_key)
        return answers

    def _insert(self, connection: Connection, numbered: Mapping[bytes, int]) -> dict[bytes, int]:
        """Insert the keys that the table lacks; return the others, with the ids of their URLs."""
        others = insert_keys(connection, numbered)
        self.tally.passed -= sum(key <= self.read_up_to for key in others)
        if self.filter is not None:
            self.filter.add(list(numbered))  # bits that a rollback leaves do no harm
        return others

    def _look_up(self, connection: Connection, wanted: dict[bytes, None]) -> dict[bytes, int]:
        """Return the keys that are known, with the ids of their URLs."""
        ids_by_key: dict[bytes, int] = {}
        for memory in (
            *self._recent.generations,
            self._fresh,
        ):  # later answers replace earlier ones
            here = memory.keys() & wanted.keys()
            ids_by_key.update(zip(here, map(memory.__getitem__, here), strict=True))
        rest = [key for key in wanted if key not in ids_by_key] if ids_by_key else list(wanted)
        unread: list[bytes] = []
        if (last := self.read_up_to) != LARGEST:
            unread, rest = [key for key in rest if key > last], [key for key in rest if key <= last]
        doubtful = rest
        if self.filter is not None:
            doubtful = list(compress(rest, self.filter.perhaps(rest)))
        found = url_ids_of_keys(connection, doubtful)
        self.tally.passed += len(rest) - len(doubtful)
        self.tally.wrong += len(doubtful) - len(found)
        ids_by_key.update(found)
        ids_by_key.update(url_ids_of_keys(connection, unread))
        return ids_by_key

    def committed(self) -> None:
        """Keep what was claimed: the transaction was committed."""
        self._recent.update(self._fresh)
        self.rolled_back()

    def rolled_back(self) -> None:
        """Drop what was claimed: the transaction was rolled back."""
        self._fresh.clear()
