"""Dedup of any size: the plain answer, whatever the blocks, partitions and workers are."""

import bz2
import gzip
import io
import lzma
import os
import random
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.forking import Fork
from support.plain_dedup import deduplicate, run_job
from support.sites import run_command, wait_for
from support.strategies import raw, tries

import canonry
from canonry.crawler import compression
from canonry.crawler.batch import deciding, dedup_job, job, key_set
from canonry.crawler.batch.dedup_job import Job
from canonry.crawler.batch.partition import Partitions
from canonry.crawler.batch.summary import Summary
from canonry.crawler.files import line_streams
from canonry.crawler.files.formats import InputFormat
from canonry.crawler.settings import SettingsError

WEB = canonry.Canonicalizer("web")


def run(
    path: Path, workers: int = 1, memory: int = 1 << 26, *, mapped: bool = True
) -> tuple[bytes, bytes, Summary]:
    """Run a job over a file."""
    out, fates = (str(path.with_name(name)) for name in ("out.txt", "map.txt"))
    todo = Job(
        [str(path)], WEB, out, fates if mapped else None, input_format=InputFormat("lines"),
        workers=workers, memory=memory,
    )  # fmt: skip
    return run_job(todo)


def counted(summary: Summary) -> dict[str, object]:
    """Return the counts of a summary, without its samples, which may differ."""
    return {
        "lines": (summary.lines, summary.blank, summary.distinct, summary.exact),
        "merged": summary.merged,
        "refused": summary.refused,
    }


# A BOM, and the first bytes of compressed files.
_MAGIC = (b"\xef\xbb\xbf", b"\x1f\x8b", b"BZh", b"\xfd7z", b"\x28\xb5\x2f\xfd")
_LINES = st.lists(
    st.one_of(
        raw.filter(lambda line: b"\n" not in line and b"\r" not in line),
        st.sampled_from([b"http://a.example/", b"HTTP://A.example", b"http://a.example/#x", b" "]),
    ),
    max_size=40,
).filter(lambda lines: not lines or not lines[0].startswith(_MAGIC))


@given(
    _LINES,
    st.sampled_from([1, 7, 64, 4096]),
    st.sampled_from([0, 1, 4] * 3 + [12]),  # rarely thousands of files
    st.sampled_from([0, 1, 200, 500]),
    st.booleans(),
)
@settings(max_examples=tries(0.3), deadline=None)
def test_it_is_the_plain_definition_wherever_the_input_is_cut(
    lines: list[bytes], block: int, bits: int, limit: int, mapped: bool
) -> None:
    """Also where the keys no longer fit into memory: at once, somewhere (``limit``), or never."""
    lines = [*lines, b"http://end.example/"]  # without any URL, no output would be written
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.setattr(line_streams, "BLOCK", block)
        patch.setattr(Partitions, "count_for", lambda *_sizes: 1 << bits)
        patch.setattr(deciding, "KeySet", lambda _: key_set.KeySet(limit or 1 << 20))
        patch.setattr(os, "fsync", lambda _number: None)
        path = Path(folder, "in.txt")
        path.write_bytes(b"\n".join(lines))
        kept, fates, summary = run(path, mapped=mapped)
    expected, expected_fates, expected_summary = deduplicate(lines, WEB, source=path)
    assert kept == expected
    assert counted(summary) == counted(expected_summary)
    if mapped:
        assert fates == expected_fates


def some_lines(count: int) -> list[bytes]:
    """Make lines: URLs that repeat under several spellings, and some that are no URLs."""
    rng = random.Random(count)
    found = []
    for _ in range(count):
        url = b"http://h%d.example/%d" % (rng.randrange(20), rng.randrange(count // 3))
        end = rng.choice([b"", b"", b"#x", b"?utm_source=y", b"/../%d" % rng.randrange(99)])
        found.append(rng.choice([url + end, url.upper(), b"no url", b"http://[", b"", url]))
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("workers", "memory"), [(1, 1 << 16), (2, 1 << 16), (4, 1 << 20), (2, 1 << 28)]
)
def test_workers_and_memory_change_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int, memory: int
) -> None:
    monkeypatch.setattr(line_streams, "BLOCK", 1 << 16)
    lines = [*some_lines(30_000), b"http://end.example/"]
    path = tmp_path / "in.txt"
    path.write_bytes(b"\n".join(lines) + b"\n")
    kept, fates, summary = run(path, workers, memory)
    expected, expected_fates, expected_summary = deduplicate(lines, WEB, source=path)
    assert kept == expected
    assert fates == expected_fates
    assert counted(summary) == counted(expected_summary)


@pytest.mark.slow
def test_the_number_of_partitions_follows_from_memory(tmp_path: Path) -> None:
    sizes = [Partitions.count_for(memory, 1_000_000) for memory in (1 << 16, 1 << 24, 1 << 30)]
    assert sizes == [4096, 32, 1]
    spread = Partitions(tmp_path, 1 << 16, 4096)
    keys = np.random.default_rng(1).bytes(16 * 5000)
    spread.add(keys * 2, bytes(8 * 10_000), np.arange(10_000, dtype=np.uint64))
    assert len(list(tmp_path.glob("*.keys"))) > 1000, "what does not fit into memory is on disk"
    repeats = list(spread.unique())
    assert sum(len(found.place) for found in repeats) == 5000
    assert all((found.first + np.uint64(5000) == found.place).all() for found in repeats)
    spread.delete()
    assert not tmp_path.exists()


def test_keys_with_the_same_first_half_are_distinct(tmp_path: Path) -> None:
    keys = [b"a" * 8 + bytes([n]) * 8 for n in (1, 2, 1, 2, 3, 1)]
    spread = Partitions(tmp_path, 1 << 20, 1)
    spread.add(b"".join(keys), bytes(8 * 6), np.arange(6, dtype=np.uint64))
    [found] = spread.unique()
    assert sorted(zip(found.place.tolist(), found.first.tolist(), strict=True)) == [
        (2, 0),
        (3, 1),
        (5, 0),
    ]


def zst(data: bytes) -> bytes:
    """Compress bytes as zst."""
    return bytes(pa.Codec("zstd").compress(data))


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress, zst])
def test_compressed_files_are_detected_by_content(tmp_path: Path, compress: object) -> None:
    lines = b"".join(b"http://a.example/%d\n" % (n % 40_000) for n in range(80_000))
    (tmp_path / "in").write_bytes(compress(lines))  # type: ignore[operator]
    kept, _, summary = run(tmp_path / "in", mapped=False)
    assert kept == lines[: len(lines) // 2]
    assert summary.cut == []


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress, zst])
def test_decompressing_a_file_does_not_close_it(tmp_path: Path, compress: object) -> None:
    """Another thread asks for its position, also at its end."""
    (tmp_path / "in").write_bytes(compress(b"http://a.example/\n"))  # type: ignore[operator]
    with (tmp_path / "in").open("rb") as file:
        stream = compression.decompressed(file)
        while stream.read1(1 << 16):
            pass
        assert file.tell() == (tmp_path / "in").stat().st_size


def test_an_input_that_changes_between_the_passes_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "in"
    path.write_bytes(b"http://a.example/1\nhttp://a.example/2\n")

    def change(_sentence: str) -> None:
        path.write_bytes(b"http://a.example/1\n")

    todo = Job([str(path)], WEB, str(tmp_path / "out"), memory=1 << 6, notify=change)
    with pytest.raises(OSError, match="the input has changed while it was read"):
        job.run(todo)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_interrupted_run_leaves_nothing_behind(tmp_path: Path, number: signal.Signals) -> None:
    (tmp_path / "out.txt").write_text("before")
    with Fork(["dedup", "-", "-o", "out.txt"], tmp_path) as process:
        for n in range(100_000):
            process.stdin.write(b"http://a.example/%d\n" % n)
        process.stdin.flush()
        wait_for(lambda: len(list(tmp_path.iterdir())) > 1)
        process.send_signal(number)
        code = process.wait(20)
        said = process.stderr.read()
    assert (tmp_path / "out.txt").read_text() == "before"
    if number is not signal.SIGKILL:
        assert code == 3, said
        assert b"interrupted; run the same command to start again" in said
        assert [path.name for path in tmp_path.iterdir()] == ["out.txt"]


@pytest.mark.parametrize("text", ["many", "1MiB", "-1", "", "2XB"])
def test_a_memory_size_that_makes_no_sense_is_an_error(tmp_path: Path, text: str) -> None:
    done = run_command("dedup", "-", "--memory", text, folder=tmp_path, data=b"")
    assert done.returncode == 2
    assert b"--memory" in done.stderr


def test_the_memory_of_a_job_is_read_as_people_write_it() -> None:
    assert (
        dedup_job.bytes_of("16MiB")
        == dedup_job.bytes_of("16M")
        == dedup_job.bytes_of("16 mb")
        == 1 << 24
    )
    assert dedup_job.bytes_of("1.5GiB") == 3 << 29
    with pytest.raises(SettingsError, match="16MiB is the least"):
        dedup_job.bytes_of("15MiB")


def test_gzip_reads_compressed_output(tmp_path: Path) -> None:
    lines = b"".join(b"http://a.example/%d\n" % n for n in range(300_000))
    (tmp_path / "in.txt").write_bytes(lines)
    done = run_command("dedup", "in.txt", "-o", "out.gz", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert gzip.decompress((tmp_path / "out.gz").read_bytes()) == lines
    done = run_command("dedup", "-", "-o", "none.gz", folder=tmp_path, data=b"")
    assert gzip.decompress((tmp_path / "none.gz").read_bytes()) == b""


def test_all_bytes_are_written_to_a_file_that_takes_them_in_pieces() -> None:
    """A buffered file whose pipe or disk fails half way only returns how much it took."""

    class Tired(io.BytesIO):
        def write(self, data: bytes) -> int:  # type: ignore[override]
            return super().write(bytes(data)[:10])

    tired = Tired()
    compression.write_all(tired, bytes(range(200)))
    assert tired.getvalue() == bytes(range(200))


def test_the_lines_of_a_pipe_are_written_as_they_arrive(tmp_path: Path) -> None:
    with Fork(["dedup", "-"], tmp_path) as process:
        for n in range(3):
            process.stdin.write(b"http://a.example/%d\nHTTP://a.example/%d\n" % (n, n))
            process.stdin.flush()
            assert process.stdout.readline() == b"http://a.example/%d\n" % n
        process.stdin.write(b"http://a.example/e")
        process.stdin.close()
        assert process.stdout.read() == b"http://a.example/e\n"


def test_a_reader_that_stops_ends_a_filter_quietly(tmp_path: Path) -> None:
    script = "seq -f http://a.example/%.0f 9999999 | $0 -m canonry dedup - | head -1"
    done = subprocess.run(
        ["/bin/sh", "-c", script, sys.executable],
        cwd=tmp_path,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.stdout == b"http://a.example/1\n"
    assert b"Traceback" not in done.stderr


def test_a_stream_whose_keys_do_not_fit_is_spooled(tmp_path: Path) -> None:
    """Only the lines after the keys have filled the memory are kept on disk."""
    lines = b"".join(b"http://a.example/%d\n" % (n * 7919 % 470_001) for n in range(600_000))
    data = lines + b"HTTP://a.example/5\n"
    done = run_command(
        "dedup", "-", "--memory", "16MiB", "--map", "map", folder=tmp_path, data=data
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == list(dict.fromkeys(lines.splitlines()))
    assert b"fill --memory" in done.stderr
    assert (
        (tmp_path / "map")
        .read_bytes()
        .endswith(b"HTTP://a.example/5\thttp://a.example/5\tscheme-case\t-\t600001\n")
    )
