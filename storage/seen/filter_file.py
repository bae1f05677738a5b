"""The filter between runs: where its file is kept, and how the seen set starts from it."""

import os
from collections.abc import Callable
from pathlib import Path

from sqlalchemy import Connection, Engine

from canonry.storage.seen import snapshot
from canonry.storage.seen.bloom import FIRST_CAPACITY, KeyFilter
from canonry.storage.seen.seen_set import SeenSet
from canonry.storage.sql.bulk import next_id
from canonry.storage.sql.schema import keys


class FilterFile:
    """The file of one store's filter. A store in memory has none."""

    def __init__(self, engine: Engine, store_id: str, notify: Callable[[str], None]) -> None:
        """Find the file of a store.

        Args:
            engine: of the store.
            store_id: 32 hex digits.
            notify: receives sentences for people, about work that takes time.
        """
        self._path = _path(engine, store_id)
        self._store_id = store_id
        self._notify = notify

    def load(self, connection: Connection) -> SeenSet:
        """Return the seen set: from the file if it can be used, otherwise from the table."""
        newest = next_id(connection, keys) - 1
        found: snapshot.Snapshot | str = "there is no filter file"
        if self._path is not None:
            found = snapshot.load(self._path, self._store_id)
        if not isinstance(found, str) and found.generation > newest:
            found = "the filter file is ahead of the table"
        elif not isinstance(found, str) and found.filter.links > 1:
            found = "the filter has outgrown its first size"
        if isinstance(found, str):
            if newest:
                self._notify(f"{found}; rebuilding it from {newest:,} keys")
            seen = SeenSet(KeyFilter(first_capacity=max(FIRST_CAPACITY, 2 * newest)), 0)
        else:
            seen = SeenSet(*found)
        done = 0
        for n in seen.catch_up(connection):
            done += n
            if done % 1_000_000 < n:
                self._notify(f"filter: {done:,} of {newest:,} keys")
        return seen

    def save(self, seen: SeenSet) -> None:
        """Write the filter of a seen set. If that fails, the next start rebuilds it."""
        if self._path is None:
            return
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            snapshot.save(self._path, seen.filter, self._store_id, seen.known_up_to)
        except OSError as error:
            self._notify(f"the filter was not saved ({error}); the next start rebuilds it")


def _path(engine: Engine, store_id: str) -> Path | None:
    """Return the path: beside a database file, otherwise in the user's cache."""
    database = engine.url.database
    if engine.dialect.name != "sqlite":
        cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        return Path(cache) / "canonry" / f"{store_id}.bloom"
    return Path(f"{database}.bloom") if database and database != ":memory:" else None
