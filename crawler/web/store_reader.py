"""A reader of a store for many short reads; it keeps connections open on its own threads."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from sqlalchemy import Connection, Engine

from canonry.storage import StoreError
from canonry.storage.facts import check_schema, read_facts
from canonry.storage.reading import report
from canonry.storage.sql.database_faults import explaining, naming
from canonry.storage.sql.engine import open_engine
from canonry.storage.sql.sqlite_engine import file_version

_THREADS = 2  # viewers wait for each other rather than slow the crawl

_T = TypeVar("_T")


class StoreReader:
    """Reads consistent snapshots of a store; never writes, and never blocks a writer."""

    def __init__(self, url: str) -> None:
        """Read the store of a SQLAlchemy URL; it may not exist yet."""
        self._url = url
        self._engine: Engine | None = None
        self._opening = threading.Lock()
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="canonry-viewer")

    async def read(self, view: Callable[[Connection], _T]) -> _T:
        """Run a function over a connection, on a thread; return its result.

        Raises:
            StoreError: if there is no store, it has another schema, or the database fails.
        """
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._read, view)

    def _read(self, view: Callable[[Connection], _T]) -> _T:
        engine = self._open()
        if file_version(engine.url) is not None:  # no lock: see if it changes
            with report.reading(self._url) as connection:
                return view(connection)
        try:
            with explaining(engine), engine.begin() as connection:
                with naming(engine):
                    check_schema(read_facts(connection))
                return view(connection)
        except StoreError:
            self._forget(engine)
            raise

    def _open(self) -> Engine:
        with self._opening:
            if self._engine is None:
                self._engine = open_engine(self._url, read_only=True)
            return self._engine

    def _forget(self, engine: Engine) -> None:
        """Drop the open connections, as another store may have replaced the file."""
        with self._opening:
            if self._engine is engine:
                self._engine = None
        engine.dispose()

    def close(self) -> None:
        """Wait for running reads, and close the connections."""
        self._threads.shutdown(wait=True, cancel_futures=True)
        if self._engine is not None:
            self._engine.dispose()
