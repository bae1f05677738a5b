"""The seen set: of all claims of a key, exactly one is ever answered with "new"."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import repeat
from operator import itemgetter

from sqlalchemy import Connection, select
from sqlalchemy.exc import IntegrityError

from canonry.storage.records import Admission
from canonry.storage.seen.bloom import FIRST_CAPACITY, KeyFilter
from canonry.storage.seen.claim_tally import ClaimTally
from canonry.storage.sql.bulk import insert_rows, next_id, rows_of
from canonry.storage.sql.schema import keys

_RECENT = 1 << 17
_ADMISSION = partial(tuple.__new__, Admission)  # takes a fifth of the time of calling the class


def rows_of_keys(connection: Connection, wanted: Sequence[bytes]) -> dict[bytes, int]:
    """Return by key the URL's row, for the keys that the table has."""
    return dict(rows_of(connection, "SELECT key, url_id FROM keys WHERE key", wanted))


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
    transaction, which holds the write lock. Call `committed` or `rolled_back` when it has ended.
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
        self._last_id = known_up_to

    def catch_up(self, connection: Connection) -> Iterator[int]:
        """Add the keys that other processes inserted; yield their number after each batch."""
        rows = connection.execute(
            select(keys.c.id, keys.c.key).where(keys.c.id > self.known_up_to).order_by(keys.c.id)
        )
        for part in rows.partitions(50_000):
            self.filter.add([key for _id, key in part])
            self.known_up_to = self._last_id = part[-1][0]
            yield len(part)

    def claim(
        self, connection: Connection, wanted: Sequence[bytes], first_row: int
    ) -> list[Admission]:
        """Claim keys, in order.

        If the filter lacks a key of the table, the table refuses a second row of it. Then the
        filter is rebuilt from the table, and the keys are claimed again.

        Args:
            connection: in a transaction that holds the write lock.
            wanted: 16-byte keys; of equal keys the first wins.
            first_row: id of the URL of the first new key; the next ones count up. The caller
                inserts these rows in the same transaction.

        Returns:
            One admission for each key.
        """
        try:
            return self._claim(connection, wanted, first_row)
        except IntegrityError:
            connection.exec_driver_sql("ROLLBACK TO claiming")
            self._wrong()
            self._rebuild(connection)
            return self._claim(connection, wanted, first_row)

    def _rebuild(self, connection: Connection) -> None:
        """Make the filter anew from all rows of the table, those of this transaction, too."""
        newest = next_id(connection, keys) - 1
        self.filter = KeyFilter(first_capacity=max(FIRST_CAPACITY, 2 * newest))
        rows = connection.execute(select(keys.c.key))
        for part in rows.partitions(50_000):
            self.filter.add([key for (key,) in part])
        self._last_id = newest
        # This transaction's own rows may be undone; other rows stay.
        self.known_up_to = min(self.known_up_to, newest) if self._wrote else newest
        self._recent = Recent()
        self._fresh.clear()

    def _claim(
        self, connection: Connection, wanted: Sequence[bytes], first_row: int
    ) -> list[Admission]:
        """Claim keys, if the filter holds all keys of the table."""
        if not self._wrote:  # otherwise our own rows would be added twice
            for _ in self.catch_up(connection):
                pass
        self.tally.claims += len(wanted)
        known = self._look_up(connection, dict.fromkeys(wanted))
        fresh: list[tuple[bytes, int]] = []
        news = [False] * len(wanted)
        for place, key in enumerate(wanted):
            if key not in known:
                known[key] = first_row + len(fresh)
                fresh.append((key, known[key]))
                news[place] = True
        found = zip(map(known.__getitem__, wanted), news, repeat(None), strict=False)
        answers = list(map(_ADMISSION, found))
        fresh.sort(key=itemgetter(0))  # neighbours in the index are written together
        rows = [(self._last_id + n, key, row) for n, (key, row) in enumerate(fresh, 1)]
        if rows:  # SQLAlchemy's own savepoints take four times as long
            connection.exec_driver_sql("SAVEPOINT claiming")
            insert_rows(connection, keys, ("id", "key", "url_id"), rows)
            connection.exec_driver_sql("RELEASE claiming")
        self._last_id += len(fresh)
        self.filter.add([key for key, _row in fresh])  # bits that a rollback leaves do no harm
        self._wrote |= bool(fresh)
        if len(self._fresh) > _RECENT:  # the table has them, even before the commit
            self._fresh.clear()
        self._fresh.update(known)
        return answers

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
        self.known_up_to = self._last_id
        self._fresh.clear()
        self._wrote = False

    def rolled_back(self) -> None:
        """Drop what was claimed: the transaction was rolled back."""
        self._fresh.clear()
        self._wrote = False
        self._last_id = self.known_up_to
