"""PostgreSQL: failures of the server and the connection, and stores on several machines."""

import os
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import select
from support import databases
from support.databases import url_of
from support.sites import exported, run_command
from support.stores import admit, candidate, lease, lease_names, open_store, visited

from canonry.storage import Hop, Page, RefusedLink, State, StoreError
from canonry.storage.reading import report
from canonry.storage.rows import leases as rows
from canonry.storage.sql.engine import open_engine
from canonry.storage.sql.schema import hosts


@pytest.fixture(autouse=True)
def _on_postgresql(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(databases.SERVER, server)


def test_a_lost_connection_is_reported_and_the_next_step_works(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    admit(store, ["http://a.example/1"])
    reported = pytest.raises(StoreError, match="nothing of the last step was kept")
    with reported, store.transaction() as connection:
        store.admit_in(connection, [candidate("http://a.example/2")], 0.0)
        own = connection.exec_driver_sql("SELECT pg_backend_pid()").scalar()
        with psycopg.connect(url_of(tmp_path), autocommit=True) as other:
            other.execute("SELECT pg_terminate_backend(%s)", (own,))
        store.admit_in(connection, [candidate("http://a.example/3")], 0.0)
    answers = admit(store, [f"http://a.example/{n}" for n in (1, 2, 3)])
    assert [answer.new for answer in answers] == [False, True, True]
    store.close()


def test_a_server_that_restarts_in_between(tmp_path: Path) -> None:
    with databases.server(tmp_path / "own") as uri, pytest.MonkeyPatch.context() as patch:
        patch.setenv(databases.SERVER, uri)
        store = open_store(tmp_path)
        assert admit(store, ["http://a.example/1"])[0].new
        databases.restart(tmp_path / "own")
        assert not admit(store, ["http://a.example/1"])[0].new, "its row was durable"
        databases.stop(tmp_path / "own")
        with pytest.raises(StoreError, match="the same command resumes"):
            admit(store, ["http://a.example/2"])
        databases.start(tmp_path / "own")
        answers = admit(store, ["http://a.example/1", "http://a.example/2"])
        assert [answer.new for answer in answers] == [False, True]
        store.close()


def test_a_writer_waits_for_the_lock_and_reports_a_timeout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("canonry.storage.sql.write_locks.BUSY_SECONDS", 0.2)
    one, other = open_store(tmp_path), open_store(tmp_path)
    with one.transaction() as connection:
        one.admit_in(connection, [candidate("http://a.example/1")], 0.0)
        with pytest.raises(StoreError, match="lock timeout"):
            admit(other, ["http://a.example/1"])
    assert not admit(other, ["http://a.example/1"])[0].new
    one.close()
    other.close()


def test_a_writer_that_hangs_loses_its_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("canonry.storage.sql.write_locks.IDLE_SECONDS", 0.2)
    hanging, other = open_store(tmp_path), open_store(tmp_path)
    lost = pytest.raises(StoreError, match="the same command resumes")
    with lost, hanging.transaction() as connection:
        hanging.admit_in(connection, [candidate("http://a.example/1")], 0.0)
        assert admit(other, ["http://a.example/1"])[0].new
        connection.exec_driver_sql("SELECT 1")
    assert not admit(hanging, ["http://a.example/1"])[0].new
    hanging.close()
    other.close()


def test_readers_do_not_wait_and_see_one_moment(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    admit(store, ["http://a.example/1"])
    with store.transaction() as writing, report.reading(url_of(tmp_path)) as reading:
        store.admit_in(writing, [candidate("http://a.example/2")], 0.0)
        assert report.status(reading)["urls"]["queued"] == 1
    store.close()


def test_text_that_postgresql_cannot_hold_is_escaped(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    given = candidate("http://a.example/x")._replace(raw_url="http://a.example/x\0#\t\\N\n")
    store.admit([given], 0.0)
    page = Page(200, 0.1, "text/\0html", 1, bytes(16), "ti\0tle", None, 0)
    hop = Hop("canonical", 200, candidate("http://a.example/y"))
    refused = (RefusedLink("host", "http://\0["),)
    outcome = visited(1, State.FETCHED, page=page, hops=(hop,))._replace(refused=refused)
    store.record([outcome], 1.0)
    store.close()
    with report.reading(url_of(tmp_path)) as connection:
        [row] = report.rows(connection, "pages")
        assert (row["title"], row["content_type"]) == ("ti%00tle", "text/%00html")
        raw_url = connection.exec_driver_sql("SELECT raw_url FROM urls WHERE id = 1").scalar()
        assert raw_url == "http://a.example/x%00#\t\\N\n"


def test_a_host_may_have_any_length(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    long = [candidate("http://a.example/")._replace(host="x" * 5_000 + end) for end in "ab"]
    long = [c._replace(key=bytes([n]) * 16) for n, c in enumerate(long)]
    assert [answer.new for answer in store.admit(long, 0.0)] == [True, True]
    assert len(lease(store)) == 2
    store.close()


def test_errors_of_wrong_urls_show_no_password() -> None:
    with pytest.raises(StoreError, match="kept in SQLite or PostgreSQL"):
        open_engine("mysql://u:secret@h/d")
    with pytest.raises(StoreError) as caught, report.reading("postgresql://u:secret@127.0.0.1:9/d"):
        pass
    assert "secret" not in str(caught.value)


def test_what_is_missing_is_named_without_our_sql(tmp_path: Path) -> None:
    open_store(tmp_path).close()
    with psycopg.connect(url_of(tmp_path), autocommit=True) as connection:
        connection.execute("DROP TABLE counts")
    with (
        pytest.raises(StoreError, match=r'relation "counts" does not exist\Z'),
        report.reading(url_of(tmp_path)) as connection,
    ):
        report.status(connection)


def test_a_missing_driver_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(StoreError, match=r"PostgreSQL needs psycopg; .*'\.\[postgresql\]'"):
        open_engine("postgresql://h/d")


def test_the_command_works_with_postgresql(tmp_path: Path) -> None:
    store = ["--store", url_of(tmp_path)]
    lines = b"http://a.example/\nhttp://A.example/#x\nhttp://b.example/\n"
    for expected in (b"http://a.example/\nhttp://b.example/\n", b""):
        done = run_command("dedup", "-", *store, folder=tmp_path, data=lines)
        assert (done.returncode, done.stdout) == (0, expected)
    assert len(exported(tmp_path, "urls", *store)) == 2


HOSTS = [f"http://h{n}.example/" for n in range(20)]


def test_leases_do_not_wait_for_a_writer(tmp_path: Path) -> None:
    one, other = open_store(tmp_path), open_store(tmp_path)
    admit(one, HOSTS)
    with one.transaction() as writing:
        writing.execute(select(hosts.c.id))
        with other.leasing() as connection:  # waiting would end with an error: we hold the lock
            assert len(lease_names(connection, "other")) == 20
    one.close()
    other.close()


def test_hosts_that_a_transaction_has_locked_are_skipped(tmp_path: Path) -> None:
    one, other = open_store(tmp_path), open_store(tmp_path)
    admit(one, HOSTS)
    with one.leasing() as first:
        mine = lease_names(first, "one", limit=5)
        assert len(mine) == 5
        with other.leasing() as second:
            theirs = lease_names(second, "other")
            rows.renew(second, "other", mine, 999.0)
            rows.pace(second, dict.fromkeys(mine, 999.0), {})
    assert len(theirs) == 15
    assert not mine & theirs
    engine = open_engine(url_of(tmp_path), read_only=True)
    with engine.begin() as connection:
        found = connection.execute(select(hosts.c.name, hosts.c.holder, hosts.c.ready_at))
        assert {row.name: row.holder for row in found} == {
            **dict.fromkeys(mine, "one"),
            **dict.fromkeys(theirs, "other"),
        }
    engine.dispose()
    one.close()
    other.close()


_UNTIL_FULL = """
import resource, sys
from pathlib import Path
from support import databases
from support.stores import admit, open_store
from canonry.storage import StoreError

folder = Path(sys.argv[1])
# The server's files may not grow beyond this: PostgreSQL gets an error as from a full disk.
resource.setrlimit(resource.RLIMIT_FSIZE, (20 << 20, resource.RLIM_INFINITY))
with databases.server(folder / "own") as uri:
    import os
    os.environ[databases.SERVER] = uri
    store = open_store(folder)
    done = 0
    try:
        while True:
            numbers = range(done, done + 5000)
            new = admit(store, [f"http://a.example/{'x' * 400}/{n}" for n in numbers])
            assert all(answer.new for answer in new)
            done += len(new)
    except StoreError as error:
        print(done, error)
"""


def test_a_full_disk_is_reported_and_the_store_stays_intact(tmp_path: Path) -> None:
    """A limit on the size of files plays the full disk; the log's files have 16 MiB."""
    path = [str(Path(databases.__file__).parents[1]), str(Path(__file__).parents[2])]
    done = subprocess.run(
        [sys.executable, "-c", _UNTIL_FULL, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path)},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    count, _, notices = done.stdout.partition(" ")
    assert "File too large" in notices
    assert "nothing of the last step was kept" in notices
    with databases.server(tmp_path / "own") as uri, pytest.MonkeyPatch.context() as patch:
        patch.setenv(databases.SERVER, uri)
        store = open_store(tmp_path)
        known = [f"http://a.example/{'x' * 400}/{n}" for n in range(int(count))]
        assert not any(answer.new for answer in admit(store, known))
        further = [f"http://a.example/{'x' * 400}/{n}" for n in range(int(count), int(count) + 99)]
        assert all(answer.new for answer in admit(store, further))
        store.close()
