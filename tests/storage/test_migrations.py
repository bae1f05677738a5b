"""Stores of every earlier schema are upgraded to the current one, with all that they hold."""

import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import inspect, text
from sqlalchemy.engine.interfaces import ReflectedIndex
from support.databases import url_of
from support.stores import admit, assert_counts_are_right, lease, open_store

from canonry.crawler.learn.site_records import evidence_of
from canonry.storage import StoreError, migrations
from canonry.storage.learned import ledger, rule_rows
from canonry.storage.reading import report
from canonry.storage.sql.engine import open_engine
from canonry.storage.sql.schema import VERSION
from canonry.storage.steering import host_list

pytestmark = pytest.mark.every_database

_SCHEMAS = Path(__file__).parent / "schemas"
_OLD = sorted(int(path.stem) for path in _SCHEMAS.glob("*.sql"))
Shape = dict[str, tuple[object, ...]]


def make(folder: Path, schema: int) -> None:
    """Make a store as an earlier version wrote it."""
    script = (_SCHEMAS / f"{schema}.sql").read_text(encoding="utf-8")
    url = url_of(folder)
    if url.startswith("postgresql"):
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(for_postgresql(script).encode())
        return
    with closing(sqlite3.connect(folder / "store.db")) as connection:
        connection.executescript(script)


def for_postgresql(script: str) -> str:
    """Translate a dump of SQLite: types, binary values, and no references to later tables."""
    script = re.sub(r",\s*FOREIGN KEY\(\w+\) REFERENCES [\w\"]+ \(\w+\)", "", script)
    script = re.sub(r"\b(id|\w+_id) INTEGER", r"\1 BIGINT", script).replace(" BLOB", " BYTEA")
    return re.sub(r"\bX'([0-9A-F]+)'", r"'\\x\1'", script)


def where(index: ReflectedIndex) -> list[str]:
    """Return the conditions of a partial index."""
    return [str(option) for option in index.get("dialect_options", {}).values()]


def shape(folder: Path) -> Shape:
    """Return each table's columns, keys, constraints and indexes."""
    engine = open_engine(url_of(folder))
    found = inspect(engine)
    shapes: Shape = {
        table: (
            [f"{c['name']} {c['type']} {c['nullable']}" for c in found.get_columns(table)],
            found.get_pk_constraint(table)["constrained_columns"],
            sorted(c["column_names"] for c in found.get_unique_constraints(table)),
            sorted(
                (str(i["name"]), i["column_names"], bool(i["unique"]), where(i))
                for i in found.get_indexes(table)
            ),
        )
        for table in found.get_table_names()
    }
    for view in found.get_view_names():
        shapes[view] = (" ".join(str(found.get_view_definition(view)).replace('"', "").split()),)
    engine.dispose()
    if "hosts" in shapes and engine.dialect.name == "sqlite":
        columns, key, _unique, indexes = shapes["hosts"]
        # Schemas 1 to 3 had an unnamed UNIQUE here, which SQLite cannot drop. It does no harm:
        # the index "hosts_by_name" says the same.
        shapes["hosts"] = (columns, key, indexes)
    return shapes


def test_every_schema_before_this_one_is_there() -> None:
    assert list(range(1, VERSION)) == _OLD


@pytest.mark.parametrize("schema", _OLD)
def test_an_old_store_is_refused_then_upgraded_and_works(
    tmp_path: Path, schema: int, database: str
) -> None:
    if database == "postgresql" and schema > 1:
        pytest.skip("one store is enough: it takes every step")
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    new.mkdir()
    make(old, schema)
    for use in (open_store, lambda folder: report.reading(url_of(folder)).__enter__()):
        with pytest.raises(StoreError, match="upgrade it: canonry upgrade --store"):
            use(old)
    notices: list[str] = []
    assert migrations.upgrade(url_of(old), notices.append) == schema
    assert len(notices) == VERSION - schema
    open_store(new).close()
    assert shape(old) == shape(new)
    with report.reading(url_of(old)) as connection:
        assert_counts_are_right(connection)
        found = report.status(connection)
    assert found["urls"] == {"queued": 2, "fetched": 1, "redirected": 1, "failed": 1, "held": 2}
    assert found["held"] == {"robots": 1, "too-deep": 1}
    with report.reading(url_of(old)) as connection:
        failed = host_list.hosts_in(connection, order="error").rows
        assert [host.error for host in failed] == ["timeout"]
    store = open_store(old)
    urls = ["http://a.example/1", "http://b.example/deep", "http://new.example/"]
    assert [answer.new for answer in admit(store, urls)] == [False, False, True]
    assert {host.name for host in lease(store)} == {"a.example", "c.example", "new.example"}
    store.close()
    assert migrations.upgrade(url_of(old), notices.append) == VERSION


_ODD = """
INSERT INTO hosts (id, name, pending, ready_at, lease_until) VALUES
    (91, 'a.test', 0, 0, 0), (92, '', 0, 0, 0), (93, 'ü.test', 0, 0, 0);
INSERT INTO urls (id, url, host_id, state, depth, hops, attempts, due, found_at, priority)
SELECT 900 + length(url), url, host_id, 4, 1, 2, 3, 4.5, 5.5, -2 FROM (
    SELECT 'https://a.test/' AS url, 91 AS host_id UNION ALL SELECT 'http://a.test/b2', 91
    UNION ALL SELECT 'https://a.test:8/', 91 UNION ALL SELECT 'https://a.test.org/', 91
    UNION ALL SELECT 'urn:x', 92 UNION ALL SELECT 'https://ü.test/é/a', 93
    UNION ALL SELECT 'https://A.test/with/more', 91 UNION ALL SELECT 'ftp://a.test/1234567890', 99
) AS odd;
CREATE INDEX urls_by_host ON urls (host_id, id);
"""


def everything(folder: Path) -> dict[str, list[tuple[object, ...]]]:
    """Return all that a store holds of URLs, keys and hosts."""
    engine = open_engine(url_of(folder))
    columns = "id, url, spelling, host_id, state, reason, depth, hops, source_id, attempts, due"
    questions = (
        f"SELECT {columns}, found_at, priority FROM urls ORDER BY id",  # noqa: S608 - our names
        "SELECT key, url_id FROM keys ORDER BY key",
        "SELECT id, name, pending, ready_at, lease_until, blocked FROM hosts ORDER BY id",
    )
    with engine.begin() as connection:
        found = {
            question: [tuple(row) for row in connection.exec_driver_sql(question)]
            for question in questions
        }
    engine.dispose()
    return found


def test_urls_and_keys_of_schema_7_stay_as_they_are(tmp_path: Path) -> None:
    make(tmp_path, 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("canonry.storage.migrations.upgrades.VERSION", 7)
        migrations.upgrade(url_of(tmp_path), lambda _message: None)
    engine = open_engine(url_of(tmp_path))
    with engine.begin() as connection:
        for statement in _ODD.split(";")[:-1]:
            connection.exec_driver_sql(statement)
    engine.dispose()
    before = everything(tmp_path)
    assert [len(rows) for rows in before.values()] == [15, 7, 6]
    migrations.upgrade(url_of(tmp_path), lambda _message: None)
    assert everything(tmp_path) == before
    assert "urls_by_host" in {index["name"] for index in inspect(engine).get_indexes("url_rows")}
    with engine.begin() as connection:
        query = "SELECT tail FROM url_rows WHERE id > 900 ORDER BY id"
        tails = connection.exec_driver_sql(query).scalars().all()
    engine.dispose()
    assert tails == [
        *("urn:x", "/", ":/b2", "https://a.test:8/", "/é/a", "https://a.test.org/"),
        *("ftp://a.test/1234567890", "https://A.test/with/more"),
    ]


def test_rules_of_schema_10_keep_their_counts_and_their_evidence(tmp_path: Path) -> None:
    make(tmp_path, 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("canonry.storage.migrations.upgrades.VERSION", 10)
        migrations.upgrade(url_of(tmp_path), lambda _message: None)
    script = (_SCHEMAS / "10.sql").read_text(encoding="utf-8").splitlines()
    engine = open_engine(url_of(tmp_path))
    with engine.begin() as connection:
        for statement in script:
            if statement.startswith(("INSERT INTO rules ", "INSERT INTO evidence ")):
                connection.exec_driver_sql(statement)
    engine.dispose()
    migrations.upgrade(url_of(tmp_path), lambda _message: None)
    with report.reading(url_of(tmp_path)) as connection:
        rules = rule_rows.in_states(connection)
        found = {rule.rewrite.family + rule.rewrite.old: rule for rule in rules}
        pairs = list(ledger.pairs_of(connection, [rule.id for rule in rules]))
        evidence = {rule.rewrite: rule for rule in evidence_of(connection, rules)}
    states = {name: (rule.state, rule.agree, rule.disagree) for name, rule in found.items()}
    assert states == {
        "trailing-slash": ("active", 30, 0),
        "parameter-irrelevantref": ("revoked", 20, 2),
        "parameter-irrelevanttab": ("candidate", 6, 0),  # it was on probation
        "letter-case": ("revoked", 4, 0),  # it was frozen
        "index-file": ("suspended", 12, 1),
        "double-slash": ("candidate", 1, 0),
    }
    h = "http://a.example"
    assert found["trailing-slash"].samples == [(f"{h}/p", f"{h}/p/"), (f"{h}/q", f"{h}/q/")]
    ref = found["parameter-irrelevantref"]
    assert ref.against == [(f"{h}/y", f"{h}/y?ref=1"), (f"{h}/z", f"{h}/z?ref=1")]
    assert {pair.at for pair in pairs} == {9.0}, "when its rule had the last evidence"
    assert len(pairs) == 10
    assert {rule.tests for rule in rules} == {0}
    for rule in rules:
        counted = evidence[rule.rewrite].tally
        assert (counted.same, counted.different) == (rule.agree, rule.disagree)
        assert counted.own_word == rule.moved


def test_what_is_deeper_than_schema_12_can_say_is_as_deep_as_that(tmp_path: Path) -> None:
    make(tmp_path, 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("canonry.storage.migrations.upgrades.VERSION", 11)
        migrations.upgrade(url_of(tmp_path), lambda _message: None)
    engine = open_engine(url_of(tmp_path))
    with engine.begin() as connection:
        queued = "SELECT id FROM url_rows WHERE state = 0 ORDER BY id"
        first, second = connection.exec_driver_sql(queued).scalars().all()
        connection.exec_driver_sql("DELETE FROM counts WHERE kind = 'levels'")
        for url_id, depth in ((first, 40_000), (second, 50_000)):
            given = {"id": url_id, "depth": depth, "name": str(depth)}
            change = "UPDATE url_rows SET depth = :depth, attempts = 70000 WHERE id = :id"
            connection.execute(text(change), given)
            new = "INSERT INTO counts (kind, name, reason, count) VALUES ('levels', :name, '', 1)"
            connection.execute(text(new), given)
    engine.dispose()
    migrations.upgrade(url_of(tmp_path), lambda _message: None)
    with report.reading(url_of(tmp_path)) as connection:
        assert_counts_are_right(connection)
        rows = connection.exec_driver_sql("SELECT depth, attempts FROM urls WHERE state = 0")
        assert [tuple(row) for row in rows] == [(32_767, 32_767)] * 2


_WITH_ANOTHER_SCHEMA = """
import sys
from sqlalchemy import Column, Integer, Table
from canonry.storage import migrations
from canonry.storage.sql import schema

for table in schema.metadata.tables.values():
    table.append_column(Column("from_the_future", Integer, nullable=False))
Table("future", schema.metadata, Column("id", Integer, primary_key=True))
for name in ("counts", "rules", "budgets"):
    schema.metadata.remove(schema.metadata.tables[name])
schema.State = None
migrations.upgrade(sys.argv[1], print)
"""


def test_the_current_schema_cannot_change_an_old_step(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    new.mkdir()
    make(old, 1)
    subprocess.run([sys.executable, "-c", _WITH_ANOTHER_SCHEMA, url_of(old)], check=True)
    open_store(new).close()
    assert shape(old) == shape(new)
    with report.reading(url_of(old)) as connection:
        assert_counts_are_right(connection)


@pytest.mark.sqlite
def test_a_later_schema_is_left_alone(tmp_path: Path) -> None:
    open_store(tmp_path).close()
    with closing(sqlite3.connect(tmp_path / "store.db")) as connection, connection:
        connection.execute("UPDATE meta SET value = '99' WHERE name = 'schema'")
    with pytest.raises(StoreError, match="it has schema 99, and this program reads up to"):
        migrations.upgrade(url_of(tmp_path), print)


@pytest.mark.sqlite
def test_the_command(tmp_path: Path) -> None:
    make(tmp_path, 1)
    words = [sys.executable, "-m", "canonry"]
    store = ["--store", url_of(tmp_path)]
    status = subprocess.run([*words, "status", *store], capture_output=True, check=False)
    assert status.returncode == 1
    assert b"canonry upgrade" in status.stderr
    done = subprocess.run([*words, "upgrade", *store], capture_output=True, check=True)
    assert b"schema 1 is now schema" in done.stderr
    subprocess.run([*words, "status", *store], capture_output=True, check=True)


@pytest.mark.sqlite
def test_a_missing_store_is_not_created(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="there is no store"):
        migrations.upgrade(url_of(tmp_path), print)
    assert not list(tmp_path.iterdir())
