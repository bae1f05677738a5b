"""The filter is a cache: whatever becomes of its file, the answers stay the same."""

import random
from pathlib import Path

import pytest
from support.stores import admit, open_store

_KNOWN = [f"http://a.example/{n}" for n in range(300)]
_NEW = [f"http://b.example/{n}" for n in range(50)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a store that knows some URLs."""
    store = open_store(tmp_path)
    admit(store, _KNOWN)
    store.close()
    return tmp_path


def answers_are_right(folder: Path) -> list[str]:
    """Check the answers of a store opened anew; return what it said."""
    said: list[str] = []
    store = open_store(folder, notify=said)
    given = admit(store, _KNOWN + _NEW)
    assert [answer.new for answer in given] == [False] * len(_KNOWN) + [True] * len(_NEW)
    store.close()
    return said


def test_a_good_file_is_used_in_silence(folder: Path) -> None:
    assert (folder / "store.db.bloom").exists()
    assert answers_are_right(folder) == []


def test_a_missing_file_is_made_anew(folder: Path) -> None:
    (folder / "store.db.bloom").unlink()
    assert "there is no filter file; making it anew from 300 keys" in answers_are_right(folder)


@pytest.mark.parametrize("seed", range(30))
def test_a_file_with_one_bit_turned_is_made_anew(folder: Path, seed: int) -> None:
    path = folder / "store.db.bloom"
    data = bytearray(path.read_bytes())
    rng = random.Random(seed)
    place = rng.randrange(100) if seed < 20 else rng.randrange(len(data))
    data[place] ^= 1 << rng.randrange(8)
    path.write_bytes(data)
    assert "making it anew" in answers_are_right(folder)[0]


@pytest.mark.parametrize("size", [0, 1, 50, 1000])
def test_a_short_file_is_made_anew(folder: Path, size: int) -> None:
    path = folder / "store.db.bloom"
    path.write_bytes(path.read_bytes()[:size])
    assert "making it anew" in answers_are_right(folder)[0]


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
    assert "belongs to another store" in answers_are_right(folder)[0]


def test_a_file_from_before_the_table_was_put_back_is_not_used(folder: Path) -> None:
    database = folder / "store.db"
    kept = database.read_bytes()
    store = open_store(folder)
    admit(store, ["http://c.example/"])
    store.close()
    database.write_bytes(kept)
    assert "ahead of the table" in answers_are_right(folder)[0]
