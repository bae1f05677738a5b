"""What does a URL weigh, and how fast are claims, in stores of one, ten and fifty million URLs?

The stores are filled in bulk. Then the links of a crawl are claimed, nine of ten of them known by
Zipf's law: a thousand in a transaction, as a busy crawl has them, and a hundred thousand.
"""

import tempfile
import time
from pathlib import Path

import numpy as np
import psycopg
from measure import arguments, keep
from numpy.typing import NDArray
from store import candidates, database, memory, open_store, size_of

from canonry.storage import Store

_MILLION = 1_000_000
_AT = (1, 10, 50)  # millions
_BATCH = 100_000
_LINKS = {1_000: 200_000, 100_000: 1_000_000}  # in a transaction, and in all
_SIZES = """SELECT sum(pg_total_relation_size(oid)) FROM pg_class
WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'"""


def keys_of(numbers: NDArray[np.uint64]) -> list[bytes]:
    """Return distinct keys that look like digests, the same ones for the same numbers."""
    halves = [numbers * np.uint64(0x9E3779B97F4A7C15), numbers * np.uint64(0xC2B2AE3D27D4EB4F)]
    data = np.stack([half ^ (half >> np.uint64(29)) for half in halves], axis=1).tobytes()
    return [data[at : at + 16] for at in range(0, len(data), 16)]


def fill(store: Store, start: int, end: int) -> float:
    """Admit new URLs, a million in a transaction; return how many a second."""
    seconds = 0.0
    for first in range(start, end, _MILLION):
        with store.transaction() as connection:
            for at in range(first, min(first + _MILLION, end), _BATCH):
                numbers = np.arange(at, at + _BATCH, dtype=np.uint64)
                part = candidates(list(zip(numbers.tolist(), keys_of(numbers), strict=True)))
                begun = time.perf_counter()
                store.admit_in(connection, part, 0.0)
                seconds += time.perf_counter() - begun
            begun = time.perf_counter()
        seconds += time.perf_counter() - begun
    return (end - start) / seconds


def claim_links(store: Store, known: int, batch: int, seed: int) -> float:
    """Claim a crawl's links; return how many a second."""
    rng = np.random.default_rng(seed)
    count = _LINKS[batch]
    fresh = np.arange(count, dtype=np.uint64) + np.uint64(seed << 40)
    old = (np.minimum(rng.zipf(1.1, count), known) - 1).astype(np.uint64)
    numbers = np.where(rng.random(count) < 0.1, fresh, old)
    links = candidates(list(zip(numbers.tolist(), keys_of(numbers), strict=True)))
    begun = time.perf_counter()
    for at in range(0, count, batch):
        store.admit(links[at : at + batch], 0.0)
    return count / (time.perf_counter() - begun)


def weight(name: str, folder: Path, url: str) -> int:
    """Return the bytes of a store: of its files, or of the tables and indexes of the server."""
    if name == "sqlite":
        return size_of(folder)
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute(_SIZES).fetchone()
    assert row is not None  # noqa: S101 - a sum is one row
    return int(row[0])


def main() -> None:
    """Measure and print."""
    given = arguments(str(__doc__), top=50)
    found: dict[str, dict[str, float]] = {}
    for name in ("postgresql", "sqlite"):
        with tempfile.TemporaryDirectory() as place, database(name, Path(place)) as url:
            store, known = open_store(url), 0
            for millions in [at for at in _AT if at <= given.top]:
                rate = fill(store, known, millions * _MILLION)
                known = millions * _MILLION
                row = {"new URLs/s until then": rate}
                row["bytes a URL"] = weight(name, Path(place), url) / known
                for seed, batch in enumerate(_LINKS, 2 * millions):
                    row[f"links/s, {batch:,} at once"] = claim_links(store, known, batch, seed)
                row["memory, MB"] = memory() / 1e6
                found[f"{name}, {millions} million"] = row
                figures = ", ".join(f"{what}: {number:,.0f}" for what, number in row.items())
                print(f"{name}, {millions} million. {figures}", flush=True)
            store.close()
    keep(given, "large", [], found)


if __name__ == "__main__":
    main()
