"""How many rows a second do the functions for SQL and data frames make, and a call for each row?"""

import sqlite3
import time
from collections.abc import Callable
from importlib.metadata import version

import duckdb
import pandas as pd
import polars as pl
from measure import arguments, corpus, keep

import canonry
import canonry.pandas
import canonry.polars
import canonry.sql

NAMES = ("identity", "key", "host", "surt", "reason")


def busy(work: Callable[[], object], rounds: int) -> float:
    """Return the seconds of all processors in the best round."""
    times = []
    for _ in range(rounds):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def main() -> None:
    """Measure and print."""
    given = arguments(str(__doc__))
    urls = corpus(given)
    lite = sqlite3.connect(":memory:")
    lite.execute("CREATE TABLE t (u TEXT)")
    lite.executemany("INSERT INTO t VALUES (?)", [(url,) for url in urls])
    duck = duckdb.connect()
    series = pl.Series("u", urls)
    arrow = series.to_arrow()
    duck.register("given", arrow.to_pandas().to_frame("u"))
    duck.execute("CREATE TABLE t AS SELECT u FROM given")
    canonry.sql.register(lite)
    canonry.sql.register(duck)
    frame = pd.Series(urls)
    arrowed = pd.Series(arrow, dtype=pd.ArrowDtype(arrow.type))
    works: dict[str, Callable[[], object]] = {}
    for name in NAMES:
        query = f"SELECT count(canonry_{name}(u)) FROM t"  # noqa: S608 - our names
        works[f"SQLite, {name}"] = lambda q=query: lite.execute(q).fetchall()
        works[f"DuckDB, {name}"] = lambda q=query: duck.execute(q).fetchall()
        works[f"Polars, {name}"] = getattr(series.canonry, name)
        works[f"pandas, {name}"] = getattr(frame.canonry, name)
        works[f"pandas with Arrow, {name}"] = getattr(arrowed.canonry, name)
    one = canonry.canonicalize
    works["pandas, map(canonicalize)"] = lambda: frame.map(one)
    works["Polars, map_elements(canonicalize)"] = lambda: series.map_elements(
        one, return_dtype=pl.String
    )
    found = {}
    for name, work in works.items():
        found[name] = round(len(urls) / busy(work, given.rounds))
        print(f"{name:40} {found[name]:>12,} rows a second of one processor")
    versions = {name: version(name) for name in ("duckdb", "pandas", "polars", "pyarrow")}
    result = {"rows a second": found, "peers": versions, "sqlite": sqlite3.sqlite_version}
    keep(given, "frames", urls, result)


if __name__ == "__main__":
    main()
