"""Hosts whose pages bring little new text are found and told with their pattern, and yield."""

import json
from pathlib import Path
from typing import Any

import msgspec
from click.testing import CliRunner
from support.crawls import crawl, host_of, target_of
from support.servers import Answer, ok

from canonry.crawler.cli.commands import main
from canonry.crawler.documents.page_scan import blocks_of
from canonry.crawler.run.new_text import NewText
from canonry.crawler.run.queue.politeness import Politeness
from canonry.crawler.run.queue.turns import Turns


def blocks(*texts: str) -> bytes:
    """Return the blocks of a page with these paragraphs."""
    found = blocks_of("".join(f"<p>{text}</p>" for text in texts).encode(), "text/html")
    assert found is not None
    return found


def calendar(day: int) -> bytes:
    """Return a day of an endless calendar."""
    return blocks(*(f"day {n}" for n in range(31)), "No events", f"The {day}th of days")


def article(number: int) -> bytes:
    """Return a page with text of its own in a frame."""
    own = (f"Sentence {n} of article {number}" for n in range(6))
    return blocks(*(f"menu {n}" for n in range(30)), *own)


def test_a_calendar_is_found_and_articles_are_not() -> None:
    texts = NewText()
    for number in range(2_000):
        url = f"http://a.example/article/{number}"
        assert texts.add("a.example", url, article(number)) is None
    told = [
        texts.add("b.example", f"http://b.example/cal?day={n}", calendar(n)) for n in range(900)
    ]
    assert told.count(True) == 1
    assert told.count(False) == 0
    found = texts.found("b.example")
    assert (found.pattern, found.pages) == ("b.example/cal?day", 200)
    assert found.pattern_share < 0.05


def test_a_host_that_brings_more_again_is_told() -> None:
    texts = NewText()
    told = [
        texts.add("b.example", f"http://b.example/cal?day={n}", calendar(n)) for n in range(400)
    ]
    told += [texts.add("b.example", f"http://b.example/a/{n}", article(n)) for n in range(200)]
    assert [one for one in told if one is not None] == [True, False]


def test_memory_has_a_bound() -> None:
    texts = NewText()
    for number in range(60):
        many = blocks(*(f"text {n} of {number}" for n in range(4_000)))
        texts.add("a.example", f"http://a.example/{number}", many)
        assert len(texts._hosts["a.example"].recent) <= 154_100  # noqa: SLF001
    assert texts._blocks <= 310_000  # noqa: SLF001


def test_a_host_that_yields_gets_one_turn_in_five_and_all_if_alone() -> None:
    turns = Turns(Politeness(delay=0.0, per_host=1, slots=1))
    for name in ("a.example", "b.example", "c.example"):
        turns.want(name, 300)
    turns.set_yields("b.example", yields=True)
    taken = []
    for _ in range(300):
        name = turns.take(1.0)
        assert name is not None
        taken.append(name)
        turns.done(name)
    assert 15 <= taken.count("b.example") <= 300 / 9
    turns.cancel("a.example", 300 - taken.count("a.example"))
    turns.cancel("c.example", 300 - taken.count("c.example"))
    for _ in range(50):
        assert turns.take(1.0) == "b.example"
        turns.done("b.example")


def site(head: bytes) -> Answer:
    """Answer as two hosts: one of articles, and one with a calendar."""
    target = target_of(head)
    if target == "/robots.txt":
        return ok(b"", status="404 Not Found")
    if host_of(head) == "a.example":
        links = "".join(f'<a href="/article/{n}">a</a>' for n in range(40)).encode()
        own = f"<p>This is {target}.</p><p>It says {target} again.</p><p>And {target}.</p>".encode()
        return ok(own + links, "Content-Type: text/html")
    day = int(target.partition("day=")[2] or 0)
    grid = "".join(f"<td>{n}</td>" for n in range(60))
    links = "".join(f'<a href="/cal?day={n}">next</a>' for n in (day + 1, day + 7))
    return ok(f"{grid}<h1>Day {day}</h1>{links}".encode(), "Content-Type: text/html")


def test_it_is_told_kept_and_nothing_is_dropped(tmp_path: Path) -> None:
    notices: list[str] = []
    seeds = ("http://a.example/", "http://cal.example/cal?day=0")
    found: dict[str, Any]
    found, _rows = crawl(tmp_path, site, seeds=seeds, max_pages=600, notices=notices)
    [one] = found["little_new"]
    assert (one.host, one.pattern) == ("cal.example", "cal.example/cal?day")
    assert found["held"] == {}
    [told] = [notice for notice in notices if "other hosts go first" in notice]
    assert "canonry patterns exclude 'cal.example/cal?day'" in told
    store = ["--store", str(tmp_path / "store.db")]
    shown = CliRunner().invoke(main, ["status", *store]).stdout
    assert "cal.example/cal?day" in shown
    as_json = json.loads(CliRunner().invoke(main, ["status", *store, "--json"]).stdout)
    assert as_json["little_new"] == [msgspec.structs.asdict(one)]
