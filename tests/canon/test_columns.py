"""Columns: the results for each URL, from lists, arrays and Arrow data."""

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.late import Late
from support.strategies import anything, raw

import canonry

URLS = ["HTTP://A.example/%7eb?utm_source=x", "http://a.example/", "http://[", None, ""]
IDENTITIES = ["http://a.example/~b", "http://a.example/", None, None, None]
REASONS = [None, None, "HOST", None, "EMPTY"]
KEYS = [canonry.key(url) if url else None for url in IDENTITIES]
WANTED = ("url", "identity", "key", "surt", "reason")


def test_lists() -> None:
    found = canonry.columns.canonicalize(URLS, columns=WANTED)
    assert found.identity == IDENTITIES
    assert found.reason == REASONS
    assert found.key == KEYS
    assert found.url == [
        "http://a.example/%7eb?utm_source=x",
        "http://a.example/",
        None,
        None,
        None,
    ]
    assert found.surt == ["example,a)/~b", "example,a)/", None, None, None]


def test_only_the_requested_columns() -> None:
    found = canonry.columns.canonicalize(iter(URLS), columns=["identity"])
    assert found == canonry.columns.Columns(identity=IDENTITIES)
    assert canonry.columns.canonicalize([]) == canonry.columns.Columns(
        identity=[], key=[], reason=[]
    )


def test_numpy() -> None:
    found = canonry.columns.canonicalize(np.array(URLS, dtype=object))
    assert found.identity.tolist() == IDENTITIES
    assert found.reason.tolist() == REASONS
    assert found.key.dtype == "V16"
    assert [key.tobytes() for key in found.key] == [key or bytes(16) for key in KEYS]
    plain = canonry.columns.canonicalize(np.array(["HTTP://A.example"]))
    assert plain.identity.tolist() == ["http://a.example/"]


@pytest.mark.parametrize(
    "made",
    [
        lambda: pa.array(URLS),
        lambda: pa.array(URLS, type=pa.large_string()),
        lambda: pa.array([url and url.encode() for url in URLS]),
        lambda: pa.chunked_array([URLS[:2], URLS[2:]]),
        lambda: Late("polars").Series(URLS),
        lambda: Late("pandas").Series(URLS, dtype="str"),
    ],
    ids=["string", "large", "binary", "chunked", "polars", "pandas"],
)
def test_arrow_data(made: Callable[[], object]) -> None:
    urls = made()
    if type(urls).__module__.startswith("pandas") and not hasattr(urls, "__arrow_c_stream__"):
        pytest.skip("this pandas does not speak Arrow")
    found = canonry.columns.canonicalize(urls)
    assert found.schema == pa.schema(
        [("identity", pa.string()), ("key", pa.binary(16)), ("reason", pa.string())]
    )
    assert found["identity"].to_pylist() == IDENTITIES
    assert found["key"].to_pylist() == KEYS
    assert found["reason"].to_pylist() == REASONS


def test_duckdb() -> None:
    with Late("duckdb").connect() as connection:
        table = connection.sql("select unnest(['HTTP://A.example', 'http://a.example/']) as url")
        found = canonry.columns.canonicalize(table.to_arrow_table()["url"])
        assert found["identity"].to_pylist() == ["http://a.example/"] * 2
        distinct = connection.from_arrow(found).aggregate("count(distinct key)").fetchall()
    assert distinct == [(1,)]


def test_an_empty_arrow_column_keeps_its_types() -> None:
    found = canonry.columns.canonicalize(pa.array([], type=pa.string()), columns=["key"])
    assert found.schema == pa.schema([("key", pa.binary(16))])
    assert len(found) == 0


def test_base_and_policy() -> None:
    found = canonry.columns.canonicalize(
        ["../b?y=1&x=1", "#s"], base="http://a.example/c/d", policy="search", columns=["identity"]
    )
    assert found.identity == ["http://a.example/b?x=1&y=1", "http://a.example/c/d"]


def test_unknown_columns_and_policies_are_refused() -> None:
    with pytest.raises(ValueError, match="no column 'hash'; allowed: url, identity, key, surt"):
        canonry.columns.canonicalize([], columns=["hash"])
    with pytest.raises(canonry.PolicyError):
        canonry.columns.canonicalize([], policy="none")


@given(st.lists(anything | raw, max_size=5))
def test_columns_equal_one_call_for_each_url(urls: list[str | bytes]) -> None:
    found = canonry.columns.canonicalize(urls, columns=WANTED)
    for row, url in enumerate(urls):
        values = tuple(column[row] for column in found)
        try:
            one = canonry.Canonicalizer("web")(url)
        except canonry.InvalidURL as error:
            assert values == (None, None, None, None, error.reason.name)  # noqa: PT017 - a column
        else:
            assert values == (*one, canonry.surt(url), None)
