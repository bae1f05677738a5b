"""How long does `spark.distinct` take on Sail and PySpark, beside the same with Python rows?

From Parquet to Parquet, on this machine, with as many tasks as it has processors. By the clock, of
the best of interleaved rounds; a first round, in which the engines start, does not count.
"""

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from measure import arguments, corpus, keep
from pyarrow import parquet

import canonry
from canonry.crawler.batch import spark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

LINES, FILES = 5_000_000, 8


def make_files(folder: Path, urls: list[str]) -> int:
    """Write the URLs again and again, until there are enough; return how many these are."""
    texts = pa.array([url.encode("utf-8", "replace").decode() for url in urls], pa.string())
    table = pa.table({"url": pa.chunked_array([texts] * -(-LINES // len(urls)))})
    share = -(-table.num_rows // FILES)
    for n in range(FILES):
        parquet.write_table(table.slice(n * share, share), folder / f"{n}.parquet")
    return table.num_rows


def by_rows(frame: "DataFrame") -> "DataFrame":
    """Do what `spark.distinct` does, with Python objects for each row."""

    def add(batches: Iterator[Any]) -> Iterator[Any]:
        make = canonry.Canonicalizer("web")
        for batch in batches:
            found = list(make.many(batch["url"].to_pylist()))
            rows = [
                (None, None, one.reason.name.lower())
                if isinstance(one, canonry.Refused)
                else (one.identity, one.key, None)
                for one in found
            ]
            kinds = (pa.string(), pa.binary(), pa.string())
            columns = zip(*rows, strict=True) if rows else ((), (), ())
            made = [pa.array(values, kind) for values, kind in zip(columns, kinds, strict=True)]
            names = ["url", "canonical", "key", "reason"]
            yield pa.RecordBatch.from_arrays([batch["url"], *made], names)

    schema = "url string, canonical string, key binary, reason string"
    keyed = frame.mapInArrow(add, schema).where("key is not null")
    f = spark.functions_of(keyed)
    return keyed.groupBy("key").agg(f.min("url").alias("url"), f.count("*").alias("rows"))


def run(session: Any, made: Callable[["DataFrame"], "DataFrame"], source: str, out: str) -> None:  # noqa: ANN401 - of either kind
    """Read, deduplicate and write."""
    made(session.read.parquet(source)).write.mode("overwrite").parquet(out)


def sail_session(workers: int | None) -> "SparkSession":
    """Start a Sail server in this process, and return a session on it."""
    from pysail.spark import SparkConnectServer  # noqa: PLC0415 - it reads the environment
    from pyspark.sql.connect.session import SparkSession  # noqa: PLC0415 - it warns of pandas

    os.environ["SAIL_EXECUTION__DEFAULT_PARALLELISM"] = str(workers)
    server = SparkConnectServer("127.0.0.1", 0)
    server.start(background=True)
    host, port = server.listening_address
    return SparkSession.builder.remote(f"sc://{host}:{port}").getOrCreate()  # type: ignore[return-value]


def spark_session(workers: int | None) -> "SparkSession":
    """Start Spark, which needs Java 17, on this machine."""
    from pyspark.sql import SparkSession  # noqa: PLC0415 - beside that of Spark Connect

    return SparkSession.builder.master(f"local[{workers}]").getOrCreate()


def main() -> None:
    """Measure and print."""
    given = arguments(str(__doc__))
    urls = corpus(given)
    processors = os.cpu_count()
    with tempfile.TemporaryDirectory() as place:
        source, out = Path(place, "in"), Path(place, "out")
        source.mkdir()
        lines = make_files(source, urls)
        engines = {"Sail": sail_session(processors), "PySpark": spark_session(processors)}
        ways = {"distinct": spark.distinct, "a Python row each": by_rows}
        works = {
            f"{engine}, {way}": partial(run, session, made, str(source), str(out))
            for engine, session in engines.items()
            for way, made in ways.items()
        }
        seconds = dict.fromkeys(works, float("inf"))
        for n in range(given.rounds + 1):
            for name, work in works.items():
                start = time.perf_counter()
                work()
                if n:
                    seconds[name] = min(seconds[name], time.perf_counter() - start)
        keys = parquet.read_table(out).num_rows
    print(f"{lines:,} lines, {keys:,} resources")
    for name, took in seconds.items():
        print(f"{name:34} {took:8.1f} s {lines / took:12,.0f} lines a second")
    keep(given, "spark", urls, {"lines": lines, "keys": keys, "seconds": seconds})


if __name__ == "__main__":
    main()
