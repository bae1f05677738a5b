"""Databases that go back in time, or change places with a copy, under a process that uses them."""

import asyncio
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import text
from support import databases
from support.crawls import page, target_of
from support.databases import url_of
from support.servers import raw_server
from support.stores import admit, lease, open_store

from canonry.crawler.run import wiring
from canonry.crawler.settings import load
from canonry.storage import Store, StoreError, StoreRewoundError
from canonry.storage.reading import report
from canonry.storage.sql.engine import Writer, open_engine

PAGES = 60


@pytest.fixture
def _on_postgresql(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(databases.SERVER, server)


class Database:
    """A database of PostgreSQL, with a copy of what it was once."""

    def __init__(self, folder: Path) -> None:
        self.url = url_of(folder)
        self._server = re.sub(r"/t[0-9a-f]{16}\?", "/postgres?", self.url)
        [self._name] = re.findall(r"/(t[0-9a-f]{16})\?", self.url)

    def keep(self) -> None:
        """Keep a copy of what it is now."""
        self._run(f"CREATE DATABASE {self._name}_copy TEMPLATE {self._name}", self._name)

    def restore(self) -> None:
        """Put the copy in its place, as who restores a backup does."""
        self._run(f"DROP DATABASE {self._name} WITH (FORCE)", self._name)
        self._run(f"ALTER DATABASE {self._name}_copy RENAME TO {self._name}", f"{self._name}_copy")

    def _run(self, statement: str, name: str) -> None:
        """Execute a statement when nobody is connected to a database."""
        with psycopg.connect(self._server, autocommit=True) as connection:
            gone = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = %s"
            connection.execute(gone, (name,))
            connection.execute(statement.encode())


@pytest.fixture
def rewound(_on_postgresql: None, tmp_path: Path) -> Iterator[tuple[Store, Database]]:
    """A store that has met two URLs of which its database, restored, has the first."""
    store, database = open_store(tmp_path), Database(tmp_path)
    admit(store, ["http://a.example/1"])
    database.keep()
    admit(store, ["http://a.example/2"])
    database.restore()
    yield store, database
    store.close()


def test_claims_are_refused_where_the_table_lacks_what_was_claimed(
    rewound: tuple[Store, Database], tmp_path: Path
) -> None:
    store, _ = rewound
    with pytest.raises(StoreRewoundError, match=r"^store postgresql.*older copy"):
        admit(store, ["http://a.example/2"])
    with pytest.raises(StoreRewoundError):
        lease(store, "w")
    store.close()
    again = open_store(tmp_path)
    assert [one.new for one in admit(again, ["http://a.example/1", "http://a.example/2"])] == [
        False,
        True,
    ]
    again.close()


@pytest.mark.usefixtures("_on_postgresql")
def test_rows_that_were_leased_are_compared_by_a_process_that_has_claimed_nothing(
    tmp_path: Path,
) -> None:
    store, database = open_store(tmp_path), Database(tmp_path)
    admit(store, ["http://a.example/1"])
    database.keep()
    admit(store, ["http://a.example/2"])
    store.close()
    fresh = open_store(tmp_path)
    [host] = lease(fresh, "w")
    database.restore()
    with fresh.transaction() as connection:
        fresh.confirm_url_ids(connection, host.urls[:1])
        with pytest.raises(StoreRewoundError, match="older copy"):
            fresh.confirm_url_ids(connection, host.urls)
    fresh.close()


@pytest.mark.usefixtures("_on_postgresql")
def test_a_lost_connection_alone_is_no_step_back(tmp_path: Path) -> None:
    store, database = open_store(tmp_path), Database(tmp_path)
    admit(store, ["http://a.example/1"])
    database.keep()
    database.restore()
    assert [one.new for one in admit(store, ["http://a.example/1", "http://a.example/2"])] == [
        False,
        True,
    ]
    store.close()


@pytest.mark.usefixtures("_on_postgresql")
def test_another_store_in_its_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    store, database = open_store(tmp_path), Database(tmp_path)
    open_store(tmp_path / "other").close()
    with psycopg.connect(database.url, autocommit=True) as one:
        one.execute("UPDATE meta SET value = 'other' WHERE name = 'id'")
    with pytest.raises(StoreError, match="another store has taken its place"):
        admit(store, ["http://a.example/1"])
    store.close()


@pytest.mark.usefixtures("_on_postgresql")
def test_commits_wait_for_the_disk_whatever_the_server_says(tmp_path: Path) -> None:
    url = url_of(tmp_path)
    for given, wanted in (("off", "on"), ("remote_apply", "remote_apply")):
        with psycopg.connect(url, autocommit=True) as connection:
            name = connection.info.dbname
            connection.execute(f"ALTER DATABASE {name} SET synchronous_commit = {given}".encode())
        engine = open_engine(url)
        with engine.begin() as connection:
            assert connection.scalar(text("SHOW synchronous_commit")) == wanted
        engine.dispose()


@pytest.fixture
def between_steps(monkeypatch: pytest.MonkeyPatch) -> list[Callable[[], None]]:
    """What happens before the next step of a writer, once."""
    happens: list[Callable[[], None]] = []
    call = Writer.call

    async def after_that(self: Writer, step: Callable[..., Any], *given: Any, **more: Any) -> Any:  # noqa: ANN401 - as `call`
        def run() -> object:
            while happens:
                happens.pop()()
            return step(*given, **more)

        return await call(self, run)

    monkeypatch.setattr(Writer, "call", after_that)
    return happens


@pytest.mark.usefixtures("_on_postgresql")
def test_a_crawl_begins_again_from_an_older_copy(
    tmp_path: Path, between_steps: list[Callable[[], None]]
) -> None:
    """Every page is there at the end, under its own URL, found on a page that there is."""
    notices: list[str] = []
    requests = 0
    database = Database(tmp_path)

    def answer(head: bytes) -> bytes:
        nonlocal requests
        requests += 1
        if requests == PAGES // 3:
            between_steps.append(database.keep)
        elif requests == PAGES * 2 // 3:
            between_steps.append(database.restore)
        name = target_of(head).strip("/")
        if name == "robots.txt":
            return b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
        number = int(name or 0)
        more = [n for n in (2 * number + 1, 2 * number + 2) if n < PAGES]
        return page(*(f"/{n}" for n in more))

    async def crawl() -> wiring.CrawlResult:
        async with raw_server(answer) as raw:
            settings = load(
                None,
                {
                    "crawl": {"delay": 0.0, "concurrency": 2},
                    "fetch": {"connect_to": [f"::127.0.0.1:{raw.port}"]},
                },
            )
            seed = "http://a.example/"
            return await wiring.crawl([seed], database.url, settings, notify=notices.append)

    result = asyncio.run(crawl())
    assert result.finished
    assert any("begins again from there" in notice for notice in notices), notices
    with report.reading(database.url) as connection:
        names = {row["url"] for row in report.rows(connection, "pages")}
        rows = connection.execute(text("SELECT id, source_id FROM urls")).all()
    assert names == {f"http://a.example/{n or ''}" for n in range(PAGES)}
    known = {row.id for row in rows}
    assert {row.source_id for row in rows} - {None} <= known


def test_a_file_that_was_replaced_is_written_no_more(tmp_path: Path) -> None:
    file = tmp_path / "store.db"
    url = f"sqlite:///{file}"
    store = open_store(tmp_path)
    admit(store, ["http://a.example/1"])
    shutil.copy(file, tmp_path / "copy.db")
    (tmp_path / "copy.db").rename(file)
    with pytest.raises(StoreError, match="replaced or deleted while it was open"):
        admit(store, ["http://a.example/2"])
    file.unlink()
    with pytest.raises(StoreError, match="replaced or deleted while it was open"):
        lease(store, "w")
    store.close()
    assert not file.exists(), f"{url} was made anew"
