"""CSV (RFC 4180): rows with the URLs of one column, also where a quote is never closed.

Rows are found by their delimiters, line feeds and quotes in whole arrays of bytes. Where a quote or
a carriage return is in an odd place, the `csv` module reads the piece line by line.
"""

import csv
import io
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from canonry.crawler.compression import FAULTS
from canonry.crawler.files.line_formats import place_of
from canonry.crawler.files.line_streams import LONGEST, Rows, URLBatch, of_values
from canonry.crawler.plurals import counted

_LF, _CR, _QUOTE = b'\n\r"'
_PLAIN = 2  # quotes of a cell that has none in it


class OpenQuoteError(OSError):
    """The quotes of some lines are never closed; all lines of the file were read."""


class CSVRecord(NamedTuple):
    """A record that is read."""

    cells: list[str] | None  # []: a blank line; None: it cannot be read
    lines: int  # that it takes
    is_open: bool = False  # its quote is never closed, so only its first line was read


class _Found(NamedTuple):
    """The rows at the beginning of a piece that are not blank."""

    urls: list[bytes | None]  # None: the row is too short, or cannot be read
    ends: Sequence[int] | npt.NDArray[np.int64]  # of the rows
    end: int  # of the last row, blank ones included
    lines: int  # up to there
    is_lines: bool = False  # each row is a line that ends in a line feed, and none is blank
    open_quotes: Sequence[int] = ()  # lines, from 0, with a quote that is never closed

    def rows_of(self, data: bytes, header: bytes, delimiter: str) -> Rows:
        """Return the rows, given the piece in which they were found."""
        if self.is_lines:
            return Rows("csv", header, data[: self.end - 1], delimiter=delimiter)
        ends = np.asarray(self.ends, "<u8").tobytes()
        return Rows("csv", header, data[: self.end], ends, delimiter=delimiter)


def csv_batches(
    parts: Iterator[bytes], column: str | None, delimiter: str, *, keep_rows: bool = True
) -> Iterator[URLBatch]:
    """Yield the URLs of one column of a CSV file.

    They are those of the records that `csv_records` reads; a row may break off at the end of a
    piece.

    Args:
        parts: the content of the file, in pieces of any size.
        column: its name, or its number from 1.
        delimiter: a character.
        keep_rows: yield the rows, too; then a file of names alone is a blank URL.

    Raises:
        OSError: the file has no such column, or breaks off.
        OpenQuoteError: after all rows, if some have a quote that is never closed.
    """
    table = _Table(column or "1", delimiter, keep_rows=keep_rows)
    try:
        for part in parts:
            yield from table.read(part)
    except FAULTS:
        yield from table.rest(is_whole=False)
        raise
    yield from table.rest(is_whole=True)


class _Table:
    """A CSV file that is read in pieces."""

    def __init__(self, column: str, delimiter: str, *, keep_rows: bool) -> None:
        csv.field_size_limit(LONGEST)
        self._column = column
        self._place = int(column) - 1 if column.isdecimal() else None
        self._delimiter = delimiter
        self._keep_rows = keep_rows
        self._header, self._names = b"", 0  # the latter until the first rows are read
        self._rest, self._line = b"", 1  # what is not read yet, and the number of its first line
        self._first_open = self._open = 0  # of the lines with open quotes: the first, their number

    def read(self, part: bytes) -> Iterator[URLBatch]:
        """Yield the rows that are whole in a piece after the last one."""
        self._rest += part
        self._read_names(is_over=False)
        if self._place is not None:
            found = _by_bytes(self._rest, self._delimiter, self._place)
            yield from self._taken(
                found or _by_lines(self._rest, self._delimiter, self._place, is_over=False)
            )

    def rest(self, *, is_whole: bool) -> Iterator[URLBatch]:
        """Yield the rows that are left; without any row, a blank URL for that of the names.

        Args:
            is_whole: the last row is whole.

        Raises:
            OSError: as `csv_batches`, if it is whole.
        """
        self._read_names(is_over=is_whole)
        if self._place is not None:
            yield from self._taken(
                _by_lines(self._rest, self._delimiter, self._place, is_over=is_whole)
            )
        elif is_whole:
            place_of(self._column, [])
        if self._names and self._keep_rows:
            yield URLBatch(b"", rows=Rows("csv", self._header, b""), names=1)
        if self._open and is_whole:
            more = f", as {counted(self._open - 1, 'more line')} of this kind" * (self._open > 1)
            raise OpenQuoteError(
                f"line {self._first_open:,}: the quote is never closed; the line was read without "
                f"it{more}"
            )

    def _taken(self, found: _Found) -> Iterator[URLBatch]:
        """Take rows off the rest; yield them unless all are blank."""
        data, self._rest = self._rest, self._rest[found.end :]
        self._count(found.lines, found.open_quotes)
        if found.urls:
            rows = found.rows_of(data, self._header, self._delimiter) if self._keep_rows else None
            yield of_values(found.urls)._replace(rows=rows, names=self._names)
            self._names = 0

    def _read_names(self, *, is_over: bool) -> None:
        """Take the row of names off the rest, if it is whole and the column is wanted by name."""
        if self._place is not None:
            return
        for record, end, lines in _records(self._rest, self._delimiter, is_over=is_over):
            if record.cells != []:
                self._place = place_of(self._column, record.cells or [])
                self._header, self._names = self._rest[:end].strip(b"\r\n"), 1
                self._rest = self._rest[end:]
                self._count(lines, [lines - 1] * record.is_open)
                return

    def _count(self, lines: int, open_quotes: Sequence[int]) -> None:
        if open_quotes:
            self._first_open = self._first_open or self._line + open_quotes[0]
        self._open += len(open_quotes)
        self._line += lines


def _by_bytes(data: bytes, delimiter: str, place: int) -> _Found | None:
    """Find rows by delimiters, line feeds and quotes; None if this needs the `csv` module.

    Args:
        data: begins with a row; the last one may break off.
        delimiter: a character.
        place: of the column with the URLs, from 0.
    """
    if not delimiter.isascii() or len(data) >= LONGEST:
        return None
    codes = np.frombuffer(data, np.uint8)
    breaks = np.flatnonzero((codes == ord(delimiter)) | (codes == _LF))
    quotes = np.flatnonzero(codes == _QUOTE)
    breaks = breaks[np.searchsorted(quotes, breaks) % 2 == 0]  # those that are not quoted
    lasts = np.flatnonzero(codes[breaks] == _LF)  # of the breaks of each row
    if not len(lasts):
        return None
    end = int(breaks[lasts[-1]]) + 1
    codes, quotes = codes[:end], quotes[: np.searchsorted(quotes, end)]
    returns = data.count(b"\r", 0, end)
    if returns != data.count(b"\r\n", 0, end) or not _are_around(quotes, codes, ord(delimiter)):
        return None
    feeds = breaks[lasts]
    firsts = np.append(0, lasts[:-1] + 1)  # of the breaks of each row
    starts, stops = np.append(0, feeds[:-1] + 1), feeds - (codes[feeds - 1] == _CR)
    full = starts < stops
    if not full.all():
        starts, stops, feeds = starts[full], stops[full], feeds[full]
        firsts, lasts = firsts[full], lasts[full]
    short = lasts - firsts < place
    if place:
        starts = np.where(short, starts, breaks[np.where(short, 0, firsts + place - 1)] + 1)
    is_inner = lasts - firsts > place
    stops = np.where(is_inner, breaks[np.where(is_inner, firsts + place, 0)], stops)
    is_quoted = (codes[starts] == _QUOTE) & ~short
    inner = np.searchsorted(quotes, stops) - np.searchsorted(quotes, starts)
    starts, stops = starts + is_quoted, stops - is_quoted
    pairs = zip(starts.tolist(), stops.tolist(), strict=True)
    urls: list[bytes | None] = [data[start:stop] for start, stop in pairs]
    for n in np.flatnonzero(is_quoted & (inner > _PLAIN)).tolist():
        urls[n] = data[starts[n] : stops[n]].replace(b'""', b'"')
    for n in np.flatnonzero(short).tolist():
        urls[n] = None
    lines = int(np.count_nonzero(codes == _LF))
    return _Found(urls, feeds + 1, end, lines, len(urls) == lines and not returns)


def _are_around(
    quotes: npt.NDArray[np.int64], codes: npt.NDArray[np.uint8], delimiter: int
) -> bool:
    """Return True if all quotes enclose whole cells, or are doubled inside such cells."""
    beside = np.zeros(256, np.bool_)
    beside[[delimiter, _LF, _CR, _QUOTE]] = True
    opening, closing = quotes[::2], quotes[1::2]
    before, after = codes[opening - 1], codes[closing + 1]
    return bool((beside[before] | (opening == 0)).all() and beside[after].all())


def _by_lines(data: bytes, delimiter: str, place: int, *, is_over: bool) -> _Found:
    """Find rows with `csv_records`; unless it is the last piece, rows may break off at its end."""
    urls: list[bytes | None] = []
    ends: list[int] = []
    open_quotes: list[int] = []
    end = lines = 0
    for record, end, lines in _records(data, delimiter, is_over=is_over):
        if record.is_open:
            open_quotes.append(lines - 1)
        if record.cells != []:
            cells = record.cells or []
            urls.append(_as_bytes(cells[place]) if place < len(cells) else None)
            ends.append(end)
    return _Found(urls, ends, end, lines, open_quotes=open_quotes)


def _records(data: bytes, delimiter: str, *, is_over: bool) -> Iterator[tuple[CSVRecord, int, int]]:
    """Yield the records of a piece, and how many bytes and lines there are up to their ends."""
    text = data if is_over else data[: data.rfind(b"\n") + 1]
    ends = [0]

    def lines() -> Iterator[str]:
        for line in io.StringIO(text.decode("utf-8", "surrogateescape"), newline=""):
            ends.append(ends[-1] + (len(line) if line.isascii() else len(_as_bytes(line))))
            yield line

    count = 0
    for record in csv_records(lines(), delimiter, is_over=is_over):
        count += record.lines
        yield record, ends[count], count


def _as_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def csv_records(
    lines: Iterable[str], delimiter: str, *, is_over: bool = True
) -> Iterator[CSVRecord]:
    """Yield the records of lines, which keep their ends.

    A quote is never closed if the lines end before it is, if the cell grows longer than the `csv`
    module's limit, or if something else than a delimiter follows the next quote, on a later line.
    The line where the record began is read without this quote, and reading goes on at the next one.

    Args:
        lines: of text.
        delimiter: between the cells.
        is_over: False if other lines follow; then a record that may go on there is left out.
    """
    rest = iter(lines)
    again: deque[str] = deque()  # lines that are read once more
    taken: list[str] = []  # by the record
    is_at_end = False

    def feed() -> Iterator[str]:
        nonlocal is_at_end
        while (line := again.popleft() if again else next(rest, None)) is not None:
            taken.append(line)
            yield line
        is_at_end = True

    reader = csv.reader(feed(), delimiter=delimiter)
    while True:
        try:
            cells = next(reader, None)
        except csv.Error:
            cells = None
        if not taken or (is_at_end and not is_over):
            return
        is_whole = len(taken) == 1 or (cells is not None and _closes("".join(taken), delimiter))
        if is_whole and not is_at_end:
            yield CSVRecord(cells, len(taken))
        else:
            yield CSVRecord(_without_quote(taken[0], delimiter), 1, is_open=True)
            again.extendleft(reversed(taken[1:]))
            reader = csv.reader(feed(), delimiter=delimiter)
        taken.clear()
        is_at_end = False


def _without_quote(line: str, delimiter: str) -> list[str] | None:
    """Return the cells of a line whose last quote is never closed, as if this quote was missing."""
    try:
        [[*before, last]] = csv.reader([line.rstrip("\r\n")], delimiter=delimiter)
    except (csv.Error, ValueError):
        return None
    return [*before, *last.split(delimiter)]


def _closes(record: str, delimiter: str) -> bool:
    """Return True if each cell with several lines ends where its quote is closed."""
    found = _cells(delimiter).findall(record)
    return not any(more and ("\n" in cell or "\r" in cell) for cell, more in found)


@cache
def _cells(delimiter: str) -> re.Pattern[str]:
    """Return a pattern of cells: what is in quotes, and what follows these."""
    plain = rf"[^{re.escape(delimiter)}\r\n]"
    return re.compile(rf'"([^"]*(?:""[^"]*)*)"({plain}*)|{plain}+')
