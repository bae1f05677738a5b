"""Store: the one way into the database, for the crawl and the batch job alike."""

import gc
import os
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection, Engine, func, insert, inspect, select, update
from sqlalchemy.exc import DatabaseError

from canonry.storage.learned import classes
from canonry.storage.records import Admission, Candidate, Outcome
from canonry.storage.rows import budgets, pages, urls
from canonry.storage.rows.merges import MergeNames, MergingRules
from canonry.storage.seen import snapshot
from canonry.storage.seen.bloom import FIRST_CAPACITY, KeyFilter
from canonry.storage.seen.seen_set import SeenSet
from canonry.storage.sql.engine import WITHOUT_WRITE_LOCK, open_engine
from canonry.storage.sql.schema import VERSION, State, jobs, keys, meta, metadata
from canonry.storage.store_errors import StoreError

_ADVICE = "nothing of the last step was kept; the same command resumes once this is mended"


def _silent(_message: str) -> None:
    """Notify nobody."""


def _unnamed(_spelling: str, _same_as: str) -> str:
    """Name no rules: merges are not counted."""
    return ""


class Store:
    """A store, open for writing. One thread at a time may call it.

    Every method is one transaction, whole or not at all. Times are seconds since 1970 and are
    brought by the caller.
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
        """Open a store; make it when there is none.

        Args:
            url: a SQLAlchemy URL.
            policy: ``name/version`` of the policy that makes its keys.
            fingerprint: of the policy's content.
            merging_rules: names the rules that merge two spellings; merges are counted by them.
            notify: receives sentences for people, about work that takes time.

        Raises:
            StoreError: when it was made by another version or under another policy, or is none.
        """
        self._notify = notify
        self._engine = open_engine(url)
        self._url = self._engine.url.render_as_string()  # without a password
        try:
            with self._engine.begin() as connection:
                self._id = _establish(connection, policy, fingerprint)
                self._snapshot = _snapshot_path(self._engine, self._id)
                self.seen = self._load_seen(connection)
        except DatabaseError as error:
            self._engine.dispose()
            raise StoreError(f"store {self._url}: {error.orig}") from None
        except StoreError as error:
            self._engine.dispose()
            raise StoreError(f"store {self._url}: {error}") from None
        self._merge_names = MergeNames()
        self.merging_rules = merging_rules
        self.rules: classes.RuleSource | None = None  # learned rules; None applies none
        self.budget: budgets.Budget | None = None  # of URL patterns; None limits none

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Run a block as one transaction that holds the write lock from its start.

        Raises:
            StoreError: when the database fails: locked by another process for too long, disk full,
                file damaged. Nothing of the block is kept then; what was there before, is.
        """
        try:
            with _no_collecting(), self._engine.begin() as connection:
                if self.rules is not None:
                    self.rules.refresh(connection)
                yield connection
        except BaseException as error:
            self.seen.forget()
            self._merge_names.forget()
            if self.rules is not None:
                self.rules.forget()
            if isinstance(error, DatabaseError):
                raise StoreError(f"store {self._url}: {error.orig}; {_ADVICE}") from error
            raise
        self.seen.settle()

    @contextmanager
    def leasing(self) -> Iterator[Connection]:
        """Run a block as a transaction that only leases hosts and keeps their pace.

        On PostgreSQL it does not wait for writers, nor they for it: rows that others hold are
        passed over. On SQLite it is a writer like any other.

        Raises:
            StoreError: as `transaction` does.
        """
        try:
            with (
                self._engine.connect().execution_options(
                    **{WITHOUT_WRITE_LOCK: True}
                ) as connection,
                connection.begin(),
            ):
                yield connection
        except DatabaseError as error:
            raise StoreError(f"store {self._url}: {error.orig}; {_ADVICE}") from error

    def admit(self, candidates: Sequence[Candidate], now: float) -> list[Admission]:
        """Admit URLs. Exactly one caller per key is ever told that it is new."""
        with self.transaction() as connection:
            return self.admit_in(connection, candidates, now)

    def admit_in(
        self, connection: Connection, candidates: Sequence[Candidate], now: float
    ) -> list[Admission]:
        """Admit URLs as `admit` does, inside the caller's `transaction`."""
        admissions = urls.admit(connection, self.seen, candidates, now, self.rules, self.budget)
        pages.put_merges(
            connection,
            self._merge_names.tally(connection, candidates, admissions, self.merging_rules),
        )
        return admissions

    def record(self, outcomes: Sequence[Outcome], now: float) -> list[list[Admission]]:
        """Record the outcomes of visits in one transaction.

        Args:
            outcomes: of URLs that this worker had leased.
            now: seconds since 1970.

        Returns:
            For each outcome the admissions: first of its hops' targets, then of its links.
        """
        with self.transaction() as connection:
            return self.record_in(connection, outcomes, now)

    def record_in(
        self, connection: Connection, outcomes: Sequence[Outcome], now: float
    ) -> list[list[Admission]]:
        """Record outcomes as `record` does, inside the caller's `transaction`."""
        given = [[*(hop.target for hop in o.hops), *o.links] for o in outcomes]
        flat = [candidate for group in given for candidate in group]
        answers = iter(self.admit_in(connection, flat, now))
        admissions = [[next(answers) for _ in group] for group in given]
        refused = pages.Tally()
        for outcome, admitted in zip(outcomes, admissions, strict=True):
            edges = zip(outcome.hops, (a.row for a in admitted), strict=False)
            pages.put_aliases(connection, outcome.row, edges, now)
            for reason, link in outcome.refused:
                refused.add(reason, link)
        answered = [(o.row, o.page) for o in outcomes if o.page is not None]
        pages.put_pages(connection, answered, now)
        pages.confirm(connection, [o.row for o in outcomes if o.unchanged], now)
        moved = [o.row for o in outcomes if o.state is State.REDIRECTED]
        pages.remove(connection, moved)  # of an earlier crawl
        urls.settle(connection, outcomes, now)
        pages.put_refusals(connection, refused)
        if self.rules is not None:
            _release(connection, outcomes, admissions)
        return admissions

    def begin_job(self, command: str, settings: str, now: float) -> int:
        """Write down that a job began; return its number."""
        with self.transaction() as connection:
            job = (connection.scalar(select(func.max(jobs.c.id))) or 0) + 1
            connection.execute(
                insert(jobs).values(
                    id=job, command=command, settings=settings, state="running", started_at=now
                )
            )
            return job

    def end_job(self, job: int, state: str, now: float) -> None:
        """Write down how a job ended: ``finished``, ``interrupted`` or ``failed``."""
        with self.transaction() as connection:
            connection.execute(
                update(jobs).where(jobs.c.id == job).values(state=state, ended_at=now)
            )

    def close(self) -> None:
        """Keep the filter for the next time, and let go of the database."""
        if self._snapshot is not None:
            try:
                self._snapshot.parent.mkdir(parents=True, exist_ok=True)
                snapshot.save(self._snapshot, self.seen.filter, self._id, self.seen.known_up_to)
            except OSError as error:
                self._notify(f"the filter was not kept ({error}); the next start makes it anew")
        self._engine.dispose()

    def _load_seen(self, connection: Connection) -> SeenSet:
        """Take the filter from its file, or make it anew from the table."""
        newest = connection.scalar(select(func.max(keys.c.id))) or 0
        kept: snapshot.Snapshot | str = "there is no filter file"
        if self._snapshot is not None:
            kept = snapshot.load(self._snapshot, self._id)
        if not isinstance(kept, str) and kept.generation > newest:
            kept = "the filter file is ahead of the table"
        elif not isinstance(kept, str) and kept.filter.links > 1:
            kept = "the filter has outgrown its first size"
        if isinstance(kept, str):
            if newest:
                self._notify(f"{kept}; making it anew from {newest:,} keys")
            seen = SeenSet(KeyFilter(first_capacity=max(FIRST_CAPACITY, 2 * newest)), 0)
        else:
            seen = SeenSet(*kept)
        done = 0
        for n in seen.catch_up(connection):
            done += n
            if done % 1_000_000 < n:
                self._notify(f"filter: {done:,} of {newest:,} keys")
        return seen


def _release(
    connection: Connection, outcomes: Sequence[Outcome], admissions: Sequence[Sequence[Admission]]
) -> None:
    """Release URLs that a learned rule holds and that these outcomes show are needed.

    These are the targets of redirects, and URLs that were held for a page that is not there.
    """
    targets = [
        admitted.row
        for outcome, answers in zip(outcomes, admissions, strict=True)
        for hop, admitted in zip(outcome.hops, answers, strict=False)
        if hop.kind == "redirect"
    ]
    classes.release(connection, targets)
    gone = [
        o.row
        for o in outcomes
        if o.state in {State.FAILED, State.HELD} or (o.page is not None and o.page.status >= 400)  # noqa: PLR2004 - HTTP's own class
    ]
    classes.release_for(connection, gone)


@contextmanager
def _no_collecting() -> Iterator[None]:
    """Keep the garbage collector from walking through a batch again and again: nothing is cyclic.

    Measured: a quarter of the time of a large batch.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def _snapshot_path(engine: Engine, store_id: str) -> Path | None:
    """Return where the filter of a store is kept: beside its file, or in the user's cache."""
    database = engine.url.database
    if engine.dialect.name != "sqlite":
        cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        return Path(cache) / "canonry" / f"{store_id}.bloom"
    return Path(f"{database}.bloom") if database and database != ":memory:" else None


def _establish(connection: Connection, policy: str, fingerprint: str) -> str:
    """Make the tables or check that they are ours; return the store's id."""
    ours = {"schema": str(VERSION), "policy": policy, "fingerprint": fingerprint}
    tables = inspect(connection).get_table_names()
    if not tables:
        metadata.create_all(connection)
        facts = {**ours, "id": uuid.uuid4().hex}
        connection.execute(insert(meta), [{"name": n, "value": v} for n, v in facts.items()])
        return facts["id"]
    facts = read_facts(connection)
    check_schema(facts)
    if facts["policy"] != policy:
        raise StoreError(
            f"its keys were made under policy {facts['policy']}, not {policy}; "
            f"give --policy {facts['policy'].partition('/')[0]}, or another --store"
        )
    if facts["fingerprint"] != fingerprint:
        raise StoreError(
            f"policy {policy} has changed since the store was made, but not its version; "
            "give it a new version and another --store, or take the change back"
        )
    return facts["id"]


def check_schema(facts: dict[str, str]) -> None:
    """Refuse a store of another schema, with the command that mends it.

    Raises:
        StoreError: saying which it has.
    """
    if int(facts["schema"]) < VERSION:
        raise StoreError(
            f"it has schema {facts['schema']}, and this program reads schema {VERSION}; "
            "bring it there: canonry upgrade --store URL"
        )
    if int(facts["schema"]) > VERSION:
        raise StoreError(
            f"it has schema {facts['schema']}, and this program reads schema {VERSION}; "
            "use the program that made it, or another --store"
        )


def read_facts(connection: Connection) -> dict[str, str]:
    """Return what a store says of itself.

    Raises:
        StoreError: when it is no store of ours.
    """
    if not inspect(connection).has_table("meta"):
        raise StoreError("the database holds other tables, and none of Canonry's; use another")
    facts = {row.name: row.value for row in connection.execute(select(meta.c.name, meta.c.value))}
    if missing := {"schema", "policy", "fingerprint", "id"} - facts.keys():
        raise StoreError(f"its table 'meta' lacks {min(missing)!r}; it is no store of ours")
    return facts
