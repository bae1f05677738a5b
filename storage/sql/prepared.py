"""Prepared statements: SQLAlchemy's, compiled once, and run without its work for each execution."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from sqlalchemy import ClauseElement, Connection
from sqlalchemy.engine import Dialect
from sqlalchemy.exc import DBAPIError


class _Compiled(NamedTuple):
    """A statement as a driver takes it."""

    text: str
    names: tuple[str, ...] | None  # of the parameters, in order; None: the driver takes names
    given: dict[str, Any]  # values that stand in the statement itself
    convert: dict[str, Any]  # by parameter: what its type makes of a value


class Prepared:
    """A statement that is run often, with a row's work.

    Executing a short statement takes SQLAlchemy several times as long as it takes SQLite. The rows
    are the driver's own, so this is for columns of numbers, texts and bytes.
    """

    def __init__(self, statement: ClauseElement) -> None:
        """Bind a statement; it is compiled when a database runs it first.

        An insert has to be ``inline()``, unless the id of the new row is wanted.
        """
        self._statement = statement
        self._compiled: dict[str, _Compiled] = {}

    def run(self, connection: Connection, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """Run the statement once; return the rows that it gives, if it gives any.

        Args:
            connection: in a transaction.
            values: by name of a parameter; all that the statement itself gives no value for.

        Raises:
            DBAPIError: as with any other statement.
        """
        dialect = connection.dialect
        compiled = self._compiled.get(dialect.name)
        if compiled is None:
            compiled = self._compiled[dialect.name] = _compile(self._statement, dialect)
        text, names, given, convert = compiled
        all_values = {**given, **values}
        for name, made in convert.items():
            all_values[name] = made(all_values[name])
        arguments = all_values if names is None else [all_values[name] for name in names]
        errors = dialect.loaded_dbapi.Error
        cursor = connection.connection.cursor()
        try:
            cursor.execute(text, arguments)
            description: object = cursor.description  # None if there are no rows to come
            return [] if description is None else list(cursor.fetchall())
        except errors as error:
            raise DBAPIError.instance(text, None, error, errors, dialect=dialect) from error
        finally:
            cursor.close()


def _compile(statement: ClauseElement, dialect: Dialect) -> _Compiled:
    """Compile a statement for a database."""
    compiled: Any = statement.compile(dialect=dialect)
    converters = {
        name: made
        for name, bind in compiled.binds.items()
        if (made := bind.type.dialect_impl(dialect).bind_processor(dialect)) is not None
    }
    names = tuple(compiled.positiontup) if compiled.positional else None
    given = {name: value for name, value in compiled.params.items() if value is not None}
    return _Compiled(str(compiled), names, given, converters)
