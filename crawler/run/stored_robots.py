"""The robots.txt files in the store, read and written on the writer thread."""

from canonry.storage import Store
from canonry.storage.records import CachedRobots
from canonry.storage.rows import host_rows
from canonry.storage.sql.engine import Writer


class StoredRobots:
    """Keeps robots.txt files in the store."""

    def __init__(self, store: Store, writer: Writer) -> None:
        """Bind the store and its thread."""
        self._store = store
        self._writer = writer

    async def get_robots(self, origin: str) -> CachedRobots | None:
        """Return the stored file of an origin; None when there is none."""

        def get() -> CachedRobots | None:
            with self._store.transaction() as connection:
                return host_rows.cached_robots(connection, origin)

        return await self._writer.call(get)

    async def put_robots(self, origin: str, kept: CachedRobots) -> None:
        """Store the file of an origin."""

        def put() -> None:
            with self._store.transaction() as connection:
                host_rows.cache_robots(connection, origin, kept)

        await self._writer.call(put)
