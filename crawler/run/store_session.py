"""The ledger: what a crawl asks of its store, each question on the writer thread."""

import traceback
from collections.abc import Callable, Sequence
from typing import NamedTuple

from sqlalchemy import Connection

from canonry.crawler.admission.url_filter import URLFilter
from canonry.crawler.learn.session import LearningSession, News
from canonry.crawler.run.visit import Visited
from canonry.storage import Admission, LeasedHost, Queued, Store, StoreError
from canonry.storage.rows import leases as rows
from canonry.storage.sql.writer import Writer

LEASE_SECONDS = 60.0
PER_HOST = 256  # URLs of one host in memory at most


class Pace(NamedTuple):
    """When hosts may be asked again, and how far apart they want to be asked."""

    ready: dict[str, float]
    delays: dict[str, float | None]


class Done(NamedTuple):
    """A visit that ended and waits to be recorded."""

    host: str
    queued: Queued
    visited: Visited


class StoreSession:
    """One worker's dealings with the store."""

    def __init__(
        self,
        store: Store,
        writer: Writer,
        url_filter: URLFilter,
        *,
        worker: str,
        level_by_level: bool,
        notify: Callable[[str], None],
        session: LearningSession | None = None,
    ) -> None:
        """Bind what it takes.

        Args:
            store: where everything is kept; only the writer thread touches it.
            writer: that thread.
            url_filter: names the rules that merged two links.
            worker: the name under which hosts are leased.
            level_by_level: whether only the lowest depth is handed out, so that depths are exact.
            notify: receives sentences for people.
            session: learns from what comes of URLs; None learns nothing.
        """
        self._store = store
        self._writer = writer
        self._url_filter = url_filter
        self._worker = worker
        self._level_by_level = level_by_level
        self._notify = notify
        self.session = session
        self.queued = 0  # in the store, when it was last asked
        self.fetched = 0  # pages there; other workers add to both, too
        self.learning = 0.0  # seconds of CPU time

    async def lease(
        self, now: float, limit: int, loaded: dict[str, frozenset[int]], pace: Pace
    ) -> list[LeasedHost]:
        """Lease hosts, keep ours, and write down their pace."""

        def lease() -> list[LeasedHost]:
            with self._store.leasing() as connection:
                rows.pace(connection, *pace)
                self._stand(connection)
                return rows.lease(
                    connection,
                    self._worker,
                    now=now,
                    seconds=LEASE_SECONDS,
                    limit=limit,
                    per_host=PER_HOST,
                    loaded=loaded,
                    level_by_level=self._level_by_level,
                )

        return await self._writer.call(lease)

    async def renew(self, now: float, names: list[str], pace: Pace) -> None:
        """Keep hosts, and write down their pace."""

        def renew() -> None:
            with self._store.leasing() as connection:
                rows.pace(connection, *pace)
                rows.renew(connection, self._worker, names, now + LEASE_SECONDS)

        await self._writer.call(renew)

    async def next_due(self) -> float | None:
        """Return when a queued URL may be tried, or None when none is left."""

        def next_due() -> float | None:
            with self._store.leasing() as connection:
                return rows.next_due(connection)

        return await self._writer.call(next_due)

    async def leave(self, pace: Pace) -> None:
        """Give the hosts back, with their pace."""

        def leave() -> None:
            with self._store.transaction() as connection:
                rows.pace(connection, *pace)
                rows.give_back(connection, [self._worker])
                self._stand(connection)

        await self._writer.call(leave)

    async def hear_missing(self, url: str, digest: bytes) -> None:
        """Tell the keeper with what body a host answers for what is not there."""
        if self.session is not None:
            await self._writer.call(self.session.hear_missing, url, digest)

    async def record(self, group: Sequence[Done], now: float) -> list[list[Admission]]:
        """Record outcomes, and learn from them in the same transaction.

        Returns:
            For each outcome the door's answers, as `Store.record` gives them.
        """
        return await self._writer.call(self._record, group, now)

    def _record(self, group: Sequence[Done], now: float) -> list[list[Admission]]:
        """Record outcomes, on the writer thread."""
        outcomes = [done.visited.outcome for done in group]
        session = self.session

        def stand(connection: Connection, _admissions: list[list[Admission]]) -> None:
            self._stand(connection)

        if session is None:
            return self._store.record(outcomes, now, self._url_filter.why, stand)

        def learn(connection: Connection, admissions: list[list[Admission]]) -> None:
            self._stand(connection)
            news = [
                News(done.queued, outcome, admitted)
                for done, outcome, admitted in zip(group, outcomes, admissions, strict=True)
            ]
            session.learn(connection, news, now)

        try:
            answers = self._store.record(outcomes, now, self._url_filter.why, learn)
        except StoreError:
            raise
        except Exception as error:  # noqa: BLE001 - one of our own: the crawl goes on without
            trace = "".join(traceback.format_exception(error)).rstrip()
            self._notify(
                f"Learning failed and is left out of this run; please report this:\n{trace}"
            )
            self.session = self._store.judge = None
            return self._store.record(outcomes, now, self._url_filter.why, stand)
        self.learning = round(session.seconds, 3)
        return answers

    def _stand(self, connection: Connection) -> None:
        """See how much the store holds."""
        self.queued = rows.pending(connection)
        self.fetched = rows.fetched(connection)
