"""Read files as blocks of lines, megabytes at a time, to avoid a call for each line."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import chain
from pathlib import Path
from typing import IO, NamedTuple, TypeVar

import msgspec
import numpy as np

from canonry.crawler.compression import FAULTS, Stream, decompressed, write_all
from canonry.crawler.files.csv_records import OpenQuoteError
from canonry.crawler.files.formats import (
    ANY,
    HEAD,
    FoundFormat,
    InputFormat,
    LineFormat,
    first_line,
)
from canonry.crawler.files.line_formats import LinePicks
from canonry.crawler.files.line_streams import (
    BLOCK,
    LONGEST,
    SAMPLE,
    Arrived,
    Cut,
    Line,
    WholeLines,
    ahead,
    arrivals,
    in_utf8,
    line_blocks,
    never,
    pieces,
)
from canonry.crawler.files.record_formats import detected_column, opened_parquet
from canonry.crawler.files.rows.csv_table import RowBlock, Rows, csv_rows
from canonry.crawler.files.rows.parquet_table import (
    as_stream,
    of_stream,
    parquet_rows,
    parquet_urls,
)
from canonry.crawler.hold_reason import HoldReason
from canonry.crawler.locations import is_stream, opened

_T = TypeVar("_T")
_MOST_RECORDS = 1 << 16  # in a block
_AWAITED = 4096  # bytes of a pipe in which its format is detected
_LENGTH = 8  # bytes of the length before each block on disk
_LF = ord("\n")
_LONE_URL = re.compile(rb"https?://[^,;|\t]*", re.IGNORECASE)  # a line, not a row of a table


class Block(NamedTuple):
    r"""Whole lines or the URLs of records, separated by ``\n``, with none after the last."""

    source: str
    first: int  # number of the first line in its source
    data: bytes
    size: int  # lines
    refused: Mapping[int, str] = {}  # reasons of lines known not to be URLs, by place
    rows: Rows | None = None  # the rows of the URLs, if wanted; None: the lines
    ends: bytes = b""  # of lines, 4 bytes each, little-endian; empty if not known yet

    def lines(self) -> list[bytes]:
        """Return the lines."""
        return self.data.split(b"\n")


def read(
    sources: Sequence[str],
    advance: Callable[[int], None] = lambda _count: None,
    input_format: InputFormat = ANY,
    open_: Callable[[str], AbstractContextManager[IO[bytes]]] = opened,
) -> Iterator[Block | Cut]:
    """Yield the URLs of all sources, in order; ``-`` is standard input.

    A source that breaks off yields a `Cut` after its last whole line, and the next one follows.
    The lines of a pipe are yielded as soon as they arrive, unless they are compressed or a table.

    Args:
        sources: names of existing files.
        advance: called with the number of bytes of a file (as stored) read since the last call.
        input_format: what is known of their format.
        open_: opens a source.
    """
    for source in sources:
        number = 1
        try:
            with open_(source) as file:
                position = 0
                arrives = arrivals(file) if is_stream(source) else None
                for some in ahead(_of_file(file, source, input_format, arrives)):
                    number += some.names
                    block = block_of(source, number, some.data, some.refused, some.rows)
                    yield block
                    number += block.size
                    if not is_stream(source):
                        position, before = max(file.tell(), position), position
                        advance(position - before)
        except FAULTS as error:
            yield cut_off(source, number - 1, error)


def block_of(
    source: str, first: int, data: bytes, refused: Mapping[int, str], rows: Rows | None = None
) -> Block:
    """Return a block of lines."""
    return Block(source, first, data, _size(data), refused, rows)


def _size(data: bytes) -> int:
    """Return the number of lines; `bytes.count` would be five times slower, and hold the GIL."""
    return int(np.count_nonzero(np.frombuffer(data, np.uint8) == _LF)) + 1


def format_of(source: str, input_format: InputFormat = ANY) -> FoundFormat:
    """Return the format of a file that can be read several times.

    Raises:
        OSError: if it cannot be read.
    """
    with opened(source) as file:
        found = input_format.find(in_utf8(decompressed(file)).head(HEAD), source)
    if found.name != "parquet" or found.column is not None:
        return found
    with opened(source) as file, opened_parquet(decompressed(file)) as table:
        chosen = detected_column(table)
    return found if chosen is None else found._replace(key=chosen)


def read_lines(sources: Sequence[str]) -> Iterator[Line | Cut]:
    """Yield the lines of all sources, in order, each as soon as it arrives.

    A source that breaks off yields a `Cut` after its last whole line, and the next one follows. Of
    a line that is longer than `LONGEST` only the beginning is kept.

    Args:
        sources: names of existing files, plain or compressed; ``-`` is standard input.
    """
    for source in sources:
        number = 1
        try:
            with opened(source) as file:
                stream = in_utf8(decompressed(file), looked_at=1)
                for data, refused in line_blocks(stream, never):
                    block = block_of(source, number, data, refused)
                    yield from lines_of([block])
                    number += block.size
        except FAULTS as error:
            yield cut_off(source, number - 1, error)


def cut_off(source: str, number: int, error: BaseException) -> Cut:
    """Return where a source breaks off, or what is wrong in it, with a short printable reason."""
    said = getattr(error, "strerror", None) or str(error)
    reason = "".join(c if c.isprintable() else " " for c in said[:SAMPLE]).strip()
    is_whole = isinstance(error, OpenQuoteError)
    return Cut(source, number, reason or type(error).__name__, is_whole)


def lines_of(blocks: Iterable[Block | Cut]) -> Iterator[Line | Cut]:
    """Yield the lines of blocks one by one."""
    for block in blocks:
        if isinstance(block, Cut):
            yield block
            continue
        for place, line in enumerate(block.lines()):
            yield Line(block.source, block.first + place, line, block.refused.get(place))


_NONE: Mapping[int, str] = {}


class Some(NamedTuple):
    """Lines with URLs, and what is known of them."""

    data: bytes
    refused: Mapping[int, str] = _NONE  # reasons, by place
    rows: Rows | None = None  # the rows that the lines come from
    names: int = 0  # lines with the names of columns before these lines


def _of_file(
    file: IO[bytes], source: str, input_format: InputFormat, arrives: Arrived | None = None
) -> Iterator[Some]:
    """Yield the URLs of a file of any format."""
    stream = decompressed(file)
    arrives = arrives if stream.source is file else None  # not for compressed streams
    enough = HEAD if arrives is None else _enough(stream)
    stream = in_utf8(stream, enough)
    head = stream.head(enough)
    file_format = input_format.find(head, source)
    reads = file_format.reads
    if not isinstance(reads, LineFormat):
        if input_format.keep_rows:
            yield from _of_rows(_row_blocks(file_format, stream, arrives))
        elif reads.read is not None:
            yield from of_records(reads.read(stream))
        elif file_format.name == "csv":
            yield from _without_rows(_of_rows(_row_blocks(file_format, stream, arrives)))
        else:
            yield from map(of_values, parquet_urls(stream, file_format.column))
        return
    picks = reads.pick(first_line(head), file_format.column)
    blocks = line_blocks(stream, arrives)
    if reads.is_plain:
        yield from (Some(data, refused) for data, refused in blocks)
        return
    kept = file_format.name if input_format.keep_rows else None
    yield from picked(blocks, picks, kept)


def _row_blocks(
    file_format: FoundFormat, stream: Stream, arrives: Arrived | None
) -> Iterator[RowBlock]:
    """Yield the rows of a file that is read as a whole."""
    if file_format.name == "csv":
        return csv_rows(pieces(stream, arrives), file_format.column, file_format.delimiter)
    if file_format.name == "parquet":
        return parquet_rows(stream, file_format.column)
    raise OSError(
        f"{file_format.name} has no rows for --keep-rows or --prefer; csv, tsv, jsonl and parquet "
        "have"
    )


def _of_rows(blocks: Iterable[RowBlock]) -> Iterator[Some]:
    """Yield the URLs of rows, together with the rows."""
    names: int | None = None
    for values, rows in blocks:
        names = int(rows.format == "csv" and rows.header != b"") if names is None else 0
        yield of_values(values)._replace(rows=rows, names=names)


def of_values(values: list[bytes | None] | bytes) -> Some:
    """Return the URLs of a column: a line for each."""
    if isinstance(values, bytes):
        return Some(values)
    lines, refused = _as_lines(values)
    return Some(b"\n".join(lines), refused)


def _without_rows(blocks: Iterable[Some]) -> Iterator[Some]:
    """Yield the URLs of rows without the rows; skip a header without rows."""
    for some in blocks:
        if some.rows is None or some.rows.data:
            yield some._replace(rows=None)


def picked(blocks: Iterable[WholeLines], picks: LinePicks, kept: str | None) -> Iterator[Some]:
    """Yield the URL of each line, without a first line of column names.

    With the name of a format, the lines are kept as rows. Then a file of names alone is a blank
    line.
    """
    header = b""
    if picks.has_names:
        header, blocks = _after_names(iter(blocks))
    names = int(picks.has_names)
    for data, cut in blocks:
        rows = Rows(kept, header, data) if kept is not None else None
        some = _picked(data, cut, picks)
        yield some._replace(rows=rows, names=names)
        names = 0
    if names and header and kept is not None:
        yield Some(b"", _NONE, Rows(kept, header, b""), names)


def _after_names(blocks: Iterator[WholeLines]) -> tuple[bytes, Iterable[WholeLines]]:
    """Return the first line, and the lines after it."""
    first = next(blocks, WholeLines(b""))
    names, has_more, rest = first.data.partition(b"\n")
    return names, chain([WholeLines(rest)] if has_more else [], blocks)


def _picked(data: bytes, cut: Mapping[int, str], picks: LinePicks) -> Some:
    """Return the URLs of lines.

    Args:
        data: the lines.
        cut: reasons of lines that are too long, by place.
        picks: how to find the URL of a line.
    """
    if picks.all is not None and not cut:
        picked = picks.all(data, _size(data))
        if picked is not None and len(picked) < LONGEST:
            return Some(picked)
    lines = data.split(b"\n")
    values = [b"" if n in cut else picks.one(line) for n, line in enumerate(lines)]
    urls, refused = _as_lines(values)
    for place in refused:  # the sample shows the whole line
        urls[place] = lines[place][:SAMPLE]
    return Some(b"\n".join(urls), {**refused, **cut})


def of_records(records: Iterator[bytes | None]) -> Iterator[Some]:
    """Yield the URLs of records; those before a fault are yielded before it is raised."""
    values: list[bytes | None] = []
    size, fault = 0, None
    while fault is None:
        try:
            value = next(records)
        except StopIteration:
            break
        except FAULTS as error:
            fault = error
            break
        values.append(value)
        size += len(value or b"")
        if size >= BLOCK or len(values) >= _MOST_RECORDS:
            yield of_values(values)
            values, size = [], 0
    if values:
        yield of_values(values)
    if fault is not None:
        raise fault


def _as_lines(values: Iterable[bytes | None]) -> tuple[list[bytes], dict[int, str]]:
    """Return values as lines, and the reasons of those that are not URLs.

    Line feeds in them are removed, as browsers do (URL Standard, section 4.4).
    """
    all_values = list(values)
    if None not in all_values:
        whole = b"\n".join(all_values)  # type: ignore[arg-type]  # no None
        if len(whole) < LONGEST and whole.count(b"\n") == len(all_values) - 1:
            return all_values, {}  # type: ignore[return-value]  # as above
    lines: list[bytes] = []
    refused: dict[int, str] = {}
    for place, value in enumerate(all_values):
        if value is None:
            refused[place] = HoldReason.RECORD.label
            lines.append(b"")
        elif len(value) > LONGEST:
            refused[place] = HoldReason.TOO_LONG.label
            lines.append(value[:SAMPLE].replace(b"\n", b""))
        else:
            lines.append(value.replace(b"\n", b"") if b"\n" in value else value)
    return lines, refused


def _enough(stream: Stream) -> int:
    """Return how many bytes of a pipe to wait for before its format is detected.

    If the first line is a URL without a delimiter, the pipe is a list of lines, whatever follows.
    """
    size = 1
    while size <= _AWAITED and b"\n" not in (head := stream.head(size)) and len(head) >= size:
        size = len(head) + 1
    head = stream.head(1)
    return len(head) if b"\n" in head and _LONE_URL.fullmatch(first_line(head)) else _AWAITED


class BlockSpool:
    """Keeps blocks of streams in a file, in order, because a stream can be read only once."""

    def __init__(self, path: Path) -> None:
        """Use a file; an existing one is overwritten."""
        self._path = path

    def copied(self, blocks: Iterator[tuple[Block, _T]]) -> Iterator[tuple[Block, _T]]:
        """Yield pairs of a block and its keys, and keep each block."""
        with self._path.open("wb") as file:
            for block, found in blocks:
                data = msgspec.msgpack.encode(block, enc_hook=as_stream)
                write_all(file, len(data).to_bytes(_LENGTH) + data)
                yield block, found

    def blocks(self) -> Iterator[Block]:
        """Yield the kept blocks."""
        with self._path.open("rb") as file:
            while length := file.read(_LENGTH):
                data = file.read(int.from_bytes(length))
                block = msgspec.msgpack.decode(data, type=Block)
                yield block if block.rows is None else block._replace(rows=of_stream(block.rows))
