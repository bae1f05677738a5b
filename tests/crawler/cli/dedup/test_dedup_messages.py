"""What a dedup says where an output, the input or the memory is not as it should be."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from support.sites import run_command

from canonry.canon import Canonicalizer
from canonry.crawler.batch import job
from canonry.crawler.batch.dedup_job import Job
from canonry.crawler.batch.summary import NOT_EXAMINED, Summary
from canonry.crawler.cli.terminal import summaries
from canonry.crawler.cli.terminal.loudness import LOUDNESS


@pytest.mark.parametrize(
    "words",
    [
        *(f"dedup in {option} ." for option in ("-o", "--map", "--report")),
        "migrate in --from surt -o .",
        "export urls --store s.db -o .",
    ],
)
def test_a_folder_is_no_output(tmp_path: Path, words: str) -> None:
    (tmp_path / "in").write_text("http://a.example/\n")
    run_command("dedup", "in", "--store", "s.db", folder=tmp_path)
    before = sorted(tmp_path.iterdir())
    done = run_command(*words.split(), folder=tmp_path)
    assert done.returncode == 2
    assert b".: this is a folder; name a file\n" in done.stderr
    assert b"Traceback" not in done.stderr
    assert sorted(tmp_path.iterdir()) == before


def test_parquet_without_pyarrow_is_one_sentence(tmp_path: Path) -> None:
    script = (
        "import sys; sys.modules['pyarrow'] = None;"
        "import canonry.crawler.cli.commands as c; c.main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, "dedup", "-", "-o", "x.parquet"],
        cwd=tmp_path,
        capture_output=True,
        check=False,
        input=b"http://a.example/\n",
    )
    assert done.returncode == 2
    assert done.stderr.startswith(b"canonry: Parquet needs")
    assert done.stderr.count(b"\n") == 1


def test_a_file_of_keys_in_a_missing_folder_is_named(tmp_path: Path) -> None:
    done = run_command("dedup", "-", "--seen", "none/s.keys", folder=tmp_path, data=b"http://a/")
    assert done.returncode == 2
    assert done.stderr.endswith(b"none/s.keys: No such file or directory\n")
    assert b"tmp:" not in done.stderr


def test_a_table_whose_first_line_is_blank_is_named(tmp_path: Path) -> None:
    (tmp_path / "in").write_text("\nid\turl\n1\thttp://a.example/\n")
    words = ["dedup", "in", "--input", "tsv", "--column", "url"]
    done = run_command(*words, folder=tmp_path)
    assert done.returncode == 2
    assert b"no column 'url'; its first line is blank\n" in done.stderr


def test_what_a_table_of_merges_does_not_say_is_below_it(tmp_path: Path) -> None:
    data = b"http://a.example/%s\nHTTP://A.example/%s\n" % ((b"x" * 5000,) * 2)
    done = run_command("dedup", "-", "--json", folder=tmp_path, data=data)
    assert len(json.loads(done.stdout)["merged"][0]["line"]) > 5000
    done = run_command("dedup", "-", folder=tmp_path, data=data)
    assert "A line that several rules merged counts for each of them." in done.stderr.decode()
    assert "x…\n" in done.stderr.decode()
    assert max(map(len, done.stderr.splitlines())) < 4200


def test_merges_that_were_not_examined_are_explained(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(LOUDNESS, "quiet", False)  # whatever another command was told
    summary = Summary(lines=2)
    summary.merge(NOT_EXAMINED, "HTTP://a.example/", "")
    summaries.dedup(summary, 1.0)
    assert "(not looked into): lines that were merged, but not" in capsys.readouterr().err


def test_a_memory_without_room_for_a_key_is_told(tmp_path: Path) -> None:
    (tmp_path / "in").write_text("".join(f"http://a.example/{n}\n" for n in range(9000)))
    said: list[str] = []
    files, out = [str(tmp_path / "in")], str(tmp_path / "out")
    job.run(Job(files, Canonicalizer(), out, memory=1 << 17, notify=said.append))
    assert said[0].startswith("--memory has no room for the keys of the first lines, keys go")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("-o out.xlsx", "-o out.xlsx: such files are not written; tables are .jsonl, .csv or"),
        ("-o out.json.gz", "-o out.json.gz: such files are not written"),
        ("--keep-rows -o out.XLS", "-o out.XLS: such files are not written"),
        ("--map map.ods", "--map map.ods: such files are not written"),
        ("--map map.json", "--map map.json: such files are not written"),
        ("--seen a --seen b", "--seen is given twice (a and b): give one."),
        ("--rules a --rules b", "--rules is given twice (a and b): give one."),
        ("--column url --column n", "--column is given twice (url and n): give one."),
    ],
)
def test_what_would_be_ignored_is_refused(tmp_path: Path, words: str, told: str) -> None:
    (tmp_path / "in").write_text("n§url\n1§http://a.example/é\n")
    done = run_command("dedup", "in", *words.split(), folder=tmp_path)
    assert done.returncode == 2
    assert told in done.stderr.decode()
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


@pytest.mark.parametrize("words", ["-o out.CSV", "-o out.tsv"])
def test_what_says_its_format_is_written(tmp_path: Path, words: str) -> None:
    (tmp_path / "in").write_text("n§url\n1§http://a.example/é\n")
    done = run_command("dedup", "in", *words.split(), "--delimiter", "§", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    out = (tmp_path / words.split()[1]).read_text(encoding="utf-8")
    assert out.startswith("url,canonical,key,") == ("csv" in words.lower())
    assert ("http://a.example/é" in out) == ("key" not in words)


def test_a_map_of_keys_is_no_workbook(tmp_path: Path) -> None:
    words = ["migrate", "-", "--from", "surt", "-o", "out.xlsx"]
    done = run_command(*words, folder=tmp_path, data=b"http://a.example/\n")
    assert done.returncode == 2
    assert b"-o out.xlsx: such files are not written" in done.stderr
    assert run_command(*words, "--format", "csv", folder=tmp_path, data=b"").returncode == 0
