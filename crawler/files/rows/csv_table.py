"""Rows together with their URLs, for outputs that keep all columns; and a reader for CSV."""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain, islice
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from canonry.crawler.compression import FAULTS
from canonry.crawler.files.csv_records import OpenQuotes, csv_records
from canonry.crawler.files.line_formats import place_of
from canonry.crawler.files.line_streams import LONGEST

_LINE_END = re.compile(rb"\r\n|\r|\n")
_BOM = b"\xef\xbb\xbf"
_LF, _QUOTE = ord("\n"), ord('"')
_MARK = "\0\1\0"
_UNIT = "\x1f"  # "unit separator"; no text has it


class ParquetBatch(NamedTuple):
    """Some rows of a Parquet file, and how that file is written."""

    rows: Any  # a pyarrow.RecordBatch, or in a spool the bytes of an Arrow stream
    codec: str  # by which it is compressed, as pyarrow names it
    group: int  # rows in its first row group


class Rows(NamedTuple):
    """The rows of a block, as they were read: one for each of its URLs."""

    format: str  # a row of `canonry.crawler.files.formats.INPUT_FORMATS`
    header: bytes  # the row of names, or Parquet's schema; b"" if there is none
    data: bytes  # lines, or with `ends`, rows that may have several lines
    ends: bytes = b""  # of rows in the data, 8 bytes each, little-endian
    batch: ParquetBatch | None = None  # instead of data
    delimiter: str = ","  # of CSV

    def each(self) -> list[bytes]:
        """Return the rows one by one, without their line ends; those of a batch are none."""
        if not self.ends:
            return self.data.split(b"\n")
        ends = np.frombuffer(self.ends, "<u8").tolist()
        return [self.data[a:b].strip(b"\r\n") for a, b in zip([0, *ends], ends, strict=False)]

    def of(self, mask: npt.NDArray[np.bool_]) -> bytes:
        """Return the rows with `ends` that a mask selects, each with a line feed."""
        ends = np.frombuffer(self.ends, "<u8")
        starts = np.append(np.uint64(0), ends[:-1])
        spans = zip(starts[mask].tolist(), ends[mask].tolist(), strict=True)
        # This strips blank lines before a row, and its line end.
        return b"".join(self.data[start:end].strip(b"\r\n") + b"\n" for start, end in spans)


class RowBlock(NamedTuple):
    """URLs and their rows."""

    urls: list[bytes | None] | bytes  # None: a row has no URL or is broken; bytes: one URL a line
    rows: Rows


def csv_rows(parts: Iterator[bytes], column: str | None, delimiter: str) -> Iterator[RowBlock]:
    """Yield the rows of a CSV file with the URLs of one column.

    They are records of RFC 4180, as `csv_records` reads them; a row may break off at the end of a
    piece.

    Args:
        parts: the content of the file, in pieces of any size.
        column: its name, or its number from 1.
        delimiter: a character; if it is not ASCII, `_UNIT` stands for it in the rows.

    Raises:
        OSError: the file has no such column, or breaks off.
        OpenQuoteError: after all rows, if some have a quote that is never closed.
    """
    if delimiter.isascii():
        for urls, rows in _rows(parts, column or "1", delimiter):
            yield RowBlock(urls, rows._replace(delimiter=delimiter))
        return
    unit, sign = _UNIT.encode(), delimiter.encode()
    for urls, rows in _rows(_with_units(parts, sign), column or "1", _UNIT):
        if isinstance(urls, bytes):  # one that was quoted may have it
            as_read: list[bytes | None] | bytes = urls.replace(unit, sign)
        else:
            as_read = [url and url.replace(unit, sign) for url in urls]
        yield RowBlock(as_read, rows._replace(delimiter=_UNIT))


def _rows(parts: Iterator[bytes], wanted: str, delimiter: str) -> Iterator[RowBlock]:
    """Yield rows as `csv_rows` does, given an ASCII delimiter."""
    csv.field_size_limit(LONGEST)
    place = int(wanted) - 1 if wanted.isdecimal() else None
    rest, header, bom = b"", b"", _BOM
    fault: BaseException | None = None
    is_over, is_empty = False, True
    line = 1  # the number of the first line of the rest
    quotes = OpenQuotes()
    while not is_over:
        try:
            part = next(parts, None)
        except FAULTS as error:
            fault, part = error, None
        is_over = part is None
        data = b"" if fault is not None else rest + (part or b"")  # drop a partial row
        if len(data) >= len(bom):
            data, bom = data.removeprefix(bom), b""
        plain = _plain_rows(data, delimiter, place) if place is not None and not is_over else None
        if plain is not None:
            rest, is_empty = data[plain.end :], False
            line += plain.lines
            yield RowBlock(plain.urls, plain.rows_of(data, header))
            continue
        parsed = _parsed(data, delimiter, is_over=is_over)
        rest = data[parsed.end :]
        quotes.add([line + number for number in parsed.open_quotes])
        line += parsed.lines
        if place is None and parsed.rows:
            place = place_of(wanted, [_utf8(name) for name in parsed.rows[0] or []])
            header = data[: parsed.ends[0]].strip(b"\r\n")
            parsed = parsed.without_first()
        if parsed.rows and place is not None:
            is_empty = False
            yield RowBlock(_column(parsed.rows, place), parsed.rows_of(data, header))
    if place is None and fault is None:
        place_of(wanted, [])
    if header and is_empty:
        yield RowBlock([b""], Rows("csv", header, b""))
    if fault is not None:
        raise fault
    quotes.check()


def _with_units(parts: Iterator[bytes], delimiter: bytes) -> Iterator[bytes]:
    """Yield pieces with an ASCII character in the place of a delimiter of several bytes."""
    rest = b""
    for part in parts:
        data = rest + part
        cut = next((n for n in range(len(delimiter) - 1, 0, -1) if data.endswith(delimiter[:n])), 0)
        whole, rest = data[: len(data) - cut], data[len(data) - cut :]
        yield whole.replace(delimiter, _UNIT.encode())
    yield rest


class _Plain(NamedTuple):
    """The rows of a piece of CSV that were found without the `csv` module."""

    urls: bytes  # one a line
    ends: npt.NDArray[np.int64]  # of the rows
    end: int  # of the last one that is whole
    lines: int  # that these rows take

    def rows_of(self, data: bytes, header: bytes) -> Rows:
        """Return the rows, given the piece in which they were found."""
        if self.lines == len(self.ends):  # no quoted field has a line feed
            return Rows("csv", header, data[: self.end - 1])
        return Rows("csv", header, data[: self.end], self.ends.astype("<u8").tobytes())


def _plain_rows(data: bytes, delimiter: str, place: int) -> _Plain | None:
    """Find rows by delimiters, line feeds and quotes; None if this needs the `csv` module.

    Args:
        data: begins with a row; the last one may break off.
        delimiter: an ASCII character.
        place: of the column with the URLs, from 0.
    """
    if b"\r" in data or b"\0" in data or len(data) >= LONGEST or delimiter == chr(_QUOTE):
        return None
    codes = np.frombuffer(data, np.uint8)
    comma = ord(delimiter)
    breaks = np.flatnonzero((codes == comma) | (codes == _LF))
    quotes = np.flatnonzero(codes == _QUOTE)
    breaks = breaks[np.searchsorted(quotes, breaks) % 2 == 0]  # those that are not quoted
    lasts = np.flatnonzero(codes[breaks] == _LF)  # of the breaks of each row
    counts = np.diff(lasts, prepend=-1)  # of fields
    if not len(lasts) or counts.min() <= place:
        return None
    feeds = breaks[lasts]
    starts = np.append(0, feeds[:-1] + 1)
    end = int(feeds[-1]) + 1
    quotes = quotes[: np.searchsorted(quotes, end)]
    if (starts == feeds).any() or not _are_plain(codes[:end], quotes, comma):
        return None
    firsts = lasts - counts + 1
    if place:
        starts = breaks[firsts + place - 1] + 1
    stops = breaks[firsts + place]
    is_quoted = codes[starts] == _QUOTE
    if is_quoted.any():
        inner = np.searchsorted(quotes, stops) - np.searchsorted(quotes, starts)
        if (inner[is_quoted] != 2).any():  # noqa: PLR2004 - quotes in the URL itself
            return None
        starts, stops = starts + is_quoted, stops - is_quoted
    pairs = zip(starts.tolist(), stops.tolist(), strict=True)
    urls = b"\n".join([data[start:stop] for start, stop in pairs])
    if urls.count(b"\n") != len(feeds) - 1:
        return None
    return _Plain(urls, feeds + 1, end, int(np.count_nonzero(codes[:end] == _LF)))


def _are_plain(codes: npt.NDArray[np.uint8], quotes: npt.NDArray[np.int64], comma: int) -> bool:
    """Return True if all quotes enclose whole fields, or are doubled inside such fields."""
    beside = np.zeros(256, np.bool_)
    beside[[comma, _LF, _QUOTE]] = True
    opening, closing = quotes[::2], quotes[1::2]
    before, after = codes[opening - 1], codes[closing + 1]
    return bool((beside[before] | (opening == 0)).all() and beside[after].all())


class _Parsed(NamedTuple):
    """The rows of a piece of CSV that are not blank; a broken row is None."""

    rows: list[list[str] | None]
    start: int  # of the first row
    ends: npt.NDArray[np.uint64]
    end: int  # of the last whole or blank row
    is_lines: bool  # every row is a line that ends in a line feed
    lines: int = 0  # that these rows take
    open_quotes: Sequence[int] = ()  # lines, from 0, with a quote that is never closed

    def without_first(self) -> "_Parsed":
        """Return these rows without the first one."""
        start = int(self.ends[0])
        return self._replace(rows=self.rows[1:], start=start, ends=self.ends[1:])

    def rows_of(self, data: bytes, header: bytes) -> Rows:
        """Return the rows, given the piece in which they were found."""
        if self.is_lines:
            return Rows("csv", header, data[self.start : self.end - 1])
        ends = self.ends - np.uint64(self.start)
        return Rows("csv", header, data[self.start : self.end], ends.tobytes())


def _parsed(data: bytes, delimiter: str, *, is_over: bool) -> _Parsed:
    """Read a piece of CSV; unless it is the last one, rows may break off at its end.

    Each byte is a character here, so that places in text are places in the data.
    """
    if not is_over:
        data = data[: data.rfind(b"\n") + 1]
    text = data.decode("latin-1")
    rows, lines, open_quotes = _rows_and_lines(text, delimiter, is_over=is_over)
    if not rows:
        return _Parsed([], 0, np.empty(0, np.uint64), 0, is_lines=False)
    line_ends = _line_ends(data)
    is_lines = len(rows) == len(line_ends) and "\r" not in text and data.endswith(b"\n")
    ends = line_ends[np.array(lines, np.int64) - 1]
    end = int(ends[-1])
    if [] in rows:
        ends, is_lines = ends[np.array([row != [] for row in rows])], False
        rows = [row for row in rows if row != []]
    return _Parsed(rows, 0, ends, end, is_lines, lines[-1], open_quotes)


def _line_ends(data: bytes) -> npt.NDArray[np.uint64]:
    """Return where the lines of CSV data end, as the `csv` module counts lines."""
    if b"\r" in data:
        found = np.array([match.end() for match in _LINE_END.finditer(data)], np.uint64)
    else:
        found = (np.flatnonzero(np.frombuffer(data, np.uint8) == _LF) + 1).astype(np.uint64)
    if len(found) and found[-1] == len(data):
        return found
    return np.append(found, np.uint64(len(data)))


def _rows_and_lines(
    text: str, delimiter: str, *, is_over: bool
) -> tuple[list[list[str] | None], Sequence[int], Sequence[int]]:
    """Return the rows of a text, for each the number of its last line, and lines with a fault.

    These have a quote that is never closed, and are counted from 0.
    """
    # A mark is added after the text: it becomes a row of its own, unless a quoted field is open.
    marked = chain(io.StringIO(text, newline=""), (_MARK,))
    reader = csv.reader(marked, delimiter=delimiter)
    rows: list[list[str] | None] = []
    with suppress(csv.Error):
        rows += reader
        if rows[-1] == [_MARK] and reader.line_num == len(rows):
            return rows[:-1], range(1, len(rows)), ()
    ends: list[int] = []
    rows = []
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    with suppress(csv.Error):
        for row in reader:
            rows.append(row)
            ends.append(reader.line_num)
    line = ends[-1] if ends else 0
    open_quotes: list[int] = []
    left = islice(io.StringIO(text, newline=""), line, None)
    for record in csv_records(left, delimiter, is_over=is_over):
        line += record.lines
        rows.append(record.cells)
        ends.append(line)
        open_quotes += [line - 1] * record.is_open
    return rows, ends, open_quotes


def _column(rows: list[list[str] | None], place: int) -> list[bytes | None] | bytes:
    """Return a column of rows."""
    with suppress(IndexError, TypeError):
        values = "\n".join([row[place] for row in rows])  # type: ignore[index]  # suppressed
        if len(values) < LONGEST and values.count("\n") == len(rows) - 1:
            return values.encode("latin-1")
    return [
        row[place].encode("latin-1") if row is not None and place < len(row) else None
        for row in rows
    ]


def _utf8(name: str) -> str:
    return name.encode("latin-1").decode("utf-8", "surrogateescape")
