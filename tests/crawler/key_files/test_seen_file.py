"""The file of keys: it answers like a set, and a kill or a damage never makes it answer wrongly."""

import os
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.sites import run_command
from support.strategies import tries

from canonry.canon.policies import from_toml, preset
from canonry.crawler.key_files import key_file, key_writer
from canonry.crawler.key_files.key_file import (
    KeyFileError,
    opened_keys,
)
from canonry.crawler.key_files.seen_file import SeenFile, extending, policy_of_keys
from canonry.crawler.key_files.sorted_keys import as_keys
from canonry.crawler.settings import SettingsError

WEB = preset("web")


def add(seen: SeenFile, keys: list[bytes]) -> None:
    """Add those of some keys that are new."""
    fresh = Path(f"{seen.path}.fresh")
    new = as_keys(b"".join(sorted(set(keys))))
    fresh.write_bytes(new[~seen.among(new)].tobytes())
    seen.extend(fresh, "a job")


def some_keys(seed: int, count: int) -> list[bytes]:
    rng = random.Random(seed)
    return [rng.randbytes(16) for _ in range(count)]


def held_in(path: Path) -> list[bytes]:
    with opened_keys(str(path)) as file:
        return [key.tobytes() for chunk in file.chunks() for key in chunk]


_NUMBERS = range(130)
_KEY = st.sampled_from(_NUMBERS[:120]).map(lambda n: (n % 40).to_bytes(8) + n.to_bytes(8))


@given(st.lists(st.lists(_KEY, max_size=40), min_size=1, max_size=6), st.sampled_from([1, 4, 1000]))
@settings(max_examples=tries(0.08), deadline=None)
def test_it_answers_like_a_set(
    tmp_path_factory: pytest.TempPathFactory, days: list[list[bytes]], share: int
) -> None:
    """With pages of three keys, so that keys with one first half are on several."""
    path = tmp_path_factory.mktemp("keys") / "seen.keys"
    known: set[bytes] = set()
    pairs = [(n % 40, n) for n in _NUMBERS] + [(n, 7) for n in range(41)]
    asked = as_keys(b"".join(high.to_bytes(8) + low.to_bytes(8) for high, low in pairs))
    with pytest.MonkeyPatch.context() as patch:
        for module in (key_file, key_writer):
            patch.setattr(module, "KEYS_IN_PAGE", 3)
            patch.setattr(module, "PAGE", 48)
        patch.setattr(key_file, "_MOST_PAGES", 4)
        patch.setattr(key_file, "_GAP", 1)
        patch.setattr(os, "fsync", lambda _number: None)
        patch.setattr(key_writer, "_SHARE", 1 / share)
        for keys in days:
            with extending(str(path), WEB) as seen:
                wanted = [key.tobytes() in known for key in asked]
                assert seen.among(asked).tolist() == wanted
                seen.hold()
                assert seen.among(asked).tolist() == wanted
                add(seen, keys)
            known |= set(keys)
            assert held_in(path) == sorted(known)


def test_a_small_job_reads_little_of_a_large_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(tmp_path / "seen.keys")
    with extending(path, WEB) as seen:
        add(seen, some_keys(1, 100_000))
    read = [0]
    pread = os.pread

    def counted(number: int, size: int, at: int) -> bytes:
        read[0] += size
        return pread(number, size, at)

    monkeypatch.setattr(os, "pread", counted)
    with extending(path, WEB) as seen:
        wanted = as_keys(b"".join([*some_keys(1, 4), *some_keys(2, 4)]))
        assert seen.among(wanted).tolist() == [True] * 4 + [False] * 4
        add(seen, some_keys(2, 4))
    assert read[0] < Path(path).stat().st_size / 10
    with opened_keys(path) as file:
        assert [part.keys for part in file.state.parts] == [100_000, 4]
    assert held_in(Path(path)) == sorted([*some_keys(1, 100_000), *some_keys(2, 4)])


def test_much_that_is_new_makes_the_file_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(key_writer, "_MOST_PARTS", 5)
    monkeypatch.setattr(key_writer, "_KEPT_JOBS", 2)
    path = tmp_path / "seen.keys"
    known: list[bytes] = []
    shapes = []
    for seed, count in enumerate((0, 1000, 9, 9, 9, 9, 9, 400, 1, 2)):
        with extending(str(path), WEB) as seen:
            add(seen, some_keys(seed, count))
        known += some_keys(seed, count)
        with opened_keys(str(path)) as file:
            shapes.append([part.keys for part in file.state.parts])
        assert held_in(path) == sorted(known)
    assert shapes[:3] == [[], [1000], [1000, 9]]
    assert shapes[5] == [1000, 9, 9, 9, 9]
    assert shapes[6:] == [[1027, 9, 9], [1027, 9, 9, 400], [1027, 9, 9, 400, 1], [1445, 1, 2]]


class Killed(BaseException):
    """In the place of SIGKILL."""


@pytest.mark.parametrize("count", [9, 4000])
def test_killed_at_any_write_the_file_has_all_new_keys_or_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    """Both where keys are appended, and where the file is written anew."""
    monkeypatch.setattr(key_writer, "_MOST_PARTS", 16 if count == 9 else 1)
    path = tmp_path / "seen.keys"
    old, new = some_keys(1, 1000), some_keys(2, count)
    with extending(str(path), WEB) as seen:
        add(seen, old)
    before = path.read_bytes()
    ends = set()
    for left in range(20):
        path.write_bytes(before)
        ended = killed_after(left, path, new, monkeypatch)
        found = held_in(path)
        assert found in (sorted(old), sorted(old + new))
        ends.add(len(found))
        with extending(str(path), WEB) as seen:  # what was left behind is no hindrance
            add(seen, new)
        assert held_in(path) == sorted(old + new)
        if ended:
            break
    assert left > 3
    assert ends == {1000, 1000 + count}


def killed_after(left: int, path: Path, keys: list[bytes], monkeypatch: pytest.MonkeyPatch) -> bool:
    """Add keys in a process that is killed before so many calls; return True if it ended."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    try:
        calls = [left]

        def counted(call: object) -> object:
            def run(*args: object) -> object:
                if calls[0] == 0:
                    os.kill(os.getpid(), 9)
                calls[0] -= 1
                return call(*args)  # type: ignore[operator]

            return run

        for name in ("fsync", "pwrite"):
            monkeypatch.setattr(os, name, counted(getattr(os, name)))
        monkeypatch.setattr(Path, "replace", counted(Path.replace))
        monkeypatch.setattr(key_writer, "write_all", counted(key_writer.write_all))
        with extending(str(path), WEB) as seen:
            add(seen, keys)
        os._exit(0)
    finally:
        os._exit(1)


def test_a_damage_is_told_wherever_it_is(tmp_path: Path) -> None:
    """A changed byte, or a lost end: nothing is answered from it, and nothing is written."""
    path = tmp_path / "seen.keys"
    keys = some_keys(1, 3000)
    with extending(str(path), WEB) as seen:
        add(seen, keys)
    whole = path.read_bytes()
    with opened_keys(str(path)) as file:
        end = file.state.end
    assert end == len(whole)
    for at in [3, 20, 4000, 12_288, 30_000, end - 200, end - 1]:
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :])
        refused(path, keys)
    for size in (0, 10, 5000, 12_288, 20_000, end - 1):
        path.write_bytes(whole[:size])
        refused(path, keys)
    path.write_bytes(whole + b"what a killed process has left")
    assert held_in(path) == sorted(keys)


@pytest.mark.parametrize("at", [4100, 8191, 8192, 12_000])
@pytest.mark.parametrize("size", [1, 512, 4096])
def test_a_damaged_state_forgets_no_key_and_is_told(tmp_path: Path, at: int, size: int) -> None:
    """A flipped byte, a lost sector, a lost page: of the newest state, there is another one."""
    path = tmp_path / "seen.keys"
    keys = [some_keys(1, 3000), some_keys(2, 200), some_keys(3, 50)]
    for some in keys[:2]:
        with extending(str(path), WEB) as seen:
            add(seen, some)
    data = bytearray(path.read_bytes())
    start = at // size * size
    data[start : start + size] = bytes(size) if size > 1 else bytes([data[at] ^ 1])
    path.write_bytes(data)
    assert held_in(path) == sorted(keys[0] + keys[1])
    told = run_command("keys", "info", "seen.keys", "--check", folder=tmp_path)
    assert told.returncode == 1
    assert b"seen.keys: one of the two copies of its state is damaged" in told.stderr
    with extending(str(path), WEB) as seen:  # writes both
        add(seen, keys[2])
    assert held_in(path) == sorted([*keys[0], *keys[1], *keys[2]])
    assert run_command("keys", "info", "seen.keys", "--check", folder=tmp_path).returncode == 0


def refused(path: Path, keys: list[bytes]) -> None:
    """Check that a damaged file is refused, and stays as it is."""
    before = path.read_bytes()
    with pytest.raises(KeyFileError, match=r"seen\.keys: "), extending(str(path), WEB) as seen:
        assert seen.among(as_keys(b"".join(sorted(set(keys))))).all()
        add(seen, some_keys(3, 5000))
    assert path.read_bytes() == before


def test_one_process_at_a_time_extends_a_file(tmp_path: Path) -> None:
    path = str(tmp_path / "seen.keys")
    with extending(path, WEB) as seen:
        with pytest.raises(SettingsError, match="another process is writing"):  # noqa: SIM117
            with extending(path, WEB):
                pass
        add(seen, some_keys(1, 10))
        with opened_keys(path) as file:  # others may read it
            assert len(file) == 10
    with extending(path, WEB) as seen:
        assert seen.state.keys == 10
    assert {name.name for name in tmp_path.iterdir()} == {"seen.keys", "seen.keys.fresh"}


def test_a_link_to_a_file_stays_one(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    link = tmp_path / "seen.keys"
    link.symlink_to(tmp_path / "data/real.keys")
    for seed in range(2):
        with extending(str(link), WEB) as seen:
            add(seen, some_keys(seed, 10))
    assert link.is_symlink()
    assert len(held_in(tmp_path / "data/real.keys")) == 20


_OWN = 'name = "own"\nversion = 1\nextends = "web@1"\n'


def test_a_file_belongs_to_one_policy(tmp_path: Path) -> None:
    path = str(tmp_path / "seen.keys")
    assert policy_of_keys(path, None).label == WEB.label
    with extending(path, preset("search")) as seen:
        add(seen, some_keys(1, 10))
    assert policy_of_keys(path, None) == preset("search")
    assert policy_of_keys(path, "search") == preset("search")
    with pytest.raises(SettingsError, match=r"of policy search@1, not web@1.*--policy search@1"):
        policy_of_keys(path, "web")
    with pytest.raises(SettingsError, match="of policy search@1, not web@1"):  # noqa: SIM117
        with extending(path, WEB):
            pass


def test_a_policy_of_ones_own_is_known_by_its_content(tmp_path: Path) -> None:
    path, file = str(tmp_path / "seen.keys"), tmp_path / "own.toml"
    file.write_text(_OWN)
    with extending(path, from_toml(_OWN, "own.toml")) as seen:
        add(seen, some_keys(1, 10))
    assert policy_of_keys(path, str(file)).label == "own/1"
    with pytest.raises(SettingsError, match="keys are of policy own@1; give its file: --policy"):
        policy_of_keys(path, None)
    file.write_text(_OWN + '[remove]\npractice = ["empty-query"]\n')
    with pytest.raises(SettingsError, match="policy own@1 has changed since its keys were made"):
        policy_of_keys(path, str(file))


def test_what_is_no_file_of_keys_is_told(tmp_path: Path) -> None:
    path = tmp_path / "urls.txt"
    path.write_text("http://a.example/\n" * 1000)
    with pytest.raises(KeyFileError, match="it is not a file of keys"):
        policy_of_keys(str(path), None)
    path.write_bytes(b"canonry keys 3\n" + bytes(10_000))
    with pytest.raises(KeyFileError, match="its format has version 3, and this program reads"):
        policy_of_keys(str(path), None)


def test_keys_are_found_in_any_order(tmp_path: Path) -> None:
    path = str(tmp_path / "seen.keys")
    keys = some_keys(1, 5000)
    wanted = as_keys(b"".join(keys))
    for some in (keys[:4000], keys[4000:4500]):
        with extending(path, WEB) as seen:
            add(seen, some)
    with extending(path, WEB) as seen:
        assert (seen.among(wanted) == (np.arange(5000) < 4500)).all()
