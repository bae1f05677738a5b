"""Prepared statements: compiled once by SQLAlchemy, then run without its overhead."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeAlias

from sqlalchemy import BindParameter, ClauseElement, Connection
from sqlalchemy.engine import Dialect
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql.visitors import cloned_traverse

_Arguments: TypeAlias = Mapping[str, Any] | list[Any]


class _Compiled(NamedTuple):
    """A statement as a driver takes it."""

    text: str
    names: tuple[str, ...] | None  # of the parameters, in order; None: the driver takes names
    given: dict[str, Any]  # values of parameters that the compiler adds, such as an offset of 0
    convert: dict[str, Any]  # by parameter: converts a value as its type demands

    def arguments(self, values: Mapping[str, Any]) -> _Arguments:
        """Return the parameters as the driver takes them."""
        all_values = values
        if self.given or self.convert:
            all_values = {**self.given, **values}
            for name, made in self.convert.items():
                all_values[name] = made(all_values[name])
        return all_values if self.names is None else [all_values[name] for name in self.names]


class Done(NamedTuple):
    """The result of a statement."""

    rows: list[tuple[Any, ...]]  # that it returns
    changed: int  # how many rows it changed


class Prepared:
    """A short statement that is run often.

    Executing a short statement takes SQLAlchemy several times as long as it takes SQLite. The rows
    are the driver's own, so this is for columns of numbers, texts and bytes.

    Values that are part of the statement become literals in its text, not parameters. If a column
    of a partial index is compared with a parameter, SQLite prepares the statement anew each time a
    value is bound.
    """

    def __init__(self, statement: ClauseElement) -> None:
        """Bind a statement; it is compiled when a database runs it first.

        An insert has to be ``inline()``, unless the id of the new row is wanted.
        """
        self._statement = statement
        self._compiled: dict[str, _Compiled] = {}

    def run(self, connection: Connection, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """Run the statement once; return its rows, if it has any.

        Args:
            connection: in a transaction.
            values: by parameter name, for all parameters without a value in the statement.

        Raises:
            DBAPIError: as with any other statement.
        """
        compiled = self._for(connection.dialect)
        return _execute(connection, compiled.text, compiled.arguments(values)).rows

    def stream(
        self, connection: Connection, values: Mapping[str, Any]
    ) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of the statement as they are consumed: the rest is never read.

        Args:
            connection: as for `run`.
            values: as for `run`.

        Raises:
            DBAPIError: as with any other statement.
        """
        compiled = self._for(connection.dialect)
        with _cursor(connection, compiled.text) as cursor:
            yield from cursor.execute(compiled.text, compiled.arguments(values))

    def run_many(self, connection: Connection, values: Sequence[Mapping[str, Any]]) -> int:
        """Run the statement once for each of some values; return how many rows it changed.

        Args:
            connection: in a writing transaction.
            values: as for `run`.

        Raises:
            DBAPIError: as with any other statement.
        """
        if not values:
            return 0
        compiled = self._for(connection.dialect)
        many = [compiled.arguments(one) for one in values]
        return _execute(connection, compiled.text, many, many=True).changed

    def _for(self, dialect: Dialect) -> _Compiled:
        """Return the statement as a database takes it."""
        compiled = self._compiled.get(dialect.name)
        if compiled is None:
            compiled = self._compiled[dialect.name] = _compile(self._statement, dialect)
        return compiled


def execute(
    connection: Connection, text: str, arguments: Sequence[Any] | Mapping[str, Any] = ()
) -> Done:
    """Execute an SQL text in the driver's own syntax, without SQLAlchemy's overhead.

    Raises:
        DBAPIError: as with any other statement.
    """
    return _execute(connection, text, arguments)


def execute_many(connection: Connection, text: str, arguments: Sequence[Sequence[Any]]) -> int:
    """Execute an SQL text once for each of some arguments; return how many rows it changed.

    Raises:
        DBAPIError: as with any other statement.
    """
    return _execute(connection, text, arguments, many=True).changed


def stream(connection: Connection, text: str, at_once: int) -> Iterator[list[tuple[Any, ...]]]:
    """Yield the rows of an SQL text as they are consumed, at most ``at_once`` at a time.

    Raises:
        DBAPIError: as with any other statement.
    """
    with _cursor(connection, text) as cursor:
        cursor.execute(text)
        while rows := cursor.fetchmany(at_once):
            yield rows


def _execute(
    connection: Connection,
    text: str,
    arguments: Sequence[Any] | Mapping[str, Any],
    *,
    many: bool = False,
) -> Done:
    """Execute a statement with the driver.

    It repeats the code of `_cursor`: a context manager takes as long as a short statement.
    """
    dialect = connection.dialect
    errors = dialect.loaded_dbapi.Error
    cursor: Any = connection.connection.cursor()
    try:
        if many:
            cursor.executemany(text, arguments)
        else:
            cursor.execute(text, arguments)
        is_question: bool = cursor.description is not None  # there are rows to come
        return Done(list(cursor.fetchall()) if is_question else [], cursor.rowcount)
    except errors as error:
        raise DBAPIError.instance(text, None, error, errors, dialect=dialect) from error
    finally:
        cursor.close()


@contextmanager
def _cursor(connection: Connection, text: str) -> Iterator[Any]:
    """Return a cursor of the driver, whose errors become those of SQLAlchemy."""
    dialect = connection.dialect
    errors = dialect.loaded_dbapi.Error
    cursor = connection.connection.cursor()
    try:
        yield cursor
    except errors as error:
        raise DBAPIError.instance(text, None, error, errors, dialect=dialect) from error
    finally:
        cursor.close()


def _compile(statement: ClauseElement, dialect: Dialect) -> _Compiled:
    """Compile a statement for a database."""
    parameters = {"bindparam": _as_literal}
    options = {"render_postcompile": True}  # write literals into the text at once
    compiled: Any = cloned_traverse(statement, {}, parameters).compile(
        dialect=dialect, compile_kwargs=options
    )
    converters = {
        name: made
        for bind, name in compiled.bind_names.items()
        if (made := bind.type.dialect_impl(dialect).bind_processor(dialect)) is not None
    }
    names = tuple(compiled.positiontup) if compiled.positional else None
    given = {name: value for name, value in compiled.params.items() if value is not None}
    return _Compiled(str(compiled), names, given, converters)


def _as_literal(parameter: BindParameter[Any]) -> None:
    """Make a parameter that has a value a literal; the others get theirs at each run."""
    parameter.literal_execute = not parameter.required
    parameter.required = False  # else it would not compile without a value
