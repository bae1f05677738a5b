"""Parquet: the URLs of a column; whole rows stay Arrow data, so that no value changes."""

import io
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from canonry.crawler.compression import Stream
from canonry.crawler.files.line_formats import place_of
from canonry.crawler.files.line_streams import LONGEST, Rows, URLBatch, of_values
from canonry.crawler.files.sniffing import ROWS, Column, column_of_urls
from canonry.extras import require

_BUFFER = 1 << 20  # bytes
_WAITING = 1 << 26  # bytes of rows that wait for their row group to be full
_CODECS = {"SNAPPY", "GZIP", "BROTLI", "ZSTD", "LZ4"}  # which can be written


@contextmanager
def opened_parquet(stream: Stream) -> Iterator[Any]:
    """Open a Parquet file, from a copy if its source cannot seek.

    Raises:
        OSError: also in its block, if pyarrow cannot read the file.
        MissingExtraError: without pyarrow.
    """
    require("arrow", "Parquet")
    import pyarrow as pa  # noqa: PLC0415 - optional
    from pyarrow import parquet  # noqa: PLC0415 - optional

    with tempfile.TemporaryFile() as spool:
        file = stream.source
        if not (isinstance(file, io.BufferedReader) and file.seekable()):  # compressed, or a pipe
            shutil.copyfileobj(stream, spool)
            file = spool
        file.seek(0)
        # From a disk, some rows are read without the rest of their row group.
        is_local = isinstance(getattr(file, "raw", None), io.FileIO)
        try:
            yield parquet.ParquetFile(file, buffer_size=_BUFFER if is_local else 0)
        except (pa.ArrowException, ValueError) as error:
            raise OSError(str(error).partition("\n")[0]) from None


def parquet_batches(
    stream: Stream,
    column: str | None,
    *,
    keep_rows: bool = False,
) -> Iterator[URLBatch]:
    """Yield a column of text of a Parquet file.

    Args:
        stream: of the file.
        column: its name, if it is wanted; ``a.b`` is the field ``b`` of the column ``a``. None: the
            one that is found by its values and name.
        keep_rows: read whole rows, too; then a file without rows yields its columns and one blank
            URL.
    """
    with opened_parquet(stream) as table:
        import pyarrow as pa  # noqa: PLC0415 - optional

        name, path, _is_choice = url_column(table, column)
        schema = table.schema_arrow
        codec, group = _layout(table.metadata)
        kept = Rows("parquet", schema.serialize().to_pybytes(), b"", codec=codec, group=group)
        is_empty = keep_rows
        columns = None if keep_rows else [name]
        for batch in table.iter_batches(columns=columns):
            urls = _joined(pa, field_of(batch, path).cast(pa.large_binary()))
            is_empty = False
            yield urls._replace(rows=kept._replace(batch=batch)) if keep_rows else urls
        if is_empty:
            none = pa.RecordBatch.from_pylist([], schema)
            yield URLBatch(b"", rows=kept._replace(batch=none))


def url_column(table: Any, column: str | None) -> tuple[str, Sequence[str], bool]:  # noqa: ANN401 - pyarrow ships no types
    """Return a Parquet file's column of URLs, the names that lead to it, and if it was a choice.

    It was none if the column was named, is called "url", or is the only one of text.

    Raises:
        OSError: naming the columns of text.
    """
    paths = {".".join(path): path for path in _texts(table.schema_arrow)}
    names = list(paths)
    name = column
    if name is None:
        first = next(table.iter_batches(ROWS, columns=names), None) if names else None
        rows = [[] if first is None else field_of(first, one).to_pylist() for one in paths.values()]
        place = column_of_urls([Column(*one) for one in zip(names, rows, strict=True)])
        place = 0 if place is None and len(names) == 1 else place
        name = "url" if place is None else names[place]
    place_of(name, names)
    return name, paths[name], column is None and len(names) > 1 and name != "url"


def field_of(batch: Any, path: Sequence[str]) -> Any:  # noqa: ANN401 - as above
    """Return a column of a batch, or a field in it, by the names that lead to it."""
    from pyarrow import compute  # noqa: PLC0415 - optional

    field = batch.column(path[0])
    for name in path[1:]:
        field = compute.struct_field(field, name)
    return field


def _texts(fields: Any, outer: Sequence[str] = ()) -> Iterator[tuple[str, ...]]:  # noqa: ANN401 - as above
    """Yield the names that lead to each column of text, also within other columns."""
    import pyarrow as pa  # noqa: PLC0415 - optional

    for field in fields:
        path = (*outer, field.name)
        if pa.types.is_struct(field.type):
            yield from _texts(field.type, path)
        elif _is_text(pa, field.type):
            yield path


def _is_text(pa: Any, kind: Any) -> bool:  # noqa: ANN401 - pyarrow ships no types
    """Return True if a column's values are strings or bytes."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    checks = ("string", "large_string", "string_view", "binary", "large_binary", "binary_view")
    return any(getattr(pa.types, f"is_{name}")(kind) for name in checks)


def _layout(metadata: Any) -> tuple[str, int]:  # noqa: ANN401 - pyarrow ships no types
    """Return how a file is compressed, and how many rows its first group has."""
    if not metadata.num_row_groups:
        return "ZSTD", 0
    group = metadata.row_group(0)
    codec = group.column(0).compression
    if codec == "UNCOMPRESSED":
        return "NONE", group.num_rows
    return codec if codec in _CODECS else "ZSTD", group.num_rows


def _joined(pa: Any, urls: Any) -> URLBatch:  # noqa: ANN401 - pyarrow ships no types
    """Return an array of URLs, joined by Arrow unless one is null or has a line feed."""
    from pyarrow import compute  # noqa: PLC0415 - optional

    whole = pa.LargeListArray.from_arrays(pa.array([0, len(urls)], pa.int64()), urls)
    [text] = compute.binary_join(whole, pa.scalar(b"\n", pa.large_binary())).to_pylist()
    if text is None or len(text) >= LONGEST or text.count(b"\n") != len(urls) - 1:
        return of_values(urls.to_pylist())
    return URLBatch(bytes(text))


class ParquetRowWriter:
    """Writes rows that were read from Parquet, with the same compression."""

    def __init__(self, file: IO[bytes], like: Rows) -> None:
        """Write to a file that is open, with the schema, codec and row groups of the first rows."""
        import pyarrow as pa  # noqa: PLC0415 - optional
        from pyarrow import parquet  # noqa: PLC0415 - optional

        schema = pa.ipc.read_schema(pa.py_buffer(like.header))
        self._pa = pa
        self._writer = parquet.ParquetWriter(file, schema, compression=like.codec)
        self._group = like.group
        self._waiting: list[Any] = []
        self._rows = self._bytes = 0

    def write(self, batch: Any, mask: npt.NDArray[np.bool_]) -> None:  # noqa: ANN401 - no types
        """Write the rows that a mask selects, in row groups as large as in the input."""
        if not mask.any():
            return
        rows = batch if mask.all() else batch.filter(self._pa.array(mask))
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

    [batch] = pa.ipc.open_stream(rows.batch)
    return rows._replace(batch=batch)
