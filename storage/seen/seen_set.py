"""The seen set: of all claims of a key, exactly one is ever answered with "new"."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import repeat

from sqlalchemy import Connection, select
from sqlalchemy.exc import IntegrityError

from canonry.storage.records import Admission
from canonry.storage.seen.bloom import FIRST_CAPACITY, KeyFilter
from canonry.storage.seen.claim_tally import ClaimTally
from canonry.storage.seen.key_rows import found_rows, insert_beside, rows_of_keys
from canonry.storage.sql import write_locks
from canonry.storage.sql.bulk import insert_rows, next_id
from canonry.storage.sql.row_ids import take_ids
from canonry.storage.sql.schema import keys, urls

_RECENT = 1 << 17
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


class SeenSet:
    """Answers claims: first from recent keys, then from the filter, then from the table.

    The filter only saves look-ups; the table decides. Everything happens inside the caller's
    transaction, which holds the write lock or shares it. Call `committed` or `rolled_back` when it
    has ended.

    Beside others, ids of keys are not committed in their order. So there are two marks: up to
    `known_up_to` the filter holds every key. Up to `_read_up_to` it may lack keys that were
    committed late; a claim of one of them finds it in the table.
    """

    def __init__(
        self, key_filter: KeyFilter, known_up_to: int, wrong: Callable[[], None] = lambda: None
    ) -> None:
        """Start with a filter that holds every key with ``keys.id <= known_up_to``.

        Args:
            key_filter: the filter.
            known_up_to: that id.
            wrong: called if the filter turns out to lack keys of the table, before it is rebuilt.
        """
        self.filter = key_filter
        self.known_up_to = known_up_to
        self.tally = ClaimTally()
        self._wrong = wrong
        self._recent = Recent()
        self._fresh: dict[bytes, int] = {}  # answers of the open transaction
        self._wrote = False  # True if the open transaction inserted keys
        self._read_up_to = known_up_to
        self._is_ahead = False  # True if the filter may hold keys after the marks
        self._last_id: int | None = None  # of the open transaction, if nobody's ids are between

    def catch_up(self, connection: Connection) -> Iterator[int]:
        """Add the keys that other processes inserted; yield their number after each batch."""
        is_alone = not write_locks.is_beside(connection)
        is_ahead = self._is_ahead or self.known_up_to < self._read_up_to
        mark = self.known_up_to if is_alone else self._read_up_to
        rows = connection.execute(
            select(keys.c.id, keys.c.key).where(keys.c.id > mark).order_by(keys.c.id)
        )
        for part in rows.partitions(50_000):
            found = [key for _id, key in part]
            if is_ahead:
                perhaps = self.filter.perhaps(found)
                found = [key for key, has in zip(found, perhaps, strict=True) if not has]
            self.filter.add(found)
            last = part[-1][0]
            # Alone, no smaller id can be committed later; nor if none is missing.
            if is_alone or (self.known_up_to == mark and last - mark == len(part)):
                self.known_up_to = last
            mark = self._read_up_to = last
            yield len(part)
        if is_alone:
            self._read_up_to = self.known_up_to
            self._is_ahead = False

    def claim(self, connection: Connection, wanted: Sequence[bytes]) -> list[Admission]:
        """Claim keys, in order.

        If the filter lacks a key of the table, the table refuses a second row of it. Then the
        filter is rebuilt from the table.

        Args:
            connection: in a transaction that holds the write lock, or shares it. If it shares it,
                it must not have the turn yet.
            wanted: 16-byte keys; of equal keys the first wins.

        Returns:
            One admission for each key; for a new one with the id of the row of its URL, which the
            caller inserts in the same transaction. These ids rise in the order of the keys.

        Raises:
            RuntimeError: a transaction that shares the lock has its turn. Others may wait for that,
                and have keys that this one would wait for.
        """
        if write_locks.is_beside(connection) and write_locks.has_turn(connection):
            raise RuntimeError("keys are claimed once in a transaction beside others, and first")
        try:
            return self._claim(connection, wanted)
        except IntegrityError:
            connection.exec_driver_sql("ROLLBACK TO claiming")
            self._wrong()
            self._rebuild(connection)
            return self._claim(connection, wanted)

    def _rebuild(self, connection: Connection) -> None:
        """Make the filter anew from all rows of the table, those of this transaction, too."""
        newest = next_id(connection, keys) - 1
        self.filter = KeyFilter(first_capacity=max(FIRST_CAPACITY, 2 * newest))
        rows = connection.execute(select(keys.c.key))
        for part in rows.partitions(50_000):
            self.filter.add([key for (key,) in part])
        self._is_ahead = True  # of this transaction's own rows, which may be undone
        self._recent = Recent()
        self._fresh.clear()

    def _claim(self, connection: Connection, wanted: Sequence[bytes]) -> list[Admission]:
        """Claim keys, if the filter holds all keys of the table up to the first mark."""
        if not self._wrote:  # otherwise our own rows would be added twice
            for _ in self.catch_up(connection):
                pass
        self.tally.claims += len(wanted)
        distinct = dict.fromkeys(wanted)
        known = self._look_up(connection, distinct)
        new = [key for key in distinct if key not in known]
        won: set[bytes] = set()
        if new:
            numbered = dict(zip(new, take_ids(connection, urls, len(new)), strict=True))
            known.update(numbered)
            if write_locks.is_beside(connection):
                others = self._insert_beside(connection, numbered)
            else:
                others = self._insert(connection, numbered)
            known.update(others)
            won = numbered.keys() - others.keys()
            self._wrote = True
        news = [False] * len(wanted)
        for place, key in enumerate(wanted):
            if key in won:
                won.remove(key)
                news[place] = True
        found = zip(map(known.__getitem__, wanted), news, repeat(None), strict=False)
        answers = list(map(_ADMISSION, found))
        if len(self._fresh) > _RECENT:  # the table has them, even before the commit
            self._fresh.clear()
        self._fresh.update(known)
        return answers

    def _insert(self, connection: Connection, numbered: Mapping[bytes, int]) -> dict[bytes, int]:
        """Insert keys that nobody else can insert now; there are no others' rows to return."""
        ids = take_ids(connection, keys, len(numbered))
        # Neighbours in the index are written together.
        rows = [(n, *one) for n, one in zip(ids, sorted(numbered.items()), strict=True)]
        # SQLAlchemy's own savepoints take four times as long.
        connection.exec_driver_sql("SAVEPOINT claiming")
        insert_rows(connection, keys, ("id", "key", "url_id"), rows)
        connection.exec_driver_sql("RELEASE claiming")
        self.filter.add(list(numbered))  # bits that a rollback leaves do no harm
        self._last_id = ids[-1]
        return {}

    def _insert_beside(
        self, connection: Connection, numbered: Mapping[bytes, int]
    ) -> dict[bytes, int]:
        """Insert the keys that no other transaction inserts first; return the rows of those."""
        done = insert_beside(connection, sorted(numbered.items()))
        others: dict[bytes, int] = {}
        if done.number < len(numbered):
            there = found_rows(connection, list(numbered))
            lost = {key: row for key, row in there.items() if row.url_id != numbered[key]}
            others = {key: row.url_id for key, row in lost.items()}
            if min(row.id for row in lost.values()) <= self.known_up_to:
                self._wrong()
                self._rebuild(connection)
                return others
            self.tally.passed -= len(lost)
        self.filter.add(list(numbered))
        if done.first == self._read_up_to + 1 and done.last - self._read_up_to == len(numbered):
            self._last_id = done.last
        else:
            self._is_ahead = True
        return others

    def _look_up(self, connection: Connection, wanted: dict[bytes, None]) -> dict[bytes, int]:
        """Return the URLs' rows of the keys that are known."""
        known: dict[bytes, int] = {}
        for memory in (
            *self._recent.generations,
            self._fresh,
        ):  # later answers replace earlier ones
            here = memory.keys() & wanted.keys()
            known.update(zip(here, map(memory.__getitem__, here), strict=True))
        rest = [key for key in wanted if key not in known]
        perhaps = self.filter.perhaps(rest)
        doubtful = [key for key, maybe in zip(rest, perhaps, strict=True) if maybe]
        found = rows_of_keys(connection, doubtful)
        self.tally.passed += len(rest) - len(doubtful)
        self.tally.wrong += len(doubtful) - len(found)
        known.update(found)
        return known

    def committed(self) -> None:
        """Keep what was claimed: the transaction was committed."""
        self._recent.update(self._fresh)
        if self._last_id is not None:
            if self.known_up_to == self._read_up_to:
                self.known_up_to = self._last_id
            self._read_up_to = self._last_id
        self._end()

    def rolled_back(self) -> None:
        """Drop what was claimed: the transaction was rolled back."""
        self._end()

    def _end(self) -> None:
        """Forget what is only true in one transaction."""
        self._fresh.clear()
        self._wrote = False
        self._last_id = None
