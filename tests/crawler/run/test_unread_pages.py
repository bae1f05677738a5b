"""Bodies that are not wanted are not read; what is known of them is told, kept and released."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
from click.testing import CliRunner
from support.crawls import crawl, page, target_of
from support.servers import Answer, ok

from canonry.crawler.cli.commands import main
from canonry.crawler.run.job import preparation
from canonry.crawler.settings import load

TYPES = {"/a.pdf": "application/pdf", "/b.pdf": "application/pdf", "/x": "text/html;charset=x"}


def answer(asked: list[str]) -> Any:  # noqa: ANN401 - a function of the support's type
    """Return a site of a page, two files and a page without a type; it notes what is asked."""

    def say(head: bytes) -> Answer:
        target = target_of(head)
        asked.append(target)
        if target == "/":
            return page("/a.pdf", "/b.pdf", "/x", "/none", "/gone")
        if target == "/gone":
            return ok(b"gone", "Content-Type: application/pdf", status="404 Not Found")
        kind = [f"Content-Type: {TYPES[target]}"] if target in TYPES else []
        return ok(b"the same", *kind, 'ETag: "1"')

    return say


def test_what_has_another_type_is_held_and_released(tmp_path: Path) -> None:
    asked: list[str] = []
    found, rows = crawl(tmp_path, answer(asked), fetch={"only_types": ["html"]})
    assert found["held"] == {"other-type": 2}
    assert found["urls"]["fetched"] == 4
    by_url = {row["url"].partition(".example")[2]: row for row in rows}
    for target, row in by_url.items():
        assert row["unread"] == ("other-type" if target.endswith(".pdf") else None)
    pdf = by_url["/a.pdf"]
    assert (pdf["status"], pdf["content_type"], pdf["size"]) == (200, "application/pdf", None)
    assert [pdf[key] for key in ("digest", "links", "etag", "same_body_as")] == [None] * 4
    assert found["repeated_bodies"] == 1  # /x and /none

    asked.clear()
    crawl(tmp_path, answer(asked), fetch={"only_types": ["html"]}, max_hops=9)
    assert asked == []  # another limit does not concern them

    found, rows = crawl(tmp_path, answer(asked), fetch={"only_types": ["html", "pdf"]}, max_hops=9)
    assert sorted(asked) == ["/a.pdf", "/b.pdf"]
    assert found["held"] == {}
    assert {row["unread"] for row in rows} == {None}
    assert found["repeated_bodies"] == 3


def test_the_status_tells_them_apart_from_pages_that_were_read(tmp_path: Path) -> None:
    crawl(tmp_path, answer([]), fetch={"only_types": ["html"]})
    store = ["--store", f"sqlite:///{tmp_path / 'store.db'}"]
    said = CliRunner().invoke(main, ["status", *store]).output
    assert "not read   bodies of 2 other-type" in said
    found = msgspec.json.decode(CliRunner().invoke(main, ["status", *store, "--json"]).output)
    assert found["unread"] == {"other-type": 2}
    assert found["pages_by_status"] == {"200": 5, "404": 1}


def test_a_file_that_is_too_long_is_not_read(tmp_path: Path) -> None:
    """Its Content-Length says so. What was on its way when the client hung up is lost."""
    sent = 0

    async def large(writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n")
        try:
            while sent < 100_000_000:
                writer.write(bytes(1 << 16))
                await writer.drain()
                sent += 1 << 16
        except ConnectionError:
            pass

    def say(head: bytes) -> Answer:
        return large if target_of(head) == "/large" else page("/large")

    found, rows = crawl(tmp_path, say)
    assert found["failed"] == {"too-large": 1}
    [row] = [row for row in rows if row["url"].endswith("/large")]
    assert (row["unread"], row["status"], row["size"]) == ("too-large", 200, None)
    assert sent < 8_000_000  # buffers of both systems


def test_what_was_never_read_fails_where_its_server_is_down(tmp_path: Path) -> None:
    """It is no page of an earlier crawl that stays."""

    async def hang_up(writer: asyncio.StreamWriter) -> None:
        writer.close()

    asked: list[str] = []
    crawl(tmp_path, answer(asked), fetch={"only_types": ["html"]})
    limits = {"only_types": ["html", "pdf"]}
    found, _rows = crawl(tmp_path, lambda _head: hang_up, fetch=limits, retries=0)
    assert (found["held"], found["not_again"]) == ({}, {})
    assert sum(found["failed"].values()) == 2


def test_what_turns_out_too_long_is_an_unread_page_too(tmp_path: Path) -> None:
    chunk = b"10000\r\n" + bytes(1 << 16) + b"\r\n"
    body = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk * 4 + b"0\r\n\r\n"
    found, rows = crawl(
        tmp_path,
        lambda head: body if target_of(head) == "/long" else page("/long"),
        fetch={"max_body": 100_000},
    )
    assert found["failed"] == {"too-large": 1}
    assert {row["unread"] for row in rows} == {None, "too-large"}


def test_sitemaps_that_are_left_out_are_told() -> None:
    told = "--only-types leaves out the sitemaps that robots.txt files name: add sitemap"
    for types, says in ((["html"], True), (["html", "sitemap"], False), ([], False)):
        assert (told in preparation.of(load(None, {"fetch": {"only_types": types}}), [])) == says


def test_why_says_that_a_body_was_not_read(tmp_path: Path) -> None:
    crawl(tmp_path, answer([]), fetch={"only_types": ["html"]})
    words = ["why", "http://a.example/a.pdf", "--store", f"sqlite:///{tmp_path / 'store.db'}"]
    told = CliRunner().invoke(main, words).stdout
    assert "status 200, body not read, application/pdf, fetched" in told
    assert "--only-types with its type (it was html)" in told
