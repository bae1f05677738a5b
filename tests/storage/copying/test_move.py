"""Moves between databases, real ones: the same rows, after kills too, and crawls that go on."""

import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from support import databases
from support.sites import crawl_words, demo_site, exported, pages_of, run_command, start, wait_for
from support.stores import admit_names, hold_a_name, open_store

from canonry.storage import StoreError
from canonry.storage.copying import copying, move
from canonry.storage.facts import put_fact
from canonry.storage.frontier import queues, scheduling
from canonry.storage.learned import host_urls
from canonry.storage.reading import report
from canonry.storage.recrawls import revisit_rows
from canonry.storage.sql.engine import open_engine
from canonry.storage.sql.schema import metadata

Place = Callable[[str], str]
KINDS = ["sqlite", "postgresql", databases.OLDEST]
UPGRADE = ("upgrade", "--store", "crawl.db", "--policy", "search")
_LEASES = {"holder", "held_until"}


@pytest.fixture
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """Return a function that names an empty database of a kind."""

    def named(kind: str) -> str:
        if kind == "sqlite":
            return f"sqlite:///{tmp_path / 'target'}.db"
        uri = request.getfixturevalue("server" if kind == "postgresql" else "oldest_server")
        database = "m" + hashlib.blake2b(str(tmp_path).encode(), digest_size=8).hexdigest()
        with psycopg.connect(uri, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {database}")
        return str(uri.replace("/postgres?", f"/{database}?"))

    return named


def rows_in(url: str) -> dict[str, list[tuple[Any, ...]]]:
    """Return the rows of all tables, without leases."""
    engine = open_engine(url, read_only=True)
    found: dict[str, list[tuple[Any, ...]]] = {}
    with engine.begin() as connection:
        for table in metadata.sorted_tables:
            if table.primary_key:
                names = [c.name for c in table.columns if c.name not in _LEASES]
                text = f"SELECT {', '.join(names)} FROM {table.name}"  # noqa: S608 - our names
                found[table.name] = sorted(map(tuple, connection.exec_driver_sql(text)), key=repr)
    engine.dispose()
    return found


def moved(source: str, target: str) -> copying.CopiedRows:
    return move(source, target, lambda _new, _all: None, lambda _text: None)


@pytest.mark.parametrize(
    ("database", "kind"),
    [(source, target) for source in KINDS for target in KINDS if "sqlite" in (source, target)]
    + [(databases.OLDEST, "postgresql"), ("postgresql", databases.OLDEST)],
    indirect=["database"],
)
def test_a_move_has_all_rows_and_the_store_goes_on(
    tmp_path: Path, database: str, kind: str, place: Place
) -> None:
    """With what the engines of a frontier have set, and what recrawls have learned."""
    hold_a_name(tmp_path)
    store = open_store(tmp_path)
    with store.transaction() as connection:
        host_urls.index(connection)
        scheduling.put_metadata(connection, {1: b"kept", 2: b""})
        scheduling.put_again(connection, {2: 1_900_000_000})
        queues.block(connection, "h.example", 1_900_000_000.0, 0.0, 1.0)
        put_fact(connection, "frontier delay", "7.0")
        assert host_urls.has_index(connection)
        row = revisit_rows.Revisited(1, 2.5, 1.5, listed=3.5, places=b"\0\xff")
        revisit_rows.put(connection, [row])
        host = revisit_rows.RevisitedHost(1, 4.5, 1, 2, 3, 4, b"\0", b"\1")
        revisit_rows.put_hosts(connection, [host])
    store.close()
    source, target = databases.url_of(tmp_path), place(kind)
    expected = rows_in(source)
    assert expected["frontier_urls"] == [(1, b"kept", None), (2, b"", 1_900_000_000)]
    assert (len(expected["revisits"]), len(expected["revisit_hosts"])) == (1, 1)
    found = moved(source, target)
    assert found == (sum(map(len, expected.values())) - len(expected["meta"]), 0)
    assert rows_in(target) == expected == rows_in(source)
    with report.reading(target) as connection:
        assert host_urls.has_index(connection)
    with pytest.raises(StoreError, match="it is not empty"):
        moved(source, target)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("support.stores.url_of", lambda _folder: target)
        store = open_store(tmp_path)
        admit_names(store, 3)  # new ids follow the old ones
        store.close()
    assert len(rows_in(target)["url_rows"]) > len(expected["url_rows"])
    assert database in KINDS


@pytest.mark.parametrize("kind", KINDS[:2])
@pytest.mark.parametrize("after", [0, 1, 5, 8])
def test_a_move_that_was_interrupted_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, after: int, place: Place
) -> None:
    hold_a_name(tmp_path)
    source, target = databases.url_of(tmp_path), place(kind)
    monkeypatch.setattr(copying, "_ROWS", 2)
    steps = 0

    def advance(_new: int, _all: int) -> None:
        nonlocal steps
        steps += 1
        if steps > after:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        move(source, target, advance, lambda _text: None)
    with pytest.raises(StoreError, match="a store is being moved here"):
        rows_and_facts(target)
    said: list[str] = []
    found = move(source, target, lambda _new, _all: None, said.append)
    assert found.before >= after
    assert "going on" in said[0]
    assert rows_in(target) == rows_in(source)


def rows_and_facts(url: str) -> None:
    """Read the facts of a store, as everything that opens it does."""
    from canonry.storage.reading import report  # noqa: PLC0415 - only here

    with report.reading(url):
        pass


def test_a_store_that_has_changed_meanwhile_is_moved_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: Place
) -> None:
    hold_a_name(tmp_path)
    source, target = databases.url_of(tmp_path), place("sqlite")
    with monkeypatch.context() as patch:
        patch.setattr(
            copying, "_finish", lambda *_given, **_named: (_ for _ in ()).throw(KeyboardInterrupt)
        )
        with pytest.raises(KeyboardInterrupt):
            moved(source, target)
    store = open_store(tmp_path)
    admit_names(store, 5)
    store.close()
    said: list[str] = []
    assert move(source, target, lambda _new, _all: None, said.append).before == 0
    assert "has changed" in said[0]
    assert rows_in(target) == rows_in(source)


def test_zero_characters_become_something_that_postgresql_has(tmp_path: Path, place: Place) -> None:
    hold_a_name(tmp_path)
    source, target = databases.url_of(tmp_path), place("postgresql")
    engine = open_engine(source)
    with engine.begin() as connection:
        text = "INSERT INTO refusals (reason, count, sample) VALUES ('x', 1, ?)"
        connection.exec_driver_sql(text, ("a\0b",))
    engine.dispose()
    moved(source, target)
    assert ("x", 1, "a\N{REPLACEMENT CHARACTER}b") in rows_in(target)["refusals"]


@pytest.mark.parametrize("kind", KINDS[:2])
def test_a_crawl_goes_on_where_it_was(tmp_path: Path, kind: str, place: Place) -> None:
    undisturbed = tmp_path / "undisturbed"
    undisturbed.mkdir()
    target = place(kind)
    with demo_site(products=20, guides=10) as served:
        assert run_command(*crawl_words(served), folder=undisturbed).returncode == 0
        whole = served.requests
        words = crawl_words(served, "--max-pages", "20")
        assert run_command(*words, folder=tmp_path).returncode == 0
        done = run_command(
            "move", "--from", "canonry.db", "--to", target, "--json", folder=tmp_path
        )
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["before"] == 0
        for what in ("aliases", "rules", "clusters"):
            assert exported(tmp_path, what, "--store", target) == exported(tmp_path, what)
        done = run_command(*crawl_words(served), "--store", target, folder=tmp_path)
        assert done.returncode == 0, done.stderr
        assert served.requests - whole <= whole + 15  # in flight, and asked to learn
    assert pages_of(tmp_path, "--store", target) == pages_of(undisturbed)


def test_a_store_that_a_frontier_serves_is_not_moved(tmp_path: Path, place: Place) -> None:
    from support import frontiers  # noqa: PLC0415 - the others do without gRPC

    target = place("sqlite")
    with frontiers.serving(tmp_path) as client:
        assert client.discover("http://a.example/") == ["OK"]
        for words in (("move", "--from", "crawl.db", "--to", target), UPGRADE):
            done = run_command(*words, folder=tmp_path)
            assert (done.returncode, b"a frontier serves it" in done.stderr) == (1, True)
    done = run_command("move", "--from", "crawl.db", "--to", target, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert rows_in(target) == rows_in(f"sqlite:///{tmp_path / 'crawl.db'}")


def test_a_store_that_is_used_is_not_moved(tmp_path: Path, place: Place) -> None:
    with demo_site(pause=0.05) as served, start(tmp_path, *crawl_words(served)) as crawl:
        wait_for((tmp_path / "canonry.db").exists)
        wait_for(lambda: served.requests > 5)
        words = ("move", "--from", "canonry.db", "--to", place("sqlite"))
        done = run_command(*words, folder=tmp_path)
        crawl.kill()
    assert done.returncode == 1
    assert b"a crawl uses it" in done.stderr
