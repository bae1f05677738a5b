"""Arrow columns through the compiled kernel, in threads: no Python object for each URL.

Learned rules and SURTs need one for each URL of a site that has rules, and for each site.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any

from canonry.canon.learned import site_in
from canonry.canon.pipeline.canonicalizer import Canonicalizer
from canonry.canon.pipeline.keys import KEY_BYTES, Spelling
from canonry.canon.pipeline.rewriting import rewrite_many

if TYPE_CHECKING:
    import pyarrow as pa

COLUMNS = frozenset({"identity", "key", "surt", "reason"})  # those made here
_ROWS = 16_384  # in the kernel at once
# What the plain pipeline makes of one URL: its identity, its key, and the reason to refuse it.
PlainRow = Callable[[str | bytes], tuple[str | None, bytes | None, str | None]]


def kernel_columns(
    make: Canonicalizer, chunk: "pa.Array", wanted: Sequence[str], row: PlainRow
) -> "Iterator[list[pa.Array]] | None":
    """Return the columns of a chunk, some rows at a time; None if the kernel cannot make them.

    It works in as many threads as pyarrow does (``pyarrow.cpu_count()``).

    Args:
        make: of a policy, and perhaps of learned rules.
        chunk: texts or bytes.
        wanted: names from `COLUMNS`.
        row: called for each URL that the kernel leaves to the plain pipeline, without the rules.

    Raises:
        OverflowError: the identities of some rows are gigabytes.
    """
    import pyarrow as pa  # noqa: PLC0415 - optional

    kinds = (pa.string(), pa.binary(), pa.large_string(), pa.large_binary())
    if make.without_rules.native is None or chunk.type not in kinds:
        return None
    part = _Part(make, wanted, row, is_wide=chunk.type in kinds[2:])
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
        self, make: Canonicalizer, wanted: Sequence[str], row: PlainRow, *, is_wide: bool
    ) -> None:
        assert make.without_rules.native is not None  # noqa: S101 - checked by the caller
        self._make = make
        self._column: Callable[..., Any] = make.without_rules.native.column
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
        texts, size, ends, keys, bits = made
        texts.resize(size, shrink_to_fit=size < texts.size // 2)
        identities = pa.Array.from_buffers(pa.string(), count, [bits, ends, texts])
        columns = {"identity": identities}
        if with_keys:
            columns["key"] = pa.Array.from_buffers(pa.binary(KEY_BYTES), count, [bits, keys])
        if self._make.rules is not None:
            columns = _with_rules(self._make, columns)
        if "reason" in self._wanted:
            columns["reason"] = _reasons(pa, reasons, count)
        if "surt" in self._wanted:
            columns["surt"] = surts(self._make, columns["identity"])
        return [columns[name] for name in self._wanted]


def _with_rules(make: Canonicalizer, columns: "dict[str, pa.Array]") -> "dict[str, pa.Array]":
    """Return identities and their keys after learned rules; only sites with rules are read."""
    import pyarrow as pa  # noqa: PLC0415 - optional
    import pyarrow.compute as pc  # noqa: PLC0415 - optional

    identities, rules = columns["identity"], make.rules
    assert rules is not None  # noqa: S101 - checked by the caller
    authorities, _paths = split_web(identities)
    sites = [site_in(f"http://{text}") for text in authorities.dictionary.to_pylist()]
    has_rules = pa.array([bool(rules.steps_on(site)) for site in sites], pa.bool_())
    places = pc.indices_nonzero(has_rules.take(authorities.indices))
    texts = identities.take(places).to_pylist()
    rewritten = {
        place: new
        for place, new in zip(
            places.to_pylist(), rewrite_many(rules, make.without_rules, texts), strict=True
        )
        if new is not None
    }
    if not rewritten:
        return columns
    news = {
        "identity": [new.identity for new in rewritten.values()],
        "key": [new.key for new in rewritten.values()],
    }
    is_new = pa.array([row in rewritten for row in range(len(identities))], pa.bool_())
    return {
        name: pc.replace_with_mask(column, is_new, pa.array(news[name], column.type))
        for name, column in columns.items()
    }


def surts(make: Canonicalizer, identities: "pa.Array") -> "pa.Array":
    """Return the SURTs of identities that a policy made; each authority is reversed only once."""
    import pyarrow as pa  # noqa: PLC0415 - optional
    import pyarrow.compute as pc  # noqa: PLC0415 - optional

    authorities, paths = split_web(identities)
    heads = [make.surt_of(f"http://{text}/") for text in authorities.dictionary.to_pylist()]
    before = pa.array(heads, pa.string()).take(authorities.indices)
    joined = pc.binary_join_element_wise(before, paths, "")
    left = pc.is_null(joined)  # other schemes, and missing URLs
    if make.spelling is not Spelling.PLAIN:
        left = pc.or_(left, pc.match_substring_regex(identities, "[%&]").fill_null(fill_value=True))
    left = pc.and_(left, pc.is_valid(identities))
    texts = identities.filter(left).to_pylist()
    return pc.replace_with_mask(joined, left, pa.array(map(make.surt_of, texts), pa.string()))


def split_web(identities: "pa.Array") -> "tuple[pa.DictionaryArray, pa.Array]":
    """Return the authorities of http and https URLs, and what follows the slash after them.

    Both are null for all others.
    """
    import pyarrow as pa  # noqa: PLC0415 - optional
    import pyarrow.compute as pc  # noqa: PLC0415 - optional

    is_web = pc.or_(pc.starts_with(identities, "http://"), pc.starts_with(identities, "https://"))
    parts = pc.split_pattern(
        pc.if_else(is_web, identities, pa.scalar(None, pa.string())), "/", max_splits=3
    )
    return pc.list_element(parts, 2).dictionary_encode(), pc.list_element(parts, 3)


def _reasons(pa: Any, reasons: dict[int, str | None], count: int) -> Any:  # noqa: ANN401 - no types
    """Return a column of ``count`` rows; those not in ``reasons`` are None."""
    if not any(reasons.values()):
        return pa.nulls(count, pa.string())
    return pa.array([reasons.get(row) for row in range(count)], pa.string())
