"""Arrow columns through the compiled kernel, in threads: no Python object for each URL."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any

from canonry.canon.pipeline.canonicalizer import Canonicalizer
from canonry.canon.pipeline.keys import KEY_BYTES

if TYPE_CHECKING:
    import pyarrow as pa

COLUMNS = frozenset({"identity", "key", "reason"})  # those made here
_ROWS = 16_384  # in the kernel at once
# What the plain pipeline makes of one URL: its identity, its key, and the reason to refuse it.
PlainRow = Callable[[str | bytes], tuple[str | None, bytes | None, str | None]]


def kernel_columns(
    make: Canonicalizer, chunk: "pa.Array", wanted: Sequence[str], row: PlainRow
) -> "Iterator[list[pa.Array]] | None":
    """Return the columns of a chunk, some rows at a time; None if the kernel cannot make them.

    It works in as many threads as pyarrow does (``pyarrow.cpu_count()``).

    Args:
        make: the policy's canonicalizer.
        chunk: texts or bytes.
        wanted: names from `COLUMNS`.
        row: called for each URL that the kernel leaves to the plain pipeline.

    Raises:
        OverflowError: the identities of some rows are gigabytes.
    """
    import pyarrow as pa  # noqa: PLC0415 - optional

    kinds = (pa.string(), pa.binary(), pa.large_string(), pa.large_binary())
    if make.native is None or chunk.type not in kinds:
        return None
    part = _Part(make.native.column, wanted, row, is_wide=chunk.type in kinds[2:])
    parts = [chunk.slice(start, _ROWS) for start in range(0, len(chunk), _ROWS)]
    return _in_threads(part, parts, min(len(parts), pa.cpu_count()))


def _in_threads(
    made: Callable[["pa.Array"], "list[pa.Array]"], parts: "list[pa.Array]", threads: int
) -> "Iterator[list[pa.Array]]":
    """Yield the result of a function for each part, in order."""
    if threads < 2:  # noqa: PLR2004 - one is this thread
        yield from map(made, parts)
        return
    with ThreadPoolExecutor(threads, "canonry-columns") as pool:
        yield from pool.map(made, parts)


class _Part:
    """Makes the columns of some rows."""

    def __init__(
        self,
        column: Callable[..., Any],
        wanted: Sequence[str],
        row: PlainRow,
        *,
        is_wide: bool,
    ) -> None:
        self._column = column
        self._wanted = wanted
        self._row = row
        self._is_wide = is_wide

    def __call__(self, part: "pa.Array") -> "list[pa.Array]":
        """Return the columns of some rows."""
        import pyarrow as pa  # noqa: PLC0415 - optional

        count, each = len(part), 8 if self._is_wide else 4
        validity, offsets, data = part.buffers()
        places = memoryview(offsets)[part.offset * each : (part.offset + count + 1) * each]
        reasons: dict[int, str | None] = {}

        def otherwise(row: int) -> tuple[bytes, bytes] | None:
            identity, key, reasons[row] = self._row(part[row].as_py())
            return None if identity is None or key is None else (identity.encode(), key)

        with_keys = "key" in self._wanted
        texts = b"" if data is None else data
        allocate = partial(pa.allocate_buffer, resizable=True)
        made = self._column(
            texts, places, self._is_wide, validity, part.offset, with_keys, allocate, otherwise
        )
        if made is None:
            message = f"the identities of {count:,} URLs are gigabytes; give fewer at once"
            raise OverflowError(message)
        identities, size, ends, keys, bits = made
        identities.resize(size, shrink_to_fit=size < identities.size // 2)
        columns: dict[str, Callable[[], Any]] = {
            "identity": lambda: pa.Array.from_buffers(pa.string(), count, [bits, ends, identities]),
            "key": lambda: pa.Array.from_buffers(pa.binary(KEY_BYTES), count, [bits, keys]),
            "reason": lambda: _reasons(pa, reasons, count),
        }
        return [columns[name]() for name in self._wanted]


def _reasons(pa: Any, reasons: dict[int, str | None], count: int) -> Any:  # noqa: ANN401 - no types
    """Return a column of ``count`` rows; those not in ``reasons`` are None."""
    if not any(reasons.values()):
        return pa.nulls(count, pa.string())
    return pa.array([reasons.get(row) for row in range(count)], pa.string())
