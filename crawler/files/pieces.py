"""Pieces of large files, for tasks that run at once: ranges of lines, and row groups of Parquet."""

from collections.abc import Iterator
from typing import IO, NamedTuple

from canonry.crawler.compression import FAULTS, Stream, decompressed
from canonry.crawler.files import blocks
from canonry.crawler.files.blocks import Block
from canonry.crawler.files.formats import HEAD, InputFormat
from canonry.crawler.files.line_streams import BOM, Cut, URLBatch, in_utf8, line_blocks
from canonry.crawler.files.parquet_rows import opened_parquet, parquet_batches
from canonry.crawler.locations import is_stream, opened, version_of

PIECE = 1 << 27  # bytes
_SOME, _FEW = 1 << 20, 16  # bytes


class Piece(NamedTuple):
    """A part of a file."""

    source: str
    start: int = 0  # its first byte or row group
    stop: int | None = None  # the first byte or row group after it; None: the whole file


def pieces_of(source: str, input_format: InputFormat, size: int = PIECE) -> list[Piece]:
    """Return the pieces of a file, in order.

    A file is one piece, unless it is large and either Parquet, or lines that are not compressed.

    Args:
        source: the name of a file.
        input_format: what is known of its format.
        size: of a piece, in bytes.
    """
    whole = [Piece(source)]
    try:
        if is_stream(source) or (version_of(source)[0] or 0) < 2 * size:
            return whole
        with opened(source) as file:
            head, is_plain = _head_of(file)
            found = input_format.find(head, source)
            if found.name == "parquet" and is_plain:
                with opened_parquet(Stream(file)) as table:
                    return _row_groups(source, table.metadata, size)
            if not (found.reads.pick is not None and is_plain):
                return whole
            end = file.seek(0, 2)
            return [Piece(source, n, min(n + size, end)) for n in range(0, end, size)]
    except FAULTS:  # the task that reads it says so
        return whole


def _row_groups(source: str, metadata: object, size: int) -> list[Piece]:
    """Return pieces of whole row groups, each of about a size."""
    groups: int = metadata.num_row_groups  # type: ignore[attr-defined]  # pyarrow ships no types
    pieces, start, used = [], 0, 0
    for n in range(groups):
        used += metadata.row_group(n).total_byte_size  # type: ignore[attr-defined]  # as above
        if used >= size or n + 1 == groups:
            pieces.append(Piece(source, start, n + 1))
            start, used = n + 1, 0
    return pieces


def _head_of(file: IO[bytes]) -> tuple[bytes, bool]:
    """Return the first bytes of a file's text, and whether the text is stored as it is."""
    beginning = file.peek(_FEW)[:_FEW]  # type: ignore[attr-defined]  # a buffered file has it
    stored = decompressed(file)
    text = in_utf8(stored, HEAD)
    head = text.head(HEAD)
    return head, text is stored and stored.source is file and head.startswith(
        beginning.removeprefix(BOM)
    )


def read(piece: Piece, input_format: InputFormat) -> Iterator[Block | Cut]:
    """Yield the URLs of a piece, as `blocks.read` does; its first line has the number 1."""
    if piece.stop is None:
        return blocks.read([piece.source], input_format=input_format)
    return blocks.numbered(piece.source, lambda file: _urls(file, piece, input_format))


def _urls(file: IO[bytes], piece: Piece, input_format: InputFormat) -> Iterator[URLBatch]:
    """Return the URLs of a piece of an open file."""
    head, _is_plain = _head_of(file)
    found = input_format.find(head, piece.source)
    if found.name == "parquet":
        return parquet_batches(Stream(file), found.column, range(piece.start, piece.stop or 0))
    lines = line_blocks(Stream(_Range(file, piece)))
    return blocks.picked(lines, found, head, is_beginning=not piece.start)


class _Range:
    """The lines of a file that begin in a range of its bytes."""

    def __init__(self, file: IO[bytes], piece: Piece) -> None:
        self._file = file
        self._left = 0 if piece.stop is None else piece.stop - piece.start
        self._ends_line = True
        file.seek(max(piece.start - 1, 0))
        if not piece.start and file.peek(len(BOM)).startswith(BOM):  # type: ignore[attr-defined]  # as above
            self._left -= len(file.read(len(BOM)))
        if piece.start:
            self._left += 1
            self._skip_line()

    def _skip_line(self) -> None:
        """Skip the rest of a line, which another piece has."""
        line = b""
        while not line.endswith(b"\n") and self._left > 0:
            line = self._file.readline(_SOME)
            if not line:
                self._left = 0
            self._left -= len(line)

    def read1(self, size: int) -> bytes:
        """Return some bytes; b"" at the end."""
        if self._left > 0:
            data = self._file.read(min(size, self._left))
            self._left = self._left - len(data) if data else 0
        elif self._ends_line:
            return b""
        else:
            data = self._file.readline(size)
        self._ends_line = not data or data.endswith(b"\n")
        return data
