"""How commands end: closed pipes, Ctrl-C, full disks, and what -q and -v say."""

import io
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from support.forking import Fork

from canonry.canon.pipeline import is_compiled
from canonry.crawler.cli.commands import main
from canonry.crawler.cli.exit_codes import EXIT_CODES

PRINTING = (
    "--help",
    "--version",
    "canon http://a.example/",
    "canon -h",
    "dedup urls.txt",
    "dedup urls.txt --json",
    "explain HTTP://a.example/ --json",
    "explain HTTP://a.example/",
    "export urls --format parquet",
    "export urls",
    "extract urls.txt",
    "hosts list",
    "keys info a.keys",
    "migrate urls.txt --from surt",
    "policy check mine.toml",
    "policy list",
    "policy show web",
    "refused list",
    "rules export",
    "rules list --json",
    "rules mine log.tsv",
    "scope test http://a.example/",
    "status",
    "status --json",
    "why http://a.example/",
)
QUIET_SEED = ["--config", "c.toml", "--connect-to", "::127.0.0.1:1", "--store", "x.db"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a folder with a store and files for all commands, once."""
    folder = tmp_path_factory.mktemp("ending")
    (folder / "urls.txt").write_text("http://a.example/1\nHTTP://a.example/1\nmailto:x@y\nno\n")
    (folder / "mine.toml").write_text('name = "mine"\nversion = 1\nextends = "web@1"\n')
    (folder / "log.tsv").write_text("http://l.example/\thttp://l.example/1\t301\n")
    (folder / "c.toml").write_text("[fetch]\nretries = 0\nretry_wait = 0.0\n")
    for seen in (("--store", str(folder / "canonry.db")), ("--seen", str(folder / "a.keys"))):
        done = CliRunner().invoke(main, ["dedup", str(folder / "urls.txt"), *seen])
        assert done.exit_code == 0, done.output
    return folder


@pytest.fixture
def folder(made: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(made)
    return made


def run(*words: str) -> Result:
    """Run a command inside this process."""
    return CliRunner().invoke(main, words)


@contextmanager
def writing_to(place: int) -> Iterator[io.TextIOWrapper]:
    """Make a file descriptor standard output for the length of a block."""
    with io.TextIOWrapper(os.fdopen(place, "wb")) as stream, redirect_stdout(stream):
        yield stream
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


@pytest.mark.parametrize("line", PRINTING)
def test_a_closed_pipe_ends_every_command_quietly(
    folder: Path, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert folder.exists()
    if "parquet" in line:
        pytest.importorskip("pyarrow", reason="needs pyarrow")
    reading, place = os.pipe()
    os.close(reading)
    with writing_to(place), pytest.raises(SystemExit) as ended:
        main(line.split())
    assert ended.value.code == 1
    said = capsys.readouterr().err
    assert "Traceback" not in said
    assert "pipe" not in said.lower()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize(
    "line", ["canon http://a.example/", "status --json", "export urls", "--help", "canon -h"]
)
def test_a_full_disk_is_told(folder: Path, line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert folder.exists()
    with writing_to(os.open("/dev/full", os.O_WRONLY)), pytest.raises(SystemExit) as ended:
        main(line.split())
    assert ended.value.code == 1
    assert capsys.readouterr().err.endswith("No space left on device\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("where", ["/dev/full", None])
def test_messages_that_cannot_be_written_do_not_end_a_command(
    folder: Path,
    where: str | None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "stderr", where and open(where, "w", encoding="utf-8"))  # noqa: SIM115, PTH123
    with pytest.raises(SystemExit) as ended:
        main(["dedup", "urls.txt", "-v"])
    with suppress(OSError):
        sys.stderr.close()
    assert ended.value.code == 0
    assert capsys.readouterr().out.splitlines() == ["http://a.example/1", "mailto:x@y"]
    assert folder.exists()


def test_every_exit_code_is_met(folder: Path) -> None:
    """3 is met below, by Ctrl-C."""
    found = {
        0: run("canon", "http://a.example/"),
        1: run("canon", "nonsense"),
        2: run("status", "--nonsense"),
        4: run("crawl", "http://a.example/", *QUIET_SEED),
    }
    assert {code: done.exit_code for code, done in found.items()} == {code: code for code in found}
    assert EXIT_CODES.keys() == {*found, 3}
    shown = " ".join(run("--help").output.split())
    for code, meaning in EXIT_CODES.items():
        assert f"{code} {meaning.partition(':')[0]}" in shown
    assert folder.exists()


def test_ctrl_c_ends_with_its_code(tmp_path: Path) -> None:
    process = Fork(("canon", "-"), tmp_path)
    process.stdin.write(b"http://a.example/\n")
    process.stdin.flush()
    assert process.stdout.readline() == b"http://a.example/\n"  # it has begun
    os.kill(process.pid, signal.SIGINT)
    _out, said = process.communicate(b"", timeout=60)
    assert process.wait() == 3
    assert said.startswith(b"canonry: interrupted")


@pytest.mark.parametrize("while_importing", ["canonry.canon.errors", "sqlalchemy.util"])
def test_ctrl_c_while_the_command_is_imported_shows_no_traceback(while_importing: str) -> None:
    """Python tells each module that it has imported: first the command's, then the subcommand's."""
    words = [sys.executable, "-X", "importtime", "-m", "canonry", "crawl", "http://a.invalid/"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert any(line.split()[-1] == while_importing for line in process.stderr)
        process.send_signal(signal.SIGINT)
        said = process.stderr.read()
    assert process.returncode == 3
    assert "canonry: interrupted; run the same command to start again" in said
    assert "Traceback" not in said


def test_quiet_and_verbose_mean_one_thing(folder: Path) -> None:
    dedup = ("dedup", "urls.txt", "-o", "out.txt")
    assert "4 lines in" in run(*dedup).stderr
    assert run(*dedup, "-q").stderr == ""
    assert run("-q", *dedup).stderr == ""
    assert "4 lines in" in run(*dedup).stderr, "it holds for one run"
    failed = ("status", "--store", "none.db")
    assert run(*failed, "-q").stderr.startswith("canonry: there is no store none.db")
    [error] = run(*failed).stderr.splitlines()
    told = run(*failed, "-v").stderr
    assert "Traceback" in told
    assert error in told
    kernel = "compiled" if is_compiled() else "not compiled"
    assert re.search(rf"^canonry [0-9.]+, {kernel}, CPython 3", told, re.MULTILINE)
    assert "exit code 1 after" in told
    both = run("status", "-q", "-v")
    assert (both.exit_code, "exclude each other" in both.output) == (2, True)
    assert folder.exists()


@pytest.mark.parametrize(
    "line", ["status", "refused list", "hosts list", "explain HTTP://a.example/1"]
)
def test_tables_fit_80_columns_and_no_color_is_obeyed(folder: Path, line: str) -> None:
    assert folder.exists()
    narrow = CliRunner().invoke(main, line.split(), env={"COLUMNS": "80"}).stdout
    assert 0 < max(map(len, narrow.splitlines())) <= 80
    assert CliRunner().invoke(main, line.split()).stdout == narrow, "so does a pipe"
    wide = CliRunner().invoke(main, line.split(), env={"COLUMNS": "200"}).stdout
    assert set(wide.split()) <= set(narrow.split()), "no word is cut"
    coloured = {"FORCE_COLOR": "1", "TERM": "xterm-256color"}
    colour = re.compile(r"\x1b\[[0-9;]*[349][0-7]")
    plain = CliRunner().invoke(main, line.split(), env={**coloured, "NO_COLOR": "1"}).stdout
    assert not colour.search(plain)
    if line.startswith("explain"):
        assert colour.search(CliRunner().invoke(main, line.split(), env=coloured).stdout)


def test_the_demo_fits_80_columns_in_a_pipe() -> None:
    done = run("demo", "--policy", "search")
    assert done.exit_code == 0
    assert 60 < max(map(len, done.stdout.splitlines())) <= 80
    assert [one for one in done.output.splitlines() if one != one.rstrip()] == []


@pytest.mark.parametrize("line", [line for line in PRINTING if "parquet" not in line])
def test_no_line_ends_with_a_blank(folder: Path, line: str) -> None:
    assert folder.exists()
    done = run(*line.split())
    assert [one for one in done.output.splitlines() if one != one.rstrip()] == []


@pytest.mark.parametrize(
    ("words", "file"),
    [
        ("dedup many.txt -o out.txt", "out.txt"),
        ("migrate many.txt --from surt -o out.gz", "out.gz"),
        ("dedup many.txt -o out.parquet", ".out.parquet.work/firsts-begun"),
        ("dedup many.txt --map map.csv", "map.csv"),
        ("dedup many.txt --seen b.keys -o /dev/null", ".b.keys.work/firsts-begun"),
        ("dedup many.txt -o /dev/full", "/dev/full"),
        ("migrate many.txt --from surt -o out.csv", "out.csv"),
        ("dedup many.txt > /dev/full", "standard output"),
        ("canon http://a.example/ > /dev/full", "standard output"),
        ("extract /proc/self/mem", "/proc/self/mem"),
        ("rules convert /proc/self/mem", "/proc/self/mem"),
        ("rules mine /proc/self/mem", "/proc/self/mem"),
        ("keys info /proc/self/mem", "/proc/self/mem"),
        ("dedup /proc/self/mem", "/proc/self/mem"),
        ("dedup many.txt --rules /proc/self/mem", "/proc/self/mem"),
    ],
)
def test_what_the_disk_refuses_is_told_with_the_name_of_the_file(
    folder: Path, words: str, file: str
) -> None:
    """Files may have 100 KiB here, /dev/full takes nothing, and /proc/self/mem gives nothing."""
    (folder / "many.txt").write_text("".join(f"http://a.example/{n}\n" for n in range(30_000)))
    script = f"ulimit -f 100; exec {sys.executable} -m canonry {words}"
    done = subprocess.run(
        ["/bin/bash", "-c", script], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == (2 if "--rules" in words else 1)
    if "many.txt" in words and not is_compiled():  # lines wait on the disk
        file = rf"({file}|\S+/texts)"
    assert re.search(rf"^canonry: {file}: ", done.stderr, re.MULTILINE), done.stderr
    assert "Traceback" not in done.stderr


def test_what_memory_lacks_is_told(folder: Path) -> None:
    with (folder / "large.html").open("wb") as file:
        file.truncate(8 << 30)
    script = f"ulimit -v {4 << 20}; exec {sys.executable} -m canonry extract large.html"
    done = subprocess.run(
        ["/bin/bash", "-c", script], cwd=folder, capture_output=True, text=True, check=False
    )
    (folder / "large.html").unlink()
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("canonry: out of memory")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "code"),
    [("dedup urls.txt", 1), ("dedup urls.txt -o out", 0), ("canon http://a.example/", 1)],
)
def test_a_closed_standard_output_loses_no_result_silently(
    folder: Path, words: str, code: int
) -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", f'exec "$0" -m canonry {words} >&-', sys.executable],
        cwd=folder,
        capture_output=True,
        check=False,
        timeout=60,
    )
    said = b"canonry: standard output: it is closed\n"
    assert (done.returncode, said in done.stderr) == (code, code == 1), done.stderr
    assert b"Exception" not in done.stderr
    assert b"Traceback" not in done.stderr
