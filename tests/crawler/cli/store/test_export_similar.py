"""Exports of near-duplicates: from WARC files alone, and from those of a store's last crawl."""

import io
import random
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet
from support.made_pages import WORDS
from support.servers import Answer, ok, raw_server
from support.sites import exported, from_thread, run_command
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

# warcio's writer leaves it to the collector to close its temporary files.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
SEED = "http://h.example/"


def text(seed: int) -> str:
    """Return a text that only this seed has."""
    return " ".join(random.Random(seed).choices(WORDS, k=60))


def write(path: Path, pages: Iterable[tuple[str, str]]) -> None:
    """Write pages to a WARC file."""
    path.parent.mkdir(exist_ok=True)
    with path.open("wb") as file:
        writer = WARCWriter(file, gzip=path.suffix == ".gz")
        for url, content in pages:
            answer = StatusAndHeaders(
                "200 OK", [("Content-Type", "text/html")], protocol="HTTP/1.1"
            )
            body = io.BytesIO(f"<p>{content}".encode())
            writer.write_record(
                writer.create_warc_record(url, "response", body, http_headers=answer)
            )


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """Return a folder with two WARC files, whose pages resemble each other, and another file."""
    folder = tmp_path / "kept"
    write(folder / "1.warc.gz", [("https://a.example/1", f"{text(1)} 19 EUR")])
    write(
        folder / "2.warc",
        [("https://b.example/one", f"{text(1)} 24 EUR"), ("https://b.example/2", text(2))],
    )
    (folder / "1.cdxj").write_text("no WARC")
    return folder


def test_no_store_is_needed(tmp_path: Path, archive: Path) -> None:
    first, second = exported(tmp_path, "similar", "--warc", "kept")
    assert first["url"] == first["representative"] == second["representative"]
    assert (first["url"], second["url"]) == ("https://a.example/1", "https://b.example/one")
    assert 0.9 < second["score"] < 1
    assert second["same_host"] is False
    assert second["words"] == 62
    assert "24 EUR" in second["only_here"]
    assert "19 EUR" in second["only_there"]
    assert not list(tmp_path.glob("*.db*"))
    files = ["--warc", str(archive / "2.warc"), "--warc", str(archive / "1.warc.gz")]
    assert exported(tmp_path, "similar", *files) == [first, second]


def test_zst_is_read(tmp_path: Path, archive: Path) -> None:
    expected = exported(tmp_path, "similar", "--warc", "kept")
    with pa.CompressedOutputStream(str(archive / "2.warc.zst"), "zstd") as packed:
        packed.write((archive / "2.warc").read_bytes())
    (archive / "2.warc").unlink()
    assert exported(tmp_path, "similar", "--warc", "kept") == expected


def test_what_is_said(tmp_path: Path, archive: Path) -> None:
    data = (archive / "2.warc").read_bytes()
    (archive / "2.warc").write_bytes(b"nothing\r\n" + data)
    cut = (archive / "1.warc.gz").read_bytes()
    (archive / "3.warc.gz").write_bytes(cut[: len(cut) // 2])
    write(archive / "4.warc", [("https://c.example/", "short")])
    done = run_command("export", "similar", "--warc", "kept", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 2
    told = done.stderr.decode()
    assert "kept/3.warc.gz: breaks off (it ends in the middle of a record)" in told
    assert "4 pages in 4 files: 1 group of near-duplicates, with 2 pages" in told
    assert "1 not compared, with fewer than 20 words of their own" in told
    assert "2 broken records left out" in told


def test_formats_and_the_least_score(tmp_path: Path, archive: Path) -> None:
    words = ["export", "similar", "--warc", str(archive)]
    done = run_command(*words, "--format", "csv", folder=tmp_path)
    lines = done.stdout.decode().splitlines()
    assert lines[0].startswith("group,url,representative,score,containment,same_host,words,")
    assert ",false,62," in lines[2]
    done = run_command(*words, "-o", "similar.parquet", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    table = parquet.read_table(tmp_path / "similar.parquet").to_pylist()
    assert [row["same_host"] for row in table] == [True, False]
    assert exported(tmp_path, "similar", "--warc", str(archive), "--least", "1") == []


def test_the_files_of_the_last_crawl(tmp_path: Path) -> None:
    def site(head: bytes) -> Answer:
        path = head.split(b" ")[1].decode()
        bodies = {
            "/": "<a href=/1><a href=/2><a href=/3>",
            "/1": f"<p>{text(1)} 19 EUR",
            "/2": f"<p>{text(1)} 24 EUR",
            "/3": f"<p>{text(1)} 19 EUR",
        }
        if path not in bodies:
            return ok(b"", status="404 Not Found")
        return ok(bodies[path].encode(), "Content-Type: text/html")

    with from_thread(raw_server(site)) as raw:
        connect = (
            "--connect-to",
            f"::127.0.0.1:{raw.port}",
            "--delay",
            "0",
            "--config",
            "learn.enabled=false",
        )
        done = run_command("crawl", SEED, *connect, "--warc", "kept", folder=tmp_path)
        assert done.returncode == 0, done.stderr
        rows = exported(tmp_path, "similar")
        assert [(row["url"], row["score"] == 1) for row in rows] == [
            (f"{SEED}1", True),
            (f"{SEED}3", True),  # a revisit record, since its body is equal
            (f"{SEED}2", False),
        ]
        (tmp_path / "kept").rename(tmp_path / "moved")
        done = run_command("export", "similar", folder=tmp_path)
        assert done.returncode == 2
        assert b"wrote its WARC files to kept, which is not there" in done.stderr
        assert exported(tmp_path, "similar", "--warc", "moved") == rows


def test_a_crawl_without_files(tmp_path: Path) -> None:
    with from_thread(raw_server(lambda _head: ok(b"x"))) as raw:
        connect = ("--connect-to", f"::127.0.0.1:{raw.port}", "--delay", "0")
        run_command("crawl", SEED, *connect, folder=tmp_path)
    done = run_command("export", "similar", folder=tmp_path)
    assert done.returncode == 2
    assert b"record the crawl with --warc DIR, or name files with --warc" in done.stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("similar", "no store"),
        ("similar --warc none", "there is no such file"),
        ("similar --warc empty", "no WARC file in it"),
        ("similar --warc kept --least 0.1", "0.3"),
        ("similar --warc kept --since start", "only clusters"),
        ("similar --warc kept -o kept/2.warc --format csv", "this is an input"),
        ("pages --warc kept", "--warc: this is for similar pages, not for pages"),
        ("clusters --least 0.9", "--least: this is for similar pages, not for clusters"),
    ],
)
def test_options_that_are_refused(tmp_path: Path, archive: Path, words: str, told: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty/1.cdxj").write_text("no WARC")
    before = (archive / "2.warc").read_bytes()
    done = run_command("export", *words.split(), folder=tmp_path)
    assert done.returncode in {1, 2}
    assert told in done.stderr.decode()
    assert done.stdout == b""
    assert (archive / "2.warc").read_bytes() == before
