"""Arrow columns through the compiled kernel: no Python object for each URL, and without the GIL."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from canonry.canon.pipeline.canonicalizer import Canonicalizer
from canonry.canon.pipeline.keys import KEY_BYTES

if TYPE_CHECKING:
    import pyarrow as pa

COLUMNS = frozenset({"identity", "key", "reason"})  # which it can make
_ROWS = 65_536  # in the kernel at once
# What the plain pipeline makes of one URL: its identity, its key, and the reason to refuse it.
PlainRow = Callable[[str | bytes], tuple[str | None, bytes | None, str | None]]


def kernel_columns(
    make: Canonicalizer, chunk: "pa.Array", row: PlainRow
) -> "Iterator[dict[str, pa.Array]] | None":
    """Return the columns of a chunk, some rows at a time; None if the kernel cannot make them.

    Args:
        make: of the policy.
        chunk: texts or bytes.
        row: for the URLs that the kernel leaves to the plain pipeline.
    """
    import pyarrow as pa  # noqa: PLC0415 - optional

    if make.native is None:
        return None
    kinds = (pa.string(), pa.binary(), pa.large_string(), pa.large_binary())
    if chunk.type not in kinds:
        return None
    wide = chunk.type in kinds[2:]
    parts = (chunk.slice(start, _ROWS) for start in range(0, len(chunk), _ROWS))
    return (_part(make.native.column, part, row, wide=wide) for part in parts)


def _part(
    column: Callable[..., tuple[bytes, bytes, bytes, bytes] | None],
    part: "pa.Array",
    row: PlainRow,
    *,
    wide: bool,
) -> "dict[str, pa.Array]":
    """Return the columns of some rows."""
    import pyarrow as pa  # noqa: PLC0415 - optional
    import pyarrow.compute as pc  # noqa: PLC0415 - optional

    count, each = len(part), 8 if wide else 4
    _validity, offsets, data = part.buffers()
    places = memoryview(offsets)[part.offset * each : (part.offset + count + 1) * each]
    made = column(b"" if data is None else data, places, wide)
    if made is None:  # gigabytes: nothing is known
        made = b"", bytes(4 * (count + 1)), bytes(KEY_BYTES * count), bytes(count)
    texts, ends, keys, flags = map(pa.py_buffer, made)
    known = pa.Array.from_buffers(pa.uint8(), count, [None, flags]).cast(pa.bool_())
    valid = part.is_valid()
    bits = pc.and_(known, valid).buffers()[1]
    found: dict[str, Any] = {
        "identity": pa.Array.from_buffers(pa.string(), count, [bits, ends, texts]),
        "key": pa.Array.from_buffers(pa.binary(KEY_BYTES), count, [bits, keys]),
        "reason": pa.nulls(count, pa.string()),
    }
    rest = pc.and_not(valid, known)
    left = part.filter(rest).to_pylist()
    if left:
        for name, values in zip(found, zip(*map(row, left), strict=True), strict=True):
            more = pa.array(values, found[name].type)
            found[name] = pc.replace_with_mask(found[name], rest, more)
    return found
