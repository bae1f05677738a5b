"""The rows of Parquet with their URLs; rows stay Arrow data, so that no value changes."""

from collections.abc import Iterator, Sequence
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from canonry.crawler.compression import Stream
from canonry.crawler.files.line_streams import LONGEST
from canonry.crawler.files.record_formats import field_of, opened_parquet, url_column
from canonry.crawler.files.rows.csv_table import ParquetBatch, RowBlock, Rows

_WAITING = 1 << 26  # bytes of rows that wait for their row group to be full
_CODECS = {"SNAPPY", "GZIP", "BROTLI", "ZSTD", "LZ4"}  # which can be written


def parquet_urls(
    stream: Stream, column: str | None, groups: Sequence[int] | None = None
) -> Iterator[list[bytes | None] | bytes]:
    """Yield a column of text of a Parquet file, in parts: as lines, or as a list.

    Args:
        stream: of the file.
        column: its name, if it is wanted; ``a.b`` is the field ``b`` of the column ``a``. None: the
            one that is found by its values and name.
        groups: the row groups to read; None: all.
    """
    with opened_parquet(stream) as table:
        import pyarrow as pa  # noqa: PLC0415 - optional

        name, path = url_column(table, column)
        for batch in table.iter_batches(columns=[name], row_groups=groups):
            yield _joined(pa, field_of(batch, path).cast(pa.large_binary()))


def parquet_rows(stream: Stream, column: str | None) -> Iterator[RowBlock]:
    """Yield the rows of a Parquet file, with the column that `parquet_urls` takes.

    A file without rows yields its columns and one blank URL.
    """
    with opened_parquet(stream) as table:
        import pyarrow as pa  # noqa: PLC0415 - optional

        _name, path = url_column(table, column)
        header = table.schema_arrow.serialize().to_pybytes()
        codec, group = _layout(table.metadata)
        is_empty = True
        for batch in table.iter_batches():
            urls = _joined(pa, field_of(batch, path).cast(pa.large_binary()))
            rows = Rows("parquet", header, b"", batch=ParquetBatch(batch, codec, group))
            is_empty = False
            yield RowBlock(urls, rows)
        if is_empty:
            none = pa.RecordBatch.from_pylist([], table.schema_arrow)
            yield RowBlock(
                [b""], Rows("parquet", header, b"", batch=ParquetBatch(none, codec, group))
            )


def _layout(metadata: Any) -> tuple[str, int]:  # noqa: ANN401 - pyarrow ships no types
    """Return how a file is compressed, and how many rows its first group has."""
    if not metadata.num_row_groups:
        return "ZSTD", 0
    group = metadata.row_group(0)
    codec = group.column(0).compression
    if codec == "UNCOMPRESSED":
        return "NONE", group.num_rows
    return codec if codec in _CODECS else "ZSTD", group.num_rows


def _joined(pa: Any, urls: Any) -> list[bytes | None] | bytes:  # noqa: ANN401 - no types
    """Return an array of URLs as lines, or as a list if one is null or has a line feed."""
    from pyarrow import compute  # noqa: PLC0415 - optional

    whole = pa.LargeListArray.from_arrays(pa.array([0, len(urls)], pa.int64()), urls)
    [text] = compute.binary_join(whole, pa.scalar(b"\n", pa.large_binary())).to_pylist()
    if text is None or len(text) >= LONGEST or text.count(b"\n") != len(urls) - 1:
        found: list[bytes | None] = urls.to_pylist()
        return found
    return bytes(text)


class ParquetRowWriter:
    """Writes rows that were read from Parquet, with the same compression."""

    def __init__(self, file: IO[bytes], rows: Rows, like: ParquetBatch) -> None:
        """Write to a file.

        Args:
            file: open for writing.
            rows: the first rows, for their schema.
            like: their batch, for the codec and the size of row groups.
        """
        import pyarrow as pa  # noqa: PLC0415 - optional
        from pyarrow import parquet  # noqa: PLC0415 - optional

        schema = pa.ipc.read_schema(pa.py_buffer(rows.header))
        self._pa = pa
        self._writer = parquet.ParquetWriter(file, schema, compression=like.codec)
        self._group = like.group
        self._waiting: list[Any] = []
        self._rows = self._bytes = 0

    def write(self, batch: ParquetBatch, mask: npt.NDArray[np.bool_]) -> None:
        """Write the rows that a mask selects, in row groups as large as in the input."""
        if not mask.any():
            return
        rows = batch.rows if mask.all() else batch.rows.filter(self._pa.array(mask))
        self._waiting.append(rows)
        self._rows += rows.num_rows
        self._bytes += rows.nbytes
        if self._rows >= self._group or self._bytes >= _WAITING:
            self._put()

    def _put(self) -> None:
        if self._waiting:
            table = self._pa.Table.from_batches(self._waiting, self._writer.schema)
            self._waiting.clear()
            self._rows = self._bytes = 0
            self._writer.write_table(table)

    def close(self) -> None:
        """Write the waiting rows; the file stays open."""
        self._put()
        self._writer.close()


def as_stream(batch: Any) -> bytes:  # noqa: ANN401 - pyarrow ships no types
    """Return a pyarrow.RecordBatch as an Arrow stream."""
    import pyarrow as pa  # noqa: PLC0415 - optional

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue().to_pybytes())


def of_stream(rows: Rows) -> Rows:
    """Decode the batch of rows from the bytes of an Arrow stream."""
    if rows.batch is None:
        return rows
    import pyarrow as pa  # noqa: PLC0415 - optional

    [batch] = pa.ipc.open_stream(rows.batch.rows)
    return rows._replace(batch=rows.batch._replace(rows=batch))
