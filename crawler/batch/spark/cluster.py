"""Dedup of files on a cluster; it keeps the same lines as a job on one machine."""

from collections.abc import Callable, Sequence
from itertools import groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING

from canonry.canon import Canonicalizer, Refused
from canonry.crawler.batch import keying
from canonry.crawler.batch.dedup_job import Plan
from canonry.crawler.batch.results import DISTINCT_COLUMNS, DistinctLines, Results, as_read
from canonry.crawler.batch.spark.frames import Batches
from canonry.crawler.batch.summary import NOT_EXAMINED, Summary
from canonry.crawler.files import blocks
from canonry.crawler.files.formats import InputFormat
from canonry.crawler.files.line_streams import Cut

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

_LINE_BITS = 40  # low bits of a place, for the line number; higher bits are the file number
_LINE = (1 << _LINE_BITS) - 1
_SOME = 10_000  # rows
_CUT, _BLANK = "(cut)", "(blank)"
_SQL_TYPES = {str: "string", int: "bigint"}
_ROW = "key binary, reason string, line struct<place:bigint, text:binary>"


def dedup(
    plan: Plan,
    spark: "SparkSession",
    results: Results | None = None,
    folder: str | None = None,
) -> Summary:
    """Deduplicate files.

    A task reads a whole file, so a few hundred files are better than one.

    Args:
        plan: whose files every machine of the cluster can read by their absolute names.
        spark: the session.
        results: where the lines go, in order, through this process; or
        folder: where Spark writes them as Parquet, in no order.
    """
    from pyspark.sql import functions as f  # noqa: PLC0415 - optional

    files = [str(Path(file).resolve()) for file in plan.files]
    make = _Maker(plan.canonicalizer)
    numbered = spark.createDataFrame(list(enumerate(files)), "number int, name string")
    spread = numbered.repartition(max(len(files), 1), "number")
    keyed = spread.mapInArrow(_reading(plan.input_format, make), _ROW)
    first = keyed.groupBy("key", "reason").agg(f.min("line").alias("line"), f.count("*").alias("n"))
    first = first.persist()
    try:
        summary = _summary(first, files)
        distinct = first.where("reason is null").select("key", "line.place", "line.text")
        if folder is not None:
            columns = ", ".join(f"{n} {_SQL_TYPES[kind]}" for n, kind in DISTINCT_COLUMNS.items())
            rows = distinct.mapInArrow(_writing(make, files), columns)
            rows.write.mode("overwrite").parquet(folder)
        elif results is not None:
            _collect(distinct, files, results)
        return summary
    finally:
        first.unpersist()


class _Maker:
    """Makes a canonicalizer in a task: a compiled one cannot be sent there."""

    def __init__(self, canonicalizer: Canonicalizer) -> None:
        rules = canonicalizer.rules
        self._policy = canonicalizer.policy
        self._rules = None if rules is None else rules.dumps()

    def __call__(self) -> Canonicalizer:
        return Canonicalizer(self._policy, self._rules)


def _reading(input_format: InputFormat, make: _Maker) -> Callable[[Batches], Batches]:
    """Return the function that reads files and keys their lines, in a task."""

    def read(batches: Batches) -> Batches:
        canonicalizer = make()
        for batch in batches:
            for number, name in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                for block in blocks.read([name], input_format=input_format):
                    place = number << _LINE_BITS
                    if isinstance(block, Cut):
                        line = place + block.number + 1, str(block).encode()
                        yield _rows([None], [_CUT], [line])
                    else:
                        yield _rows_of(block, keying.keyed(block, canonicalizer), place)

    return read


def _rows_of(block: blocks.Block, keyed: keying.Keyed, place: int) -> "pa.RecordBatch":
    """Return the rows of a block of lines."""
    lines, start = block.lines(), place + block.first
    keys: list[bytes | None] = [keyed.keys[n : n + 16] for n in range(0, len(keyed.keys), 16)]
    keys += [None] * (len(keyed.refused) + len(keyed.blank))
    reasons: list[str | None] = [None] * len(keyed.places)
    reasons += [reason for _n, reason in keyed.refused] + [_BLANK] * len(keyed.blank)
    at = [*keyed.places.tolist(), *(n for n, _reason in keyed.refused), *keyed.blank]
    return _rows(keys, reasons, [(start + n, lines[n]) for n in at])


def _rows(
    keys: list[bytes | None], reasons: Sequence[str | None], lines: list[tuple[int, bytes]]
) -> "pa.RecordBatch":
    """Return rows with the columns of `_ROW`."""
    import pyarrow as pa  # noqa: PLC0415 - optional

    places, texts = zip(*lines, strict=True) if lines else ((), ())
    line = pa.StructArray.from_arrays(
        [pa.array(places, pa.int64()), pa.array(texts, pa.binary())], ["place", "text"]
    )
    columns = [pa.array(keys, pa.binary()), pa.array(reasons, pa.string()), line]
    return pa.RecordBatch.from_arrays(columns, ["key", "reason", "line"])


def _summary(first: "DataFrame", files: Sequence[str]) -> Summary:
    """Count lines; the rules that merged repeated ones are not examined."""
    summary = Summary()
    counts = first.where("reason is null").selectExpr("count(*) as keys", "sum(n) as lines").first()
    assert counts is not None  # noqa: S101 - an aggregate has one row
    summary.distinct = int(counts["keys"])
    summary.lines = int(counts["lines"] or 0)
    if summary.lines > summary.distinct:
        summary.merged[NOT_EXAMINED] = summary.lines - summary.distinct
        summary.merged_samples[NOT_EXAMINED] = ("", "")
    for row in first.where("reason is not null").orderBy("line").collect():
        place, text, reason = row["line"]["place"], bytes(row["line"]["text"]), row["reason"]
        if reason == _CUT:
            summary.cut.append(as_read(text))
            continue
        summary.lines += row["n"]
        if reason == _BLANK:
            summary.blank = row["n"]
        else:
            summary.refuse(reason, files[place >> _LINE_BITS], place & _LINE, text)
            summary.refused[reason] = row["n"]
    return summary


def _collect(distinct: "DataFrame", files: Sequence[str], results: Results) -> None:
    """Write the lines that are kept, in the order of the input, through this process."""
    ordered = distinct.select("place", "text").orderBy("place")
    rows = ordered.toLocalIterator(prefetchPartitions=True)
    lines = ((row["place"], bytes(row["text"])) for row in rows)
    while some := list(islice(lines, _SOME)):
        for number, group in groupby(some, key=lambda line: line[0] >> _LINE_BITS):
            places, texts = zip(*group, strict=True)
            if isinstance(results.distinct, DistinctLines):
                results.distinct.write(files[number], [place & _LINE for place in places], texts)
    results.close()


def _writing(make: _Maker, files: list[str]) -> Callable[[Batches], Batches]:
    """Return the function that makes the rows of a Parquet output, in a task."""

    def rows(batches: Batches) -> Batches:
        import pyarrow as pa  # noqa: PLC0415 - optional

        canonicalizer = make()
        kinds: dict[type, pa.DataType] = {str: pa.string(), int: pa.int64()}
        schema = pa.schema([(name, kinds[kind]) for name, kind in DISTINCT_COLUMNS.items()])
        for batch in batches:
            texts, places = batch["text"].to_pylist(), batch["place"].to_pylist()
            found = [one for one in canonicalizer.many(texts) if not isinstance(one, Refused)]
            columns = (
                [text.decode("utf-8", "replace") for text in texts],
                [one.identity for one in found],
                [one.key.hex() for one in found],
                [files[place >> _LINE_BITS] for place in places],
                [place & _LINE for place in places],
            )
            arrays = [pa.array(v, field.type) for v, field in zip(columns, schema, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)

    return rows


def is_foreign(folder: str) -> bool:
    """Return True if a path exists and is not an output of Spark."""
    path = Path(folder)
    return path.exists() and not (path / "_SUCCESS").exists()
