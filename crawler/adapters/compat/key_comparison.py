"""Where the keys of another program merge URLs that ours keep apart, and the other way round."""

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from hashlib import blake2b
from typing import NamedTuple, Self

from canonry.canon import redact
from canonry.crawler.adapters.compat.key_map import MapRow

_DIGEST = 32  # hexadecimal digits
_EXAMPLES = 10
_SHOWN = 200  # characters of a URL in an example


class SharedKeys(NamedTuple):
    """The keys of one program that are shared by URLs with different keys of the other one."""

    number: int
    examples: list[tuple[str, str]]  # two URLs of a shared key, of the first keys


class KeyComparison:
    """The old key and the new one of each URL, in a temporary database that may outgrow memory."""

    def __init__(self, database: sqlite3.Connection) -> None:
        """Keep keys in an empty database."""
        self._database = database
        database.execute("CREATE TABLE pairs (old TEXT, new TEXT, text TEXT)")

    @classmethod
    @contextmanager
    def temporary(cls) -> Iterator[Self]:
        """Open a comparison whose database is deleted at the end.

        Raises:
            OSError: also in the block, if there is no space for it.
        """
        database = sqlite3.connect("")
        try:
            yield cls(database)
        except sqlite3.Error as error:
            raise OSError(f"the temporary files of the comparison: {error}") from None
        finally:
            database.close()

    def add(self, rows: Iterable[MapRow]) -> None:
        """Add the keys of URLs."""
        self._database.executemany(
            "INSERT INTO pairs VALUES (?, ?, ?)",
            ((_digest(row.old), row.key, _shown(row.text)) for row in rows),
        )

    def merged_by_old(self) -> SharedKeys:
        """Return the old keys that several new ones share."""
        return self._shared("old", "new")

    def merged_by_new(self) -> SharedKeys:
        """Return the new keys that several old ones share."""
        return self._shared("new", "old")

    def _shared(self, one: str, other: str) -> SharedKeys:
        # All digests have one length, so the least text and the greatest one begin with different
        # digests where there are several.
        found = self._database.execute(
            f"SELECT min({other} || text), max({other} || text) FROM pairs "  # noqa: S608 - names of columns
            f"GROUP BY {one} HAVING min({other}) <> max({other}) ORDER BY min(rowid)"
        )
        number = 0
        examples: list[tuple[str, str]] = []
        for number, (first, second) in enumerate(found, 1):
            if number <= _EXAMPLES:
                examples.append((first[_DIGEST:], second[_DIGEST:]))
        return SharedKeys(number, examples)


def _digest(key: str) -> str:
    """Return a digest of an old key, which may be of any length."""
    return blake2b(key.encode("utf-8", "surrogatepass"), digest_size=_DIGEST // 2).hexdigest()


def _shown(text: str) -> str:
    """Return a URL for people."""
    readable = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return redact(readable)[:_SHOWN].replace("\0", "\ufffd")
