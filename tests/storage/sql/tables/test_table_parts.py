"""Parts of tables: an index has its options where it is made, and nothing is loaded for others."""

import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import Column, Index, Integer, MetaData, Table, inspect, text
from support.databases import url_of
from support.stores import admit, open_store

from canonry.storage.sql.engine import open_engine
from canonry.storage.sql.tables.table_parts import hash_index, partial_index


@pytest.mark.every_database
def test_indexes_have_the_options_of_the_database_that_makes_them(tmp_path: Path) -> None:
    table = Table("odd", MetaData(), Column("a", Integer), Column("b", Integer))
    partial_index(Index("some", table.c.a), text("b > 7"))
    hash_index(Index("hashed", table.c.a))
    engine = open_engine(url_of(tmp_path))
    with engine.begin() as connection:
        table.create(connection)
        found = {index["name"]: index for index in inspect(connection).get_indexes("odd")}
    options = {name: index.get("dialect_options", {}) for name, index in found.items()}
    name = engine.dialect.name
    assert "b > 7" in str(options["some"][f"{name}_where"])
    assert ("hashed" in found) == (name == "postgresql")
    assert options.get("hashed", {}).get("postgresql_using", "hash") == "hash"
    engine.dispose()


_RUN = """
import sys
from canonry.crawler.cli.commands import main
try:
    main(sys.argv[1:])
except SystemExit as ended:
    assert not ended.code
slow = ("numpy", "sqlalchemy.dialects.postgresql", "pyarrow")
print(*("loaded " + name for name in slow if name in sys.modules))
"""


@pytest.mark.parametrize("words", [["status"], ["why", "http://a.example/"]])
def test_reading_a_store_loads_nothing_large_that_it_needs_not(
    tmp_path: Path, words: list[str]
) -> None:
    store = open_store(tmp_path)
    admit(store, ["http://a.example/"])
    store.close()
    done = subprocess.run(
        [sys.executable, "-c", _RUN, *words, "--store", str(tmp_path / "store.db")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == ""
