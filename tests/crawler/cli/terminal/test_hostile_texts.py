"""Texts of others on a terminal and in JSON: they control nothing, and turn nothing around."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.crawls import SEED, crawl
from support.servers import ok

from canonry.crawler.cli.commands import main

HOSTILE = "\x1b[31m\x9b2J\u202eevil\u2066\x07\x7f"
_RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e\u2066]")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Crawl a page whose title and links are hostile."""
    folder = tmp_path_factory.mktemp("hostile")
    text = f"<title>{HOSTILE}</title><a href='/x{HOSTILE}'>x</a><a href='http://[{HOSTILE}'>y</a>"
    crawl(folder, lambda _head: ok(text.encode(), "Content-Type: text/html; charset=utf-8"))
    (folder / "urls.txt").write_text(f"http://h.example/{HOSTILE}\nno {HOSTILE}\n")
    (folder / f"{HOSTILE}.keys").write_text("no keys")
    return folder


@pytest.mark.parametrize(
    "words",
    [
        ["canon", HOSTILE],
        ["canon", HOSTILE, "--json"],
        ["explain", f"http://h.example/{HOSTILE}"],
        ["explain", f"http://h.example/{HOSTILE}", "--json"],
        ["explain", f"http://h.example/{HOSTILE}", "--store", "store.db"],
        ["why", SEED, "--store", "store.db"],
        ["why", SEED, "--store", "store.db", "--json"],
        ["why", f"http://h.example/{HOSTILE}", "--store", "store.db"],
        ["status", "--store", "store.db"],
        ["status", "--store", "store.db", "--json"],
        ["status", "--store", f"{HOSTILE}.db"],
        ["export", "pages", "--store", "store.db"],
        ["export", "urls", "--store", "store.db"],
        ["refused", "list", "--store", "store.db"],
        ["hosts", "block", HOSTILE, "--store", "store.db"],
        ["dedup", HOSTILE],
        ["dedup", "urls.txt", "-o", "out"],
        ["dedup", "urls.txt", "--json"],
        ["dedup", "urls.txt", "--map", "map.jsonl", "-o", "out.jsonl"],
        ["keys", "info", f"{HOSTILE}.keys"],
        ["rules", "revoke", HOSTILE, "--store", "store.db"],
        ["scope", "test", f"http://h.example/{HOSTILE}"],
        ["scope", "test", f"http://h.example/{HOSTILE}", "--json"],
        [HOSTILE],
        ["status", f"--{HOSTILE}"],
    ],
    ids=lambda words: " ".join(words).encode("ascii", "replace").decode()[:40],
)
def test_no_output_for_people_and_no_json_has_raw_controls(
    folder: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    monkeypatch.chdir(folder)
    done = CliRunner().invoke(main, words)
    assert isinstance(done.exception, SystemExit | None), done.exc_info
    assert not _RAW.search(done.stdout + done.stderr), ascii(done.stdout + done.stderr)
    for file in ("out.jsonl", "map.jsonl"):
        if file in words:
            assert not _RAW.search((folder / file).read_text())


def test_a_url_with_the_name_of_an_emoji_is_shown_as_it_is() -> None:
    done = CliRunner().invoke(main, ["explain", "http://h.example/:cat:/"])
    assert "http://h.example/:cat:/" in done.stdout
