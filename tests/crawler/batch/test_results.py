"""What a dedup writes, in every format, and that a killed one resumes to the same output."""

import bz2
import csv
import gzip
import io
import json
import lzma
import os
import random
import re
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet
from support.sites import run_command

import canonry
from canonry.crawler.batch import job
from canonry.crawler.batch.checkpoint import Checkpoint, Workplace, workplace
from canonry.crawler.batch.dedup_job import Job
from canonry.crawler.batch.preference import Preference
from canonry.crawler.files import output

WEB = canonry.Canonicalizer("web")
LINES = [
    b"http://a.example/1",
    b"no url",
    b"HTTP://A.example/1",
    b"",
    b"http://a.example/1",
    b"http://b.example/\xe9",
    b"HTTP://A.example/1",
    b'http://c.example/"x,y\\z\t',
]
KEPT = [LINES[0], LINES[5], LINES[7]]


def rows_of(path: Path) -> list[dict[str, object]]:
    """Return the rows of a table of any format."""
    data = path.read_bytes()
    if ".jsonl" in path.name:
        return [json.loads(line) for line in data.splitlines()]
    if ".parquet" in path.name:
        found: list[dict[str, object]] = parquet.read_table(io.BytesIO(data)).to_pylist()
        return found
    text = data.decode("utf-8", "surrogateescape")
    return list(csv.DictReader(io.StringIO(text)))


def from_zst(data: bytes) -> bytes:
    with pa.CompressedInputStream(pa.BufferReader(data), "zstd") as file:
        return bytes(file.read())


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
def test_tables_have_all_columns(tmp_path: Path, ending: str) -> None:
    out, fates = f"out.{ending}", f"map.{ending}"
    words = ["dedup", "-", "-o", out, "--map", fates]
    done = run_command(*words, folder=tmp_path, data=b"\n".join(LINES))
    assert done.returncode == 0, done.stderr
    found = [WEB(line) for line in KEPT]
    texts = ["http://a.example/1", "http://b.example/%E9", 'http://c.example/"x,y\\z\t']
    if ending == "csv":
        texts[1] = "http://b.example/\udce9"
    assert [{**row, "line": int(str(row["line"]))} for row in rows_of(tmp_path / out)] == [
        {
            "url": text,
            "canonical": one.identity,
            "key": one.key.hex(),
            "source": "-",
            "line": number,
        }
        for text, one, number in zip(texts, found, (1, 6, 8), strict=True)
    ]
    fated = [(r["url"], r["same_as"], r["rules"]) for r in rows_of(tmp_path / fates)]
    one = texts[0]
    assert fated == [
        (one, one, "first"),
        ("no url", "", "refused: relative"),
        ("HTTP://A.example/1", one, "scheme-case + host-case"),
        (one, one, "repeated"),
        (texts[1], "http://b.example/%E9" if ending != "csv" else texts[1], "first"),
        ("HTTP://A.example/1", one, "scheme-case + host-case"),
        (texts[2], texts[2], "first"),
    ]


@pytest.mark.parametrize(
    ("ending", "decompress"),
    [
        (".gz", gzip.decompress),
        (".bz2", bz2.decompress),
        (".xz", lzma.decompress),
        (".zst", from_zst),
        ("", bytes),
    ],
)
def test_outputs_are_compressed_by_the_ending_of_their_names(
    tmp_path: Path, ending: str, decompress: Callable[[bytes], bytes]
) -> None:
    lines = b"".join(b"http://a.example/%d\n" % n for n in range(100_000))
    done = run_command("dedup", "-", "-o", f"out.txt{ending}", folder=tmp_path, data=lines)
    assert done.returncode == 0, done.stderr
    assert decompress((tmp_path / f"out.txt{ending}").read_bytes()) == lines
    run_command("dedup", "-", "-o", f"out.jsonl{ending}", folder=tmp_path, data=lines[:19])
    row = json.loads(decompress((tmp_path / f"out.jsonl{ending}").read_bytes()))
    assert row["url"] == "http://a.example/0"
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def some_lines(count: int) -> list[bytes]:
    rng = random.Random(count)
    ends = (b"", b"", b"#x", b"?utm_source=y")
    return [
        rng.choice((b"http://h.example/%d", b"HTTP://h.example/%d", b"no url %d"))
        % rng.randrange(count // 3)
        + rng.choice(ends)
        for _ in range(count)
    ]


@pytest.mark.parametrize("seconds", [0.4])
def test_killed_and_resumed_the_output_is_the_same(tmp_path: Path, seconds: float) -> None:
    lines = b"".join(b"http://h.example/%d\n" % (n * 7919 % 100_003) for n in range(200_000))
    merged = b"".join(b"HTTP://h.example/%d\n" % n for n in range(2000))
    (tmp_path / "in.gz").write_bytes(gzip.compress(lines + merged, 1))
    script = (
        "from canonry.crawler.batch import checkpoint;"
        "from canonry.crawler.files import line_streams;"
        "checkpoint._SAVE_EVERY = checkpoint._SAVING = 0.0; line_streams.BLOCK = 1 << 16;"
        "import canonry.crawler.cli.commands as c; print('begun', flush=True); c.main()"
    )
    words = ["dedup", "in.gz", "-o", "out.txt", "--prefer", "url:shortest", "--memory", "16MiB"]
    whole = run_command(*words, folder=tmp_path)
    assert whole.returncode == 0
    expected = (tmp_path / "out.txt").read_bytes()
    (tmp_path / "out.txt").unlink()
    said = b""
    for attempt in range(30):
        with subprocess.Popen(
            [sys.executable, "-c", script, *words],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"begun\n"
            try:
                assert process.wait(seconds * 1.4**attempt) == 0
            except subprocess.TimeoutExpired:
                process.send_signal(random.Random(attempt).choice((signal.SIGKILL, signal.SIGINT)))
            assert process.stderr is not None
            said += process.stderr.read()
        if process.returncode == 0:
            break
        with suppress(FileNotFoundError):  # unless it was killed after the output got its name
            assert (tmp_path / "out.txt").read_bytes() == expected
    assert b"resuming after" in said
    assert b"Traceback" not in said
    assert {path.name for path in tmp_path.iterdir()} == {"in.gz", "out.txt"}
    assert (tmp_path / "out.txt").read_bytes() == expected
    last = re.findall(rb"[0-9,]+ distinct, .*", said)[-1]
    assert last in whole.stderr, "it counts like a run that was never killed"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("prefer", [(), ("url:shortest",)])
def test_a_signal_saves_a_checkpoint(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    number: signal.Signals,
    prefer: tuple[str, ...],
) -> None:
    monkeypatch.setattr("canonry.crawler.files.line_streams.BLOCK", 1 << 12)
    monkeypatch.chdir(tmp_path)
    Path("in").write_bytes(b"\n".join(some_lines(3000)))
    said: list[str] = []
    left = [5]

    def advance(_count: int) -> None:
        left[0] -= 1
        if left[0] == 0:
            signal.raise_signal(number)

    asked = Job(["in"], WEB, "out", prefer=Preference.of(prefer), advance=advance)
    asked = asked._replace(notify=said.append)
    with pytest.raises(KeyboardInterrupt, match="a checkpoint is saved; the same command"):
        job.run(asked)
    assert said == ["saving a checkpoint; Ctrl-C again stops at once"]
    assert {path.name for path in tmp_path.iterdir()} == {"in", ".out.work"}
    job.run(asked)
    assert re.fullmatch(r"resuming after [1-9][0-9,]* lines", said[1])
    resumed = Path("out").read_bytes()
    job.run(asked)
    assert Path("out").read_bytes() == resumed
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_an_ignored_signal_stays_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As SIGINT is in a script's processes in the background."""
    monkeypatch.chdir(tmp_path)
    Path("in").write_bytes(b"http://a.example/")
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        ask = lambda _count: signal.raise_signal(signal.SIGINT)  # noqa: E731 - a callback
        job.run(Job(["in"], WEB, "out", advance=ask))
    finally:
        signal.signal(signal.SIGINT, before)
    assert Path("out").read_bytes() == b"http://a.example/\n"


def test_a_second_signal_ends_a_job_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in").write_bytes(b"\n".join(some_lines(30)))

    numbers = iter((signal.SIGINT, signal.SIGTERM))  # each once, however often it is called

    def advance(_count: int) -> None:
        for number in numbers:
            signal.raise_signal(number)

    with pytest.raises(KeyboardInterrupt) as caught:
        job.run(Job(["in"], WEB, "out", advance=advance))
    assert str(caught.value) == ""
    assert {path.name for path in tmp_path.iterdir()} == {"in"}


@pytest.mark.parametrize(
    ("most", "more"),
    [
        (1 << 12, ["--map", "m"]),
        (1 << 16, ["--report", "r.html"]),
        (1 << 19, ["--prefer", "url:shortest"]),
        (3 << 20, ["--map", "m"]),
    ],
)
def test_a_full_disk_is_reported_and_nothing_is_left(
    tmp_path: Path, most: int, more: list[str]
) -> None:
    """No file may grow beyond a size here: it hits the fates, the partitions, or an output."""
    lines = b"".join(b"http://h.example/%d\n" % (n % 60_000) for n in range(100_000))
    (tmp_path / "in").write_bytes(lines)
    (tmp_path / "out").write_bytes(b"before")

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

    done = subprocess.run(
        [sys.executable, "-m", "canonry", "dedup", "in", "-o", "out", *more],
        cwd=tmp_path,
        capture_output=True,
        check=False,
        preexec_fn=limit,
    )
    assert done.returncode == 1, done.stderr
    assert b"File too large" in done.stderr
    assert b"Traceback" not in done.stderr
    assert (tmp_path / "out").read_bytes() == b"before"
    assert {path.name for path in tmp_path.iterdir()} == {"in", "out"}


def test_the_checkpoint_of_another_job_is_not_resumed(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"http://a.example/\n")
    (tmp_path / ".out.txt.work").mkdir()
    Workplace(tmp_path / ".out.txt.work", lasting=True).save(Checkpoint("another"), [])
    done = run_command("dedup", "in", "-o", "out.txt", folder=tmp_path)
    assert done.returncode == 0
    assert b"resuming" not in done.stderr
    assert (tmp_path / "out.txt").read_bytes() == b"http://a.example/\n"
    assert not (tmp_path / ".out.txt.work").exists()


def test_a_pipe_is_written_and_stays_one(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"http://a.example/\n")
    os.mkfifo(tmp_path / "pipe")
    with subprocess.Popen(["/bin/cat", tmp_path / "pipe"], stdout=subprocess.PIPE) as cat:
        done = run_command("dedup", "in", "-o", "pipe", folder=tmp_path)
        assert cat.stdout is not None
        assert cat.stdout.read() == b"http://a.example/\n"
    assert done.returncode == 0
    assert (tmp_path / "pipe").is_fifo()
    assert {path.name for path in tmp_path.iterdir()} == {"in", "pipe"}


def test_two_cannot_write_the_same_output(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"http://a.example/\n")
    with workplace(str(tmp_path / "out")):
        done = run_command("dedup", "in", "-o", "out", folder=tmp_path)
    assert done.returncode == 2
    assert b"another dedup is writing it" in done.stderr
    with output.atomic(str(tmp_path / "map")) as file:
        done = run_command("dedup", "in", "-o", "out", "--map", "map", folder=tmp_path)
        file.write(b"mine")
    assert done.returncode == 1
    assert b"another process is writing it" in done.stderr
    assert (tmp_path / "map").read_bytes() == b"mine"
    assert {path.name for path in tmp_path.iterdir()} == {"in", "map"}
