"""Short steps: a store changed in many small transactions, beside a crawl that writes to it."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from sqlalchemy import Connection

from canonry.storage.facts import check_schema, read_facts
from canonry.storage.sql.database_faults import explaining, naming
from canonry.storage.sql.engine import open_engine
from canonry.storage.steering import queue_changes

STEP = 5_000  # URLs in one transaction: some fifty milliseconds
_SHORTEST_PAUSE = 0.01  # seconds between two steps


class ShortSteps:
    """A store whose queue is changed. It needs no keys, so no policy, and no filter is loaded.

    Each step is one transaction, whole or not at all. Between two steps, a crawl gets at least as
    much time for its own as they take.
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
            queue_changes.advance(connection)

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
