"""What does a new URL take a store on SQLite, and what SQLite alone, which only inserts its rows?

Each fills a file of its own, by turns, a batch of a hundred thousand: so what else the machine does
meanwhile slows all of them. It is processor time that counts, in several rounds. Tables, indexes,
rows, transactions and the settings that decide what is durable are the same.

In favour of SQLite alone: its rows are made, and the keys sorted, before the clock runs; no key is
asked for; a host's row, the counts and the filter are not kept. It inserts row by row, as one would
write it ("plain"), and with the statements of the store ("best"): the rest of ours is not SQLite.
"""

import gc
import statistics
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from measure import arguments, keep
from sqlalchemy import Connection, Engine
from store import BATCH, COLUMNS, candidates, clock, keys, open_store

from canonry.storage import Candidate, Store
from canonry.storage.sql import schema
from canonry.storage.sql.bulk import insert_rows
from canonry.storage.sql.engine import open_engine
from canonry.storage.sql.url_suffixes import suffixes_of

_GROUP = 100
_BOUND = {"id": "?", "suffix": "?", "host_id": "?", "depth": "1", "found_at": "?"}
_NULL = ("raw_url", "reason", "source_id")
_MILLION = 1_000_000
_Work = Callable[[Connection], object]


def plain(first: int, some: list[Candidate]) -> _Work:
    """Prepare the rows of URLs; return what inserts them, one after the other."""
    known = sorted((one.key, n) for n, one in enumerate(some, first))
    rows = [
        (n, suffix, None, n % 1000, 0, None, 1, 0, None, 0, 0, 0.0, 0.0)
        for n, suffix in enumerate(_suffixes(some), first)
    ]

    def insert(connection: Connection) -> None:
        insert_rows(connection, schema.keys, ("key", "url_id"), known)
        insert_rows(connection, schema.url_rows, COLUMNS, rows)

    return insert


def best(first: int, some: list[Candidate]) -> _Work:
    """Prepare the same rows; return what inserts them in as few steps as we know of."""
    known = sorted((one.key, n) for n, one in enumerate(some, first))
    flat = [value for row in known for value in row]
    width = 2 * _GROUP
    groups = [tuple(flat[at : at + width]) for at in range(0, len(flat), width)]
    rows = [(n, suffix, n % 1000, 0.0) for n, suffix in enumerate(_suffixes(some), first)]

    marks = dict.fromkeys(COLUMNS, "0") | dict.fromkeys(_NULL, "NULL") | _BOUND
    columns, values = ", ".join(COLUMNS), ", ".join(map(marks.__getitem__, COLUMNS))
    pairs = ", ".join(["(?, ?)"] * _GROUP)

    def insert(connection: Connection) -> None:
        keys_in = f"INSERT INTO keys (key, url_id) VALUES {pairs}"  # noqa: S608 - our names
        connection.exec_driver_sql(keys_in, groups)
        rows_in = f"INSERT INTO url_rows ({columns}) VALUES ({values})"  # noqa: S608 - our names
        connection.exec_driver_sql(rows_in, rows)

    return insert


def _suffixes(some: list[Candidate]) -> list[str]:
    return suffixes_of([one.url for one in some], [one.host for one in some])


def fill(folder: Path, millions: int, turn: int) -> list[dict[str, float]]:
    """Fill all files; return for each million the microseconds that a URL took each of them.

    In the first million, each batch is a transaction, as in a crawl; then each million is.
    """
    store = open_store(f"sqlite:///{folder / 'store.db'}")
    alone = {"plain": plain, "best": best}
    engines = {name: open_engine(f"sqlite:///{folder / name}.db") for name in alone}
    for engine in engines.values():
        with engine.begin() as connection:
            schema.metadata.create_all(connection)
    taken = []
    for start in range(0, millions * _MILLION, _MILLION):
        made = list(enumerate(keys(start, _MILLION), start))
        step = _MILLION if start else BATCH
        used = dict.fromkeys(["ours", *alone], 0.0)
        for first in range(0, _MILLION, step):
            opened: dict[str, tuple[ExitStack, Connection]] = {}
            for name in used:
                stack = ExitStack()
                begun = clock()
                opened[name] = (stack, stack.enter_context(_begin(store, engines.get(name))))
                used[name] += clock().since(begun).cpu
            for at in range(first, first + step, BATCH):
                some = candidates(made[at : at + BATCH])
                work = {name: prepare(start + at + 1, some) for name, prepare in alone.items()}
                work["ours"] = lambda connection, some=some: store.admit_in(connection, some, 0.0)
                for name in _rotated(list(used), turn + at // BATCH):
                    gc.collect()
                    begun = clock()
                    work[name](opened[name][1])
                    used[name] += clock().since(begun).cpu
            for name in _rotated(list(used), turn):
                begun = clock()
                opened[name][0].close()
                used[name] += clock().since(begun).cpu
        taken.append(used)
    store.close()
    for engine in engines.values():
        engine.dispose()
    return taken


def _begin(store: Store, engine: Engine | None):  # noqa: ANN202 - either's own kind of block
    """Begin a transaction of the store, or of SQLite alone."""
    return store.transaction() if engine is None else engine.begin()


def _rotated(names: list[str], by: int) -> list[str]:
    """Return names in an order of which another one is the first each time."""
    at = by % len(names)
    return names[at:] + names[:at]


def main() -> None:
    """Measure and print."""
    given = arguments(str(__doc__), top=1)
    rounds = []
    for n in range(given.rounds):
        with tempfile.TemporaryDirectory() as folder:
            rounds.append(fill(Path(folder), given.top, n))
        for at, used in enumerate(rounds[-1]):
            shown = ", ".join(f"{name} {taken:.2f}" for name, taken in used.items())
            print(f"from {at} M, us a URL: {shown}", flush=True)
    ratios = [
        {
            name: round(statistics.median(one["ours"] / one[name] for one in million), 3)
            for name in ("plain", "best")
        }
        for million in zip(*rounds, strict=True)
    ]
    print("ours, times SQLite alone (medians):", ratios)
    keep(given, "fresh", [], {"microseconds": rounds, "ours, times SQLite alone": ratios})


if __name__ == "__main__":
    main()
