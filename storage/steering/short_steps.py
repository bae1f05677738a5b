"""Short steps: many small transactions that change a store; running crawls notice them."""

import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from sqlalchemy import Connection, select

from canonry.storage.facts import check_schema, read_facts
from canonry.storage.sql.bulk import put, rows_of
from canonry.storage.sql.database_faults import explaining, naming
from canonry.storage.sql.engine import open_engine
from canonry.storage.sql.schema import meta

STEP = 5_000  # URLs in one transaction: some fifty milliseconds
_SHORTEST_PAUSE = 0.01  # seconds between two steps
_NAME = "queue"
_READ = select(meta.c.value).where(meta.c.name == _NAME)


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
        self._engine = open_engine(url, create=False)

    def __enter__(self) -> Self:
        """Return the store."""
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
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
                check_schema(read_facts(connection))
            yield connection
            advance(connection)

    def repeat(self, change: Callable[[Connection], int | None]) -> int:
        """Run a change in steps until it is done; return how many URLs it changed.

        Args:
            change: returns how many URLs it changed; None when there is nothing left to do.
        """
        total = 0
        while True:
            begun = time.monotonic()
            with self.step() as connection:
                changed = change(connection)
            if changed is None:
                return total
            total += changed
            time.sleep(max(time.monotonic() - begun, _SHORTEST_PAUSE))


def generation(connection: Connection) -> int:
    """Return a number that grows whenever people change the queue."""
    return int(connection.scalar(_READ) or 0)


def advance(connection: Connection) -> None:
    """Record that the queue was changed, in the transaction that changes it."""
    now = str(generation(connection) + 1)
    put(connection, meta, [{"name": _NAME, "value": now}])


def withdrawn(connection: Connection, url_ids: Collection[int]) -> set[int]:
    """Return those of some URLs that were queued and are not to be fetched any more."""
    question = (
        "SELECT urls.id FROM urls JOIN hosts ON hosts.id = host_id "
        "WHERE (state <> 0 OR blocked > 0) AND urls.id"
    )
    return {url_id for (url_id,) in rows_of(connection, question, list(url_ids))}
