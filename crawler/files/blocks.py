"""Read files as blocks of lines, megabytes at a time, to avoid a call for each line."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import IO, NamedTuple

import msgspec
import numpy as np

from canonry.crawler.compression import FAULTS, Stream, decompressed, write_all
from canonry.crawler.files.delimited import OpenQuoteError, csv_batches
from canonry.crawler.files.formats import (
    ANY,
    HEAD,
    FoundFormat,
    InputFormat,
    first_line,
    found_in,
)
from canonry.crawler.files.line_formats import LinePicks
from canonry.crawler.files.line_streams import (
    BLOCK,
    LONGEST,
    SAMPLE,
    Arrived,
    Cut,
    Line,
    Rows,
    URLBatch,
    ahead,
    arrivals,
    in_utf8,
    line_blocks,
    of_values,
    pieces,
)
from canonry.crawler.files.parquet_rows import (
    as_stream,
    of_stream,
    opened_parquet,
    parquet_batches,
    url_column,
)
from canonry.crawler.locations import is_stream, opened
from canonry.crawler.settings import SettingsError

_MOST_RECORDS = 1 << 16  # in a block
_MOST_LOOKED_AT = 1_000  # files whose format is reported
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
) -> Iterator[Block | Cut]:
    """Yield the URLs of all sources, in order; ``-`` is standard input.

    A source that breaks off yields a `Cut` after its last whole line, and the next one follows.
    The lines of a pipe are yielded as soon as they arrive, unless they are compressed or a table.

    Args:
        sources: names of existing files.
        advance: called with the number of bytes of a file (as stored) read since the last call.
        input_format: what is known of their format.
    """
    for source in sources:
        yield from _read_one(source, advance, input_format)


def _read_one(
    source: str, advance: Callable[[int], None], input_format: InputFormat
) -> Iterator[Block | Cut]:
    """Yield the URLs of a source as blocks with line numbers, and a `Cut` where it breaks off."""
    number, position = 1, 0
    try:
        with opened(source) as file:
            arrives = arrivals(file) if is_stream(source) else None
            batches = ahead(_of_file(file, source, input_format, arrives))
            for data, refused, rows, names in batches:
                number += names
                block = Block(source, number, data, _size(data), refused, rows)
                yield block
                number += block.size
                if not is_stream(source):
                    position, before = max(file.tell(), position), position
                    advance(position - before)
    except FAULTS as error:
        said = getattr(error, "strerror", None) or str(error)
        reason = "".join(c if c.isprintable() else " " for c in said[:SAMPLE]).strip()
        is_whole = isinstance(error, OpenQuoteError)
        yield Cut(source, number - 1, reason or type(error).__name__, is_whole)


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
        column, _path, is_choice = url_column(table, None)
    return found._replace(note=found_in("column", column)) if is_choice else found


def recognized(all_files: Sequence[str], input_format: InputFormat) -> Iterator[str]:
    """Yield sentences about files: which column has the URLs, if it was detected.

    If the records of JSONL lack the wanted key, name the keys that they have.

    Raises:
        SettingsError: no file has the wanted column; names those of the first one.
    """
    files_by_sentence: dict[str, list[str]] = {}
    files = [file for file in all_files if not is_stream(file)][:_MOST_LOOKED_AT]
    if input_format.column is not None:
        cuts = []
        for file in files:
            first = next(read([file], input_format=input_format), None)
            if not (isinstance(first, Cut) and first.reason.startswith("no column")):
                break
            cuts.append(first)
        if cuts and len(cuts) == len(files):
            raise SettingsError(f"--column: {cuts[0].source}: {cuts[0].reason}")
    for file in files:
        with suppress(*FAULTS):
            sentence = format_of(file, input_format).note
            if sentence is not None:
                files_by_sentence.setdefault(sentence, []).append(file)
    for sentence, files in files_by_sentence.items():
        more = f" and {len(files) - 1:,} more" if len(files) > 1 else ""
        yield f"{files[0]}{more}: {sentence}"


def lines_of(blocks: Iterable[Block | Cut]) -> Iterator[Line | Cut]:
    """Yield the lines of blocks one by one."""
    for block in blocks:
        if isinstance(block, Cut):
            yield block
            continue
        for place, line in enumerate(block.lines()):
            yield Line(block.source, block.first + place, line, block.refused.get(place))


def _of_file(
    file: IO[bytes], source: str, input_format: InputFormat, arrives: Arrived | None = None
) -> Iterator[URLBatch]:
    """Yield the URLs of a file of any format."""
    stream = decompressed(file)
    arrives = arrives if stream.source is file else None  # not for compressed streams
    enough = HEAD if arrives is None else _enough(stream, input_format)
    stream = in_utf8(stream, enough)
    head = stream.head(enough)
    found = input_format.find(head, source)
    reads, keep_rows = found.reads, input_format.keep_rows
    if found.name == "lines":
        yield from line_blocks(stream, arrives)
    elif reads.pick is not None:
        picks = reads.pick(first_line(head), found.column)
        yield from _picked(line_blocks(stream, arrives), found, picks, keep_rows=keep_rows)
    elif found.name == "csv":
        parts = map(b"".join, pieces(stream, arrives))
        yield from csv_batches(parts, found.column, found.delimiter, keep_rows=keep_rows)
    elif found.name == "parquet":
        yield from parquet_batches(stream, found.column, keep_rows=keep_rows)
    elif keep_rows:
        raise OSError(
            f"{found.name} has no rows for --keep-rows or --prefer; csv, tsv, jsonl and parquet "
            "have"
        )
    elif reads.read is not None:
        yield from _of_records(reads.read(stream))


def _picked(
    lines: Iterator[URLBatch],
    found: FoundFormat,
    picks: LinePicks,
    *,
    keep_rows: bool,
) -> Iterator[URLBatch]:
    """Yield the URL of each line, without a first line of column names.

    Args:
        lines: of a file.
        found: its format.
        picks: how to find the URL of a line.
        keep_rows: keep the lines as rows. Then a file of names alone is a blank line.
    """
    header, names = b"", int(picks.has_names)
    if names:
        first = next(lines, URLBatch(b""))
        header, has_more, rest = first.data.partition(b"\n")
        lines = chain([URLBatch(rest)] if has_more else [], lines)
    for data, cut, _rows, _names in lines:
        rows = Rows(found.name, header, data) if keep_rows else None
        yield _urls_of(data, cut, picks)._replace(rows=rows, names=names)
        names = 0
    if names and header and keep_rows:
        yield URLBatch(b"", rows=Rows(found.name, header, b""), names=names)


def _urls_of(data: bytes, cut: Mapping[int, str], picks: LinePicks) -> URLBatch:
    """Return the URLs of lines.

    Args:
        data: the lines.
        cut: reasons of lines that are too long, by place.
        picks: how to find the URL of a line.
    """
    if picks.all is not None and not cut:
        found = picks.all(data, _size(data))
        if found is not None and len(found) < LONGEST:
            return URLBatch(found)
    lines = data.split(b"\n")
    batch = of_values([b"" if n in cut else picks.one(line) for n, line in enumerate(lines)])
    if not batch.refused:
        return batch._replace(refused=cut)
    urls = batch.data.split(b"\n")
    for place in batch.refused:  # the sample shows the whole line
        urls[place] = lines[place][:SAMPLE]
    return URLBatch(b"\n".join(urls), {**batch.refused, **cut})


def _of_records(records: Iterator[bytes | None]) -> Iterator[URLBatch]:
    """Yield the URLs of records; those before a fault are yielded before it is raised."""
    values: list[bytes | None] = []
    size = 0
    try:
        for value in records:
            values.append(value)
            size += len(value or b"")
            if size >= BLOCK or len(values) >= _MOST_RECORDS:
                yield of_values(values)
                values, size = [], 0
    except FAULTS:
        if values:
            yield of_values(values)
        raise
    if values:
        yield of_values(values)


def _enough(stream: Stream, input_format: InputFormat) -> int:
    """Return how many bytes of a pipe to wait for before its format is detected.

    If the first line is a URL without a delimiter, the pipe is a list of lines, whatever follows.
    """
    if input_format.name == "lines":
        return 1
    size = 1
    while size <= _AWAITED and b"\n" not in (head := stream.head(size)) and len(head) >= size:
        size = len(head) + 1
    head = stream.head(1)
    return len(head) if b"\n" in head and _LONE_URL.fullmatch(first_line(head)) else _AWAITED


class BlockSpool:
    """Keeps blocks of streams in a file, in order, because a stream can be read only once."""

    def __init__(self, path: Path) -> None:
        """Use a file that need not exist; blocks are added at its end."""
        self._path = path

    def put(self, block: Block) -> None:
        """Keep a block."""
        data = msgspec.msgpack.encode(block, enc_hook=as_stream)
        with self._path.open("ab") as file:
            write_all(file, len(data).to_bytes(_LENGTH) + data)

    def blocks(self) -> Iterator[Block]:
        """Yield the kept blocks."""
        with self._path.open("rb") as file:
            while length := file.read(_LENGTH):
                data = file.read(int.from_bytes(length))
                block = msgspec.msgpack.decode(data, type=Block)
                yield block if block.rows is None else block._replace(rows=of_stream(block.rows))
