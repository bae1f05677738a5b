"""Prepared statements: what they do is what SQLAlchemy's own execution does, on every database."""

from pathlib import Path

import pytest
from sqlalchemy import bindparam, insert, select, update
from sqlalchemy.exc import IntegrityError, ProgrammingError
from support.stores import open_store

from canonry.storage.rows.request_tables import create_tables, requests
from canonry.storage.sql.prepared import Prepared
from canonry.storage.sql.store_errors import StoreError

pytestmark = pytest.mark.every_database
_c = requests.c
NAMES = [column.name for column in requests.c if column.name != "id"]
PUT = Prepared(insert(requests).inline().values({name: bindparam(name) for name in NAMES}))
TAKE = Prepared(
    update(requests)
    .where(_c.claim == bindparam("it"), _c.standing == 0)
    .values(standing=1)
    .returning(_c.url, _c.body)
)
ROW = dict.fromkeys(NAMES) | {
    "spider": "a\0b", "standing": 0, "rank": -5, "place": 1 << 60, "is_start": 0,
    "fingerprint": b"\0\xff", "claim": b"\0\xff", "url": "http://a.example/%s?é", "depth": 1,
    "hops": 0, "body": b"body\0",
}  # fmt: skip


def test_rows_are_written_and_returned_as_they_are(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    with store.transaction() as connection:
        create_tables(connection)
        assert PUT.run(connection, ROW) == []
        assert TAKE.run(connection, {"it": b"\0\xff"}) == [(ROW["url"], ROW["body"])]
        assert TAKE.run(connection, {"it": b"\0\xff"}) == []
        kept = connection.execute(select(requests)).one()._asdict()
    assert kept | {"id": 0} == ROW | {"id": 0, "standing": 1, "spider": "a%00b"}
    store.close()


def test_the_driver_s_errors_are_sqlalchemy_s(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    with store.transaction() as connection:
        create_tables(connection)
        PUT.run(connection, ROW)
    with (
        pytest.raises(StoreError, match=r"(?i)unique") as failed,
        store.transaction() as connection,
    ):
        PUT.run(connection, ROW)
    assert isinstance(failed.value.__cause__, IntegrityError)
    store.close()


def test_a_parameter_that_is_missing_is_an_error(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    with store.transaction() as connection:
        create_tables(connection)
        with pytest.raises((KeyError, ProgrammingError)):
            TAKE.run(connection, {})
    store.close()
