"""How rows are shown: a field declares its column; tables in terminals and on pages follow it."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints


class Shown(NamedTuple):
    """What a field declares for people, as metadata of its annotation."""

    title: str  # of its column; of a list of rows: of its table
    of: Callable[[Any], object] | None = None  # from a row to the cell; None: the field itself


class ShownColumn(NamedTuple):
    """A column of a table."""

    field: str
    title: str
    of: Callable[[Any], object] | None

    def cell(self, row: Any) -> str:  # noqa: ANN401 - of any declared type
        """Return the cell of a row: a struct, or a mapping."""
        if self.of is not None:
            return str(self.of(row))
        value = row[self.field] if isinstance(row, dict) else getattr(row, self.field)
        if isinstance(value, list):
            return ", ".join(value)
        return f"{value:,}" if isinstance(value, int) else str(value or "")


class RowTable(NamedTuple):
    """A table that a listing has."""

    title: str
    columns: tuple[ShownColumn, ...]
    rows: list[Any]


@cache
def columns_of(kind: Any) -> tuple[ShownColumn, ...]:  # noqa: ANN401 - a class of rows
    """Return the columns that the fields of a struct or of a typed dictionary declare."""
    hints = get_type_hints(kind, include_extras=True)
    return tuple(
        ShownColumn(name, shown.title, shown.of)
        for name, hint in hints.items()
        for _kind, shown in _declared(hint)
    )


def columns_in(rows: Sequence[Any]) -> list[ShownColumn]:
    """Return the columns of rows that have a text in any row."""
    kind: Any = type(rows[0])
    return [one for one in columns_of(kind) if any(map(one.cell, rows))]


def tables_of(listing: object) -> list[RowTable]:
    """Return the tables of a struct: of each field that is a list of rows and has a title."""
    hints = get_type_hints(type(listing), include_extras=True)
    return [
        RowTable(shown.title, columns_of(get_args(kind)[0]), getattr(listing, name))
        for name, hint in hints.items()
        for kind, shown in _declared(hint)
        if get_origin(kind) is list
    ]


def _declared(hint: Any) -> list[tuple[Any, Shown]]:  # noqa: ANN401 - an annotation
    """Return the type of a field with what it declares; nothing if it is not shown."""
    if get_origin(hint) is not Annotated:
        return []
    kind, *more = get_args(hint)
    return [(kind, one) for one in more if isinstance(one, Shown)]
