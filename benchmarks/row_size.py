"""What does a URL weigh in a SQLite store: while it grows, and once it is closed?

Queued URLs alone, each with its text, key, host and place in the queue: in batches of a hundred
thousand, as in bulk work, and of a thousand, as a crawl finds them. The sizes are those of the
files, the largest one that the log had, and what each table and index takes of the closed file.
"""

import hashlib
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

from measure import arguments, keep
from store import candidates, open_store

_BATCHES = {"in bulk": 100_000, "as a crawl": 1_000}
_PARTS = "SELECT name, sum(pgsize), sum(unused) FROM dbstat WHERE aggregate = TRUE GROUP BY name"


def _key(number: int) -> bytes:
    """Return a key: as random as those of a store."""
    return hashlib.blake2b(number.to_bytes(8), digest_size=16).digest()


def sizes(folder: Path) -> dict[str, int]:
    """Return the bytes of each file of a store, by its ending."""
    files = folder.glob("store.db*")
    return {one.name.removeprefix("store"): one.stat().st_size for one in sorted(files)}


def parts(file: Path, number: int) -> dict[str, list[float]]:
    """Return by table or index its bytes a URL, and which share of them is free."""
    with closing(sqlite3.connect(file)) as connection:
        rows = connection.execute(_PARTS).fetchall()
    return {
        name: [round(size / number, 2), round(unused / size, 3)]
        for name, size, unused in sorted(rows, key=lambda row: -row[1])
        if size / number > 0.1
    }


def weighed(folder: Path, millions: int, batch: int) -> dict[str, Any]:
    """Fill a store, close it cleanly, and weigh it."""
    store = open_store(f"sqlite:///{folder / 'store.db'}")
    number, log = millions * 1_000_000, 0
    for start in range(0, number, 100_000):
        some = candidates([(n, _key(n)) for n in range(start, start + 100_000)])
        for at in range(0, len(some), batch):
            store.admit(some[at : at + batch], 1.7e9 + (start + at) / 1_000)
        log = max(log, sizes(folder).get(".db-wal", 0))
    before = sizes(folder)
    store.close()
    after = sizes(folder)
    return {
        "largest log": log,
        "files, open": before,
        "files, closed": after,
        "bytes a URL, open, with the log": round(sum(before.values()) / number, 1),
        "bytes a URL, closed, the database": round(after[".db"] / number, 1),
        "bytes a URL, closed, all files": round(sum(after.values()) / number, 1),
        "bytes a URL, free share": parts(folder / "store.db", number),
    }


def main() -> None:
    """Measure and print."""
    given = arguments(str(__doc__), top=5)
    found: dict[str, Any] = {}
    for name, batch in _BATCHES.items():
        for millions in sorted({1, given.top}):
            with tempfile.TemporaryDirectory() as folder:
                found[f"{name}, {millions} M"] = one = weighed(Path(folder), millions, batch)
            print(f"{name}, {millions} M")
            for what, value in one.items():
                print(f"  {what}: {value}", flush=True)
    keep(given, "row_size", [], {"stores": found})


if __name__ == "__main__":
    main()
