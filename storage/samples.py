"""Samples: what a store held at some moments, and which samples are kept."""

from collections.abc import Iterable
from typing import NamedTuple

from sqlalchemy import Connection, func, select

from canonry.storage.learned.classes import LEARNED
from canonry.storage.seen.seen_set import SeenSet
from canonry.storage.sql import counts
from canonry.storage.sql.bulk import change_rows, put
from canonry.storage.sql.schema import State
from canonry.storage.sql.tables.figure_tables import merges, samples

_WRITES = 100  # samples between two thinnings of old ones
CLAIMS = counts.Counted("seen", "claims")  # keys that were claimed, ever
PASSED = counts.Counted("seen", "passed")  # new keys of which the filter said "surely not known"
WRONG = counts.Counted("seen", "wrong")  # new keys of which it said "perhaps known"
FILTER_BITS = counts.Counted("seen", "bits")  # of the filter, as of the last sample
FILTER_KEYS = counts.Counted("seen", "keys")  # in it
FINEST = 1.0  # seconds between two samples
_PER_AGE = 100  # samples of one age: of what is a day old, one for each 1/100 of a day, or denser


class StoreSample(NamedTuple):
    """What a store held at one moment. Each URL counts in one of the numbers up to `queued`."""

    at: float  # seconds since 1970
    fetched: int  # URLs, as all up to "queued"
    redirected: int
    suppressed: int  # held, because a learned rule says that they are other names of pages
    held: int  # for any other reason
    failed: int
    queued: int
    merged_links: int  # links to known URLs with another raw URL
    claims: int  # of keys

    @property
    def known(self) -> int:
        """Return how many URLs were known."""
        answered = self.fetched + self.redirected + self.failed
        return answered + self.suppressed + self.held + self.queued

    @property
    def done(self) -> int:
        """Return how many URLs were asked for, and answered or given up."""
        return self.fetched + self.redirected + self.failed


def now(connection: Connection, at: float) -> StoreSample:
    """Return what a store holds, by its counts."""
    states = dict.fromkeys((state.name.lower() for state in State), 0)
    suppressed = 0
    for name, reason, count in counts.read(connection, "urls"):
        if name == "held" and reason == LEARNED:
            suppressed += count
        else:
            states[name] += count
    merged_links = connection.scalar(select(func.sum(merges.c.count))) or 0
    claims = counts.total_of(connection, CLAIMS)
    return StoreSample(
        at=at, suppressed=suppressed, merged_links=int(merged_links), claims=claims, **states
    )


def between(connection: Connection, start: float, end: float) -> list[StoreSample]:
    """Return the samples of a span of time, and the last one before it, in order."""
    at = samples.c.at
    first = select(func.max(at)).where(at < start).scalar_subquery()
    found = select(samples).where(at >= func.coalesce(first, start), at <= end).order_by(at)
    return [StoreSample(**row) for row in connection.execute(found).mappings()]


def latest(connection: Connection, before: float) -> StoreSample | None:
    """Return the last sample before a time; None if there is none."""
    query = select(samples).where(samples.c.at <= before).order_by(samples.c.at.desc()).limit(1)
    row = connection.execute(query).mappings().first()
    return None if row is None else StoreSample(**row)


def first_at(connection: Connection) -> float | None:
    """Return the time of the first sample; None if there is none."""
    found: float | None = connection.scalar(select(func.min(samples.c.at)))
    return found


class StoreSampler:
    """Takes samples for one process, in the transactions that change what is counted.

    Several processes on one store take turns: none writes a sample right after another one's.
    """

    def __init__(self) -> None:
        """Start without samples."""
        self._last: float | None = None
        self._writes = 0

    def take(
        self, connection: Connection, seen: SeenSet, at: float, *, always: bool = False
    ) -> None:
        """Write a sample, if the last one is old enough.

        Args:
            connection: in a writing transaction.
            seen: of this process; what was claimed since the last sample is counted.
            at: seconds since 1970.
            always: True writes one in any case.
        """
        if not always and self._last is not None and 0 <= at - self._last < FINEST:
            return
        self._last = at
        _count_claims(connection, seen)
        newest = connection.scalar(select(func.max(samples.c.at)))
        if not always and newest is not None and 0 <= at - newest < FINEST:
            self._last = newest  # another process wrote it
            return
        put(connection, samples, [now(connection, at)._asdict()])
        self._writes += 1
        if self._writes % _WRITES == 0:
            times = connection.scalars(select(samples.c.at).order_by(samples.c.at))
            change_rows(connection, "DELETE FROM samples WHERE at", superfluous(times, at))


def _count_claims(connection: Connection, seen: SeenSet) -> None:
    """Add what was claimed to the counts, and write how large the filter is."""
    tally, bloom = seen.tally, seen.filter
    changes = {CLAIMS: tally.claims, PASSED: tally.passed, WRONG: tally.wrong}
    bits, keys = (0, 0) if bloom is None else (bloom.bits, bloom.count)
    for gauge, value in ((FILTER_BITS, bits), (FILTER_KEYS, keys)):
        changes[gauge] = value - counts.total_of(connection, gauge)
    counts.add(connection, changes)
    tally.clear()


def superfluous(times: Iterable[float], now: float) -> list[float]:
    """Return the times of the samples that are not needed any more.

    Time is divided into slots whose width doubles with age. A wide slot consists of whole finer
    ones, so a later call keeps some of what an earlier one kept. The first sample of each slot is
    kept, and the last of all.

    Args:
        times: of all samples, ascending.
        now: the time from which their age counts.
    """
    kept: tuple[float, float] | None = None
    gone: list[float] = []
    last = None
    for at in times:
        width = _width(now - at)
        slot = (width, at // width)
        if slot == kept:
            gone.append(at)
        kept, last = slot, at
    if gone and gone[-1] == last:
        gone.pop()
    return gone


def _width(age: float) -> float:
    """Return the width of the slots of an age, in seconds."""
    width = FINEST
    while 2 * width * _PER_AGE <= age:
        width *= 2
    return width
