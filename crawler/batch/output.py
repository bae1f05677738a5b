"""Writing rows as lines, into files that appear whole or not at all."""

import csv
import gzip
import io
import os
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, Any

import msgspec

from crawler.settings import SettingsError

_ROW_GROUP = 50_000
_MEMBER = 1 << 21  # bytes before they are packed
_AHEAD = 8  # members in memory


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
                with io.BufferedWriter(_Packed(file), _MEMBER) as packed:
                    yield packed
            else:
                yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def write_all(file: IO[bytes], data: bytes) -> None:
    """Write bytes, all of them.

    A buffered file that meets a fault in the middle of many bytes only says how many it took: the
    reader of a pipe that has gone, a disk that is full are told when the rest is written.
    """
    rest = memoryview(data)
    while rest:
        rest = rest[file.write(rest) :]


class _Packed(io.RawIOBase):
    """Packs what is written into gzip members, in threads: zlib lets others run meanwhile.

    A file of several members is a gzip file (RFC 1952 section 2.2). The level is gzip's own.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="canonry-gzip")
        self._members: deque[Future[bytes]] = deque()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:  # noqa: ANN401 - whatever has a buffer
        """Take in bytes, one member of them."""
        taken = bytes(data)
        self._members.append(self._threads.submit(gzip.compress, taken, 6, mtime=0))
        while len(self._members) > _AHEAD:
            write_all(self._file, self._members.popleft().result())
        return len(taken)

    def close(self) -> None:
        """Write what is being packed; an empty file is one empty member."""
        if not self.closed:
            try:
                for member in self._members:
                    write_all(self._file, member.result())
                if not self._file.tell():
                    self._file.write(gzip.compress(b"", 6, mtime=0))
            finally:
                self._threads.shutdown()
                super().close()


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
