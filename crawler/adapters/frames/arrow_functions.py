"""The table of functions over columns of URLs, which are Arrow arrays."""

from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from canonry.canon import columns
from canonry.crawler.adapters.hosts import host_of_identity


class ColumnFunction(NamedTuple):
    """A function over a column of URLs."""

    column: str  # of `canonry.columns.canonicalize`
    is_binary: bool
    says: str


FUNCTIONS = {
    "identity": ColumnFunction("identity", False, "the canonical form, as text"),  # noqa: FBT003 - a table
    "key": ColumnFunction("key", True, "16 bytes, to join and to group by"),  # noqa: FBT003 - a table
    "surt": ColumnFunction("surt", False, "the form that sorts by host"),  # noqa: FBT003 - a table
    "host": ColumnFunction("identity", False, "the host of the canonical form"),  # noqa: FBT003 - a table
    "reason": ColumnFunction("reason", False, "why a URL is refused"),  # noqa: FBT003 - a table
}


def apply(name: str, urls: Any, policy: str = "web") -> Any:  # noqa: ANN401 - pyarrow ships no types
    """Apply a function of the table to a column.

    A missing URL gives null. A refused one gives null, too, and ``reason`` says why.

    Args:
        name: of the function.
        urls: a pyarrow array or chunked array of text or bytes.
        policy: a preset's name.

    Returns:
        An array of the same kind and length.
    """
    column = FUNCTIONS[name].column
    chunks = urls if isinstance(urls, pa.ChunkedArray) else pa.chunked_array([urls])
    if pa.types.is_null(chunks.type):
        chunks = chunks.cast(pa.string())
    table: Any = columns.canonicalize(chunks, policy=policy, columns=(column,))
    found = table.column(column)
    if name == "host":
        found = _hosts(found)
    if isinstance(urls, pa.ChunkedArray):
        return found
    return found.combine_chunks() if found.num_chunks != 1 else found.chunk(0)


def _hosts(identities: Any) -> Any:  # noqa: ANN401 - pyarrow ships no types
    """Return the hosts of identities; each distinct authority is read only once."""
    heads = pc.extract_regex(identities, pattern=r"^(?P<head>[^:/?#]*://[^/?#]*)")
    texts = pc.struct_field(heads, "head").dictionary_encode().unify_dictionaries()
    if not texts.num_chunks:
        return identities
    hosts = pa.array(map(host_of_identity, texts.chunk(0).dictionary.to_pylist()), pa.string())
    return pa.chunked_array([hosts.take(chunk.indices) for chunk in texts.chunks], pa.string())
