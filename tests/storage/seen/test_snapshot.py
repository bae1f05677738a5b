"""The filter is a cache: whatever happens to its file, the answers stay the same."""

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


def notices_of_right_answers(folder: Path) -> list[str]:
    """Open the store again, check its answers, and return its notices."""
    notices: list[str] = []
    store = open_store(folder, notify=notices)
    given = admit(store, _KNOWN + _NEW)
    assert [answer.new for answer in given] == [False] * len(_KNOWN) + [True] * len(_NEW)
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
