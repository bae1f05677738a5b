"""The programs of docs/how-to/search-index.md follow a store over two crawls, in real engines."""

import os
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from support.servers import Answer, ok, raw_server
from support.sites import from_thread, run_command

PAGE = (Path(__file__).parents[2] / "docs/how-to/search-index.md").read_text(encoding="utf-8")
PROGRAMS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
SITE = {
    "/": b'<a href="/apples"><a href="/pears"><a href="/old"><a href="/brief">',
    "/apples": b"<title>About apples</title>",
    "/pears": b"<title>About pears</title>",
    "/brief": b"<title>Here today</title>",
    "/old": "/apples",
}


def answer(site: dict[str, bytes | str], head: bytes) -> Answer:
    """Answer with a page, or redirect to where a text says."""
    found = site.get(head.split(b" ")[1].decode())
    if found is None:
        return ok(b"", status="404 Not Found")
    if isinstance(found, str):
        return ok(b"", f"Location: {found}", status="301 Moved Permanently")
    return ok(found, "Content-Type: text/html")


def crawl_twice(folder: Path, program: str, target: str) -> list[str]:
    """Crawl a site, index it, crawl it again after it has changed; return what was printed."""
    site: dict[str, bytes | str] = dict(SITE)
    (folder / "index.py").write_text(program, encoding="utf-8")
    bin_folder = Path(sys.executable).parent
    printed = []
    with from_thread(raw_server(lambda head: answer(site, head))) as raw:
        for _ in range(2):
            connect = ("--connect-to", f"::127.0.0.1:{raw.port}")
            words = (
                "http://f.example/",
                "--delay",
                "0",
                "--config",
                "crawl.recrawl_after=0",
                *connect,
            )
            assert run_command("crawl", *words, folder=folder).returncode == 0
            done = subprocess.run(
                [sys.executable, "index.py", "canonry.db", target],
                cwd=folder,
                env={**os.environ, "PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}"},
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, done.stderr
            printed.append(done.stdout)
            site["/pears"] = "/quinces"
            site["/quinces"] = b"<title>About quinces</title>"
            site["/"] = b'<a href="/apples"><a href="/quinces">'
            site.pop("/brief", None)
    return printed


def test_there_are_two_programs() -> None:
    assert len(PROGRAMS) == 2


def test_an_index_in_sqlite_follows_two_crawls(tmp_path: Path) -> None:
    first, second = crawl_twice(tmp_path, PROGRAMS[0], "index.db")
    assert first == "4 indexed, 0 deleted\n"
    # The home page has changed, quinces are new; pears lead to them, and the brief page is gone.
    assert second == "2 indexed, 2 deleted\n"
    question = "SELECT url FROM words JOIN documents ON number = words.rowid WHERE words MATCH ?"
    with closing(sqlite3.connect(tmp_path / "index.db")) as index:

        def found(words: str) -> list[str]:
            return [url for (url,) in index.execute(question, [words])]

        assert found("about") == ["http://f.example/apples", "http://f.example/quinces"]
        assert found("pears") == ["http://f.example/quinces"], "under its other name"
        assert found("old") == ["http://f.example/apples"]
        assert found("today") == []


def test_an_index_in_tantivy_follows_two_crawls(tmp_path: Path) -> None:
    tantivy = pytest.importorskip("tantivy", reason="needs tantivy")
    crawl_twice(tmp_path, PROGRAMS[1], "found")
    index = tantivy.Index.open(str(tmp_path / "found"))
    index.reload()
    searcher = index.searcher()
    hits = searcher.search(index.parse_query("about", ["title"]), 10).hits
    urls = {searcher.doc(address)["url"][0] for _score, address in hits}
    assert urls == {"http://f.example/apples", "http://f.example/quinces"}
    assert searcher.num_docs == 3
