"""Output files: none replaces an input, or another output, whatever its name is."""

import gzip
import os
import subprocess
import sys
import traceback
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from shutil import copytree

import pytest
from support.disks import Disk, LostPowerError
from support.sites import run_command

from canonry.crawler.batch.checkpoint import workplace
from canonry.crawler.files import output
from canonry.crawler.key_files import key_writer
from canonry.crawler.key_files.key_file import KeyHeader
from canonry.crawler.key_files.key_writer import locked
from canonry.crawler.settings import SettingsError

LINES = "http://a.example/1\nHTTP://a.example/1\nhttp://a.example/2\n"
MINED = "http://l.example/\thttp://l.example/1\t301\n"


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a folder with an input of each kind."""
    folder = tmp_path_factory.mktemp("inputs")
    (folder / "in").write_text(LINES)
    (folder / "log.tsv").write_text(MINED)
    (folder / "own.toml").write_text('name = "own"\nversion = 1\nextends = "web@1"\n')
    for words in (("--store", "s.db"), ("--seen", "a.keys"), ("--seen", "b.keys")):
        assert run_command("dedup", "in", *words, folder=folder).returncode == 0
    done = run_command("rules", "export", "--store", "s.db", "-o", "r", folder=folder)
    assert done.stderr == b""
    return folder


@pytest.fixture
def folder(inputs: Path, tmp_path: Path) -> Path:
    """Copy these inputs, and link to them."""
    copytree(inputs, tmp_path, dirs_exist_ok=True)
    for file in list(tmp_path.iterdir()):
        file.with_name(f"hard-{file.name}").hardlink_to(file)
        file.with_name(f"soft-{file.name}").symlink_to(file.name)
    (tmp_path / "lists").mkdir()
    (tmp_path / "lists/in").hardlink_to(tmp_path / "in")
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [
        "dedup in -o in",
        "dedup in -o hard-in",
        "dedup soft-in -o ./in",
        "dedup lists -o in",
        "dedup in --map hard-in",
        "dedup in --report in",
        "dedup in --seen hard-in",
        "dedup in -o r --rules soft-r",
        "dedup in -o own.toml --policy own.toml",
        "dedup in -o hard-s.db --store sqlite:///s.db",
        "migrate in --from surt -o soft-in",
        "export urls --store s.db -o hard-s.db",
        "export clusters --store s.db --cursor s.db",
        "keys diff a.keys b.keys --only both -o hard-b.keys",
        "keys from-store --store s.db -o s.db",
        "rules export --store s.db -o soft-s.db",
        "rules mine log.tsv -o hard-log.tsv",
        "rules convert log.tsv -o log.tsv",
        "crawl --seeds in --config crawl.log=hard-in --store s.db",
        "crawl http://a.example/ --config crawl.log=s.db --store s.db",
    ],
)
def test_no_output_replaces_an_input(folder: Path, words: str) -> None:
    before = {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}
    done = run_command(*words.split(), folder=folder)
    assert done.returncode == 2, done.stderr
    assert b"this is an input" in done.stderr
    assert {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()} == before


def test_what_standard_input_comes_from_is_an_input_too(folder: Path) -> None:
    command = [sys.executable, "-m", "canonry", "dedup", "-", "-o", "hard-in"]
    with (folder / "in").open("rb") as given:
        done = subprocess.run(command, stdin=given, cwd=folder, capture_output=True, check=False)
    assert done.returncode == 2
    assert b"-o hard-in: this is an input (-); name another file" in done.stderr
    assert (folder / "in").read_text() == LINES


def test_standard_streams_and_devices_are_no_files_to_replace(folder: Path) -> None:
    same = ("dedup", "-", "-o", "/dev/null", "--map", "/dev/null")
    assert run_command(*same, folder=folder, data=LINES.encode()).returncode == 0
    output.check_distinct([("--log", "-"), ("-o", None)], ["-", None])


@pytest.mark.parametrize(
    "words",
    ["-o x --map x", "-o hard-r --report r", "--map soft-r --report hard-r", "-o r --seen soft-r"],
)
def test_two_outputs_are_two_files(folder: Path, words: str) -> None:
    done = run_command("dedup", "in", *words.split(), folder=folder)
    assert done.returncode == 2
    assert b"name the same file" in done.stderr


def test_a_file_of_keys_is_extended_in_its_place(folder: Path) -> None:
    """These read what they write, and are made for it."""
    merge = ("keys", "merge", "a.keys", "b.keys", "-o", "a.keys")
    assert run_command(*merge, folder=folder).returncode == 0
    assert run_command("dedup", "in", "--seen", "a.keys", folder=folder).returncode == 0


@pytest.mark.parametrize("name", ["out.txt", "out.gz"])
def test_a_file_is_whole_or_as_it_was_after_a_loss_of_power(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """At each moment of which a disk may know: after each thing that is synced."""
    path = tmp_path / name
    path.write_bytes(b"before")
    found = []
    for left in range(1, 5):
        disk = Disk(tmp_path)
        with (
            disk.watching(monkeypatch, left),
            suppress(LostPowerError),
            output.atomic(str(path)) as file,
        ):
            file.write(LINES.encode())
        for one in tmp_path.iterdir():
            one.unlink()
        disk.restore()
        data = path.read_bytes()
        found.append(gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data)
        path.write_bytes(b"before")
    assert found == [b"before", b"before", LINES.encode(), LINES.encode()]


def test_the_temporary_file_of_the_next_writer_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process begins to write when the file has its name, before this one has ended."""
    out = tmp_path / "out"
    replace = Path.replace
    with ExitStack() as stack:

        def replaced(path: Path, target: Path) -> None:
            replace(path, target)
            monkeypatch.undo()
            next_file = stack.enter_context(output.atomic(str(out)))
            next_file.write(b"next")

        monkeypatch.setattr(Path, "replace", replaced)
        with output.atomic(str(out)) as file:
            file.write(b"first")
        assert out.read_bytes() == b"first"
    assert out.read_bytes() == b"next"
    assert list(tmp_path.iterdir()) == [out]


@pytest.mark.parametrize("kind", ["output", "workplace", "keys"])
def test_processes_that_write_one_output_are_told_nothing_but_that(
    tmp_path: Path, kind: str
) -> None:
    """Each writes many times; one that is refused has changed nothing."""
    out = str(tmp_path / "out")

    def write() -> None:
        if kind == "output":
            with output.atomic(out) as file:
                file.write(b"x")
        elif kind == "workplace":
            with workplace(out) as place:
                (place.folder / "keys").mkdir()
                (place.folder / "keys" / "1").write_bytes(b"x")
                assert (place.folder / "keys" / "1").read_bytes() == b"x"
        else:
            with locked(out) as file:
                key_writer.write_new(file, out, KeyHeader("web/1", ""), [])

    children = [writer_in_a_child(write) for _ in range(3)]
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0]
    assert [path.name for path in tmp_path.iterdir()] == ([] if kind == "workplace" else ["out"])


def writer_in_a_child(write: Callable[[], None]) -> int:
    """Start a process that writes many times, and fails if that fails otherwise than expected."""
    if child := os.fork():
        return child
    code = 1
    try:
        for _ in range(150):
            with suppress(BlockingIOError, SettingsError):  # another process is writing
                write()
        code = 0
    except BaseException:  # noqa: BLE001 - the test reads it
        traceback.print_exc()
    finally:
        os._exit(code)
