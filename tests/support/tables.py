"""Tables of cases: one test for all rows, where a test for each would take longer than the case."""

from collections.abc import Callable, Iterable
from typing import Any


def each(names: str | tuple[str, ...], rows: Iterable[Any]) -> Callable[..., Callable[..., None]]:
    """Return a decorator that calls a test with each row, as `pytest.mark.parametrize` would.

    Args:
        names: of the test's arguments.
        rows: of values; a row of one name is its value.
    """
    table = [
        dict(zip(names, row, strict=True)) if names != str(names) else {names: row} for row in rows
    ]

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        def whole(**given: Any) -> None:  # noqa: ANN401 - of a table around it
            errors = []
            for row in table:
                try:
                    test(**given, **row)
                except Exception as error:  # noqa: BLE001 - all are raised below
                    error.add_note(str(row))
                    errors.append(error)
            if errors:
                raise ExceptionGroup(f"{len(errors)} of {len(table)} cases", errors)

        for name in ("__name__", "__qualname__", "__module__", "__doc__"):
            setattr(whole, name, getattr(test, name))
        return whole

    return decorate
