"""A dedup whose machine lost power, or whose checkpoint was damaged, resumes to the same output."""

import gzip
import os
import random
import shutil
from pathlib import Path

import pytest
from support.disks import Disk

import canonry
from canonry.crawler.batch import checkpoint, job
from canonry.crawler.batch.checkpoint import Workplace
from canonry.crawler.batch.dedup_job import Job
from canonry.crawler.batch.partition import Partitions
from canonry.crawler.batch.preference import Preference

WEB = canonry.Canonicalizer("web")
OUTPUTS = ("out", "map")


class Killed(BaseException):
    """In the place of SIGKILL, or of a loss of power."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make an input, what comes of it without a kill, and let each block save a checkpoint."""
    rng = random.Random(1)
    ends = (b"", b"#x", b"/../1")
    lines = [b"http://h.example/%d%s" % (rng.randrange(900), rng.choice(ends)) for _ in range(3000)]
    (tmp_path / "in").write_bytes(b"\n".join([*lines[:2500], b"no url"]))
    (tmp_path / "more.gz").write_bytes(gzip.compress(b"\n".join(lines[2500:]))[:-20])
    for memory in (0, 1 << 26):
        expected = tmp_path / f"expected-{bool(memory)}"
        expected.mkdir()
        monkeypatch.chdir(expected)
        Path("summary").write_text(repr(job.run(asked(memory))))
    for name, value in (("_SAVE_EVERY", 0.0), ("_SAVING", 0.0)):
        monkeypatch.setattr(checkpoint, name, value)
    monkeypatch.setattr("canonry.crawler.files.line_streams.BLOCK", 1 << 14)
    monkeypatch.setattr(Partitions, "count_for", lambda *_sizes: 2)
    monkeypatch.setattr(os, "fsync", lambda _number: None)
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path


def asked(memory: int = 1 << 26) -> Job:
    prefer = None if memory else Preference.of(["url:shortest", "url:canonical"])
    return Job(
        ["../in", "../more.gz"], WEB, "out", map="map", memory=memory or 1 << 16, prefer=prefer
    )


def resumed(folder: Path, memory: int) -> list[str]:
    """Resume a job; check what it writes, and return what it says."""
    said: list[str] = []
    summary = job.run(asked(memory)._replace(notify=said.append))
    expected = folder / f"expected-{bool(memory)}"
    assert repr(summary) == (expected / "summary").read_text()
    for name in OUTPUTS:
        assert Path(name).read_bytes() == (expected / name).read_bytes()
    return said


def killed_after(saves: int, memory: int, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Run a job that is killed after so many checkpoints; return False if it ended before."""
    left = [saves]

    def save(place: Workplace, *more: object) -> None:
        original(place, *more)  # type: ignore[arg-type]
        left[0] -= 1
        if not left[0]:
            # What a kill would leave is left, not what an exception would.
            shutil.copytree(".out.work", "../killed", dirs_exist_ok=True)
            raise Killed

    original = Workplace.save
    with monkeypatch.context() as patch:
        patch.setattr(Workplace, "save", save)
        try:
            job.run(asked(memory))
        except Killed:
            shutil.move("../killed", ".out.work")
            return True
    return False


@pytest.mark.parametrize("memory", [1 << 13, 1 << 16, 1 << 26, 0])
def test_what_was_on_the_disk_when_power_was_lost_is_enough(
    folder: Path, monkeypatch: pytest.MonkeyPatch, memory: int
) -> None:
    """After each checkpoint: nothing that it needs was only in memory.

    The keys never fit there, stop fitting, or fit; or a preference (0) needs them on disk.
    """
    for saves in range(1, 40):
        disk = Disk(Path.cwd())
        with disk.watching(monkeypatch):
            was_killed = killed_after(saves, memory, monkeypatch)
        if not was_killed:
            break
        shutil.rmtree(".out.work")
        disk.restore()
        said, *_more = [*resumed(folder, memory), ""]
        assert said.startswith("resuming after "), said
        for name in OUTPUTS:
            Path(name).unlink()
    assert saves > 4


@pytest.mark.parametrize("damage", ["cut", "zeroed", "flipped", "gone"])
@pytest.mark.parametrize(("saves", "memory"), [(3, 1 << 26), (3, 1 << 13), (0, 1 << 13)])
def test_a_damaged_checkpoint_is_told_and_its_part_is_made_anew(
    folder: Path, monkeypatch: pytest.MonkeyPatch, damage: str, saves: int, memory: int
) -> None:
    """In one pass, in the first of two, and after the last checkpoint."""
    if not saves:
        while killed_after(saves + 1, memory, monkeypatch):
            saves += 1
            shutil.rmtree(".out.work")
    assert killed_after(saves, memory, monkeypatch)
    shutil.copytree(".out.work", "../whole")
    files = [file for file in Path("../whole").rglob("*") if file.is_file() and file.stat().st_size]
    needed = 0
    for file in files:
        shutil.rmtree(".out.work", ignore_errors=True)
        shutil.copytree("../whole", ".out.work")
        harm(Path(".out.work") / file.relative_to("../whole"), damage)
        said, *_more = [*resumed(folder, memory), ""]
        if file.name == "texts":  # made anew in any case
            assert said.startswith("resuming after")
            continue
        needed += 1
        if file.name == "state.json" and damage == "gone":
            assert "resuming" not in said, "there was no checkpoint yet, as far as anybody knows"
            continue
        assert f"is damaged ({file.relative_to('../whole')} has" in said
        assert said.endswith("starting from the beginning")
    assert needed > 2


def harm(file: Path, damage: str) -> None:
    """Damage a file as disks do."""
    data = bytearray(file.read_bytes())
    middle = len(data) // 2
    if damage == "gone":
        file.unlink()
        return
    if damage == "cut":
        del data[middle:]
    elif damage == "zeroed":
        data[middle:] = bytes(len(data) - middle)
    else:
        data[middle] ^= 1
    if bytes(data) == file.read_bytes():  # it ended with zeros
        data[-1] ^= 255
    file.write_bytes(data)


def test_outputs_have_their_names_on_the_disk_before_keys_count(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a line would be left out for ever that nobody got."""
    Path("keys").mkdir()
    disk = Disk(Path.cwd())
    with disk.watching(monkeypatch):
        job.run(asked()._replace(seen="keys/seen.keys"))
    for file in (*OUTPUTS, "keys/seen.keys"):
        Path(file).unlink()
    disk.restore()
    assert Path("keys/seen.keys").exists()
    for name in OUTPUTS:
        assert Path(name).read_bytes() == (folder / "expected-True" / name).read_bytes()
