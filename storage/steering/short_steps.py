"""Short steps: many small transactions that change a store; running crawls notice them."""

import time
from array import array
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, Self, TypeAlias

from sqlalchemy import Connection, ScalarSelect, Select, select

from canonry.storage import facts
from canonry.storage.sql.bulk import rows_of
from canonry.storage.sql.database_faults import explaining, naming, opened
from canonry.storage.sql.engine import open_engine
from canonry.storage.sql.schema import State, hosts, urls
from canonry.storage.sql.store_errors import StoreError

STEP = 5_000  # URLs in one transaction: some fifty milliseconds
_SHORTEST_PAUSE = 0.01  # seconds between two steps
# Changes some URLs, given by their ids; returns how many, and None if the rest are to stay.
Step: TypeAlias = Callable[[Connection, Sequence[int]], int | None]


class QueueChange(NamedTuple):
    """A change of many URLs. The mark says at once what is to be; steps that were cut off go on."""

    mark: Callable[[Connection], object]
    which: Select[Any]  # finds the ids of the URLs
    step: Step
    end: Callable[[Connection], int] = lambda _connection: 0  # returns how many it changed


class ShortSteps:
    """A store, opened to change its queue. It claims no keys: it needs no policy and no filter.

    Each step is one transaction, whole or not at all. After a step, a crawl gets at least as much
    time as the step took.
    """

    def __init__(self, url: str) -> None:
        """Open a store that is there.

        Args:
            url: a SQLAlchemy URL.

        Raises:
            StoreError: if there is none.
        """
        self._url = url
        self._engine = open_engine(url, create=False)

    def __enter__(self) -> Self:
        """Return the store."""
        return self

    def __exit__(self, *_error: object) -> None:
        """Close the database."""
        self._engine.dispose()

    @contextmanager
    def step(self) -> Iterator[Connection]:
        """Run a block as one transaction; running crawls then look at what it changed.

        Raises:
            StoreError: if the store has another schema, or the database fails.
        """
        with explaining(self._engine), self._engine.begin() as connection:
            with naming(self._engine):
                facts.check_schema(facts.read_facts(connection))
            yield connection
            facts.advance(connection, facts.QUEUE)

    def run(self, change: QueueChange) -> int:
        """Change URLs, some in each step; return how many were changed.

        The ids are read first, once, while others may write: so a step checks each again.
        """
        with self.step() as connection:
            change.mark(connection)
        with opened(self._url) as reader, reader.begin() as connection:
            parts = _parts_of(connection, change.which)
        total = 0
        for part in parts:
            begun = time.monotonic()
            with self.step() as connection:
                changed = change.step(connection, part)
            if changed is None:
                break
            total += changed
            time.sleep(max(time.monotonic() - begun, _SHORTEST_PAUSE))
        with self.step() as connection:
            return total + change.end(connection)


def run_at_once(connection: Connection, change: QueueChange) -> int:
    """Change URLs as `ShortSteps.run` does, in one transaction; return how many."""
    change.mark(connection)
    parts = _parts_of(connection, change.which)
    return sum(change.step(connection, part) or 0 for part in parts) + change.end(connection)


def _parts_of(connection: Connection, which: Select[Any]) -> list[Sequence[int]]:
    """Return the ids of URLs in parts, one for each step."""
    url_ids = array("q", connection.scalars(which.execution_options(yield_per=STEP)))
    return [url_ids[start : start + STEP] for start in range(0, len(url_ids), STEP)]


def queued_on(host: str) -> Select[Any]:
    """Return a query for the queued URLs of a host, in an order that an index has."""
    here = (urls.c.host_id == id_of(host), urls.c.state == State.QUEUED)
    return select(urls.c.id).where(*here).order_by(urls.c.priority)


def id_of(host: str) -> ScalarSelect[int]:
    """Return the id of a host as part of a query."""
    return select(hosts.c.id).where(hosts.c.name == host).scalar_subquery()


def host_id_of(connection: Connection, name: str) -> int:
    """Return the id of a host.

    Raises:
        StoreError: if there is none.
    """
    host_id = connection.scalar(select(hosts.c.id).where(hosts.c.name == name))
    if host_id is None:
        raise StoreError(f"host {name!r}: the store knows no such host; 'canonry hosts list'")
    return int(host_id)


def withdrawn(connection: Connection, url_ids: Collection[int]) -> set[int]:
    """Return those of some URLs that were queued and are not to be fetched any more."""
    question = (
        "SELECT urls.id FROM urls JOIN hosts ON hosts.id = host_id "
        "WHERE (state <> 0 OR blocked > 0) AND urls.id"
    )
    return {url_id for (url_id,) in rows_of(connection, question, list(url_ids))}
