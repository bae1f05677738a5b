"""WARC files of a crawl: two other libraries read them."""

import asyncio
import gzip
import json
import shutil
from collections import Counter
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

import pytest
import surt
from cdxj_indexer.main import CDXJIndexer
from click.testing import CliRunner
from fastwarc import ArchiveIterator, WarcRecordType
from support.disks import Disk
from support.servers import Answer, Raw, ok, raw_server
from support.sites import from_thread, host_words, run_command
from warcio.checker import Checker

from canonry.crawler.cli.commands import main
from canonry.crawler.fetch.response import Response
from canonry.crawler.files import blocks
from canonry.crawler.files.line_streams import Line
from canonry.crawler.observe.warc import WarcArchive
from canonry.storage import StoreError

SEED = "http://h.example/"


def words(raw: Raw, *more: str) -> list[str]:
    """Return the arguments of a crawl of the served site, without learning."""
    return host_words(SEED, raw.port, *more)


_BODIES = {
    "/": b'<a href="/moved"><a href="/packed"><a href="/copy"><a href="/bytes"><a href="/empty">',
    "/packed": b"<p>packed</p>" * 99,
    "/copy": b"<p>packed</p>" * 99,
    "/bytes": b"\x00\xff\r\n\r\nHTTP/1.1 200 OK",
    "/empty": b"",
}


def site(head: bytes) -> Answer:
    path = head.split(b" ")[1].decode()
    if path == "/moved":
        return ok(b"away", "Location: /bytes", "Set-Cookie: a=b", status="301 Moved")
    if path not in _BODIES:
        return ok(b"", status="404 Not Found")
    body = _BODIES[path]
    if path == "/packed":
        return ok(gzip.compress(body), "Content-Type: text/html", "Content-Encoding: gzip")
    return ok(body, "Content-Type: text/html", "X-Odd: \xe9")


def records(folder: Path) -> list[dict[str, Any]]:
    """Return the records of all files as fastwarc reads them, with verified digests."""
    found = []
    for path in sorted(folder.glob("*.warc.gz*")):
        with path.open("rb") as file:
            for record in ArchiveIterator(file, parse_http=False):
                assert record.record_type == WarcRecordType.warcinfo or record.verify_block_digest()
                record.parse_http()
                found.append(
                    {
                        "type": record.headers["WARC-Type"],
                        "url": record.headers.get("WARC-Target-URI"),
                        "headers": dict(record.headers),
                        "http": dict(record.http_headers or {}),
                        "status": record.http_headers.status_code if record.http_headers else None,
                        "body": record.reader.read(),
                    }
                )
    return found


def test_other_libraries_read_every_request_and_response(tmp_path: Path) -> None:
    with from_thread(raw_server(site)) as raw:
        done = run_command(*words(raw, "--warc", "kept", "--json"), folder=tmp_path)
    assert done.returncode == 0, done.stderr
    [path] = (tmp_path / "kept").glob("*.warc.gz")
    assert path.name.endswith("-00001.warc.gz")
    found = records(tmp_path / "kept")
    kinds = Counter(record["type"] for record in found)
    assert kinds == {"warcinfo": 1, "request": 7, "response": 6, "revisit": 1}
    answers = {r["url"].removeprefix(SEED[:-1]): r for r in found if r["type"] == "response"}
    for name, body in _BODIES.items():
        if name in answers:
            assert answers[name]["body"] == body, name
            assert answers[name]["status"] == 200
            assert answers[name]["http"]["Content-Length"] == str(len(body))
            assert answers[name]["headers"]["WARC-IP-Address"] == "127.0.0.1"
    assert answers["/moved"]["status"] == 301
    assert answers["/moved"]["http"]["Location"] == "/bytes"
    assert answers["/robots.txt"]["status"] == 404
    assert (answers.keys() ^ _BODIES.keys()) - {"/moved", "/robots.txt"} <= {"/packed", "/copy"}
    [again] = [record for record in found if record["type"] == "revisit"]
    assert {again["url"], again["headers"]["WARC-Refers-To-Target-URI"]} == {
        f"{SEED}packed",
        f"{SEED}copy",
    }
    packed = next(r for r in found if r["url"] == f"{SEED}packed" and r["type"] != "request")
    assert packed["http"]["X-Crawler-Content-Encoding"] == "gzip"
    assert "Content-Encoding" not in packed["http"]
    asked = [record for record in found if record["type"] == "request"]
    assert all("canonry" in record["http"]["User-Agent"] for record in asked)
    assert all(record["headers"]["WARC-Concurrent-To"] for record in asked)

    class Quiet:  # warcio's own check of digests and structure
        verbose = False
        inputs = (str(path),)

    checker = Checker(Quiet())
    checker.process_all()
    assert checker.exit_value == 0
    urls = [one.text for one in blocks.lines_of(blocks.read([str(path)])) if isinstance(one, Line)]
    assert len(urls) == 7, "and our own dedup reads it"


def test_the_index_says_where_each_answer_is(tmp_path: Path) -> None:
    with from_thread(raw_server(site)) as raw:
        run_command(*words(raw, "--warc", "kept"), folder=tmp_path)
    [path] = (tmp_path / "kept").glob("*.cdxj")
    [warc] = (tmp_path / "kept").glob("*.warc.gz")
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines == sorted(lines)
    assert len(lines) == 7
    data = warc.read_bytes()
    for line in lines:
        key, _time, text = line.split(" ", 2)
        about = json.loads(text)
        assert key == surt.surt(about["url"])
        assert about["filename"] == warc.name
        start = int(about["offset"])
        [record] = ArchiveIterator(BytesIO(data[start : start + int(about["length"])]))
        assert record.headers["WARC-Target-URI"] == about["url"]
        assert record.headers["WARC-Payload-Digest"] == f"sha1:{about['digest']}"
        assert str(record.http_headers.status_code) == about["status"]
        assert (record.record_type == WarcRecordType.revisit) == (
            about.get("mime") == "warc/revisit"
        )


def test_another_indexer_says_the_same(tmp_path: Path) -> None:
    with from_thread(raw_server(site)) as raw:
        run_command(*words(raw, "--warc", "kept"), folder=tmp_path)
    [path] = (tmp_path / "kept").glob("*.cdxj")
    [warc] = (tmp_path / "kept").glob("*.warc.gz")
    theirs = StringIO()
    CDXJIndexer(theirs, [str(warc)], sort=True).process_all()

    def told(line: str) -> tuple[str, str, dict[str, str]]:
        key, time, text = line.split(" ", 2)
        about = json.loads(text)
        about["digest"] = about["digest"].removeprefix("sha1:")
        return key, time, about

    ours = [told(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert ours == [told(line) for line in theirs.getvalue().splitlines()]


def test_secrets_are_not_written(tmp_path: Path) -> None:
    with from_thread(raw_server(site)) as raw:
        given = words(raw, "--warc", "kept", "--max-pages", "1")
        given[1] = "http://user:secret@h.example/"
        run_command(*given, folder=tmp_path)
    [path] = (tmp_path / "kept").glob("*.warc.gz")
    text = gzip.decompress(path.read_bytes())
    assert b"user" in text
    assert b"secret" not in text
    assert b"Authorization" not in text


@pytest.mark.parametrize("folder", ["a-file", "/proc/nowhere"])
def test_a_folder_that_cannot_be_written_is_wrong_usage(tmp_path: Path, folder: str) -> None:
    (tmp_path / "a-file").write_text("x")
    done = run_command("crawl", SEED, "--warc", folder, folder=tmp_path)
    assert done.returncode == 2
    assert f"--warc {folder}:".encode() in done.stderr


def test_a_body_that_was_not_read_is_marked_as_cut(tmp_path: Path) -> None:
    pdf = ok(b"not wanted", "Content-Type: application/pdf")
    html = ok(b'<a href="/x.pdf">', "Content-Type: text/html")
    with from_thread(raw_server(lambda head: pdf if b"/x.pdf" in head else html)) as raw:
        more = ["--warc", str(tmp_path / "w"), "--store", f"sqlite:///{tmp_path / 's.db'}"]
        more += ["--only-types", "html", "--header", "X-Api-Key: s3cret"]
        assert CliRunner().invoke(main, words(raw, *more)).exit_code == 0
    [file] = (tmp_path / "w").glob("*.warc.gz*")
    content = gzip.decompress(file.read_bytes())
    assert b"s3cret" not in content
    assert any(b"X-Api-Key: s3cret" in head for head in raw.heads)
    with file.open("rb") as stream:
        cut = {
            record.headers["WARC-Target-URI"]: (
                record.headers["WARC-Truncated"],
                record.reader.read(),
            )
            for record in ArchiveIterator(stream, record_types=WarcRecordType.response)
            if "WARC-Truncated" in record.headers
        }
    assert cut == {f"{SEED}x.pdf": ("unspecified", b"")}


def test_all_that_wait_learn_that_the_file_cannot_be_written(tmp_path: Path) -> None:
    archive = WarcArchive(str(tmp_path / "w"), "agent")
    (tmp_path / "w").rmdir()

    async def write() -> list[BaseException | None]:
        responses = [Response(f"{SEED}{n}", 200, {}, {}, b"x", 0.1) for n in range(3)]
        return await asyncio.gather(*map(archive.write, responses), return_exceptions=True)

    assert [type(fault) for fault in asyncio.run(write())] == [StoreError] * 3
    (tmp_path / "w").mkdir()
    assert asyncio.run(write()) == [None] * 3
    archive.close()
    assert [record["url"] for record in records(tmp_path / "w") if record["type"] == "request"] == [
        f"{SEED}{n}" for n in range(3)
    ]


def test_a_response_is_written_while_another_is_waited_for(tmp_path: Path) -> None:
    archive = WarcArchive(str(tmp_path / "w"), "agent")

    async def fetch() -> None:
        written = asyncio.Event()

        async def get(url: str, *_given: object) -> Response:
            if url.endswith("late"):
                await written.wait()
            return Response(url, 200, {}, {}, b"x", 0.1)

        archived = archive.archiving(get)
        late = asyncio.create_task(archived(f"{SEED}late"))
        await asyncio.gather(archived(f"{SEED}1"), archived(f"{SEED}2"))
        assert not late.done()
        assert len(records(tmp_path / "w")) == 5, "they are in the file"
        written.set()
        await late

    asyncio.run(fetch())
    archive.close()
    assert len(records(tmp_path / "w")) == 7


def test_a_whole_file_outlives_a_loss_of_power(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its records, its name, and the folder that was made for it."""
    disk = Disk(tmp_path)
    with disk.watching(monkeypatch):
        archive = WarcArchive(str(tmp_path / "w"), "agent")
        asyncio.run(archive.write(Response(SEED, 200, {}, {}, b"x", 0.1)))
        archive.close()
    shutil.rmtree(tmp_path / "w")
    disk.restore()
    assert [record["type"] for record in records(tmp_path / "w")] == [
        "warcinfo",
        "response",
        "request",
    ]
    assert sorted(file.suffix for file in (tmp_path / "w").iterdir()) == [".cdxj", ".gz"]


def test_which_records_are_revisits(tmp_path: Path) -> None:
    """Those whose body an earlier record has, of any URL; an answer without a body is none."""
    archive = WarcArchive(str(tmp_path / "w"), "agent")
    bodies = {"one": b"x", "another": b"x", "unchanged": b"", "gone": b"x"}
    statuses = {"unchanged": 304, "gone": 404}

    async def write() -> None:
        for name, body in bodies.items():
            status = statuses.get(name, 200)
            await archive.write(Response(f"{SEED}{name}", status, {}, {}, body, 0.1))

    asyncio.run(write())
    archive.close()
    kinds = {r["url"]: r["type"] for r in records(tmp_path / "w") if r["type"] != "request"}
    assert kinds == {
        None: "warcinfo",
        f"{SEED}one": "response",
        f"{SEED}another": "revisit",
        f"{SEED}unchanged": "response",
        f"{SEED}gone": "revisit",
    }
