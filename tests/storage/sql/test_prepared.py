"""Prepared statements: what they do is what SQLAlchemy's own execution does, on every database."""

from pathlib import Path

import pytest
from sqlalchemy import Integer, bindparam, column, insert, literal, select, text, update
from sqlalchemy.exc import DBAPIError, IntegrityError, ProgrammingError
from support.stores import admit, open_store

from canonry.storage.sql.prepared import Prepared
from canonry.storage.sql.schema import State
from canonry.storage.sql.store_errors import StoreError
from canonry.storage.sql.tables.guest_tables import requests

pytestmark = pytest.mark.every_database
_c = requests.c
NAMES = [column.name for column in requests.c if column.name != "id"]
PUT = Prepared(insert(requests).inline().values({name: bindparam(name) for name in NAMES}))
TAKE = Prepared(
    update(requests)
    .where(_c.claim == bindparam("it"), _c.status == 0)
    .values(status=1)
    .returning(_c.url, _c.body)
)
MOVE = Prepared(update(requests).where(_c.claim == bindparam("it")).values(place=bindparam("at")))
ALL = Prepared(select(_c.claim).where(_c.rank > bindparam("least"), _c.place > 1).order_by(_c.id))
BROKEN = Prepared(text("SELECT nothing FROM nowhere"))
ROW = dict.fromkeys(NAMES) | {
    "spider": "a\0b", "status": 0, "rank": -5, "place": 1 << 60, "is_start": 0,
    "fingerprint": b"\0\xff", "claim": b"\0\xff", "url": "http://a.example/%s?é", "depth": 1,
    "hops": 0, "body": b"body\0", "held_until": 0.0,
}  # fmt: skip


def test_rows_are_written_and_returned_as_they_are(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    with store.transaction() as connection:
        assert PUT.run(connection, ROW) == []
        assert TAKE.run(connection, {"it": b"\0\xff"}) == [(ROW["url"], ROW["body"])]
        assert TAKE.run(connection, {"it": b"\0\xff"}) == []
        kept = connection.execute(select(requests)).one()._asdict()
    assert kept | {"id": 0} == ROW | {"id": 0, "status": 1, "spider": "a%00b"}
    store.close()


def test_it_runs_for_many_values_and_says_how_many_rows_changed(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    with store.transaction() as connection:
        PUT.run_many(connection, [ROW | {"claim": b"%d" % n} for n in range(3)])
        taken = [{"at": 1, "it": b"%d" % n} for n in (0, 2, 7)]
        assert MOVE.run_many(connection, taken) == 2
        assert MOVE.run_many(connection, []) == 0
        left = [claim for (claim,) in ALL.run(connection, {"least": -9})]
        assert left == [b"1"]
    store.close()


def test_rows_that_nobody_asks_for_are_not_in_the_way(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    with store.transaction() as connection:
        PUT.run_many(connection, [ROW | {"claim": b"%d" % n} for n in range(3)])
        some = ALL.stream(connection, {"least": -9})
        assert [next(some), next(some)] == [(b"0",), (b"1",)]
        MOVE.run_many(connection, [{"at": 1, "it": b"2"}])
        del some
        assert list(ALL.stream(connection, {"least": 9})) == []
        with pytest.raises(DBAPIError):
            next(BROKEN.stream(connection, {}))
    store.close()


def test_the_driver_s_errors_are_sqlalchemy_s(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    with store.transaction() as connection:
        PUT.run(connection, ROW)
    with (
        pytest.raises(StoreError, match=r"(?i)unique") as failed,
        store.transaction() as connection,
    ):
        PUT.run(connection, ROW)
    assert isinstance(failed.value.__cause__, IntegrityError)
    store.close()


def test_what_a_statement_gives_itself_stays_as_it_is(tmp_path: Path) -> None:
    it = requests.c
    texts = ["it's", "100% %s %(name)s", ":name ? '' $1", "\\'", "é\n", ""]
    put = (
        insert(requests)
        .inline()
        .values({name: bindparam(name) for name in NAMES} | {"spider": "%s'\0", "holder": None})
    )
    named = Prepared(select(*map(literal, texts), it.spider, it.holder).where(it.rank == -5))
    store = open_store(tmp_path)
    with store.transaction() as connection:
        Prepared(put).run(connection, ROW)
        assert named.run(connection, {}) == [(*texts, "%s'%00", None)]
        assert named.run(connection, {}) == [(*texts, "%s'%00", None)], "asked once more"
    store.close()


@pytest.mark.sqlite
def test_partial_indexes_are_of_use(tmp_path: Path) -> None:
    """SQLite refuses a statement for which the index that it names is of no use."""
    rows = select(column("id")).select_from(text("url_rows INDEXED BY urls_queue"))
    here = rows.where(column("host_id") == bindparam("host"))
    queued = Prepared(here.where(column("state", Integer) == State.QUEUED))
    any_state = Prepared(here.where(column("state", Integer) == bindparam("state")))
    store = open_store(tmp_path)
    [seed] = admit(store, ["http://a.example/"])
    with store.transaction() as connection:
        assert queued.run(connection, {"host": 1}) == [(seed.url_id,)]
        with pytest.raises(DBAPIError, match="no query solution"):
            any_state.run(connection, {"host": 1, "state": int(State.QUEUED)})
    store.close()


def test_a_parameter_that_is_missing_is_an_error(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    with store.transaction() as connection, pytest.raises((KeyError, ProgrammingError)):
        TAKE.run(connection, {})
    store.close()
