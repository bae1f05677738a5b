"""Store: the one way into the database, for the crawl and the batch job alike."""

import gc
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, NoReturn

from sqlalchemy import Connection, insert, update

from canonry.canon import redact
from canonry.storage.facts import check_unchanged, establish
from canonry.storage.records import (
    Admission,
    Candidate,
    Outcome,
    Queued,
    RecordedOutcome,
)
from canonry.storage.rows import budgets, pages, urls
from canonry.storage.rows.acknowledgement import acknowledge, fetched_anew
from canonry.storage.rows.answered import target_of, write_answers
from canonry.storage.rows.merges import MergeCounter, MergingRules
from canonry.storage.samples import StoreSampler
from canonry.storage.seen.seen_set import SeenSet
from canonry.storage.sql import write_locks
from canonry.storage.sql.bulk import next_id, rows_of
from canonry.storage.sql.database_faults import explaining, naming
from canonry.storage.sql.engine import open_engine
from canonry.storage.sql.schema import jobs, url_rows
from canonry.storage.sql.store_errors import StoreRewoundError

if TYPE_CHECKING:
    from canonry.storage.learned.classes import RuleSource

_SILENCE_SECONDS = 3.0  # of waiting for the lock before a notice
_COMPARED = "canonry_compared"  # a key of `Connection.info`: the database is what we remember
_REFUSED = Admission(0, new=False)  # of a link that got no row
_ADVICE = "nothing of the last step was kept; once this is fixed, the same command resumes"


def _silent(_message: str) -> None:
    """Notify nobody."""


def _unnamed(_raw_url: str, _same_as: str) -> str:
    """Name no rules: merges are not counted."""
    return ""


class Store:
    """A store, open for writing. One thread at a time may call it.

    Every method is one transaction, whole or not at all. The caller brings the time, in seconds
    since 1970.
    """

    def __init__(
        self,
        url: str,
        *,
        policy: str,
        fingerprint: str,
        merging_rules: MergingRules = _unnamed,
        notify: Callable[[str], None] = _silent,
    ) -> None:
        """Open a store; create it if there is none.

        Args:
            url: a SQLAlchemy URL.
            policy: ``name/version`` of the policy that makes the keys.
            fingerprint: of the policy's content.
            merging_rules: names the rules that merge two raw URLs; merges are counted by them.
            notify: receives sentences for people, about work that takes time.

        Raises:
            StoreError: if it was made by another version or under another policy, or is not a
                store.
        """
        self._engine = open_engine(url)
        try:
            with (
                explaining(self._engine),
                _waiting(notify) as over,
                self._engine.begin() as connection,
            ):
                over()
                with naming(self._engine):
                    self._id = establish(connection, policy, fingerprint)
                connection.info[_COMPARED] = True
                self.seen = SeenSet(next_id(connection, url_rows) - 1)
        except BaseException:
            self._engine.dispose()
            raise
        self._policy = policy
        self._has_reconnected = False
        self._merges = MergeCounter()
        self._sampler = StoreSampler()
        self.merging_rules = merging_rules
        self.rules: RuleSource | None = None  # learned rules; None applies none
        self.budgets_of: budgets.BudgetsOf | None = None  # of URL patterns; None limits none
        self.host_budget: budgets.HostBudget | None = None  # None counts no hosts by domain

    def transaction(self) -> AbstractContextManager[Connection]:
        """Run a block as one transaction that holds the write lock from its start.

        Raises:
            StoreError: if the database fails: locked by another process for too long, disk full,
                file damaged. Then nothing of the block is kept, and nothing else is lost.
            StoreRewoundError: if the database has lost what was committed to it before.
        """
        return self._transaction()

    def claiming(self) -> AbstractContextManager[Connection]:
        """Run a block as one transaction that begins by claiming keys, once, with `admit_in`.

        On PostgreSQL, several may claim at once; after that, each block waits for its turn to
        change anything else. On SQLite this is a `transaction`.

        Raises:
            StoreError: as `transaction` does.
        """
        return self._transaction(write_locks.SHARED)

    @contextmanager
    def _transaction(self, *options: str) -> Iterator[Connection]:
        """Run a block as one transaction, under execution options that are switched on."""
        try:
            with _no_collecting(), self._begun(*options) as connection:
                if self.rules is not None and write_locks.is_exclusive(connection):
                    self.rules.refresh(connection)
                yield connection
        except BaseException:
            self.seen.rolled_back()
            self._merges.clear()
            if self.rules is not None:
                self.rules.forget()
            raise
        self.seen.committed()

    @contextmanager
    def leasing(self) -> Iterator[Connection]:
        """Run a block as a transaction that only changes hosts: their leases and their pace.

        On PostgreSQL it takes no write lock: rows that others have locked are skipped, and writers
        need not wait. On SQLite it is a writer like any other.

        Raises:
            StoreError: as `transaction` does.
        """
        with self._begun(write_locks.NO_LOCK) as connection:
            yield connection

    @contextmanager
    def _begun(self, *options: str) -> Iterator[Connection]:
        """Begin a transaction, under execution options that are switched on.

        A new connection may mean that the database was restarted, or restored from an older copy.
        So its data are compared with what this process remembers.
        """
        with (
            explaining(self._engine, _ADVICE),
            self._engine.connect().execution_options(**dict.fromkeys(options, True)) as connection,
            connection.begin(),
        ):
            with naming(self._engine):
                check_unchanged(connection, self._policy, self._id)
                if not connection.info.get(_COMPARED):
                    if not self.seen.is_confirmed(connection):
                        self._raise_rewound()
                    connection.info[_COMPARED] = self._has_reconnected = True
            yield connection

    def confirm_url_ids(self, connection: Connection, leased: Iterable[Queued]) -> None:
        """Check that the ids of leased URLs are still theirs, before outcomes are recorded.

        This is only needed after a reconnect.

        Raises:
            StoreRewoundError: if one of them is missing, or belongs to another URL.
        """
        known = {url.url_id: url.url for url in leased} if self._has_reconnected else {}
        if known != dict(rows_of(connection, "SELECT id, url FROM urls WHERE id", list(known))):
            with naming(self._engine):
                self._raise_rewound()

    def _raise_rewound(self) -> NoReturn:
        """Refuse to go on with a database that has gone back in time."""
        raise StoreRewoundError(
            "it lacks what this process has written to it; was an older copy restored?"
        )

    def admit(self, candidates: Sequence[Candidate], now: float) -> list[Admission]:
        """Admit URLs. Exactly one caller per key is ever told that it is new."""
        with self.claiming() as connection:
            return self.admit_in(connection, candidates, now)

    def admit_in(
        self,
        connection: Connection,
        candidates: Sequence[Candidate],
        now: float,
        *,
        targets: Collection[str] = (),
    ) -> list[Admission]:
        """Admit URLs as `admit` does, inside the caller's `transaction` or `claiming`.

        Once too many URLs are held because their domains have too many hosts, links to new hosts of
        such domains are refused: they are counted, but get no row.

        Args:
            connection: of the transaction.
            candidates: the URLs.
            now: seconds since 1970.
            targets: hosts that are never refused.
        """
        if self.host_budget is not None:
            names = {candidate.host for candidate in candidates}.difference(targets)
            if refused := budgets.countless(connection, names, self.host_budget):
                kept = [candidate for candidate in candidates if candidate.host not in refused]
                link = next(
                    redact(candidate.url) for candidate in candidates if candidate.host in refused
                )
                tally = pages.Tally()
                tally.add(self.host_budget.reason, link, count=len(candidates) - len(kept))
                pages.put_refusals(connection, tally)
                allowed = {candidate.host for candidate in kept}
                admitted = iter(self.admit_in(connection, kept, now, targets=allowed))
                return [
                    _REFUSED if candidate.host in refused else next(admitted)
                    for candidate in candidates
                ]
        admissions = urls.admit(
            *(connection, self.seen, candidates, now),
            *(self.rules, self.budgets_of, self.host_budget),
        )
        merged = self._merges.tally(connection, candidates, admissions, self.merging_rules)
        pages.put_merges(connection, merged)
        return admissions

    def record(self, outcomes: Sequence[Outcome], now: float) -> list[list[Admission]]:
        """Record the outcomes of visits in one transaction.

        Args:
            outcomes: of URLs that this worker has leased.
            now: seconds since 1970.

        Returns:
            For each outcome the admissions: first of its leads' targets, then of its links.
        """
        with self.claiming() as connection:
            return [list(one.admissions) for one in self.record_in(connection, outcomes, now)]

    def record_in(
        self,
        connection: Connection,
        outcomes: Sequence[Outcome],
        now: float,
        *,
        again: bool = False,
    ) -> list[RecordedOutcome]:
        """Record outcomes as `record` does, inside the caller's `transaction` or `claiming`.

        Targets of redirects are requested next on their hosts, even if they were queued before. If
        another worker has recorded a URL meanwhile, that result stays: of a late outcome only the
        links count.

        Args:
            connection: of the transaction.
            outcomes: of URLs that this worker has leased.
            now: seconds since 1970.
            again: True if URLs are also fetched anew without a lease: a new page replaces the one
                that the store has, and a new redirect counts as well.

        Returns:
            The outcomes in their order, with the admissions.
        """
        given = [[*(target_of(hop, o) for hop in o.leads), *o.links] for o in outcomes]
        flat = [candidate for group in given for candidate in group]
        targets = {hop.target.host for o in outcomes for hop in o.leads}
        answers = iter(self.admit_in(connection, flat, now, targets=targets))
        admissions = [[next(answers) for _ in group] for group in given]
        first = acknowledge(connection, outcomes, now)
        anew = fetched_anew(connection, outcomes) if again else set()
        recorded = [
            RecordedOutcome(outcome, admitted, late=not (is_first or outcome.url_id in anew))
            for outcome, admitted, is_first in zip(outcomes, admissions, first, strict=True)
        ]
        write_answers(connection, recorded, now, has_rules=self.rules is not None)
        refused = pages.Tally()
        for outcome in outcomes:
            for reason, link in outcome.refused:
                refused.add(reason, link)
        pages.put_refusals(connection, refused)
        self._count_known(connection, outcomes)
        self._sampler.take(connection, self.seen, now)
        return recorded

    def merged_by(self, links: Iterable[Candidate]) -> dict[str, str]:
        """Return the rules that merge links, for those links that were admitted last.

        Returns:
            By raw URL, the rules that merge it with the first raw URL of its URL; "" where the
            two are equal. Once the transaction is committed, such links are known:
            `Outcome.known` may count them.
        """
        return self._merges.names(link.raw_url for link in links)

    def _count_known(self, connection: Connection, outcomes: Sequence[Outcome]) -> None:
        """Count the links to URLs that the store was known to have."""
        known: Counter[str] = Counter()
        for outcome in outcomes:
            known.update(outcome.known)
        self.seen.tally.claims += known.total()
        known.pop("", None)
        pages.add_merges(connection, known)

    def begin_job(self, command: str, settings: str, now: float, began: float | None = None) -> int:
        """Write that a job began; return its number.

        Args:
            command: that runs.
            settings: its settings, as JSON.
            now: seconds since 1970.
            began: the same time for all workers of a run; None: now.
        """
        with self.transaction() as connection:
            job = next_id(connection, jobs)
            connection.execute(
                insert(jobs).values(
                    id=job,
                    command=command,
                    settings=settings,
                    state="running",
                    started_at=began or now,
                )
            )
            self._sampler.take(connection, self.seen, now, always=True)
            return job

    def end_job(self, job: int, state: str, now: float) -> None:
        """Write how a job ended: ``finished``, ``interrupted`` or ``failed``."""
        with self.transaction() as connection:
            connection.execute(
                update(jobs).where(jobs.c.id == job).values(state=state, ended_at=now)
            )
            self._sampler.take(connection, self.seen, now, always=True)

    def close(self) -> None:
        """Close the database."""
        self._engine.dispose()


@contextmanager
def _waiting(notify: Callable[[str], None]) -> Iterator[Callable[[], None]]:
    """Notify if a block waits for some seconds; it calls the yielded function when it is over."""
    message = "another process is writing to the store; waiting for it, for up to a minute"
    timer = threading.Timer(_SILENCE_SECONDS, notify, [message])
    timer.daemon = True
    timer.start()
    try:
        yield timer.cancel
    finally:
        timer.cancel()


@contextmanager
def _no_collecting() -> Iterator[None]:
    """Switch off the garbage collector: it would walk through a batch again and again.

    Nothing here is cyclic. Measured: a quarter of the time of a large batch.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()
