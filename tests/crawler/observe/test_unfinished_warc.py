"""WARC files of killed crawls: the next crawl finishes them, and those of the living stay."""

import asyncio
import json
import os
import signal
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from fastwarc import ArchiveIterator
from multidict import CIMultiDict
from support.forking import Fork
from support.servers import Raw, ok, raw_server
from support.sites import from_thread, host_words, run_command, start, wait_for

from canonry.crawler.fetch.response import Response
from canonry.crawler.observe.unfinished_warc import finish_abandoned
from canonry.crawler.observe.warc import WarcArchive

SEED = "http://h.example/"
_MANY = 50_000  # bytes of a file: some dozens of pages


def words(raw: Raw, *more: str) -> list[str]:
    """Return the arguments of a crawl of the served site, into a folder ``kept``."""
    return host_words(SEED, raw.port, "--warc", "kept", *more)


def endless(head: bytes) -> bytes:
    """Answer with pages that link to three more, each."""
    if b"robots" in head:
        return ok(b"", status="404 Not Found")
    number = int(head.split(b" ")[1][1:] or b"0")
    links = "".join(f'<a href="/{number * 3 + n}">' for n in (1, 2, 3))
    return ok(f"{links} {number}".encode(), "Content-Type: text/html")


@contextmanager
def crawling(folder: Path, raw: Raw, *more: str) -> Iterator[Fork]:
    """Run a crawl until the end of a block, and enter it when many pages are written."""
    with start(folder, *words(raw, *more)) as process:
        try:
            wait_for(lambda: any(f.stat().st_size > _MANY for f in unfinished(folder)), 60)
            yield process
        finally:
            process.kill()


def unfinished(folder: Path) -> list[Path]:
    return sorted((folder / "kept").glob("*.open"))


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "kept").iterdir())


def indexed_urls(folder: Path) -> set[str]:
    """Return the URLs of all indexes, after a look at each record that they name."""
    urls = set()
    for path in (folder / "kept").glob("*.cdxj"):
        for line in path.read_text().splitlines():
            about = json.loads(line.split(" ", 2)[2])
            with (folder / "kept" / about["filename"]).open("rb") as file:
                file.seek(int(about["offset"]))
                record = next(iter(ArchiveIterator(file)))
                assert record.headers["WARC-Target-URI"] == about["url"]
            urls.add(about["url"])
    return urls


def pages_of(folder: Path) -> set[str]:
    rows = run_command("export", "pages", folder=folder).stdout.splitlines()
    return {json.loads(row)["url"] for row in rows}


def written(folder: Path, body: bytes = b"last") -> tuple[Path, Path]:
    """Write a WARC file of many kinds of answers, and one with a body; return it and its index."""
    archive = WarcArchive(str(folder), "agent")
    html = CIMultiDict({"content-type": "Text/HTML; x"})
    bodies = [os.urandom(n * 999 % 20_000) for n in range(30)]
    answers = [
        Response("http://u:secret@h.example/a", 200, html, {}, b"a", 0.1),
        Response(f"{SEED}copy", 200, html, {}, b"a", 0.1),
        Response(f"{SEED}moved", 301, {"Location": "/x", "X-Odd": "\xe9"}, {}, b"", 0.1),
        *(Response(f"{SEED}{n}", 200, {}, {}, data, 0.1) for n, data in enumerate(bodies)),
        Response(f"{SEED}last", 200, {}, {}, body, 0.1),
    ]

    async def write() -> None:
        await asyncio.gather(*map(archive.write, answers))

    asyncio.run(write())
    archive.close()
    [path] = folder.glob("*.warc.gz")
    [index] = folder.glob("*.cdxj")
    return path, index


def record_starts(path: Path) -> list[int]:
    """Return where the records of a file begin, and its end."""
    return record_starts_of(path.read_bytes())


def record_starts_of(data: bytes) -> list[int]:
    """Return where the gzip members of a file begin, and its end."""
    starts = [0]
    while starts[-1] < len(data):
        member = zlib.decompressobj(31)
        member.decompress(data[starts[-1] :])
        assert member.eof
        starts.append(len(data) - len(member.unused_data))
    return starts


def told_of(folder: Path) -> list[str]:
    """Finish what is left in a folder, and return what was reported."""
    told: list[str] = []
    finish_abandoned(str(folder), told.append)
    return told


def test_the_next_crawl_finishes_what_a_killed_one_left(tmp_path: Path) -> None:
    with from_thread(raw_server(endless)) as raw:
        with crawling(tmp_path, raw) as process:
            process.send_signal(signal.SIGKILL)
        [left] = unfinished(tmp_path)
        done = run_command(*words(raw, "--max-pages", "1"), folder=tmp_path)
    assert not unfinished(tmp_path), done.stderr
    assert left.name.removesuffix(".open") in names(tmp_path)
    assert b"--warc kept: 1 file of killed processes finished, with " in done.stderr
    pages = pages_of(tmp_path)
    assert len(pages) > 20
    assert pages <= indexed_urls(tmp_path)


def test_the_file_of_a_living_crawl_stays(tmp_path: Path) -> None:
    with from_thread(raw_server(endless)) as raw, crawling(tmp_path, raw):
        [left] = unfinished(tmp_path)
        more = ["--store", "other.db", "--max-pages", "3"]
        done = run_command(*words(raw, *more), folder=tmp_path)
        assert done.returncode == 0, done.stderr
        assert b"finished, with" not in done.stderr
        assert unfinished(tmp_path) == [left]
        size = left.stat().st_size
        wait_for(lambda: left.stat().st_size > size, 60)
        assert len(names(tmp_path)) == 3, "and the other crawl has its own file"


def test_the_file_of_a_killed_worker_is_finished_in_the_same_run(tmp_path: Path) -> None:
    with from_thread(raw_server(endless)) as raw:
        more = ["--config", "crawl.workers=2", "--max-pages", "500"]
        with crawling(tmp_path, raw, *more) as process:
            [left, *_] = (one for one in unfinished(tmp_path) if one.stat().st_size > _MANY)
            os.kill(int(left.name.split("-")[2]), signal.SIGKILL)
            assert process.wait(60) == 0
    assert not unfinished(tmp_path)
    assert pages_of(tmp_path) <= indexed_urls(tmp_path)


def test_a_finished_file_has_the_index_that_its_writer_makes(tmp_path: Path) -> None:
    path, index = written(tmp_path)
    data, lines = path.read_bytes(), index.read_bytes()
    path.rename(f"{path}.open")
    index.unlink()
    assert told_of(tmp_path) == [
        f"canonry: --warc {tmp_path}: 1 file of killed processes finished, with 34 responses"
    ]
    assert path.read_bytes() == data
    assert index.read_bytes() == lines
    assert told_of(tmp_path) == []


@pytest.mark.parametrize("cut", [1, 9, 5_000, 70_000])
def test_a_kill_in_a_record_loses_this_record_only(tmp_path: Path, cut: int) -> None:
    path, index = written(tmp_path)
    whole, lines = path.read_bytes(), index.read_text().splitlines()
    starts = record_starts(path)
    index.unlink()
    path.unlink()
    Path(f"{path}.open").write_bytes(whole[:-cut])
    [sentence] = told_of(tmp_path)
    end = max(start for start in starts if start <= len(whole) - cut)
    removed = len(whole) - cut - end
    assert f"; {removed:,} byte" in sentence
    assert path.read_bytes() == whole[:end]
    expected = [line for line in lines if int(json.loads(line.split(" ", 2)[2])["offset"]) < end]
    assert index.read_text().splitlines() == expected
    assert len(record_starts(path)) == sum(start <= end for start in starts)


def test_a_record_of_a_warc_file_is_one_record(tmp_path: Path) -> None:
    """If it is cut, the records in its body are not taken for ours."""
    inner, _index = written(tmp_path / "inner")
    outer, index = written(tmp_path / "outer", body=inner.read_bytes())
    whole = outer.read_bytes()
    outer.unlink()
    index.unlink()
    last = [start for start in record_starts_of(whole) if start < len(whole)]
    Path(f"{outer}.open").write_bytes(whole[: last[-1] - 10])
    told_of(tmp_path / "outer")
    assert len(index.read_text().splitlines()) == 33


def test_a_file_without_a_response_is_deleted(tmp_path: Path) -> None:
    path, index = written(tmp_path)
    start = record_starts(path)[1]
    index.unlink()
    Path(f"{path}.open").write_bytes(path.read_bytes()[: start + 5])
    path.unlink()
    assert told_of(tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_finished_stops_no_crawl(tmp_path: Path) -> None:
    (tmp_path / "canonry-1-2-00001.warc.gz.open").mkdir()
    assert told_of(tmp_path) == [
        f"canonry: {tmp_path}/canonry-1-2-00001.warc.gz.open cannot be finished: Is a directory"
    ]


def test_an_older_copy_of_a_complete_file_stays(tmp_path: Path) -> None:
    path, _index = written(tmp_path)
    whole = path.read_bytes()
    Path(f"{path}.open").write_bytes(whole[:9_999])
    assert told_of(tmp_path) == []
    assert path.read_bytes() == whole


@pytest.mark.parametrize("left", ["half an index", "an index"])
def test_a_kill_while_a_file_is_finished(tmp_path: Path, left: str) -> None:
    path, index = written(tmp_path)
    data, lines = path.read_bytes(), index.read_bytes()
    path.rename(f"{path}.open")
    if left == "half an index":
        index.unlink()
        (tmp_path / f".{index.name}.tmp").write_bytes(lines[:100])
    told_of(tmp_path)
    assert sorted(tmp_path.iterdir()) == [index, path]
    assert (path.read_bytes(), index.read_bytes()) == (data, lines)
