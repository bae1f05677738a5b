"""Dedup: one line for each distinct resource, a reason for every merge, nothing half-done."""

import bz2
import gzip
import json
import lzma
import os
import random
import signal
import threading
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.forking import Fork
from support.plain_dedup import deduplicate
from support.sites import exported, run_command, wait_for
from support.strategies import raw, tries

import canonry
from canonry.crawler.files.line_streams import LONGEST

LINES = b"""http://a.example/
HTTP://A.example:80/
http://a.example/#x

not a url
http://a.example/b
http://a.example/b
http://a.example/?utm_source=x
mailto:a@b.example
http://[bad/
"""
FIRST = b"""http://a.example/
http://a.example/b
mailto:a@b.example
"""


@given(st.lists(raw.filter(lambda line: b"\n" not in line and b"\r" not in line), max_size=30))
@settings(max_examples=tries(0.3))
def test_the_plain_definition_in_one_line(lines: list[bytes]) -> None:
    """Keep a line if its key was not seen before, and nothing more."""
    make = canonry.Canonicalizer("search")
    seen: set[bytes] = set()
    expected = []
    for line in lines:
        try:
            key = make(line).key
        except canonry.InvalidURL:
            continue
        if line.strip() and key not in seen:
            seen.add(key)
            expected.append(line)
    kept, _, summary = deduplicate(lines, make)
    assert kept == b"".join(line + b"\n" for line in expected)
    counted = summary.blank + summary.distinct + summary.exact
    counted += sum(summary.merged.values()) + sum(summary.refused.values())
    assert counted == summary.lines == len(lines)


def test_lines_in_lines_out_in_order(tmp_path: Path) -> None:
    done = run_command("dedup", "-", folder=tmp_path, data=LINES)
    assert done.returncode == 0
    assert done.stdout == FIRST
    assert b"10 lines" in done.stderr
    assert b"not a url" in done.stderr


def test_a_json_summary_alone_counts(tmp_path: Path) -> None:
    done = run_command("dedup", "-", "--json", folder=tmp_path, data=LINES)
    assert done.returncode == 0
    assert json.loads(done.stdout)["distinct"] == 3


@pytest.mark.parametrize("name", ["in.txt", "no-ending"])
def test_gzip_is_detected_by_content(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(gzip.compress(LINES))
    done = run_command("dedup", name, "-o", "out.txt.gz", "--json", folder=tmp_path)
    assert done.returncode == 0
    assert gzip.decompress((tmp_path / "out.txt.gz").read_bytes()) == FIRST
    found = json.loads(done.stdout)
    assert found["distinct"] == 3
    assert found["exact"] == 1
    assert found["merged"][0] == {
        "rules": "scheme-case + host-case + default-port",
        "lines": 1,
        "line": "HTTP://A.example:80/",
        "same_as": "http://a.example/",
    }
    assert [one["rules"] for one in found["merged"][1:]] == ["fragment", "tracking"]
    assert found["refused"] == {"relative": 1, "host": 1}
    assert found["blank"] == 1


def test_the_map_names_every_line(tmp_path: Path) -> None:
    done = run_command("dedup", "-", "--map", "map.tsv", folder=tmp_path, data=LINES)
    assert done.returncode == 0
    assert (tmp_path / "map.tsv").read_text().splitlines() == [
        "http://a.example/\thttp://a.example/\tfirst\t-\t1",
        "HTTP://A.example:80/\thttp://a.example/\tscheme-case + host-case + default-port\t-\t2",
        "http://a.example/#x\thttp://a.example/\tfragment\t-\t3",
        "not a url\t\trefused: relative\t-\t5",
        "http://a.example/b\thttp://a.example/b\tfirst\t-\t6",
        "http://a.example/b\thttp://a.example/b\trepeated\t-\t7",
        "http://a.example/?utm_source=x\thttp://a.example/\ttracking\t-\t8",
        "mailto:a@b.example\tmailto:a@b.example\tfirst\t-\t9",
        "http://[bad/\t\trefused: host\t-\t10",
    ]


@pytest.mark.parametrize(
    "words", [[], ["--store", "s.db"], ["--seen", "s.keys"], ["--keep-rows"], ["--prefer", "n:min"]]
)
def test_the_map_has_the_file_and_the_line_of_each_row(tmp_path: Path, words: list[str]) -> None:
    (tmp_path / "a.csv").write_text("n,url\n1,http://a.example/1\n2,\n3,http://a.example/3\n")
    (tmp_path / "b.csv").write_text("n,url\n1,no url\n2,http://a.example/1\n")
    words = ["dedup", "a.csv", "b.csv", "--map", "map.jsonl", *words]
    assert run_command(*words, folder=tmp_path).returncode == 0
    found = [json.loads(row) for row in (tmp_path / "map.jsonl").read_text().splitlines()]
    assert [(row["source"], row["line"], row["rules"]) for row in found] == [
        ("a.csv", 2, "first"),
        ("a.csv", 4, "first"),
        ("b.csv", 2, "refused: relative"),
        ("b.csv", 3, "repeated"),
    ]


def test_lines_as_they_come(tmp_path: Path) -> None:
    """A BOM, CRLF, bytes that are not UTF-8, NULs, a line of megabytes, a last line without end."""
    long = b"http://a.example/" + b"x" * 3_000_000
    lines = [
        b"\xef\xbb\xbfhttp://a.example/\r",
        b"http://a.example/\xe9",
        b"http://a.example/%E9",
        b"http://a.example/\0x",
        long,
        long + b"y",
        b"z" * (LONGEST + 10),
        b"http://b.example/",
    ]
    done = run_command("dedup", "-", folder=tmp_path, data=b"\n".join(lines))
    assert done.returncode == 0
    assert done.stdout.splitlines() == [b"http://a.example/", lines[1], *lines[3:6], lines[-1]]
    assert b"too-long" in done.stderr


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress])
def test_a_truncated_archive_is_reported_and_the_rest_is_done(
    tmp_path: Path, compress: Callable[[bytes], bytes]
) -> None:
    numbers = random.Random(1).sample(range(1 << 40), 100_000)
    many = b"".join(b"http://a.example/%d\n" % n for n in numbers)
    whole = compress(many)
    (tmp_path / "cut.gz").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "whole.txt").write_bytes(b"http://b.example/\n")
    done = run_command("dedup", "cut.gz", "whole.txt", "-o", "out.txt", folder=tmp_path)
    assert done.returncode == 1
    assert b"cut.gz: breaks off after line" in done.stderr
    kept = (tmp_path / "out.txt").read_bytes()
    assert len(kept) > 100_000
    assert many.startswith(kept.removesuffix(b"http://b.example/\n"))
    assert kept.endswith(b"\nhttp://b.example/\n")


def test_against_a_store_and_into_its_queue(tmp_path: Path) -> None:
    store = ["--store", "sqlite:///canonry.db"]
    first = run_command("dedup", "-", *store, folder=tmp_path, data=LINES)
    assert first.stdout == FIRST
    more = b"http://a.example/c\nhttp://A.example/b\nhttpx://a.example/\n"
    again = run_command("dedup", "-", *store, folder=tmp_path, data=LINES + more)
    assert again.stdout == b"http://a.example/c\nhttpx://a.example/\n"
    assert {(u["url"], u["state"]) for u in exported(tmp_path, "urls")} == {
        ("http://a.example/", "queued"),
        ("http://a.example/b", "queued"),
        ("http://a.example/c", "queued"),
        ("mailto:a@b.example", "held"),
        ("httpx://a.example/", "held"),
    }


def test_against_an_empty_store_it_is_the_plain_definition(tmp_path: Path) -> None:
    rng = random.Random(1)
    kinds = (b"http://h.example/%d", b"HTTP://H.example/%d#x", b"http://h.example/%d?utm_source=y")
    lines = [rng.choice((*kinds, b"no url %d")) % rng.randrange(900) for _ in range(3000)]
    words = ["dedup", "-", "--store", "sqlite:///s.db", "--map", "map.tsv", "-o", "out", "--json"]
    done = run_command(*words, folder=tmp_path, data=b"\n".join(lines))
    assert done.returncode == 0, done.stderr
    kept, mapped, summary = deduplicate(lines, canonry.Canonicalizer("web"))
    assert (tmp_path / "out").read_bytes() == kept
    assert (tmp_path / "map.tsv").read_bytes() == mapped
    found = json.loads(done.stdout)
    assert (found["distinct"], found["exact"]) == (summary.distinct, summary.exact)
    assert found["merged"] == msgspec.to_builtins(summary.merges())


def test_an_interrupted_run_leaves_neither_output_nor_claims(tmp_path: Path) -> None:
    words = ["dedup", "-", "-o", "out.txt", "--store", "sqlite:///canonry.db"]
    with Fork(words, tmp_path) as process:
        process.stdin.write(b"".join(b"http://a.example/%d\n" % n for n in range(30_000)))
        process.stdin.flush()
        wait_for(lambda: bool(list(tmp_path.glob(".out.txt*"))), 60)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 3
    assert not list(tmp_path.glob("*out.txt*"))
    done = run_command(
        "dedup", "-", "--store", "sqlite:///canonry.db", folder=tmp_path, data=b"http://a.example/1"
    )
    assert done.stdout == b"http://a.example/1\n"


def test_an_output_that_fails_leaves_what_was_there(tmp_path: Path) -> None:
    (tmp_path / "out.txt").write_text("before")
    done = run_command("dedup", "missing.txt", "-o", "out.txt", folder=tmp_path)
    assert done.returncode == 2
    assert b"missing.txt" in done.stderr
    done = run_command("dedup", "-", "-o", "no/such/folder/out.txt", folder=tmp_path, data=LINES)
    assert done.returncode == 2
    assert b"no/such/folder" in done.stderr
    assert (tmp_path / "out.txt").read_text() == "before"
    assert os.listdir(tmp_path) == ["out.txt"]  # noqa: PTH208 - names are compared


@pytest.mark.parametrize("old", [None, b"of before\n"])
def test_an_output_is_touched_only_when_it_is_replaced(tmp_path: Path, old: bytes | None) -> None:
    (tmp_path / "u.gz").write_bytes(gzip.compress(b"http://a.example/\n")[:12])
    outputs = [tmp_path / name for name in ("keep.txt", "map.csv", "report.html")]
    for file in outputs:
        if old is not None:
            file.write_bytes(old)
    words = ["-o", "keep.txt", "--map", "map.csv", "--report", "report.html"]
    done = run_command("dedup", "u.gz", *words, folder=tmp_path)
    assert done.returncode == 1
    assert b"no output was written" in done.stderr
    for file in outputs:
        assert (file.read_bytes() if file.exists() else None) == old
    assert {file.name for file in tmp_path.iterdir()} - {"u.gz"} <= {f.name for f in outputs}


def test_a_pipe_is_an_input(tmp_path: Path) -> None:
    (tmp_path / "more.txt").write_text("http://b.example/\nhttp://a.example/#y\n")
    os.mkfifo(tmp_path / "pipe")
    data = b"http://a.example/\nhttp://a.example/#x\n"

    def write() -> None:
        (tmp_path / "pipe").write_bytes(data)

    writer = threading.Thread(target=write)
    writer.start()
    done = run_command("dedup", "pipe", "more.txt", "-o", "out.txt", folder=tmp_path)
    writer.join()
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out.txt").read_bytes() == b"http://a.example/\nhttp://b.example/\n"
    assert {file.name for file in tmp_path.iterdir()} == {"more.txt", "out.txt", "pipe"}


@pytest.mark.parametrize("words", [(), ("--store", "sqlite:///s.db"), ("--map", "map.csv")])
def test_the_file_of_standard_input_is_an_input(tmp_path: Path, words: tuple[str, ...]) -> None:
    data = b"http://a.example/\nhttp://a.example/#x\n"
    done = run_command("dedup", "/dev/stdin", *words, folder=tmp_path, data=data)
    assert (done.returncode, done.stdout) == (0, b"http://a.example/\n"), done.stderr


def test_two_outputs_of_one_name_are_told_as_what_they_are(tmp_path: Path) -> None:
    (tmp_path / "u.txt").write_text("http://a.example/\n")
    done = run_command("dedup", "u.txt", "-o", "x", "--map", "./x", folder=tmp_path)
    assert done.returncode == 2
    assert b"-o and --map name the same file: ./x" in done.stderr


def test_a_dash_is_standard_output_for_the_lines_alone(tmp_path: Path) -> None:
    (tmp_path / "u.txt").write_text("http://a.example/\n")
    done = run_command("dedup", "u.txt", "-o", "-", folder=tmp_path)
    assert (done.returncode, done.stdout) == (0, b"http://a.example/\n")
    done = run_command("dedup", "u.txt", "--map", "-", folder=tmp_path)
    assert done.returncode == 2
    assert b"--map -: name a file" in done.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["u.txt"]
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    "more", [["--store", "s.db"], ["--seen", "s.keys"], ["--prefer", "url:https"]]
)
def test_outputs_stay_as_they_were_if_no_line_is_a_url(tmp_path: Path, more: list[str]) -> None:
    (tmp_path / "junk").write_text('{"link": 1}\n\n{"link": 2}\n')
    outputs = ["out", "map"]
    for name in outputs:
        (tmp_path / name).write_text("yesterday's")
    words = ["dedup", "junk", "-o", "out", "--map", "map", *more]
    done = run_command(*words, "--json", folder=tmp_path)
    assert done.returncode == 1
    assert b"no line is a URL, so no output was written" in done.stderr
    assert json.loads(done.stdout)["refused"] == {"record": 2}
    assert {(tmp_path / name).read_text() for name in outputs} == {"yesterday's"}
    assert not (tmp_path / "s.keys").exists()


def test_repeats_of_a_store_are_urls(tmp_path: Path) -> None:
    """Also where nothing is new, and another line is no URL."""
    for expected in (b"http://a.example/\n", b""):
        words = ["dedup", "-", "--store", "s.db"]
        done = run_command(*words, folder=tmp_path, data=b"http://a.example/\nno url\n")
        assert (done.returncode, done.stdout) == (0, expected)


@pytest.mark.parametrize("delimiter", [",", "\t", "þ"])
def test_a_table_counts_the_same_with_any_delimiter(tmp_path: Path, delimiter: str) -> None:
    rows = [("n", "url"), ("1", "http://a.example/"), ("2", "no"), ("3", "http://b.example/")]
    text = "".join(f"{delimiter.join(row)}\n" for row in rows)
    (tmp_path / "in").write_text(text, encoding="utf-8")
    words = ["dedup", "in", "--column", "url", "-o", "out.jsonl", "--json"]
    if delimiter == "þ":
        words += ["--delimiter", delimiter]
    done = run_command(*words, folder=tmp_path)
    found = json.loads(done.stdout)
    assert (found["lines"], found["blank"], found["distinct"]) == (3, 0, 2)
    assert found["refused_samples"]["relative"].startswith("in:3: ")
    written = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [row["line"] for row in written] == [2, 4]
