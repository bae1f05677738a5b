"""A crawler of one's own claims its URLs: once each, and none is lost when it is killed."""

import http.server
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

import pytest
from support.sites import run_command, wait_for

from canonry.claims import ClaimedURLs
from canonry.storage.reading import report

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/how-to/any-crawler.md").read_text(encoding="utf-8")
PAGES = 30


@pytest.fixture
def store(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 's.db'}"


def test_each_resource_is_handed_out_once(store: str) -> None:
    told: list[str] = []
    with ClaimedURLs(store, notify=told.append) as urls:
        some = ["http://A.example/%7E?utm_id=1#x", "http://a.example/~", "http://[x", "ftp://a/"]
        assert urls.claim(some) == ["http://a.example/%7E?utm_id=1"]
        assert urls.claim(["../b", "/~"], "http://a.example/c/d") == ["http://a.example/b"]
        assert urls.claim([]) == []
    assert [line.partition(":")[0] for line in told] == ["refused"]
    assert "[x" in told[0]
    with ClaimedURLs(store) as urls:
        assert urls.claim(["http://a.example/b"]) == []
        first, second = urls.unfinished()
        assert urls.unfinished() == []
        assert urls.finish(first, 200, body=b"x", content_type="text/html") == []
        with pytest.raises(ValueError, match="finished already"):
            urls.finish(first, 200)
        assert urls.finish(second, None) == []
        [third] = urls.claim(["http://a.example/e"])
        assert urls.finish(third, 0) == []
    with ClaimedURLs(store) as urls:
        assert urls.unfinished() == []
    with report.reading(store) as connection:
        assert [page["url"] for page in report.rows(connection, "pages")] == [first]


def test_what_is_told_of_a_page_is_exported(store: str) -> None:
    with ClaimedURLs(store) as urls:
        [url] = urls.claim(["http://a.example/"])
        urls.claim(["/a", "b", "http://[", "/a?utm_id=1"], url)
        urls.claim(["/c"], url)
        urls.finish(url, 200, body=b"text", content_type="text/html", title="T")
    done = run_command("why", url, "--store", store, folder=ROOT)
    assert b"page       status 200, 4 bytes, text/html, 5 links" in done.stdout


def test_a_redirect_is_told_and_its_target_claimed(store: str) -> None:
    with ClaimedURLs(store) as urls:
        [url] = urls.claim(["http://a.example/old"])
        assert urls.finish(url, 301, location="/new") == ["http://a.example/new"]
        [other] = urls.claim(["http://a.example/other"])
        assert urls.finish(other, 302, location="http://a.example/new?utm_id=1") == []
        assert urls.finish("http://a.example/new", 200) == []
        [same] = urls.claim(["http://a.example/p?gclid=1"])
        assert urls.finish(same, 302, location="/p") == ["http://a.example/p"]
        assert urls.finish("http://a.example/p", 200) == []
        [circle] = urls.claim(["http://a.example/circle"])
        assert urls.finish(circle, 302, location="/circle") == []
        [wrong] = urls.claim(["http://a.example/wrong"])
        assert urls.finish(wrong, 301, location="http://[") == []
        [nowhere] = urls.claim(["http://a.example/nowhere"])
        assert urls.finish(nowhere, 304) == []
        assert urls.unfinished() == []
    words = ("export", "aliases", "--store", store, "--format", "csv")
    done = run_command(*words, folder=ROOT)
    assert b"http://a.example/old,http://a.example/new" in done.stdout


def test_two_urls_that_redirect_to_each_other_end(store: str) -> None:
    with ClaimedURLs(store) as urls:
        todo = urls.claim(["http://a.example/p?gclid=1"])
        requested = []
        while todo:
            url = todo.pop()
            requested.append(url)
            assert len(requested) < 20
            todo += urls.finish(url, 302, location="/p" if "?" in url else "/p?gclid=1")
        assert set(requested) == {"http://a.example/p", "http://a.example/p?gclid=1"}
        assert urls.unfinished() == []
    with ClaimedURLs(store) as urls:
        assert urls.unfinished() == []
    done = run_command("why", requested[0], "--store", store, folder=ROOT)
    assert b"redirects to itself too often" in done.stdout


def test_of_several_processes_one_gets_each_url(store: str) -> None:
    with ClaimedURLs(store):
        pass
    code = (
        "import sys; from canonry.claims import ClaimedURLs\n"
        "with ClaimedURLs(sys.argv[1]) as urls:\n"
        "    for start in range(0, 200, 20):\n"
        "        some = [f'http://a.example/{n}' for n in range(start, start + 20)]\n"
        "        print(*urls.claim(some), sep='\\n', end='\\n', flush=True)\n"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", code, store], cwd=ROOT, stdout=subprocess.PIPE)
        for _ in range(2)
    ]
    got = Counter(b"\n".join(one.communicate(timeout=60)[0] for one in running).split())
    assert len(got) == 200
    assert set(got.values()) == {1}


class Site(http.server.BaseHTTPRequestHandler):
    """Pages that link to the next ones under several names; some redirect."""

    asked: ClassVar[Counter[str]] = Counter()
    last: ClassVar[int] = 1 << 30  # the number of the request that gets no answer

    def do_GET(self) -> None:
        self.asked[self.path] += 1
        if self.asked.total() >= self.last:
            with suppress(ConnectionError):
                self.rfile.read()  # until the other end is gone
            return
        path = self.path.partition("?")[0]
        number = int(path.strip("/p.") or 0)
        time.sleep(0.005)
        if number % 7 == 3 and "?" not in self.path:
            self.send_response(301)
            self.send_header("Location", f"/p{number + 1}?gclid=1")
            self.end_headers()
            return
        after = [f"/p{n % PAGES}{tail}" for n in (2 * number + 1, 2 * number + 2)
                 for tail in ("", "?utm_source=x", "#top")]  # fmt: skip
        links = "".join(f'<a href="{link}">x</a>' for link in after)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(links.encode())

    def log_message(self, *_: object) -> None:
        """Be silent."""


@pytest.fixture
def site() -> Iterator[str]:
    Site.asked = Counter()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    thread.join()
    server.server_close()


def resources(asked: Counter[str]) -> Counter[str]:
    """Return how often each resource was asked for, under any name."""
    found: Counter[str] = Counter()
    for path, count in asked.items():
        found[path.partition("?")[0]] += count
    return found


def test_the_crawler_of_the_page_runs_and_survives_kills(
    tmp_path: Path, store: str, site: str
) -> None:
    [code] = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "mine.py").write_text(code)
    command = [sys.executable, str(tmp_path / "mine.py")]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    whole = subprocess.run(
        [*command, f"sqlite:///{tmp_path / 'whole.db'}", site], env=env, timeout=60, check=True
    )
    assert whole.returncode == 0
    once = resources(Site.asked)
    assert set(once.values()) <= {1, 2}, "two only where a redirect leads to a page under its key"
    Site.asked = Counter()
    for kill in range(2):
        Site.last = Site.asked.total() + 6 + kill
        process = subprocess.Popen([*command, store, site], env=env)
        wait_for(lambda: Site.asked.total() == Site.last, 60)
        process.send_signal(signal.SIGKILL)
        process.wait()
    Site.last = 1 << 30
    subprocess.run([*command, store, site], env=env, timeout=60, check=True)
    again = resources(Site.asked)
    assert again.keys() == once.keys(), "no page is lost"
    assert again.total() - once.total() <= 2, "only what was in flight is asked twice"
