"""Writing rows as lines, into files that appear whole or not at all."""

import csv
import gzip
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, Any

import msgspec

from crawler.settings import SettingsError

_ROW_GROUP = 50_000


@contextmanager
def whole(path: str) -> Iterator[IO[bytes]]:
    """Open a file for writing that takes its name when the block ends well, and is gone otherwise.

    A name that ends in ``.gz`` is compressed.
    """
    target = Path(path)
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            if target.suffix == ".gz":
                with gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0) as packed:
                    yield packed  # type: ignore[misc]
            else:
                yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def encoded(
    rows: Iterable[dict[str, Any]], form: str, columns: Mapping[str, type]
) -> Iterator[bytes]:
    """Encode rows as lines of ``jsonl`` or ``csv``, the latter under a line of names.

    Args:
        rows: with the columns' names as keys.
        form: ``"jsonl"`` or ``"csv"``.
        columns: names and types of the columns.
    """
    if form == "jsonl":
        for row in rows:
            yield msgspec.json.encode(row) + b"\n"
        return

    class Line:
        def write(self, text: str) -> str:
            return text

    writer = csv.writer(Line(), lineterminator="\n")
    yield str(writer.writerow(columns)).encode()
    for row in rows:
        yield str(writer.writerow(row.values())).encode()


def write_parquet(
    rows: Iterable[dict[str, Any]], columns: Mapping[str, type], file: IO[bytes]
) -> None:
    """Write rows as Parquet, a group of rows at a time.

    Raises:
        SettingsError: where pyarrow is not installed.
    """
    try:
        import pyarrow as pa  # noqa: PLC0415 - who wants no Parquet needs no pyarrow
        from pyarrow import parquet  # noqa: PLC0415 - same
    except ImportError:
        raise SettingsError("Parquet needs pyarrow: pip install 'canonry[arrow]'") from None
    types = {str: pa.string(), int: pa.int64(), float: pa.float64()}
    schema = pa.schema([(name, types[kind]) for name, kind in columns.items()])
    stream = iter(rows)
    with parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        while group := list(islice(stream, _ROW_GROUP)):
            writer.write_table(pa.Table.from_pylist(group, schema=schema))
