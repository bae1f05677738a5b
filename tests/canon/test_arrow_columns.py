"""Arrow columns through the kernel give what one call for each URL gives, whatever their layout."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.strategies import anything

import canonry
from canonry.canon.pipeline.native import VERSION

MAKE = canonry.Canonicalizer("web")
URLS = ["http://A.example/%7eb", None, "http://[", "https://b.example/?utm_source=x", "", "x:y"]
TYPES = [pa.string(), pa.large_string(), pa.binary(), pa.large_binary(), pa.string_view()]


def expected(url: str | bytes | None) -> tuple[str | None, bytes | None, str | None]:
    if url is None:
        return None, None, None
    try:
        found = MAKE.plain(url)
    except canonry.InvalidURL as error:
        return None, None, error.reason.name
    return found.identity, found.key, None


def rows(urls: object) -> list[tuple[str | None, bytes | None, str | None]]:
    columns = ("identity", "key", "reason")
    found = canonry.columns.canonicalize(urls, columns=columns)
    assert isinstance(found, pa.Table)
    found.validate(full=True)
    return [tuple(row[name] for name in columns) for row in found.to_pylist()]


@pytest.mark.parametrize("kind", TYPES, ids=str)
@pytest.mark.parametrize("first", [0, 1, 3, 5, 6])
def test_every_type_and_every_slice(kind: pa.DataType, first: int) -> None:
    column = pa.array(URLS).cast(kind)[first:]
    assert rows(column) == [expected(url) for url in URLS[first:]]


@given(st.lists(st.none() | anything, max_size=8), st.integers(0, 3))
@settings(max_examples=200)
def test_columns_equal_the_plain_pipeline(urls: list[str | None], first: int) -> None:
    texts = [None if url is None else url.encode("utf-8", "surrogateescape") for url in urls]
    column = pa.array(texts, pa.binary())[first:]
    assert rows(column) == [expected(url) for url in texts[first:]]


def test_what_lies_behind_a_missing_value_is_not_read() -> None:
    """A null may cover any bytes."""
    offsets = pa.py_buffer(np.array([0, 10, 20], np.int32).tobytes())
    data = pa.py_buffer(b"http://a/1http://a/2")
    column = pa.Array.from_buffers(pa.string(), 2, [pa.py_buffer(b"\x02"), offsets, data])
    assert rows(column) == [(None, None, None), expected("http://a/2")]


@pytest.mark.skipif(not VERSION, reason="needs the compiled kernel")
@pytest.mark.parametrize(
    ("offsets", "data"),
    [([0, 9], b"short"), ([3, 1], b"http://a/1"), ([-1, 3], b"abc"), ([], b"")],
)
def test_the_kernel_refuses_broken_offsets(offsets: list[int], data: bytes) -> None:
    assert MAKE.native is not None
    for wide, kind in ((True, np.int64), (False, np.int32)):
        with pytest.raises(ValueError, match="offsets have to increase"):
            MAKE.native.column(data, np.array(offsets, kind).tobytes(), wide)
    with pytest.raises(ValueError, match="offsets have to increase"):
        MAKE.native.column(b"", b"123", False)  # noqa: FBT003 - the kernel takes no names


def test_a_column_of_many_parts_keeps_its_order() -> None:
    urls = [f"http://a.example/{n}" if n % 7 else f"HTTP://É.example/{n}" for n in range(70_000)]
    found = canonry.columns.canonicalize(pa.array(urls), columns=["identity"])
    assert isinstance(found, pa.Table)
    assert found["identity"].to_pylist() == [MAKE.identity(url) for url in urls]
