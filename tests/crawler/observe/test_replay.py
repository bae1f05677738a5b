"""Replay tools show what a crawl has archived: pywb by our own index, and a WACZ by py-wacz."""

import gzip
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from support.ports import free_port
from support.servers import Answer, ok, raw_server
from support.sites import from_thread, run_command

_BIN = Path(sys.prefix) / "bin"
_SECONDS = 60
_PACKED = b"<p>packed</p>" * 99


def _tool(name: str) -> str:
    found = shutil.which(name, path=f"{_BIN}{os.pathsep}{os.environ['PATH']}")
    if found is None:
        pytest.skip(f"{name} is not installed; make test-adapters has it")
    return found


def _site(head: bytes) -> Answer:
    path = head.split(b" ")[1].decode()
    if path == "/":
        return ok(b'<a href="/packed"><a href="/copy"><a href="/moved">', "Content-Type: text/html")
    if path == "/moved":
        return ok(b"", "Location: /packed", status="301 Moved")
    if path == "/packed":
        body = gzip.compress(_PACKED)
        return ok(body, "Content-Type: text/html", "Content-Encoding: gzip")
    if path == "/copy":
        return ok(_PACKED, "Content-Type: text/html")
    return ok(b"", status="404 Not Found")


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the WARC file of a crawl, and its index."""
    folder = tmp_path_factory.mktemp("archive")
    with from_thread(raw_server(_site)) as raw:
        words = ["http://h.example/", "--connect-to", f"::127.0.0.1:{raw.port}", "--delay", "0"]
        done = run_command(
            "crawl", *words, "--config", "learn.enabled=false", "--warc", "kept", folder=folder
        )
        assert done.returncode == 0, done.stderr
    return folder / "kept"


@contextmanager
def _replaying(folder: Path) -> Iterator[int]:
    port = free_port()
    words = [_tool("wayback"), "-p", str(port), "-d", str(folder)]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
        try:
            yield port
        finally:
            running.terminate()


def _get(port: int, path: str) -> bytes:
    until = time.monotonic() + _SECONDS
    while True:
        try:
            with urlopen(f"http://127.0.0.1:{port}/c/2099mp_/{path}", timeout=_SECONDS) as answer:
                body: bytes = answer.read()
                return body
        except (URLError, ConnectionError) as error:
            if hasattr(error, "code") or time.monotonic() > until:
                raise
            time.sleep(0.1)


def test_pywb_replays_every_page_by_our_index(archive: Path, tmp_path: Path) -> None:
    collection = tmp_path / "collections" / "c"
    for name, pattern in (("archive", "*.warc.gz"), ("indexes", "*.cdxj")):
        (collection / name).mkdir(parents=True)
        for file in archive.glob(pattern):
            shutil.copy(file, collection / name / file.name)
    with _replaying(tmp_path) as port:
        for path in ("packed", "copy", "moved"):
            assert _PACKED in _get(port, f"http://h.example/{path}"), path
        assert b"/packed" in _get(port, "http://h.example/")


def test_a_wacz_of_it_is_valid(archive: Path, tmp_path: Path) -> None:
    made = tmp_path / "site.wacz"
    files = [str(file) for file in archive.glob("*.warc.gz")]
    for words in (["create", "-o", str(made), "-f", *files], ["validate", "-f", str(made)]):
        subprocess.run([_tool("wacz"), *words], check=True, timeout=_SECONDS)
