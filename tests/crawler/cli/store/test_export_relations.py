"""Relations of pages in exports of clusters, from crawls of a manual in several releases."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.made_pages import WORDS
from support.servers import Answer, Raw, ok, raw_server
from support.sites import crawl_host, exported, from_thread, run_command

SEED = "http://h.example/"
VERSIONS = ("1.9", "1.10", "dev")
CHAPTERS = 24


class Manual:
    """A manual in several releases; each changes some words of each page."""

    def __init__(self) -> None:
        self.versions = VERSIONS

    def __call__(self, head: bytes) -> Answer:
        path = head.split(b" ")[1].decode()
        if path == "/":
            pages = [f"/{v}/p{n}.html" for v in self.versions for n in range(CHAPTERS)]
            body = "".join(f'<a href="{page}">' for page in (*pages, "/about.html"))
        elif path == "/about.html":
            body = "<title>About us</title>Who we are."
        elif path[1:].split("/")[0] in self.versions:
            version, name = path[1:].split("/")
            words = random.Random(name)
            title = " ".join(words.sample(WORDS, 3))
            text = " ".join(words.choices(WORDS, k=words.randint(40, 900)))
            body = f"<title>{title} - Tool {version}</title>{text} New in {version}."
        else:
            return ok(b"", status="404 Not Found")
        return ok(body.encode(), "Content-Type: text/html")


@pytest.fixture
def manual() -> Iterator[tuple[Manual, Raw]]:
    made = Manual()
    with from_thread(raw_server(made)) as raw:
        yield made, raw


def documents(folder: Path, *words: str) -> dict[str, dict[str, Any]]:
    """Return the exported documents, by what follows the host."""
    rows = exported(folder, "clusters", *words)
    return {row["url"].removeprefix(SEED): row for row in rows}


def test_one_document_for_each_page_of_a_manual(tmp_path: Path, manual: tuple[Manual, Raw]) -> None:
    _site, raw = manual
    crawl_host(SEED, raw.port, tmp_path)
    plain = documents(tmp_path)
    for prefer, version in (("newest", "dev"), ("stable", "1.10"), ("oldest", "1.9")):
        found = documents(tmp_path, "--prefer", prefer)
        shown = {url for url, row in found.items() if row["release_of"] is None}
        assert shown == {"", "about.html", *(f"{version}/p{n}.html" for n in range(CHAPTERS))}
        for url, row in found.items():
            others = [v for v in reversed(VERSIONS) if v != version]
            if "/" in url:
                name = url.partition("/")[2]
                of = None if url.startswith(version) else f"{SEED}{version}/{name}"
                assert row["release_of"] == of
                releases = [f"{SEED}{other}/{name}" for other in others]
                assert row["releases"] == ([] if of else releases)
                assert f"{CHAPTERS} of {CHAPTERS} pages agree" in row["relation_evidence"]
        bare = {"release_of", "releases", "relation_evidence"}
        assert [{k: v for k, v in row.items() if k not in bare} for row in found.values()] == [
            {k: v for k, v in row.items() if k not in bare} for row in plain.values()
        ]
    assert {row["state"] for row in exported(tmp_path, "urls")} == {"fetched"}
    assert all(row["release_of"] is None and not row["releases"] for row in plain.values())


def test_a_new_release_reaches_a_reader(tmp_path: Path, manual: tuple[Manual, Raw]) -> None:
    site, raw = manual
    site.versions = VERSIONS[:1]
    crawl_host(SEED, raw.port, tmp_path)
    words = ("--prefer", "newest", "--cursor", "cursor")
    assert len(documents(tmp_path, *words)) == CHAPTERS + 2
    site.versions = VERSIONS[:2]
    crawl_host(SEED, raw.port, tmp_path, "--config", "crawl.recrawl_after=0s")
    changed = documents(tmp_path, *words)
    assert changed["1.9/p3.html"]["release_of"] == f"{SEED}1.10/p3.html"
    assert changed["1.10/p3.html"]["releases"] == [f"{SEED}1.9/p3.html"]
    assert "about.html" not in changed
    assert documents(tmp_path, *words) == {}


def test_what_has_no_relations(tmp_path: Path) -> None:
    done = run_command("export", "pages", "--prefer", "newest", folder=tmp_path)
    assert done.returncode == 2
    assert b"--prefer: only clusters have relations, not pages" in done.stderr
