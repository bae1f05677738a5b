from collections.abc import Callable
from typing import Generic, TypeVar, overload

from typing_extensions import Buffer

RULES: tuple[str, ...]
VERSION: int
_S = TypeVar("_S")
_U = TypeVar("_U")
_M = TypeVar("_M", bound=Buffer)
_T = TypeVar("_T", bound=tuple[str, str, bytes])

class Kernel(Generic[_T]):
    def __init__(
        self,
        canonical: type[_T],
        label: bytes,
        tables: bytes,
        rules: tuple[str, ...],
        lists: tuple[tuple[bytes, ...], ...],
    ) -> None: ...
    def identity(self, text: object, /) -> str | None: ...
    def canonical(self, text: object, base: object = ..., /) -> _T | None: ...
    def identities(self, texts: list[_S], /) -> list[str | None]: ...
    def lines(self, block: bytes, count: int, /) -> tuple[bytes, bytes, bytes, bytes]: ...
    def merging(self, texts: list[_S], others: list[_U], /) -> bytes: ...
    def column(
        self,
        data: object,
        offsets: object,
        wide: bool,
        valid: object,
        first: int,
        keys: bool,
        allocate: Callable[[int], _M],
        otherwise: Callable[[int], tuple[bytes, bytes] | None],
        /,
    ) -> tuple[_M, int, _M, _M | None, _M] | None: ...
    @overload
    def canonicals(self, texts: list[object], /) -> list[_T | None]: ...
    @overload
    def canonicals(self, texts: list[_S], otherwise: Callable[[_S], _U], /) -> list[_T | _U]: ...
