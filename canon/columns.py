"""Whole columns of URLs at once: lists, NumPy arrays, and Arrow data."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from canonry.canon import arrow_columns
from canonry.canon.api import compiled
from canonry.canon.arguments import URL_WANTED, check_several, check_text, check_url
from canonry.canon.errors import InvalidURL
from canonry.canon.learned import RuleSet
from canonry.canon.pipeline.canonicalizer import Canonicalizer
from canonry.canon.pipeline.keys import KEY_BYTES
from canonry.canon.policies.policy import Policy
from canonry.canon.policies.policy_files import FilePath
from canonry.extras import require

if TYPE_CHECKING:
    import pyarrow as pa


_URL, _IDENTITY, _KEY = map(itemgetter, range(3))  # the first fields of Canonical and Columns
_CHUNK = 1024  # URLs in the kernel at once: few enough to stay in the processor's cache


class Columns(NamedTuple):
    """The requested columns, each as long as the input; None for the others.

    A refused URL has the reason's name in ``reason``, and None (in NumPy keys: zero bytes) in the
    other columns. A missing URL (None) has None in all of them.
    """

    url: Any = None
    identity: Any = None
    key: Any = None
    surt: Any = None
    reason: Any = None


def canonicalize(
    urls: object,
    *,
    policy: str | Policy | FilePath = "web",
    rules: RuleSet | str | bytes | None = None,
    base: str | None = None,
    columns: Sequence[str] = ("identity", "key", "reason"),
) -> "Columns | pa.Table":
    """Canonicalize a column of URLs; a bad one never stops it.

    Args:
        urls: a list or other iterable of str, bytes or None; a NumPy array of them; or an object
            with Arrow's C interface: a pyarrow array, or a pandas, Polars or DuckDB column.
        policy: a preset's name, a policy, or the ``Path`` of a policy's TOML file.
        rules: learned ones, to run after the policy's: a rule set, or the text of one.
        base: an absolute URL to resolve all of them against.
        columns: which to make: ``url`` (to request), ``identity``, ``key`` (16 bytes), ``surt``,
            ``reason``.

    Of Arrow data, all columns but ``url`` are made in as many threads as pyarrow has
    (``pyarrow.cpu_count()``).

    Returns:
        For a list, `Columns` of lists. For a NumPy array, `Columns` of arrays (``object``; keys as
        ``V16``). For Arrow data, a ``pyarrow.Table`` with the columns in the requested order.

    Raises:
        InvalidURL: the base is not an absolute URL.
        PolicyError: the policy does not exist, or its file cannot be read.
        RulesError: the rules are invalid, or were learned under another policy.
        ValueError: a column does not exist.
        MissingExtraError: for Arrow data, if pyarrow is not installed.
        OverflowError: the identities of 16,384 rows of Arrow data are gigabytes.
        TypeError: an argument, or a URL in the column, has a wrong type.

    >>> found = canonry.columns.canonicalize(["HTTP://example.com", None, "http://["])
    >>> found.identity, found.reason
    (['http://example.com/', None, None], [None, None, 'HOST'])
    """
    check_several("columns", columns, "names")
    for name in columns:
        check_text("the name of a column", name)
    if unknown := [name for name in columns if name not in Columns._fields]:
        message = f"no column {unknown[0]!r}; allowed: {', '.join(Columns._fields)}"
        raise ValueError(message)
    make = compiled(policy) if rules is None else Canonicalizer(policy, rules)
    make.check_base(base)
    if hasattr(urls, "__arrow_c_array__") or hasattr(urls, "__arrow_c_stream__"):
        return _arrow_table(make, urls, base, columns)
    if type(urls).__module__ == "numpy":
        return _numpy_columns(_columns_of(make, urls.tolist(), base, columns))  # type: ignore[attr-defined]
    return _columns_of(make, urls, base, columns)  # type: ignore[arg-type]


def _columns_of(
    make: Canonicalizer,
    urls: Iterable[str | bytes | None],
    base: str | None,
    wanted: Sequence[str],
) -> Columns:
    """Return the wanted columns as lists."""
    check_several("urls", urls, "URLs")
    texts = list(urls)
    try:
        made = _kernels_columns(make, texts, wanted) if base is None else None
        if made is None:
            made = _plain_columns(make, texts, base)
    except TypeError:
        for place, text in enumerate(texts):
            if text is not None:
                check_url(text, place, f"{URL_WANTED}, or None")
        raise
    if "surt" in wanted:
        surts = [None if text is None else make.surt_of(text) for text in made.identity]
        made = made._replace(surt=surts)
    return Columns(*(c if n in wanted else None for n, c in zip(made._fields, made, strict=True)))


def _plain_columns(
    make: Canonicalizer, texts: list[str | bytes | None], base: str | None
) -> Columns:
    """Return columns as lists, without SURTs, one URL at a time."""
    rows = [_row(make, url, base) for url in texts]
    return Columns(*map(list, zip(*rows, strict=True))) if rows else Columns([], [], [], [], [])


def _kernels_columns(
    make: Canonicalizer, texts: list[str | bytes | None], wanted: Sequence[str]
) -> Columns | None:
    """Return columns as lists, without SURTs, from the kernel; None if the policy has no kernel.

    The plain pipeline makes the rows that the kernel does not know.
    """
    native = make.native
    if native is None:
        return None
    url: list[str | None] = []
    identity: list[str | None] = []
    key: list[bytes | None] = []
    reason: list[str | None] = [None] * len(texts)
    if set(wanted) <= {"identity", "reason", "surt"}:
        identity = native.identities(texts)
        for place in _places_of_none(identity):
            row = _row(make, texts[place], None)
            identity[place], reason[place] = row.identity, row.reason
        return Columns(identity=identity, reason=reason)
    for start in range(0, len(texts), _CHUNK):
        some = native.canonicals(texts[start : start + _CHUNK], lambda text: _row(make, text, None))
        if "url" in wanted:
            url.extend(map(_URL, some))
        found = list(map(_IDENTITY, some))
        for place in _places_of_none(found):
            refused = some[place]
            reason[start + place] = refused.reason if isinstance(refused, Columns) else None
        identity.extend(found)
        key.extend(map(_KEY, some))
    return Columns(url, identity, key, None, reason)


def _places_of_none(column: list[str | None]) -> Iterator[int]:
    """Yield the indexes at which a column holds None."""
    place = -1
    with suppress(ValueError):
        while True:
            place = column.index(None, place + 1)
            yield place


def _row(make: Canonicalizer, url: str | bytes | None, base: str | None) -> Columns:
    """Return the row of one URL."""
    if url is None:
        return Columns()
    try:
        return Columns(*make(url, base))
    except InvalidURL as error:
        return Columns(reason=error.reason.name)


def _facts(make: Canonicalizer, url: str | bytes) -> tuple[str | None, bytes | None, str | None]:
    """Return the identity, the key, and the reason to refuse a URL."""
    found = _row(make, url, None)
    return found.identity, found.key, found.reason


def _numpy_columns(lists: Columns) -> Columns:
    """Convert lists to arrays."""
    import numpy as np  # noqa: PLC0415 - only NumPy arrays need NumPy

    def array(name: str, column: list[Any] | None) -> Any:  # noqa: ANN401 - NumPy is not imported
        if column is None:
            return None
        if name == "key":
            joined = b"".join(key or bytes(KEY_BYTES) for key in column)
            return np.frombuffer(joined, dtype=f"V{KEY_BYTES}")
        made = np.empty(len(column), dtype=object)
        made[:] = column
        return made

    return Columns(*map(array, lists._fields, lists))


def _arrow_table(
    make: Canonicalizer, urls: object, base: str | None, wanted: Sequence[str]
) -> "pa.Table":
    """Return the wanted columns as an Arrow table with the chunks of the input."""
    require("arrow", "Arrow data")
    import pyarrow as pa  # noqa: PLC0415 - optional

    types = {"key": pa.binary(KEY_BYTES)}
    schema = pa.schema([(name, types.get(name, pa.string())) for name in wanted])
    batches = []
    for chunk in pa.chunked_array(urls).chunks:
        quick = arrow_columns.COLUMNS.issuperset(wanted) and base is None
        facts = partial(_facts, make.without_rules)
        parts = arrow_columns.kernel_columns(make, chunk, wanted, facts) if quick else None
        if parts is not None:
            batches += [pa.record_batch(part, schema=schema) for part in parts]
            continue
        columns = _columns_of(make, chunk.to_pylist(), base, wanted)
        arrays = [pa.array(getattr(columns, f.name), type=f.type) for f in schema]
        batches.append(pa.record_batch(arrays, schema=schema))
    return pa.Table.from_batches(batches, schema=schema)
