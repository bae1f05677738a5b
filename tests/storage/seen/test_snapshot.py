"""The filter is a cache: whatever happens to its file, the answers stay the same."""

import random
from collections.abc import Sequence
from pathlib import Path

import psycopg
import pytest
from support import databases
from support.databases import url_of
from support.stores import admit, candidate, open_store

from canonry.storage import owned_files
from canonry.storage.seen import filter_file
from canonry.storage.seen.bloom import KeyFilter

_KNOWN = [f"http://a.example/{n}" for n in range(300)]
_NEW = [f"http://b.example/{n}" for n in range(50)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a store that knows some URLs."""
    store = open_store(tmp_path)
    admit(store, _KNOWN)
    store.close()
    return tmp_path


def notices_of_right_answers(
    folder: Path, known: Sequence[str] = _KNOWN, new: Sequence[str] = _NEW
) -> list[str]:
    """Open the store again, check its answers, and return its notices."""
    notices: list[str] = []
    store = open_store(folder, notify=notices)
    given = admit(store, [*known, *new])
    assert [answer.new for answer in given] == [False] * len(known) + [True] * len(new)
    store.close()
    return notices


def test_a_good_file_is_used_without_a_notice(folder: Path) -> None:
    assert (folder / "store.db.bloom").exists()
    assert notices_of_right_answers(folder) == []


def test_a_missing_file_is_rebuilt(folder: Path) -> None:
    (folder / "store.db.bloom").unlink()
    assert "there is no filter file; rebuilding it from 300 keys" in notices_of_right_answers(
        folder
    )


@pytest.mark.parametrize("start", [0, 8, 4096, -512])
def test_a_file_with_lost_sectors_is_rebuilt(folder: Path, start: int) -> None:
    path = folder / "store.db.bloom"
    data = bytearray(path.read_bytes())
    start %= len(data)
    data[start : start + 512] = bytes(len(data[start : start + 512]))
    was_zero = bytes(data) == path.read_bytes()
    path.write_bytes(data)
    assert any("rebuilding" in said for said in notices_of_right_answers(folder)) != was_zero


@pytest.mark.parametrize("seed", range(30))
def test_a_file_with_one_flipped_bit_is_rebuilt(folder: Path, seed: int) -> None:
    path = folder / "store.db.bloom"
    data = bytearray(path.read_bytes())
    rng = random.Random(seed)
    place = rng.randrange(100) if seed < 20 else rng.randrange(len(data))
    data[place] ^= 1 << rng.randrange(8)
    path.write_bytes(data)
    assert "rebuilding it" in notices_of_right_answers(folder)[0]


@pytest.mark.parametrize("size", [0, 1, 50, 1000])
def test_a_truncated_file_is_rebuilt(folder: Path, size: int) -> None:
    path = folder / "store.db.bloom"
    path.write_bytes(path.read_bytes()[:size])
    assert "rebuilding it" in notices_of_right_answers(folder)[0]


def test_a_stale_file_catches_up(folder: Path) -> None:
    path = folder / "store.db.bloom"
    old = path.read_bytes()
    store = open_store(folder)
    admit(store, ["http://c.example/"])
    store.close()
    path.write_bytes(old)
    store = open_store(folder)
    assert not admit(store, ["http://c.example/"])[0].new
    store.close()


def test_another_stores_file_is_not_used(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = tmp_path_factory.mktemp("other")
    store = open_store(other)
    admit(store, _NEW)
    store.close()
    (folder / "store.db.bloom").write_bytes((other / "store.db.bloom").read_bytes())
    assert "belongs to another store" in notices_of_right_answers(folder)[0]


def test_a_file_that_is_ahead_of_a_restored_table_is_not_used(folder: Path) -> None:
    database = folder / "store.db"
    kept = database.read_bytes()
    store = open_store(folder)
    admit(store, ["http://c.example/"])
    store.close()
    database.write_bytes(kept)
    assert "ahead of the table" in notices_of_right_answers(folder)[0]


def test_a_file_from_before_a_restore_is_not_used_after_the_table_grew_past_it(
    folder: Path,
) -> None:
    database, file = folder / "store.db", folder / "store.db.bloom"
    kept = database.read_bytes()
    store = open_store(folder)
    admit(store, [f"http://c.example/{n}" for n in range(20)])
    store.close()
    later = file.read_bytes()
    database.write_bytes(kept)
    store = open_store(folder)
    admit(store, [f"http://d.example/{n}" for n in range(30)])
    store.close()
    file.write_bytes(later)
    assert "did not save this filter file" in notices_of_right_answers(folder)[0]


def test_a_refused_file_is_deleted_at_once(folder: Path) -> None:
    (folder / "store.db.bloom").write_bytes(b"not a filter, but long enough for its header" * 9)
    store = open_store(folder)  # as if it were killed before it saves
    assert not (folder / "store.db.bloom").exists()
    store.close()


def test_each_of_several_files_of_one_store_is_known(folder: Path) -> None:
    """Machines that share a PostgreSQL have a file each."""
    file = folder / "store.db.bloom"
    own = file.read_bytes()
    for n in range(5):
        store = open_store(folder)
        admit(store, [f"http://c.example/{n}"])
        store.close()
    file.write_bytes(own)
    assert notices_of_right_answers(folder) == []


def test_the_latest_file_is_known_however_many_there_were(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filter_file, "_SAVES_KNOWN", 3)
    known = [*_KNOWN]
    for n in range(5):
        new = f"http://c.example/{n}"
        assert notices_of_right_answers(folder, known, [new]) == []
        known.append(new)


def test_a_file_is_written_only_for_new_keys(folder: Path) -> None:
    file = folder / "store.db.bloom"
    before = file.read_bytes()
    store = open_store(folder)
    admit(store, _KNOWN)
    store.close()
    assert file.read_bytes() == before


def test_what_a_killed_process_left_is_taken_over(folder: Path) -> None:
    (folder / "store.db.bloom.tmp").write_bytes(b"half" * 10_000_000)
    before = (folder / "store.db.bloom").read_bytes()
    store = open_store(folder)
    admit(store, _NEW)
    store.close()
    assert not (folder / "store.db.bloom.tmp").exists()
    assert (folder / "store.db.bloom").read_bytes() not in {before, b""}


def test_what_another_process_writes_stays(folder: Path) -> None:
    notices: list[str] = []
    with owned_files.owned(folder / "store.db.bloom.tmp") as other:
        store = open_store(folder, notify=notices)
        admit(store, _NEW)
        store.close()
        assert any("another process is writing it" in one for one in notices)
        owned_files.discard(other, folder / "store.db.bloom.tmp")


@pytest.mark.every_database
def test_a_filter_that_lacks_keys_is_rebuilt_and_nothing_is_lost(tmp_path: Path) -> None:
    notices: list[str] = []
    store = open_store(tmp_path, notify=notices)
    admit(store, _KNOWN)
    store.close()
    store = open_store(tmp_path, notify=notices)
    store.seen.filter = KeyFilter()  # it says "surely not" of every key
    with store.transaction() as connection:
        own = store.admit_in(connection, [candidate(url) for url in _NEW[:5]], 0.0)
        more = store.admit_in(connection, [candidate(url) for url in _KNOWN + _NEW], 0.0)
        again = store.admit_in(connection, [candidate(url) for url in _NEW], 0.0)
    assert [a.new for a in own] == [True] * 5
    assert [a.new for a in more] == [False] * (len(_KNOWN) + 5) + [True] * (len(_NEW) - 5)
    assert [a.url_id for a in again] == [a.url_id for a in more[len(_KNOWN) :]]
    assert notices == ["the filter lacks keys that the table has; rebuilding it, nothing is lost"]
    assert not any(a.new for a in admit(store, _KNOWN + _NEW))
    store.close()
    assert notices_of_right_answers(tmp_path, _KNOWN + _NEW, ["http://e.example/"]) == notices[1:]


@pytest.mark.every_database
def test_a_rebuilt_filter_survives_a_rollback(tmp_path: Path) -> None:
    other = open_store(tmp_path)
    admit(other, _KNOWN)
    store = open_store(tmp_path)
    store.seen.filter = KeyFilter()
    with pytest.raises(RuntimeError), store.transaction() as connection:
        store.admit_in(connection, [candidate(_NEW[0])], 0.0)
        store.admit_in(connection, [candidate(url) for url in _KNOWN + _NEW], 0.0)
        raise RuntimeError
    assert all(a.new for a in admit(other, _NEW[:3]))
    assert [a.new for a in admit(store, _NEW[:4])] == [False] * 3 + [True]
    store.close()
    other.close()


def test_a_restored_postgresql_does_not_use_the_file_of_its_future(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(databases.SERVER, server)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    store = open_store(tmp_path)
    admit(store, _KNOWN)
    store.close()
    name = url_of(tmp_path).partition("?")[0].rpartition("/")[2]
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}b TEMPLATE {name}")  # the backup
        store = open_store(tmp_path)
        admit(store, [f"http://c.example/{n}" for n in range(80)])
        store.close()
        connection.execute(f"DROP DATABASE {name}")
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {name}b")
    [file] = (tmp_path / "cache" / "canonry").iterdir()
    later = file.read_bytes()
    notices: list[str] = []
    store = open_store(tmp_path, notify=notices)
    assert "ahead of the table" in notices[0]
    assert not file.exists()
    admit(store, [f"http://d.example/{n}" for n in range(90)])
    file.write_bytes(later)  # as if it had not been deleted
    found = notices_of_right_answers(tmp_path)  # as if the other were killed: it saves nothing
    assert "did not save this filter file" in found[0]
    store.close()
