"""Lay out tables for people: no cell is broken or cut, so that URLs and names can be copied."""

import textwrap
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple

from rich.cells import cell_len

from canonry.crawler.markup import named

_GAP = "  "  # between two columns, and before what belongs to the line above


class Layout(NamedTuple):
    """The lines of a table."""

    heading: list[str]
    body: list[str]


class _Column(NamedTuple):
    """A column of a table."""

    place: int  # 0: it is the first
    name: str
    cells: list[str]
    is_number: bool
    width: int

    def aligned(self, text: str) -> str:
        """Return a text as wide as the column; numbers end at its right."""
        spaces = " " * (self.width - cell_len(text))
        return f"{spaces}{text}" if self.is_number else f"{text}{spaces}"


def lay_out(names: Sequence[str], rows: Sequence[Sequence[object]], width: int) -> Layout:
    """Return the lines of a table.

    A column without texts is left out. One for which there is no room is on lines of its own: the
    first one above the other cells of its row, any other one below them, with its name. What is
    wider than the table is one line all the same.

    Args:
        names: of the columns.
        rows: of cells: whole numbers, or texts. There is at least one.
        width: of the table, in characters.
    """
    columns = list(map(_column, range(len(names)), names, zip(*rows, strict=True)))
    columns = [column for column in columns if not column.place or any(column.cells)]
    beside = _beside(columns, width)
    places = {column.place for column in beside}
    first, below = columns[0], [column for column in columns[1:] if column.place not in places]
    is_above, indent = (False, "") if 0 in places else (True, _GAP)
    heading = [first.name] * is_above
    words = [textwrap.wrap(column.name, max(column.width, 1)) for column in beside]
    heading += [_line(beside, line, indent) for line in zip_longest(*words, fillvalue="")]
    body: list[str] = []
    for number in range(len(rows)):
        body += [first.cells[number]] * is_above
        body.append(_line(beside, [column.cells[number] for column in beside], indent))
        body += _lines_below(below, number, width)
    return Layout(heading, body)


def _column(place: int, name: str, values: Sequence[object]) -> _Column:
    """Return a column as wide as its cells and each word of its name."""
    cells = [f"{v:,}" if isinstance(v, int) else _on_one_line(str(v)) for v in values]
    is_number = all(isinstance(value, int) for value in values)
    return _Column(place, name, cells, is_number, max(map(cell_len, (*name.split(), *cells))))


def _on_one_line(text: str) -> str:
    """Return a text without line ends and tabs."""
    return named(text.translate({ord("\n"): " ", ord("\t"): " "}))


def _beside(columns: Sequence[_Column], width: int) -> list[_Column]:
    """Return the columns that stand side by side: without wide texts, if there is no room for all.

    The first column goes if it takes half of the room. Of the others, texts of a similar width go
    together, so that two URLs are one below the other. Where there is room, columns are as wide as
    their names, which are on one line then.
    """
    beside = list(columns)
    if _total(beside) > width < 2 * columns[0].width:
        del beside[0]
    while _total(beside) > width and (texts := [c for c in beside if c.place and not c.is_number]):
        widest = max(column.width for column in texts)
        beside = [c for c in beside if c not in texts or 2 * c.width < widest]
    one_line = [c._replace(width=max(c.width, cell_len(c.name))) for c in beside]
    return one_line if _total(one_line) <= width else beside


def _total(beside: Sequence[_Column]) -> int:
    """Return how wide a row is."""
    indent = 0 if beside[0].place == 0 else len(_GAP)
    return indent + sum(column.width for column in beside) + len(_GAP) * (len(beside) - 1)


def _line(beside: Sequence[_Column], texts: Sequence[str], indent: str) -> str:
    """Return texts side by side."""
    aligned = (column.aligned(text) for column, text in zip(beside, texts, strict=True))
    return f"{indent}{_GAP.join(aligned)}".rstrip()


def _lines_below(below: Sequence[_Column], number: int, width: int) -> Iterator[str]:
    """Yield the cells of a row that stand below it: each beside its name, or below that."""
    longest = max((cell_len(column.name) for column in below), default=0)
    for column in below:
        cell = column.cells[number]
        beside = f"{_GAP}{column.name}{' ' * (longest - cell_len(column.name))}{_GAP}{cell}"
        if cell and cell_len(beside) <= width:
            yield beside
        elif cell:
            yield f"{_GAP}{column.name}"
            yield f"{_GAP * 2}{cell}"
