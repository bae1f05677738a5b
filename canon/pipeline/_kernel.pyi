from typing import Generic, TypeVar

VERSION: int
_T = TypeVar("_T", bound=tuple[str, str, bytes])

class Kernel(Generic[_T]):
    def __init__(
        self,
        canonical: type[_T],
        label: bytes,
        tables: bytes,
        tracking: tuple[bytes, ...],
        prefixes: tuple[bytes, ...],
        drop_fragment: bool,
        drop_empty_query: bool,
    ) -> None: ...
    def identity(self, text: object, /) -> str | None: ...
    def canonical(self, text: object, base: object = ..., /) -> _T | None: ...
    def identities(self, texts: list[object], /) -> list[str | None]: ...
    def lines(self, block: bytes, /) -> tuple[bytes, bytes, bytes]: ...
    def column(
        self, data: object, offsets: object, wide: bool, /
    ) -> tuple[bytes, bytes, bytes, bytes] | None: ...
    def canonicals(self, texts: list[object], /) -> list[_T | None]: ...
