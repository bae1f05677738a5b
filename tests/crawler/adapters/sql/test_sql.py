"""SQL functions in the released SQLite and DuckDB, and plugins in Datasette and sqlite-utils."""

import asyncio
import sqlite3
from contextlib import closing
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import given, settings
from support.late import Late
from support.strategies import anything

import canonry
import canonry.sql

duckdb = Late("duckdb")

URLS = [
    "HTTP://User:x@EXAMPLE.com:80/%7ea/?b=2&a=1#f",
    "mailto:A@B.example",
    "not a url",
    None,
    "http://[::1]:81/",
    "http://é.example/ü",
    "",
]
QUERY = (
    "SELECT canonry_identity(u), canonry_key(u), canonry_surt(u), canonry_host(u), "
    "canonry_reason(u), canonry_identity(u, 'search') FROM (SELECT ? AS u)"
)
NAMES = ("identity", "key", "surt", "host", "reason")


def expected(url: str | None) -> tuple[object, ...]:
    """Return what the library makes of a URL."""
    if url is None:
        return (None,) * 6
    try:
        identity = canonry.canonicalize(url)
    except canonry.InvalidURL as error:
        return (None, None, None, None, error.reason.name, None)
    host = urlsplit(identity).hostname
    host = f"[{host}]" if host and ":" in host else host
    searched = canonry.canonicalize(url, policy="search")
    return (identity, canonry.key(url), canonry.surt(url), host, None, searched)


@pytest.fixture(params=["sqlite", "duckdb"])
def connection(request: pytest.FixtureRequest) -> Any:  # noqa: ANN401 - of two libraries
    opened: Any = sqlite3.connect(":memory:") if request.param == "sqlite" else duckdb.connect()
    canonry.sql.register(opened)
    with closing(opened):
        yield opened


@pytest.mark.parametrize("url", URLS)
def test_functions_are_the_librarys(connection: Any, url: str | None) -> None:  # noqa: ANN401 - as above
    query = (
        QUERY if isinstance(connection, sqlite3.Connection) else QUERY.replace("?", "?::VARCHAR")
    )
    [found] = connection.execute(query, [url]).fetchall()
    assert found == expected(url)


def test_a_policy_of_each_row(connection: Any) -> None:  # noqa: ANN401 - as above
    rows = [("http://a.example/?b=1&a=2", name) for name in ("web", "search", None, "archive")]
    connection.execute("CREATE TABLE t (u VARCHAR, p VARCHAR)")
    connection.executemany("INSERT INTO t VALUES (?, ?)", rows)
    found = connection.execute("SELECT canonry_identity(u, p) FROM t").fetchall()
    assert [one for (one,) in found] == [
        None if name is None else canonry.canonicalize(url, policy=name) for url, name in rows
    ]


def test_numbers_are_no_urls(connection: Any) -> None:  # noqa: ANN401 - as above
    assert connection.execute("SELECT canonry_key(5), canonry_reason(5)").fetchall() == [
        (None, "RELATIVE")
    ]


# Datasette lets SQLite show the errors of functions, which pytest takes for a leak.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_unknown_policy_is_an_error(connection: Any) -> None:  # noqa: ANN401 - as above
    with pytest.raises((sqlite3.OperationalError, duckdb.Error)):
        connection.execute("SELECT canonry_key('http://a.example/', 'nope')").fetchall()
    with pytest.raises((sqlite3.OperationalError, duckdb.Error)):
        connection.execute("SELECT canonry_key('http://a.example/', '/etc/x.toml')").fetchall()


@given(anything)
@settings(max_examples=100)
def test_sqlite_takes_any_text(url: str) -> None:
    text = url.encode("utf-8", "replace").decode()
    with closing(sqlite3.connect(":memory:")) as connection:
        canonry.sql.register(connection)
        assert connection.execute(QUERY, [text]).fetchall()[0][:3] == expected(text)[:3]
        given_as_bytes = connection.execute(QUERY, [text.encode()]).fetchall()[0]
        assert given_as_bytes[:3] == expected(text)[:3]


def test_duckdb_over_many_rows_and_connections() -> None:
    with closing(duckdb.connect()) as first, closing(first.cursor()) as second:
        for one in (first, second, second):
            canonry.sql.register(one)
        query = (
            "SELECT count(DISTINCT canonry_key(u)) FROM (SELECT 'HTTP://H.example/' || i % 1000 "
            "AS u FROM range(10000) r(i))"
        )
        assert second.execute(query).fetchall() == first.execute(query).fetchall() == [(1000,)]


def test_an_index_may_be_made_of_keys() -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        canonry.sql.register(connection)
        connection.execute("CREATE TABLE pages (url TEXT)")
        connection.execute("CREATE UNIQUE INDEX by_key ON pages (canonry_key(url))")
        connection.execute("INSERT INTO pages VALUES ('http://a.example/')")
        with pytest.raises(sqlite3.IntegrityError):
            connection.execute("INSERT INTO pages VALUES ('HTTP://A.example')")


def test_other_connections_are_refused() -> None:
    with pytest.raises(TypeError, match=r"sqlite3 or DuckDB is needed, not a builtins\.int"):
        canonry.sql.register(1)


def test_datasette_has_the_functions() -> None:
    from datasette import app, plugins  # noqa: PLC0415 - takes a second

    from canonry.crawler.adapters.sql import datasette_plugin  # noqa: PLC0415 - same

    async def ask() -> Any:  # noqa: ANN401 - JSON
        datasette = app.Datasette(memory=True)
        await datasette.invoke_startup()
        path = "/_memory.json?sql=select+canonry_host('http://A.example/')+as+h&_shape=array"
        answer = await datasette.client.get(path, follow_redirects=True)
        if answer.status_code != 200:  # from version 1 on
            answer = await datasette.client.get(path.replace("y.json", "y/-/query.json"))
        return answer.json()

    is_new = not plugins.pm.is_registered(datasette_plugin)
    if is_new:
        plugins.pm.register(datasette_plugin)
    try:
        assert asyncio.run(ask()) == [{"h": "a.example"}]
    finally:
        if is_new:
            plugins.pm.unregister(datasette_plugin)


def test_sqlite_utils_has_the_functions() -> None:
    import sqlite_utils  # noqa: PLC0415 - as above
    from sqlite_utils import plugins  # noqa: PLC0415 - same

    from canonry.crawler.adapters.sql import sqlite_utils_plugin  # noqa: PLC0415 - same

    plugins.get_plugins()  # loads those of entry points, as where Canonry was installed anew
    is_new = not plugins.pm.is_registered(sqlite_utils_plugin)
    if is_new:
        plugins.pm.register(sqlite_utils_plugin)
    try:
        database = sqlite_utils.Database(memory=True)
        found = list(database.query("select canonry_surt('http://a.example/x') as s"))
        assert found == [{"s": "example,a)/x"}]
        database.close()
    finally:
        if is_new:
            plugins.pm.unregister(sqlite_utils_plugin)
