"""Streams of text: convert them to UTF-8, cut them into whole lines, and read them ahead."""

import codecs
import re
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import compress
from queue import Full, Queue
from select import select
from threading import Event, Thread
from typing import IO, Any, NamedTuple, TypeVar

from canonry.crawler.compression import FAULTS, Stream
from canonry.crawler.hold_reason import HoldReason

BLOCK = 1 << 22  # bytes
_NONE: Mapping[int, str] = {}
_TOO_LONG = {0: HoldReason.TOO_LONG.label}

Arrived = Callable[[], bool]  # True if more of a pipe can be read without waiting
_LOOKED_AT = 4096  # bytes
# Before the text: a BOM, and the line that Excel writes above the names to give the delimiter.
_PREAMBLE = re.compile(rb"(?:\xef\xbb\xbf)?(?:sep=.\r?\n)?", re.IGNORECASE)
_T = TypeVar("_T")
LONGEST = 1 << 24  # bytes of a line; a longer one is no URL
SAMPLE = 200  # bytes of such a line that are kept
BOM = b"\xef\xbb\xbf"  # starts some UTF-8 files


class Rows(NamedTuple):
    """The rows of a block, as they were read: one for each of its URLs."""

    format: str  # a row of `canonry.crawler.files.formats.INPUT_FORMATS`
    header: bytes  # the row of names, or Parquet's schema; b"" if there is none
    data: bytes  # lines, or with `ends`, rows that may have several lines
    ends: bytes = b""  # of rows in the data, 8 bytes each, little-endian
    delimiter: str = ","  # of CSV
    batch: Any = None  # of Parquet, instead of data: a RecordBatch, in a spool an Arrow stream
    codec: str = ""  # by which Parquet is compressed, as pyarrow names it
    group: int = 0  # rows in the first row group of Parquet

    def each(self) -> Iterable[bytes]:
        """Return the rows one by one, without their line ends; those of a batch are none."""
        if not self.ends:
            return self.data.split(b"\n")
        ends = struct.unpack(f"<{len(self.ends) // 8}Q", self.ends)
        # Blank lines before a row are stripped, too.
        return (self.data[a:b].strip(b"\r\n") for a, b in zip((0, *ends), ends, strict=False))

    def of(self, mask: Iterable[object]) -> bytes:
        """Return the rows that a mask selects, each with a line feed."""
        return b"".join(row + b"\n" for row in compress(self.each(), mask))


class URLBatch(NamedTuple):
    r"""URLs or whole lines, separated by ``\n``, with none after the last, and what is known."""

    data: bytes
    refused: Mapping[int, str] = _NONE  # reasons of those known not to be URLs, by place
    rows: Rows | None = None  # the rows that the URLs come from
    names: int = 0  # lines with the names of columns before them


def of_values(values: Sequence[bytes | None]) -> URLBatch:
    """Return the values of a column, one a line; None is refused.

    Line feeds in them are removed, as browsers do (URL Standard, section 4.4).
    """
    if None not in values:
        whole = b"\n".join(values)  # type: ignore[arg-type]  # no None
        if len(whole) < LONGEST and whole.count(b"\n") == len(values) - 1:
            return URLBatch(whole)
    lines: list[bytes] = []
    refused: dict[int, str] = {}
    for place, value in enumerate(values):
        if value is None or len(value) > LONGEST:
            refused[place] = (HoldReason.RECORD if value is None else HoldReason.TOO_LONG).label
        line = (value or b"")[: SAMPLE if place in refused else None]
        lines.append(line.replace(b"\n", b"") if b"\n" in line else line)
    return URLBatch(b"\n".join(lines), refused)


def arrivals(file: IO[bytes]) -> Arrived | None:
    """Return a function that says whether a pipe has more data now; None if that is unknown."""
    try:
        number = file.fileno()
    except OSError:
        return None
    return lambda: bool(select([number], [], [], 0)[0])


def line_blocks(stream: Stream, arrives: Arrived | None = None) -> Iterator[URLBatch]:
    r"""Yield whole lines, a block at a time; lines end with ``\n`` alone.

    A first line that is longer than `LONGEST` is shortened and refused. Whole lines before a fault
    are yielded before it is raised.

    Args:
        stream: the content of a file.
        arrives: returns True if there is more to read now; lines are yielded if there is not.
            None: yield lines when a block is full.
    """
    rest = b""
    for parts in pieces(stream, arrives):
        whole, rest = _cut_after_lines(rest, parts)
        if whole is None:
            rest = rest[:LONGEST]  # enough to know that it is too long
        else:
            yield _lines_in(whole)
    if rest:
        yield _lines_in(rest)


def _lines_in(data: bytes) -> URLBatch:
    r"""Return lines without a ``\r`` at their ends, the first one shortened if it is too long."""
    start = data.find(b"\n")
    cut = len(data) >= LONGEST and (start < 0 or start >= LONGEST)
    if cut:
        data = data[:SAMPLE] + (data[start:] if start >= 0 else b"")
    while b"\r" in data and b"\r\n" in data:  # one byte is looked for much faster than two
        data = data.replace(b"\r\n", b"\n")
    return URLBatch(data.rstrip(b"\r"), _TOO_LONG if cut else _NONE)


def _cut_after_lines(rest: bytes, parts: list[bytes]) -> tuple[bytes | None, bytes]:
    r"""Return the whole lines of some parts, without the last ``\n``, and what follows it.

    Args:
        rest: the bytes before the parts.
        parts: at least one.
    """
    for n in range(len(parts) - 1, -1, -1):
        end = parts[n].rfind(b"\n")
        if end >= 0:
            lines = b"".join([rest, *parts[:n], memoryview(parts[n])[:end]])
            return lines, b"".join([parts[n][end + 1 :], *parts[n + 1 :]])
    return None, b"".join([rest, *parts])


def pieces(stream: Stream, arrives: Arrived | None) -> Iterator[list[bytes]]:
    """Yield parts of a stream, as many as fill a block or have arrived.

    Those before a fault are yielded before it is raised.
    """
    parts: list[bytes] = []
    size = 0
    try:
        while part := stream.read1(BLOCK):
            parts.append(part)
            size += len(part)
            if size >= BLOCK or not (arrives is None or arrives()):
                yield parts
                parts, size = [], 0
    except FAULTS:
        if parts:
            yield parts
        raise
    if parts:
        yield parts


def in_utf8(stream: Stream, looked_at: int = _LOOKED_AT) -> Stream:
    """Return a stream as UTF-8 with line feeds as line ends.

    UTF-16 is detected by its BOM, or by a zero in each of its first characters. Carriage returns
    are line ends if the beginning has no line feed. A BOM, and a first line such as ``sep=;``,
    which Excel writes above a table, are left out.

    Args:
        stream: the content of a file.
        looked_at: bytes to wait for before detection; 1 for whatever arrives first.
    """
    encoding = _encoding(stream.head(looked_at)[:_LOOKED_AT])
    if encoding is not None:
        decode = codecs.getincrementaldecoder(encoding)("replace").decode
        stream = Stream(_Changed(stream, lambda part, is_end: decode(part, is_end).encode()))
    head = stream.head(looked_at)[:_LOOKED_AT]
    if b"\r" in head[:-1] and b"\n" not in head and b"\0" not in head and head[:4] != b"PAR1":
        stream = Stream(_Changed(stream, lambda part, _is_end: part.replace(b"\r", b"\n")))
    preamble = _PREAMBLE.match(stream.head(looked_at)[:_LOOKED_AT])
    if preamble is not None and preamble.end():
        stream.read1(preamble.end())
    return stream


def _encoding(head: bytes) -> str | None:
    """Return the kind of UTF-16 in which a text begins, or None."""
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    first = head[:16]  # an ASCII letter has a zero before or after it
    if len(first) < 4 or len(first) % 2:  # noqa: PLR2004 - two characters
        return None
    if not any(first[1::2]) and all(first[::2]):
        return "utf-16-le"
    if not any(first[::2]) and all(first[1::2]):
        return "utf-16-be"
    return None


class _Changed:
    """The content of a stream, changed piece by piece."""

    def __init__(self, source: Stream, change: Callable[[bytes, bool], bytes]) -> None:
        self._source = source
        self._change = change  # a piece, and whether it is the end

    def read1(self, size: int) -> bytes:
        """Return some bytes; b"" at the end."""
        while part := self._source.read1(size):
            if changed := self._change(part, False):  # noqa: FBT003 - as codecs have it
                return changed
        return self._change(b"", True)  # noqa: FBT003 - as above


def ahead(items: Iterator[_T], most: int = 2) -> Iterator[_T]:
    """Run an iterator in a thread, and yield its items as soon as they are ready.

    An error of the iterator is raised here, after the items before it.

    Args:
        items: any iterator; it is not read further if the consumer stops.
        most: how many items may wait.
    """
    ready: Queue[_T | BaseException | None] = Queue(most)
    over = Event()

    def put(item: _T | BaseException | None) -> None:
        while not over.is_set():
            with suppress(Full):
                ready.put(item, timeout=0.1)
                return

    def run() -> None:
        try:
            for item in items:
                put(item)
                if over.is_set():
                    return
            put(None)
        except BaseException as error:  # noqa: BLE001 - raised again by the consumer
            put(error)

    thread = Thread(target=run, name="canonry-reader", daemon=True)
    thread.start()
    try:
        while (item := ready.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        over.set()


class Line(NamedTuple):
    """A line without its end, and its place."""

    source: str
    number: int
    text: bytes
    refused: str | None = None  # why it is not a URL, if the reader knows already


class Cut(NamedTuple):
    """A source that could not be read to its end, or not as it should be."""

    source: str
    number: int  # of the last line that was read; 0: none was
    reason: str
    is_whole: bool = False  # it was read to its end

    def __str__(self) -> str:
        """Return it as a sentence."""
        if self.is_whole:
            return f"{self.source}: {self.reason}"
        if not self.number:
            return f"{self.source}: cannot be read ({self.reason})"
        return f"{self.source}: breaks off after line {self.number:,} ({self.reason})"
