"""Formats that are read as a whole: each function here yields the URLs of a file's records.

Each takes a file's content, and yields a URL for each record, or None for a record that has none or
is broken. It raises `OSError` if a file cannot be read further. What is read of Parquet without its
rows is here, too.
"""

import io
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from canonry.crawler.compression import FAULTS, Stream
from canonry.crawler.documents import feeds
from canonry.crawler.files import warc_records
from canonry.crawler.files.line_formats import as_bytes, place_of
from canonry.crawler.files.sniffing import Column, column_of_urls, named_like_a_url
from canonry.extras import require

_BUFFER = 1 << 20  # bytes
_ROWS = 20  # of Parquet, by which the column of URLs is found


class _UpToFault(io.RawIOBase):
    """A stream that ends at its fault; buffers would lose the bytes right before an exception."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._fault: Exception | None = None

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401 - whatever has a buffer
        """Read as the stream does."""
        try:
            part = b"" if self._fault else self._stream.read1(len(buffer))
        except FAULTS as error:
            self._fault, part = error, b""
        buffer[: len(part)] = part
        return len(part)

    def check(self) -> None:
        """Raise the fault that ended it."""
        if self._fault is not None:
            raise self._fault


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


def url_column(table: Any, column: str | None) -> tuple[str, Sequence[str]]:  # noqa: ANN401 - pyarrow ships no types
    """Return the name of a Parquet file's column of URLs, and the names that lead to it.

    Raises:
        OSError: naming the columns of text.
    """
    paths = {".".join(path): path for path in _texts(table.schema_arrow)}
    wanted = column or _found_column(table, list(paths)) or "url"
    place_of(wanted, list(paths))
    return wanted, paths[wanted]


def detected_column(table: Any) -> str | None:  # noqa: ANN401 - pyarrow ships no types
    """Return a Parquet file's column of URLs if it has others of text, and another name than "url".

    Raises:
        OSError: as `url_column`.
    """
    name, _path = url_column(table, None)
    is_only = sum(1 for _path in _texts(table.schema_arrow)) == 1
    return None if is_only or name == "url" else name


def _found_column(table: Any, names: Sequence[str]) -> str | None:  # noqa: ANN401 - as above
    """Return which column has the URLs, by the first rows."""
    paths = list(_texts(table.schema_arrow))
    first = next(table.iter_batches(_ROWS, columns=list(names)), None) if names else None
    values = [[] if first is None else field_of(first, path).to_pylist() for path in paths]
    place = column_of_urls([Column(*one) for one in zip(names, values, strict=True)])
    if place is not None:
        return names[place]
    return names[0] if len(names) == 1 else named_like_a_url(names)


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


def read_warc(stream: Stream) -> Iterator[bytes | None]:
    """Yield the target of each capture, redirects included (ISO 28500)."""
    source = _UpToFault(stream)
    try:
        yield from warc_records.targets(io.BufferedReader(source))
    except OSError:
        source.check()
        raise
    source.check()


def read_sitemap(stream: Stream) -> Iterator[bytes | None]:
    """Yield the ``loc`` of each page and sitemap (sitemaps.org)."""
    reader = feeds.FeedReader()
    try:
        while part := stream.read1(1 << 20):
            yield from map(_url, reader.feed(part))
        reader.feed(b"", last=True)
    except OSError:
        yield from map(_url, reader.take())
        raise


def _url(listed: feeds.ListedURL) -> bytes | None:
    """Return a listed URL; None if it has an unknown entity."""
    return as_bytes(listed.reference) if listed.is_whole else None
