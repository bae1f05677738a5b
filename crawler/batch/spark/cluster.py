"""Dedup of files on a cluster; it keeps the same lines as a job on one machine."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from canonry.canon import Canonicalizer, columns
from canonry.canon.learned import loads
from canonry.crawler.batch import keying
from canonry.crawler.batch.dedup_job import Plan
from canonry.crawler.batch.preference import Preference, Ranks
from canonry.crawler.batch.results import DISTINCT_COLUMNS, DistinctLines, Results, as_read
from canonry.crawler.batch.spark.frames import Batches, functions_of
from canonry.crawler.batch.summary import NOT_EXAMINED, Summary
from canonry.crawler.files import pieces
from canonry.crawler.files.blocks import Block
from canonry.crawler.files.formats import InputFormat
from canonry.crawler.files.line_streams import Cut
from canonry.crawler.files.pieces import Piece
from canonry.crawler.locations import is_remote

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Row, SparkSession

_PLACE = 8  # bytes
_LINE_BITS = 40  # low bits of a place, for the line number; higher bits are the piece's number
_LINE = (1 << _LINE_BITS) - 1
_SOME = 10_000  # rows
_CUT, _BLANK, _LINES = "(cut)", "(blank)", "(lines)"
_COLLECTED = ("reason", "line", "n")
_SQL_TYPES = {str: "string", int: "bigint"}
# A line is its place, in eight bytes that sort as it does, and its text: the least is the first.
_ROW = "key binary, reason string, line binary"
_RANKED = f"{_ROW}, rank binary"  # a rank ends with the place: the least is the one that stays


class _Places(NamedTuple):
    """The pieces of an input: their files, and how many lines are before each in its file."""

    sources: list[str]
    before: list[int]

    def of(self, place: int) -> tuple[str, int]:
        """Return the file of a line, and its number there."""
        number = place >> _LINE_BITS
        return self.sources[number], self.before[number] + (place & _LINE)


def dedup(
    plan: Plan,
    spark: "SparkSession",
    results: Results | None = None,
    folder: str | None = None,
) -> Summary:
    """Deduplicate files.

    A large file is read in pieces, by several tasks, if it is Parquet, or lines that are not
    compressed.

    Args:
        plan: whose files every machine of the cluster can read by their absolute names.
        spark: the session.
        results: where the lines go, in order, through this process; or
        folder: where Spark writes them as Parquet, in no order.

    Raises:
        OSError, NoURLError: no URL was read, so the folder stays as it was.
    """
    files = [file if is_remote(file) else str(Path(file).resolve()) for file in plan.files]
    is_whole = plan.input_format.keep_rows
    parts = [
        part
        for file in files
        for part in ([Piece(file)] if is_whole else pieces.pieces_of(file, plan.input_format))
    ]
    make = _Maker(plan.canonicalizer)
    prefer = plan.prefer
    numbered = spark.createDataFrame(
        [(number, *part) for number, part in enumerate(parts)],
        "number int, source string, start bigint, stop bigint",
    )
    spread = numbered.repartition(max(len(parts), 1), "number")
    schema = _ROW if prefer is None else _RANKED
    keyed = spread.mapInArrow(_reading(plan.input_format, make, prefer), schema)
    f = functions_of(keyed)
    best = f.min("line") if prefer is None else f.min_by("line", "rank")
    first = keyed.groupBy("key", "reason").agg(best.alias("line"), f.count("*").alias("n"))
    if folder is None:
        rows = first.orderBy(first.reason.isNull(), "line").select(*_COLLECTED)
        return _collect(rows.toLocalIterator(prefetchPartitions=True), parts, results)
    from pyspark import StorageLevel  # noqa: PLC0415 - optional

    first = first.persist(StorageLevel.DISK_ONLY)
    try:
        counts = first.where("reason is null").selectExpr("count(*) as keys", "sum(n) as lines")
        others = first.where("reason is not null").orderBy("line").select(*_COLLECTED).collect()
        [(keys, lines)] = counts.collect()
        places, summary = _counted(others, parts)
        _count_kept(summary, keys, lines or 0)
        summary.check_read()
        names = ", ".join(f"{n} {_SQL_TYPES[kind]}" for n, kind in DISTINCT_COLUMNS.items())
        distinct = first.where("reason is null").select("key", "line")
        kept = distinct.mapInArrow(_writing(make, places), names)
        kept.write.mode("overwrite").parquet(folder)
        return summary
    finally:
        first.unpersist()


class _Maker:
    """Makes a canonicalizer in a task: a compiled one cannot be sent there."""

    def __init__(self, canonicalizer: Canonicalizer) -> None:
        rules = canonicalizer.rules
        self.policy = canonicalizer.policy
        self.rules = None if rules is None else rules.dumps()

    def __call__(self) -> Canonicalizer:
        return Canonicalizer(self.policy, self.rules)


def _reading(
    input_format: InputFormat, make: _Maker, prefer: Preference | None
) -> Callable[[Batches], Batches]:
    """Return the function that reads pieces and keys their lines, in a task."""

    def read(batches: Batches) -> Batches:
        canonicalizer = make()
        unranked = bytes(0 if prefer is None else prefer.width)
        for batch in batches:
            for number, *part in zip(
                *(column.to_pylist() for column in batch.columns), strict=True
            ):
                place, lines = number << _LINE_BITS, 0
                for found in pieces.read(Piece(*part), input_format):
                    if isinstance(found, Cut):
                        at = place + found.number + 1
                        yield _row(None, _CUT, at, str(found).encode(), unranked)
                    else:
                        lines = found.first + found.size - 1
                        keyed = keying.keyed(found, canonicalizer, prefer=prefer)
                        yield from _rows_of(found, keyed, place, prefer)
                yield _row(number.to_bytes(16), _LINES, place + lines, b"", unranked)

    return read


def _rows_of(
    block: Block, keyed: keying.Keyed, place: int, prefer: Preference | None
) -> "Iterator[pa.RecordBatch]":
    """Yield the rows of a block of lines."""
    import pyarrow as pa  # noqa: PLC0415 - optional
    import pyarrow.compute as pc  # noqa: PLC0415 - optional

    lines = pc.split_pattern(pa.array([block.data], pa.large_binary()), "\n").flatten()
    numbers, first = keyed.places.astype(np.int64), place + block.first
    sized = pa.Array.from_buffers(pa.binary(16), len(numbers), [None, pa.py_buffer(keyed.keys)])
    reasons = pa.nulls(len(numbers), pa.string())
    at = numbers + first
    ranks = None if prefer is None else prefer.placed(keyed.ranks, at.astype(np.uint64))
    yield _rows(sized.cast(pa.binary()), reasons, at, lines.take(numbers), ranks)
    if others := [*keyed.refused, *((number, _BLANK) for number in keyed.blank)]:
        numbers = np.array([number for number, _reason in others])
        reasons = pa.array([reason for _number, reason in others], pa.string())
        keys = pa.nulls(len(others), pa.binary())
        ranks = None if prefer is None else np.zeros(len(others), f"S{prefer.width}")
        yield _rows(keys, reasons, numbers + first, lines.take(numbers), ranks)


def _row(key: bytes | None, reason: str, place: int, text: bytes, rank: bytes) -> "pa.RecordBatch":
    """Return one row with the columns of `_ROW`."""
    import pyarrow as pa  # noqa: PLC0415 - optional

    keys, reasons = pa.array([key], pa.binary()), pa.array([reason], pa.string())
    ranks = np.array([rank], f"S{len(rank)}") if rank else None
    return _rows(keys, reasons, np.array([place]), pa.array([text], pa.binary()), ranks)


def _rows(
    keys: "pa.Array",
    reasons: "pa.Array",
    places: npt.NDArray[np.int64],
    texts: "pa.Array",
    ranks: Ranks | None,
) -> "pa.RecordBatch":
    """Return rows with the columns of `_ROW`, or `_RANKED`."""
    import pyarrow as pa  # noqa: PLC0415 - optional
    import pyarrow.compute as pc  # noqa: PLC0415 - optional

    numbers = pa.py_buffer(places.astype(">u8").tobytes())
    sized = pa.Array.from_buffers(pa.binary(_PLACE), len(places), [None, numbers])
    places_of = sized.cast(pa.binary())
    line = pc.binary_join_element_wise(places_of, texts.cast(pa.binary()), b"")
    columns = {"key": keys, "reason": reasons, "line": line}
    if ranks is not None:
        width = pa.binary(ranks.dtype.itemsize)
        some = pa.Array.from_buffers(width, len(ranks), [None, pa.py_buffer(ranks.tobytes())])
        columns["rank"] = pc.binary_join_element_wise(some.cast(pa.binary()), places_of, b"")
    return pa.RecordBatch.from_pydict(columns)


def _split(line: bytes) -> tuple[int, bytes]:
    """Return the place and the text of a line."""
    return int.from_bytes(line[:_PLACE]), bytes(line[_PLACE:])


def _counted(rows: Sequence["Row"], parts: Sequence[Piece]) -> tuple[_Places, Summary]:
    """Count the lines that are no URLs, and find how many lines are before each piece.

    Args:
        rows: those with a reason.
        parts: all pieces.
    """
    reasons = [(*_split(row["line"]), row["reason"], row["n"]) for row in rows]
    lines = {
        place >> _LINE_BITS: place & _LINE
        for place, _text, reason, _number in reasons
        if reason == _LINES
    }
    places = _Places([part.source for part in parts], _lines_before(parts, lines))
    summary = Summary()
    for place, text, reason, number in reasons:
        if reason == _CUT:
            summary.cut.append(as_read(text))
        elif reason == _BLANK:
            summary.lines += number
            summary.blank = number
        elif reason != _LINES:
            summary.lines += number
            summary.refuse(reason, *places.of(place), text)
            summary.refused[reason] = number
    return places, summary


def _count_kept(summary: Summary, keys: int, lines: int) -> None:
    """Count the lines that are URLs; the rules that merged repeated ones are not examined."""
    summary.distinct = keys
    summary.lines += lines
    if lines > keys:
        summary.merged[NOT_EXAMINED] = lines - keys
        summary.merged_samples[NOT_EXAMINED] = ("", "")


def _lines_before(parts: Sequence[Piece], lines: Mapping[int, int]) -> list[int]:
    """Return how many lines of its file are before each piece."""
    before: list[int] = []
    for number, part in enumerate(parts):
        follows = number > 0 and parts[number - 1].source == part.source and part.start > 0
        before.append(before[-1] + lines[number - 1] if follows else 0)
    return before


def _collect(rows: Iterator["Row"], parts: Sequence[Piece], results: Results | None) -> Summary:
    """Write the lines that are kept, in the order of the input, through this process.

    Args:
        rows: those with a reason, and then the lines.
        parts: all pieces.
        results: where the lines go.
    """
    others = []
    for row in rows:
        if row["reason"] is None:
            rows = chain([row], rows)
            break
        others.append(row)
    places, summary = _counted(others, parts)
    keys = lines = 0
    while some := list(islice(rows, _SOME)):
        keys += len(some)
        lines += sum(row["n"] for row in some)
        kept = [_split(row["line"]) for row in some]
        for number, group in groupby(kept, key=lambda line: line[0] >> _LINE_BITS):
            numbers, texts = zip(*group, strict=True)
            if results is not None and isinstance(results.distinct, DistinctLines):
                in_file = [places.before[number] + (place & _LINE) for place in numbers]
                results.distinct.write(places.sources[number], in_file, texts)
    if results is not None:
        results.close()
    _count_kept(summary, keys, lines)
    return summary


def _writing(make: _Maker, places: _Places) -> Callable[[Batches], Batches]:
    """Return the function that makes the rows of a Parquet output, in a task."""

    def rows(batches: Batches) -> Batches:
        import pyarrow as pa  # noqa: PLC0415 - optional

        kinds: dict[type, pa.DataType] = {str: pa.string(), int: pa.int64()}
        schema = pa.schema([(name, kinds[kind]) for name, kind in DISTINCT_COLUMNS.items()])
        rules = None if make.rules is None else loads(make.rules)
        for batch in batches:
            kept = [_split(line) for line in batch["line"].to_pylist()]
            table: Any = columns.canonicalize(
                pa.array([text for _place, text in kept], pa.binary()),
                policy=make.policy,
                rules=rules,
                columns=["identity"],
            )
            lines = [places.of(place) for place, _text in kept]
            arrays = (
                [text.decode("utf-8", "replace") for _place, text in kept],
                table["identity"].combine_chunks(),
                [key.hex() for key in batch["key"].to_pylist()],
                [source for source, _number in lines],
                [number for _source, number in lines],
            )
            made = [pa.array(v, field.type) for v, field in zip(arrays, schema, strict=True)]
            yield pa.RecordBatch.from_arrays(made, schema=schema)

    return rows


def is_foreign(folder: str) -> bool:
    """Return True if a path exists and is not an output of Spark."""
    path = Path(folder)
    return not is_remote(folder) and path.exists() and not (path / "_SUCCESS").exists()
