"""One cache of compiled SQL for all engines of a process: each test opens stores of its own."""

from typing import Any

from sqlalchemy import Engine


class _Compiled(dict[Any, Any]):
    """Compiled statements, by kind and version of database instead of by engine."""

    def __setitem__(self, key: tuple[Any, ...], compiled: Any) -> None:  # noqa: ANN401 - SQLAlchemy's
        super().__setitem__(_of_a_kind(key), compiled)

    def get(self, key: tuple[Any, ...], default: Any = None) -> Any:  # noqa: ANN401 - same
        return super().get(_of_a_kind(key), default)


def _of_a_kind(key: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a key of SQLAlchemy's with what counts of its dialect."""
    dialect, *rest = key
    return type(dialect), getattr(dialect, "server_version_info", None), *rest


def share() -> None:
    """Let all engines that this process makes from now on have one cache."""
    compiled, make = _Compiled(), Engine.__init__

    def shared(self: Engine, *args: Any, **named: Any) -> None:  # noqa: ANN401 - SQLAlchemy's
        make(self, *args, **named)
        self._compiled_cache = compiled

    Engine.__init__ = shared  # type: ignore[method-assign]
