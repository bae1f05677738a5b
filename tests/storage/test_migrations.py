"""Stores of every schema that was released become today's, with all that they hold."""

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import inspect
from support.databases import url_of
from support.stores import admit, assert_counts_are_right, lease, open_store

from canonry.storage import StoreError, migrations, report
from canonry.storage.sql.engine import open_engine
from canonry.storage.sql.schema import VERSION

_SCHEMAS = Path(__file__).parent / "schemas"
_OLD = sorted(int(path.stem) for path in _SCHEMAS.glob("*.sql"))


def make(folder: Path, schema: int) -> None:
    """Make a store as it was written by an earlier version."""
    with sqlite3.connect(folder / "store.db") as connection:
        connection.executescript((_SCHEMAS / f"{schema}.sql").read_text(encoding="utf-8"))
    connection.close()


def shape(folder: Path) -> dict[str, tuple[list[str], set[str]]]:
    """Return each table's columns and named indexes."""
    engine = open_engine(url_of(folder))
    found = inspect(engine)
    shapes = {
        table: (
            [f"{c['name']} {c['type']} {c['nullable']}" for c in found.get_columns(table)],
            {str(index["name"]) for index in found.get_indexes(table)},
        )
        for table in found.get_table_names()
    }
    engine.dispose()
    return shapes


def test_every_schema_before_this_one_is_there() -> None:
    assert list(range(1, VERSION)) == _OLD


@pytest.mark.parametrize("schema", _OLD)
def test_an_old_store_is_refused_upgraded_and_goes_on(tmp_path: Path, schema: int) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    new.mkdir()
    make(old, schema)
    for use in (open_store, lambda folder: report.reading(url_of(folder)).__enter__()):
        with pytest.raises(StoreError, match="bring it there: canonry upgrade --store"):
            use(old)
    said: list[str] = []
    assert migrations.upgrade(url_of(old), said.append) == schema
    assert said
    open_store(new).close()
    assert shape(old) == shape(new)
    with report.reading(url_of(old)) as connection:
        assert_counts_are_right(connection)
        found = report.status(connection)
    assert found["urls"] == {"queued": 2, "fetched": 1, "redirected": 1, "failed": 1, "held": 2}
    assert found["held"] == {"robots": 1, "too-deep": 1}
    store = open_store(old)
    urls = ["http://a.example/1", "http://b.example/deep", "http://new.example/"]
    assert [answer.new for answer in admit(store, urls)] == [False, False, True]
    assert {host.name for host in lease(store)} == {"a.example", "c.example", "new.example"}
    store.close()
    assert migrations.upgrade(url_of(old), said.append) == VERSION


def test_a_later_schema_is_left_alone(tmp_path: Path) -> None:
    open_store(tmp_path).close()
    with sqlite3.connect(tmp_path / "store.db") as connection:
        connection.execute("UPDATE meta SET value = '99' WHERE name = 'schema'")
    connection.close()
    with pytest.raises(StoreError, match="it has schema 99, and this program reads up to"):
        migrations.upgrade(url_of(tmp_path), print)


def test_the_command(tmp_path: Path) -> None:
    make(tmp_path, 1)
    words = [sys.executable, "-m", "canonry"]
    store = ["--store", url_of(tmp_path)]
    status = subprocess.run([*words, "status", *store], capture_output=True, check=False)
    assert status.returncode == 1
    assert b"canonry upgrade" in status.stderr
    done = subprocess.run([*words, "upgrade", *store], capture_output=True, check=True)
    assert b"it had schema 1" in done.stderr
    subprocess.run([*words, "status", *store], capture_output=True, check=True)
