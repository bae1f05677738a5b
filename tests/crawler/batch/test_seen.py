"""Dedup against a file of keys: the plain answer, whatever the engine is, and after any kill."""

import json
import os
import random
import signal
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.forking import Fork
from support.plain_dedup import deduplicate, run_job
from support.sites import run_command
from support.strategies import tries

import canonry
from canonry.canon.policies import preset
from canonry.crawler.batch import checkpoint, deciding, job, key_set
from canonry.crawler.batch.checkpoint import Workplace
from canonry.crawler.batch.deciding import Decider
from canonry.crawler.batch.dedup_job import Job
from canonry.crawler.batch.partition import Partitions
from canonry.crawler.batch.preference import Preference
from canonry.crawler.batch.summary import Summary
from canonry.crawler.files import line_streams
from canonry.crawler.files.formats import InputFormat
from canonry.crawler.key_files import key_writer
from canonry.crawler.key_files.key_file import opened_keys
from canonry.crawler.key_files.seen_file import extending

WEB = canonry.Canonicalizer("web")
LINES = (b"http://a.example/1", b"HTTP://A.example/1", b"http://a.example/1#x", b"no url", b"")
MORE = (b"http://b.example/%d" % n for n in range(9))


def keys_of(lines: list[bytes]) -> set[bytes]:
    return {one.key for one in WEB.many(lines) if isinstance(one, canonry.Canonical)}


def held_in(path: Path) -> set[bytes]:
    with opened_keys(str(path)) as file:
        return {key.tobytes() for chunk in file.chunks() for key in chunk}


def write_keys(path: Path, keys: set[bytes]) -> None:
    """Make a file of keys."""
    with extending(str(path), preset("web")) as seen:
        fresh = path.with_name("fresh")
        fresh.write_bytes(b"".join(sorted(keys)))
        seen.extend(fresh, "")
        fresh.unlink()


def run(path: Path, seen: Path, *, mapped: bool) -> tuple[bytes, bytes, Summary]:
    """Run a job over a file, and extend the file of keys; no day repeats another one."""
    out = path.with_name("out.txt")
    out.unlink(missing_ok=True)
    fates = str(path.with_name("map.txt")) if mapped else None
    reads = InputFormat("lines")
    return run_job(Job([str(path)], WEB, str(out), fates, seen=str(seen), input_format=reads))


_LINES = st.lists(st.sampled_from([*LINES, *MORE]), max_size=30)
_ENGINES = st.sampled_from(["memory", "look-ups", "two passes"])


@given(
    st.lists(_LINES, min_size=1, max_size=3),
    st.sampled_from([1, 64, 4096]),
    st.sampled_from([0, 1, 6]),
    st.sampled_from([0, 1, 400]),
    _ENGINES,
    st.booleans(),
)
@settings(max_examples=tries(0.1), deadline=None)
def test_it_is_the_plain_definition_with_each_engine(
    days: list[list[bytes]], block: int, bits: int, limit: int, engine: str, mapped: bool
) -> None:
    """Also where the keys no longer fit into memory: at once, somewhere (``limit``), or never."""
    known: set[bytes] = set()
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.setattr(os, "fsync", lambda _number: None)
        patch.setattr(line_streams, "BLOCK", block)
        patch.setattr(Partitions, "count_for", lambda *_sizes: 1 << bits)
        patch.setattr(deciding, "KeySet", lambda _: key_set.KeySet(limit or 1 << 20))
        patch.setattr(Decider, "_is_held", lambda _self: engine == "memory")
        patch.setattr(Decider, "_is_seen_fast", lambda _self: engine != "two passes")
        patch.setattr(job, "name_of", lambda _job: "")
        path, seen = Path(folder, "in.txt"), Path(folder, "seen.keys")
        for lines in ([*day, b"http://end.example/"] for day in days):
            path.write_bytes(b"\n".join(lines))
            kept, fates, summary = run(path, seen, mapped=mapped)
            expected, expected_fates, expected_summary = deduplicate(lines, WEB, known, path)
            assert kept == expected
            assert fates == (expected_fates if mapped else b"")
            assert summary.seen == expected_summary.seen
            assert (summary.distinct, summary.exact) == (
                expected_summary.distinct,
                expected_summary.exact,
            )
            known |= keys_of(lines)
            assert held_in(seen) == known


def some_lines(seed: int, count: int) -> list[bytes]:
    rng = random.Random(seed)
    kinds = (b"http://h.example/%d", b"HTTP://h.example/%d", b"no url %d", b"http://h.example/%d#x")
    return [rng.choice(kinds) % rng.randrange(count) for _ in range(count)]


@pytest.mark.parametrize(
    ("memory", "words"),
    [
        (1 << 26, {}),
        (1 << 18, {}),
        (1 << 18, {"prefer": Preference.of(["url:shortest"])}),
        (1 << 26, {"out": "/dev/null"}),
    ],
    ids=["one pass", "two passes", "prefer", "only keys"],
)
def test_killed_anywhere_it_resumes_and_extends_the_file_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, memory: int, words: dict[str, object]
) -> None:
    """At each save of a checkpoint, each new name, and each write of the file of keys."""
    monkeypatch.setattr(checkpoint, "_SAVE_EVERY", 0.0)
    monkeypatch.setattr(checkpoint, "_SAVING", 0.0)
    monkeypatch.setattr(line_streams, "BLOCK", 1 << 13)
    monkeypatch.setattr(Partitions, "count_for", lambda *_sizes: 2)
    monkeypatch.chdir(tmp_path)
    if memory < 1 << 20:
        monkeypatch.setattr(Decider, "_is_held", lambda _self: False)
        monkeypatch.setattr(Decider, "_is_seen_fast", lambda _self: False)
    lines, known = some_lines(1, 400), keys_of(some_lines(2, 1500))
    Path("in").write_bytes(b"\n".join(lines))
    expected = deduplicate(lines, WEB, known, "in")
    is_only = "out" in words
    asked = Job(["in"], WEB, "out", map="map", seen="seen.keys", memory=memory)
    asked = asked._replace(**words)
    write_keys(Path("seen.keys"), known)
    before = Path("seen.keys").read_bytes()
    names = {"in", "seen.keys", "map", *([] if is_only else ["out"])}
    for left in range(200):
        Path("seen.keys").write_bytes(before)
        for name in ("out", "map"):
            Path(name).unlink(missing_ok=True)
        ended = done_in_a_child(asked, left) == 0
        assert done_in_a_child(asked, -1) == 0
        if "prefer" not in words:
            assert is_only or Path("out").read_bytes() == expected[0]
            assert Path("map").read_bytes() == expected[1]
        with opened_keys("seen.keys") as file:
            assert file.state.generation == 1, "it was extended once"
        assert held_in(Path("seen.keys")) == known | keys_of(lines)
        assert {path.name for path in tmp_path.iterdir()} == names
        if ended:
            break
    assert left > 8


def done_in_a_child(asked: Job, left: int) -> int:
    """Do a job in a process that is killed before so many calls; return its exit code."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    try:
        calls = [left]

        def counted(call: object) -> object:
            def run(*args: object) -> object:
                if calls[0] == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                calls[0] -= 1
                return call(*args)  # type: ignore[operator]

            return run

        os.fsync = lambda _number: None
        os.pwrite = counted(os.pwrite)  # type: ignore[assignment]
        Path.replace = counted(Path.replace)  # type: ignore[assignment,method-assign]
        Workplace.save = counted(Workplace.save)  # type: ignore[assignment,method-assign]
        key_writer.write_all = counted(key_writer.write_all)  # type: ignore[assignment]
        job.run(asked)
        os._exit(0)
    finally:
        os._exit(1)


def test_a_day_after_another(tmp_path: Path) -> None:
    (tmp_path / "1").write_bytes(b"http://a.example/1\nHTTP://a.example/1#x\nhttp://a.example/2\n")
    (tmp_path / "2").write_bytes(b"http://a.example/1#y\nhttp://a.example/3\nhttp://a.example/3\n")
    done = run_command("dedup", "1", "--seen", "s.keys", folder=tmp_path)
    assert done.stdout == b"http://a.example/1\nhttp://a.example/2\n"
    assert b"s.keys: 2 keys added to 0" in done.stderr
    words = ["--seen", "s.keys", "--map", "map", "--report", "r.html"]
    done = run_command("dedup", "2", *words, "--json", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["seen"], found["distinct"], found["exact"]) == (1, 1, 1)
    assert (tmp_path / "map").read_text().splitlines() == [
        "http://a.example/1#y\t\tseen\t2\t1",
        "http://a.example/3\thttp://a.example/3\tfirst\t2\t2",
        "http://a.example/3\thttp://a.example/3\trepeated\t2\t3",
    ]
    assert "seen before" in (tmp_path / "r.html").read_text()
    done = run_command("dedup", "1", "2", "--seen", "s.keys", "-o", "/dev/null", folder=tmp_path)
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"0 keys added to 3" in done.stderr
    assert b"6 seen before" in done.stderr


def test_without_new_keys_a_file_stays_as_it_is(tmp_path: Path) -> None:
    write_keys(tmp_path / "s.keys", keys_of([LINES[0]]))
    before = (tmp_path / "s.keys").read_bytes()
    done = run_command("dedup", "-", "--seen", "s.keys", folder=tmp_path, data=LINES[1])
    assert (done.returncode, done.stdout) == (0, b"")
    assert (tmp_path / "s.keys").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["s.keys"]


def test_a_failed_run_adds_no_keys(tmp_path: Path) -> None:
    write_keys(tmp_path / "s.keys", keys_of([LINES[0]]))
    before = (tmp_path / "s.keys").read_bytes()
    words = ["dedup", "-", "--seen", "s.keys", "-o", "no/such/folder/out"]
    done = run_command(*words, folder=tmp_path, data=b"http://b.example/")
    assert done.returncode == 2
    (tmp_path / "s.keys").write_bytes(before[:-3])
    done = run_command("dedup", "-", "--seen", "s.keys", "-o", "out", folder=tmp_path, data=b"x")
    assert done.returncode == 1
    assert b"s.keys: the file of keys is damaged (it is truncated" in done.stderr
    assert (tmp_path / "s.keys").read_bytes() == before[:-3]
    assert {path.name for path in tmp_path.iterdir()} == {"s.keys"}


def test_two_at_once_cannot_extend_a_file(tmp_path: Path) -> None:
    with extending(str(tmp_path / "s.keys"), preset("web")):
        done = run_command("dedup", "-", "--seen", "s.keys", folder=tmp_path, data=LINES[0])
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"another process is writing this file of keys" in done.stderr


def test_what_was_printed_from_a_stream_counts_when_ctrl_c_ends_it(tmp_path: Path) -> None:
    with Fork(["dedup", "-", "--seen", "s.keys"], tmp_path) as process:
        lines = [b"http://a.example/%d\n" % n for n in range(4)]
        for line in lines:
            process.stdin.write(line)
            process.stdin.flush()
            assert process.stdout.readline() == line
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 3
        assert b" keys added to 0" in process.stderr.read()
    # The last line is printed before it counts, so that no line counts that was not printed.
    assert keys_of(lines[:3]) <= held_in(tmp_path / "s.keys") <= keys_of(lines)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--seen", "s", "--store", "sqlite:///x.db"], "--seen and --store: "),
        (["--report", "r", "--store", "sqlite:///x.db"], "--report and --store: "),
        (["--seen", "in"], "--seen in: this is an input"),
        (["--seen", "x", "-o", "x"], "-o and --seen name the same file: x"),
    ],
)
def test_options_that_make_no_sense_are_told(tmp_path: Path, words: list[str], said: str) -> None:
    (tmp_path / "in").write_bytes(LINES[0])
    done = run_command("dedup", "in", *words, folder=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr.decode()
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


@pytest.mark.parametrize("is_there", [False, True], ids=["a new file of keys", "an older one"])
@pytest.mark.parametrize("memory", ["1GiB", "16MiB"])
@pytest.mark.parametrize("is_gone", [False, True])
def test_a_job_that_is_repeated_writes_what_it_wrote(
    tmp_path: Path, is_there: bool, memory: str, is_gone: bool
) -> None:
    if is_there:
        write_keys(tmp_path / "s.keys", keys_of([b"http://b.example/"]))
    (tmp_path / "in").write_bytes(b"http://a.example/1\nHTTP://A.example/1\nhttp://b.example/\n")
    words = ["dedup", "in", "--seen", "s.keys", "-o", "out", "--map", "map"]
    assert run_command(*words, folder=tmp_path).returncode == 0
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    if is_gone:
        (tmp_path / "out").unlink()
    done = run_command(*words, "--memory", memory, folder=tmp_path)
    assert done.returncode == 0
    assert b"canonry: s.keys has the keys of this job already, so it is repeated" in done.stderr
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    done = run_command(*words[:-4], "--json", folder=tmp_path)
    assert json.loads(done.stdout)["seen"] == 3, "it is another job without the outputs"


def test_the_jobs_of_a_week_can_be_repeated_in_any_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each day has lines of its own and some of the days before."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(key_writer, "_SHARE", 1 << 30)  # the file is written anew each day
    outputs = {}

    def do(day: int) -> None:
        asked = Job([f"in-{day}"], WEB, f"out-{day}", seen="s.keys")
        job.run(asked)
        outputs.setdefault(day, Path(f"out-{day}").read_bytes())
        assert Path(f"out-{day}").read_bytes() == outputs[day]

    for day in range(12):
        lines = [b"http://a.example/%d" % n for n in range(10 * day + 10) if n % 3 or n >= 10 * day]
        Path(f"in-{day}").write_bytes(b"\n".join(lines))
        do(day)
        assert outputs[day].count(b"\n") == 10
    held = held_in(Path("s.keys"))
    for day in (11, 5, 8, 11, 9, 6, 10, 7):
        Path(f"out-{day}").unlink()
        do(day)
    assert held_in(Path("s.keys")) == held
    with pytest.raises(OSError, match="out-4: it has content, and the new output has none"):
        do(4)  # its keys are no longer told from older ones
    assert Path("out-4").read_bytes() == outputs[4]


def test_a_job_that_writes_to_a_device_is_repeated(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"http://a.example/1\n")
    words = ["dedup", "in", "--seen", "s.keys", "-o", "/dev/null", "--json"]
    found = [json.loads(run_command(*words, folder=tmp_path).stdout)["seen"] for _ in range(2)]
    assert found == [0, 1]


@pytest.mark.parametrize("change", ["input", "output", "option"])
def test_another_job_is_done_although_nothing_is_new(tmp_path: Path, change: str) -> None:
    """On a day without news, the lines of the day before must not be taken for new ones."""
    (tmp_path / "in").write_bytes(b"http://a.example/1\n")
    words = ["dedup", "in", "--seen", "s.keys", "-o", "out"]
    assert run_command(*words, folder=tmp_path).returncode == 0
    if change == "input":
        (tmp_path / "in").write_bytes(b"http://a.example/1#x\n")
    elif change == "output":
        words[5] = "other"
    else:
        words += ["--prefer", "url:https"]
    (tmp_path / "out").unlink()
    done = run_command(*words, folder=tmp_path)
    assert b"1 seen before" in done.stderr
    assert (tmp_path / words[5]).read_bytes() == b""


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("out", ["--seen", "s.keys"]),
        ("out.csv", ["--store", "s.db"]),
        ("out.jsonl.gz", ["--seen", "s.keys", "--map", "map"]),
        ("out.parquet", ["--seen", "s.keys"]),
    ],
)
def test_an_output_with_lines_is_not_emptied(tmp_path: Path, name: str, words: list[str]) -> None:
    words = ["dedup", "-", *words, "-o", name]
    line = b"http://a.example/1\n"
    assert run_command(*words, folder=tmp_path, data=line).returncode == 0
    before = (tmp_path / name).read_bytes()
    for data in (line, b"", b"\n"):
        done = run_command(*words, folder=tmp_path, data=data)
        assert done.returncode == 1
        told = f"{name}: it has content, and the new output has none, so it stays; delete it"
        assert told in done.stderr.decode()
        assert (tmp_path / name).read_bytes() == before
    (tmp_path / name).unlink()
    for _ in range(2):  # what has no lines can be replaced
        assert run_command(*words, folder=tmp_path, data=line).returncode == 0
        assert (tmp_path / name).read_bytes() != before
