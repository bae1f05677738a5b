"""A damaged text in a column: the error names the table and the row."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.crawls import crawl, page

from canonry.canon.learned import Rewrite
from canonry.crawler.cli.commands import main
from canonry.storage.learned import rule_rows
from canonry.storage.learned.rule_rows import TrackedRule
from canonry.storage.sql.engine import open_engine

RULE = TrackedRule(Rewrite("a.example", "trailing-slash", new="slash"), state="active", agree=20)


def damage(folder: Path, table: str, column: str, old: bytes, new: bytes) -> None:
    """Change a text as a broken disk would."""
    with closing(sqlite3.connect(folder / "store.db")) as connection, connection:
        connection.text_factory = bytes
        rows = connection.execute(f"SELECT rowid, {column} FROM {table}").fetchall()  # noqa: S608
        for row, text in rows:
            assert old in text
            changed = f"UPDATE {table} SET {column} = CAST(? AS TEXT) WHERE rowid = ?"  # noqa: S608
            connection.execute(changed, (text.replace(old, new, 1), row))
    connection.close()


@pytest.mark.parametrize(("old", "new"), [(b'{"', b'["'), (b'":', b'"z')])
def test_a_job(tmp_path: Path, old: bytes, new: bytes) -> None:
    crawl(tmp_path, lambda _head: page())
    damage(tmp_path, "jobs", "settings", old, new)
    store = ["--store", f"sqlite:///{tmp_path / 'store.db'}"]
    for words in (["status"], ["why", "http://a.example/"], ["crawl", "http://a.example/"]):
        done = CliRunner().invoke(main, [*words, *store])
        assert done.exit_code == 1, done.output
        assert "row 1 of table jobs is damaged" in done.stderr


@pytest.mark.parametrize(
    ("old", "new"), [(b'{"', b'["'), (b"family", b"famjly"), (b"trail", b"trial")]
)
def test_a_rule(tmp_path: Path, old: bytes, new: bytes) -> None:
    crawl(tmp_path, lambda _head: page())
    store = ["--store", f"sqlite:///{tmp_path / 'store.db'}"]
    engine = open_engine(store[1])
    with engine.begin() as connection:
        rule_rows.put(connection, [RULE])
    engine.dispose()
    damage(tmp_path, "rules", "definition", old, new)
    commands = (
        ["rules", "list"],
        ["canon", "http://a.example/b"],
        ["crawl", "http://a.example/", "--allow-private"],
    )
    for words in commands:
        done = CliRunner().invoke(main, [*words, *store])
        assert done.exit_code == 1, done.output
        assert f"row {RULE.id} of table rules is damaged" in done.stderr
