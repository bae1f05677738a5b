"""The namespace of Polars and the accessor of pandas give what the library gives for each URL."""

from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

import pytest
from support.late import Late

import canonry

pd, pl, pa = Late("pandas"), Late("polars"), Late("pyarrow")


@pytest.fixture(scope="module", autouse=True)
def _registered() -> None:
    for name in ("pandas", "polars"):
        import_module(f"canonry.{name}")  # takes a second


URLS = [
    "HTTP://EXAMPLE.com:80/%7ea/?b=2&a=1#f",
    "mailto:A@B.example",
    "x",
    None,
    "http://é.example/",
]
NAMES = ("identity", "key", "surt", "host", "reason")


def expected(url: str | None) -> tuple[object, ...]:
    if url is None:
        return (None,) * 5
    try:
        identity = canonry.canonicalize(url)
    except canonry.InvalidURL as error:
        return (None, None, None, None, error.reason.name)
    host = urlsplit(identity).hostname
    return (identity, canonry.key(url), canonry.surt(url), host, None)


ROWS = [expected(url) for url in URLS]


def test_expressions_of_polars() -> None:
    url = pl.col("url")
    made = {name: getattr(url.canonry, name)() for name in NAMES}
    found = pl.DataFrame({"url": URLS}).with_columns(**made)
    assert [row[1:] for row in found.rows()] == ROWS
    assert found.schema["key"] == pl.Binary
    assert found.lazy().select(url.canonry.identity()).collect_schema() == {"url": pl.String}


def test_lazy_frames_grouped_filtered_and_streamed() -> None:
    urls = [f"HTTP://H.example/{n % 50}#{n}" for n in range(5_000)]
    frame = pl.LazyFrame({"url": urls, "n": range(5_000)})
    key = pl.col("url").canonry.key()
    grouped = frame.group_by(key).agg(pl.len()).collect(engine="streaming")
    assert grouped["len"].to_list() == [100] * 50
    kept = frame.filter(pl.col("url").canonry.identity().str.ends_with("/7")).collect()
    assert kept["n"].to_list() == list(range(7, 5_000, 50))


def test_policies_of_polars() -> None:
    series = pl.Series("u", ["http://a.example/?b=1&a=2"])
    assert series.canonry.identity("search").to_list() == ["http://a.example/?a=2&b=1"]
    with pytest.raises(canonry.PolicyError, match="no policy 'nope'"):
        series.canonry.key("nope")
    with pytest.raises(canonry.PolicyError, match="no policy 'nope'"):
        pl.DataFrame(series).select(pl.col("u").canonry.key("nope"))


@pytest.mark.parametrize("name", NAMES)
def test_series_of_polars(name: str) -> None:
    found = getattr(pl.Series("u", URLS).canonry, name)()
    assert found.name == "u"
    assert found.to_list() == [row[NAMES.index(name)] for row in ROWS]
    for empty in (pl.Series("u", [], pl.String), pl.Series("u", [None, None])):
        assert getattr(empty.canonry, name)().to_list() == [None] * len(empty)


@pytest.mark.parametrize("kind", ["object", "string", "arrow", None, "category"])
@pytest.mark.parametrize("name", NAMES)
def test_series_of_pandas(name: str, kind: str | None) -> None:
    dtype: Any = pd.ArrowDtype(pa.string()) if kind == "arrow" else kind
    series = pd.Series(URLS, index=[9, 8, 8, 1, 0], name="u", dtype=dtype)
    found = getattr(series.canonry, name)()
    assert isinstance(found, pd.Series)
    assert found.index.tolist() == [9, 8, 8, 1, 0]
    assert found.name == "u"
    plain = [None if pd.isna(value) else value for value in found]
    assert plain == [row[NAMES.index(name)] for row in ROWS]
    if isinstance(dtype, pd.ArrowDtype):
        assert isinstance(found.dtype, pd.ArrowDtype)
    elif isinstance(series.dtype, pd.StringDtype) and name != "key":
        assert found.dtype == series.dtype


def test_empty_and_foreign_series_of_pandas() -> None:
    assert pd.Series([], dtype=object).canonry.identity().tolist() == []
    assert pd.Series([None, float("nan")], dtype=object).canonry.key().tolist() == [None, None]
    assert pd.Series([b"http://a.example/\xff"]).canonry.identity()[0] == "http://a.example/%FF"
    with pytest.raises(TypeError, match="index 0 has to be str or bytes, or None, not int"):
        pd.Series([1]).canonry.key()
