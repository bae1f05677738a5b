"""Published keys: read by ranges from a folder or a server, they answer as their file does."""

import json
import random
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from shutil import copytree
from typing import ClassVar

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from support.sites import run_command

import canonry.seen
from canonry.canon.policies import preset
from canonry.crawler.key_files import published_keys
from canonry.crawler.key_files.key_file import KeyFileError, opened_keys
from canonry.crawler.key_files.published_keys import FilterError, Publication, opened_publication
from canonry.crawler.key_files.seen_file import extending
from canonry.crawler.key_files.sorted_keys import Keys, as_keys
from canonry.crawler.settings import SettingsError

WEB = preset("web")


def made(folder: Path, keys: list[bytes]) -> Publication:
    """Publish keys in a folder."""
    fresh = folder / "fresh"
    fresh.write_bytes(b"".join(sorted(set(keys))))
    with extending(str(folder / "seen.keys"), WEB) as seen:
        seen.extend(fresh, "a job")
    with opened_keys(str(folder / "seen.keys")) as file:
        return published_keys.publish(file, file.chunks(), str(folder / "pub"))


def some_keys(seed: int, count: int) -> list[bytes]:
    data = random.Random(seed).randbytes(16 * count)
    return [data[at : at + 16] for at in range(0, len(data), 16)]


def asked(keys: list[bytes]) -> Keys:
    return as_keys(b"".join(keys))


@pytest.mark.parametrize("count", [1, 2, 255, 256, 257, 70_000, 600_000])
def test_it_answers_as_the_file(tmp_path: Path, count: int) -> None:
    """Of three shards, of a part of one, and of one key."""
    keys = some_keys(1, count)
    known = set(keys)
    made(tmp_path, keys)
    others = some_keys(2, 50_000)
    with opened_publication(str(tmp_path / "pub")) as file:
        assert len(file) == count
        assert file.among(asked(keys)).all(), "no false negative"
        assert not file.among(asked(others)).any(), "and no false positive: the pages decide"
        few = [*keys[:3], *others[:3]]
        assert file.among(asked(few)).tolist() == [key in known for key in few]


def test_keys_that_begin_alike_are_found_over_pages_and_shards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(published_keys, "SHARD", 2)
    same, more = b"\7" * 8, b"\6" * 8
    keys = [more + n.to_bytes(8) for n in range(300)] + [same + n.to_bytes(8) for n in range(2000)]
    made(tmp_path, keys)
    wanted = [*keys, *(same + n.to_bytes(8) for n in range(2000, 4000)), b"\x08" * 16, b"\0" * 16]
    with opened_publication(str(tmp_path / "pub")) as file:
        found = file.among(asked(wanted))
    known = set(keys)
    assert found.tolist() == [key in known for key in wanted]


def test_the_filter_tells_most_of_what_is_absent(tmp_path: Path) -> None:
    published = made(tmp_path, some_keys(3, 300_000))
    assert published.index.at * 8 / 300_000 <= 9.5
    with opened_publication(str(tmp_path / "pub")) as file:
        high = np.zeros(50_000, np.int64)
        absent = asked(sorted(some_keys(4, 50_000)))
        assert file._may_have is not None  # noqa: SLF001 - how much is read is what it is for
        share = file._may_have(absent, high, high).mean()  # noqa: SLF001
    assert share < 0.006


class Served(BaseHTTPRequestHandler):
    """A server of a folder, of ranges unless it is told not to."""

    folder: ClassVar[Path]
    has_ranges: ClassVar[bool] = True
    sent: ClassVar[list[int]] = []
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 20  # head and body in one piece: in two, each answer waits for 40 ms

    def do_HEAD(self) -> None:
        self.do_GET(is_head=True)

    def do_GET(self, *, is_head: bool = False) -> None:
        file = self.folder / self.path.lstrip("/")
        if not file.is_file():
            self.send_error(404)
            return
        data = file.read_bytes()
        asked_range = self.headers.get("Range")
        if asked_range and self.has_ranges:
            first, last = map(int, asked_range.removeprefix("bytes=").split("-"))
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {first}-{last}/{len(data)}")
            data = data[first : last + 1]
        else:
            self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        if self.has_ranges:
            self.send_header("Accept-Ranges", "bytes")
        self.end_headers()
        if not is_head:
            self.wfile.write(data)
            self.sent.append(len(data))

    def log_message(self, *_words: object) -> None:
        """Say nothing."""


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    class Here(Served):
        folder, sent = tmp_path / "pub", []

    with ThreadingHTTPServer(("127.0.0.1", 0), Here) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def lines(first: int, last: int) -> bytes:
    return b"".join(b"http://a.example/%d\n" % n for n in range(first, last))


@pytest.fixture(scope="module")
def publication(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder in which what a dedup of 100,000 lines has seen is published by commands."""
    folder = tmp_path_factory.mktemp("publication")
    words = ("dedup", "-", "--seen", "s.keys", "-o", "/dev/null")
    assert run_command(*words, folder=folder, data=lines(0, 100_000)).returncode == 0
    done = run_command("keys", "publish", "s.keys", "-o", "pub", "--json", folder=folder)
    assert json.loads(done.stdout)["keys"] == 100_000, done.stderr
    return folder


@pytest.fixture
def published(publication: Path, tmp_path: Path) -> None:
    copytree(publication, tmp_path, dirs_exist_ok=True)


@pytest.mark.usefixtures("published")
def test_dedup_leaves_out_what_a_server_has(tmp_path: Path, url: str) -> None:
    before = {path.name: path.read_bytes() for path in (tmp_path / "pub").iterdir()}
    data = lines(99_000, 101_000) + b"HTTP://A.example/5#x\nno url\n"
    beyond = ("--memory", "16MiB", "--prefer", "url:shortest")
    for place, *words in [
        (url, *beyond),
        (f"{url}latest.json",),
        ("pub", *beyond),
        ("pub/latest.json",),
    ]:
        done = run_command("dedup", "-", "--seen", place, *words, folder=tmp_path, data=data)
        assert done.returncode == 0, done.stderr
        assert done.stdout == lines(100_000, 101_000)
        assert b"1,001 seen before" in done.stderr
        assert b"added" not in done.stderr
    assert {path.name: path.read_bytes() for path in (tmp_path / "pub").iterdir()} == before


@pytest.mark.usefixtures("published")
@pytest.mark.parametrize("kind", [list, np.array, pa.array, pl.Series])
def test_a_column_of_a_frame_is_looked_up(tmp_path: Path, kind: Callable[..., object]) -> None:
    urls = ["http://a.example/7", "HTTP://a.example:80/8#x", "no url", "http://b.example/"]
    found = canonry.seen.is_seen(kind(urls), str(tmp_path / "pub"))
    assert found.tolist() == [True, True, False, False]
    with pytest.raises(SettingsError, match="its keys are of policy web@1, not search"):
        canonry.seen.is_seen(urls, str(tmp_path / "pub"), policy="search")


@pytest.mark.usefixtures("published")
def test_its_commands_read_published_keys(tmp_path: Path, url: str) -> None:
    for place in ("pub", url):
        done = run_command("keys", "info", place, "--check", folder=tmp_path)
        assert done.stdout.startswith(b"100,000 keys of policy web@1, in 1 part, and every"), done
        done = run_command("keys", "merge", place, "s.keys", "-o", "m.keys", folder=tmp_path)
        assert done.stdout == b"100,000 keys, of 200,000\n"


@pytest.mark.usefixtures("published")
def test_a_few_look_ups_read_little(tmp_path: Path, url: str) -> None:
    with opened_publication(url) as file:
        Served.sent.clear()
        assert file.among(asked(some_keys(9, 5))).tolist() == [False] * 5
    size = sum(path.stat().st_size for path in (tmp_path / "pub").iterdir())
    assert sum(Served.sent) < size / 10


@pytest.mark.parametrize("ending", ["keys", "filter", "json"])
def test_what_is_damaged_is_told(tmp_path: Path, ending: str) -> None:
    keys = some_keys(5, 3000)
    made(tmp_path, keys)
    [path] = (tmp_path / "pub").glob(f"*.{ending}")
    whole = path.read_bytes()
    for at in range(0, len(whole), max(len(whole) // 40, 1)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        try:
            with opened_publication(str(tmp_path / "pub")) as file:
                assert file.among(asked(keys)).all()
                assert not file.among(asked(some_keys(6, 3000))).any()
        except (KeyFileError, FilterError, FileNotFoundError) as error:
            assert str(tmp_path / "pub") in str(error)  # noqa: PT017 - or the answers are right


@pytest.mark.usefixtures("published")
def test_a_server_without_ranges_and_another_policy_and_no_publication(
    tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = run_command("dedup", "-", "--seen", url, "--policy", "search", folder=tmp_path, data=b"")
    assert done.returncode == 2
    assert b"its keys are of policy web@1, not search@" in done.stderr
    monkeypatch.setattr(Served, "has_ranges", False)
    done = run_command("dedup", "-", "--seen", url, folder=tmp_path, data=lines(0, 2))
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"sends no ranges" in done.stderr
    done = run_command("dedup", "-", "--seen", ".", folder=tmp_path, data=lines(0, 2))
    assert b".: this folder has no published keys; name a file" in done.stderr
    (tmp_path / "pub/latest.json").write_text("{}")
    done = run_command("dedup", "-", "--seen", "pub", folder=tmp_path, data=lines(0, 2))
    assert done.returncode == 1
    assert b"latest.json is not of published keys" in done.stderr


def test_shards_leave_memory_when_there_are_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(published_keys, "SHARD", 2)
    monkeypatch.setattr(published_keys, "_HELD", 2000)
    keys = some_keys(7, 5000)
    made(tmp_path, keys)
    with opened_publication(str(tmp_path / "pub")) as file:
        assert file.among(asked(keys)).all()
        assert not file.among(asked(some_keys(8, 5000))).any()
