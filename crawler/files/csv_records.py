"""The records of CSV, read line by line, also where a quote is never closed."""

import csv
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

from canonry.crawler.plurals import counted


class CSVRecord(NamedTuple):
    """A record that is read."""

    cells: list[str] | None  # []: a blank line; None: it cannot be read
    lines: int  # that it takes
    is_open: bool = False  # its quote is never closed, so only its first line was read


class OpenQuoteError(OSError):
    """The quotes of some lines are never closed; all lines of the file were read."""


class OpenQuotes:
    """Counts the lines of a file whose quotes are never closed."""

    def __init__(self) -> None:
        """Start with none."""
        self._first = 0
        self._count = 0

    def add(self, lines: Sequence[int]) -> None:
        """Count lines, given their numbers, in order."""
        if lines and not self._count:
            self._first = lines[0]
        self._count += len(lines)

    def check(self) -> None:
        """Raise an error if there are such lines.

        Raises:
            OpenQuoteError: naming the first one.
        """
        if self._count:
            more = f", as {counted(self._count - 1, 'more line')} of this kind" * (self._count > 1)
            raise OpenQuoteError(
                f"line {self._first:,}: the quote is never closed; the line was read without "
                f"it{more}"
            )


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
