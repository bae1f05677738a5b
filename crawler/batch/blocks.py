"""Reading files as blocks of lines: megabytes at once, so that no line costs a call of its own."""

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from queue import Full, Queue
from threading import Event, Thread
from typing import IO, Any, NamedTuple, TypeVar

from crawler.batch.lines import LONGEST, Cut
from crawler.settings import SettingsError

_T = TypeVar("_T")
_BLOCK = 1 << 22  # bytes
_BOM = b"\xef\xbb\xbf"
_FAULTS = (OSError, EOFError, zlib.error, lzma.LZMAError)
_SHOWN = 200  # bytes of a line that is longer than LONGEST


class Block(NamedTuple):
    r"""Whole lines, with ``\n`` between them and none behind the last."""

    source: str
    first: int  # number of the first line in its source
    data: bytes
    cut: bool = False  # the first line was longer than LONGEST, and only its beginning is here

    @property
    def size(self) -> int:
        """Return how many lines there are."""
        return self.data.count(b"\n") + 1

    def lines(self) -> list[bytes]:
        """Return the lines."""
        return self.data.split(b"\n")


def unpacked(file: IO[bytes]) -> Any:  # noqa: ANN401 - they have read1 in common, and no type
    """Return a file's content, unpacked when it begins like gz, bz2, xz or zst.

    Raises:
        SettingsError: for zst where pyarrow is not installed.
    """
    head = file.peek(10)[:10] if hasattr(file, "peek") else b""
    if head.startswith(b"\x1f\x8b\x08"):
        return gzip.GzipFile(fileobj=file)
    if head.startswith(b"BZh") and head[4:10] == b"1AY&SY":
        return bz2.BZ2File(file)
    if head.startswith(b"\xfd7zXZ\0"):
        return lzma.LZMAFile(file)
    if head.startswith(b"\x28\xb5\x2f\xfd"):
        return _zstandard(file)
    return file


def _zstandard(file: IO[bytes]) -> Any:  # noqa: ANN401 - pyarrow ships no types
    """Return a zst file's content."""
    try:
        import pyarrow as pa  # noqa: PLC0415 - who reads no zst needs no pyarrow
    except ImportError:
        raise SettingsError("zst needs pyarrow: pip install 'canonry[arrow]'") from None
    return pa.CompressedInputStream(_Lent(file), "zstd")


class _Lent(io.RawIOBase):
    """A file for one who would close it at its end, while others still ask how far it was read."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401 - whatever has a buffer
        """Read as the file does."""
        return int(self._file.readinto(buffer))  # type: ignore[attr-defined]


def read(
    sources: Sequence[str], advance: Callable[[int], None] = lambda _count: None
) -> Iterator[Block | Cut]:
    """Yield the lines of all sources, in order; ``-`` is standard input.

    A source that breaks off yields a `Cut` behind its last whole line, and the next one follows.

    Args:
        sources: names of files that exist.
        advance: is told how many bytes of a file (as stored) were read since the last call.
    """
    for source in sources:
        number = 1
        try:
            with _open(source) as file:
                told = 0
                for data, cut in ahead(_blocks(unpacked(file))):
                    block = Block(source, number, data, cut)
                    yield block
                    number += block.size
                    if source != "-":
                        told, before = file.tell(), told
                        advance(told - before)
        except _FAULTS as error:
            yield Cut(source, number - 1, str(error) or type(error).__name__)


def _open(source: str) -> AbstractContextManager[IO[bytes]]:
    """Open a source.

    Standard input is opened anew and left open: a thread may be waiting for it, with its lock.
    """
    if source == "-":
        return nullcontext(open(0, "rb", closefd=False))
    return Path(source).open("rb")


def _blocks(stream: IO[bytes]) -> Iterator[tuple[bytes, bool]]:
    r"""Yield whole lines, some megabytes at a time; ends of lines are ``\n`` alone.

    Beside them stands whether the first was longer than `LONGEST` and is cut. What was read before
    a fault is yielded before it is raised, up to the last whole line.
    """
    rest, first = b"", True
    fault: BaseException | None = None
    while fault is None:
        data, fault = _some(stream)
        if first:
            data, first = data.removeprefix(_BOM), False
        if not data:
            break
        start, end = data.find(b"\n"), data.rfind(b"\n")
        if end < 0:
            rest = (rest + data)[:LONGEST]  # enough to tell that it is too long
            continue
        cut = len(rest) + start >= LONGEST
        yield (
            _plain((rest + data[:start])[:_SHOWN] + data[start:end] if cut else rest + data[:end]),
            cut,
        )
        rest = data[end + 1 :]
    if fault is not None:
        raise fault
    if rest:
        cut = len(rest) >= LONGEST
        yield _plain(rest[:_SHOWN] if cut else rest), cut


def ahead(given: Iterator[_T]) -> Iterator[_T]:
    """Yield what an iterator does, made by a thread in the meantime: zlib lets others run."""
    made: Queue[_T | BaseException | None] = Queue(2)
    over = Event()

    def put(item: _T | BaseException | None) -> None:
        while not over.is_set():
            with suppress(Full):
                made.put(item, timeout=0.1)
                return

    def make() -> None:
        try:
            for item in given:
                put(item)
                if over.is_set():
                    return
            put(None)
        except BaseException as error:  # noqa: BLE001 - raised where it is waited for
            put(error)

    thread = Thread(target=make, name="canonry-reader", daemon=True)
    thread.start()
    try:
        while (item := made.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        over.set()


def _some(stream: IO[bytes]) -> tuple[bytes, BaseException | None]:
    """Read a block, or what there is before the end or a fault."""
    parts: list[bytes] = []
    size = 0
    while size < _BLOCK:
        try:
            part = stream.read1(_BLOCK)  # type: ignore[attr-defined]  # all of them have it
        except _FAULTS as error:
            return b"".join(parts), error
        if not part:
            break
        parts.append(part)
        size += len(part)
    return b"".join(parts), None


def _plain(data: bytes) -> bytes:
    r"""Return lines without a ``\r`` at their ends."""
    if b"\r" not in data:
        return data
    return b"\n".join([line.rstrip(b"\r") for line in data.split(b"\n")])
