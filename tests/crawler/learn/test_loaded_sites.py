"""Sites in memory: a broad crawl keeps a little of each, and goes back to the store for few."""

from collections import Counter
from pathlib import Path

import pytest
from sqlalchemy import Connection
from support.stores import open_store

from canonry.canon import Canonicalizer
from canonry.canon.learned import Rewrite
from canonry.crawler.documents.page_scan import blocks_of
from canonry.crawler.learn import loaded_sites, site_records
from canonry.crawler.learn.evidence import RuleEvidence
from canonry.crawler.learn.loaded_sites import LoadedSites
from canonry.crawler.learn.text.comparison import PageAnswer
from canonry.crawler.learn.walls import WallPauses

MAKE = Canonicalizer("web")


def sites() -> LoadedSites:
    return LoadedSites(MAKE, WallPauses(), 0.0)


def answer(loaded: LoadedSites, name: str, number: int) -> None:
    """Let a page of a site answer."""
    body = "".join(f"<p>{name} {number} {n}</p>" for n in range(20)).encode()
    page = PageAnswer(f"{name} {number}".encode(), blocks_of(body, "text/html"))
    loaded[name].site.page(f"http://{name}/{number}", number, page, None)
    loaded.fit([name])


@pytest.fixture
def little_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loaded_sites, "_MOST_BYTES", 2_000_000)
    monkeypatch.setattr(loaded_sites, "_ENOUGH_BYTES", 1_600_000)


@pytest.mark.usefixtures("little_room")
def test_sites_in_turns_stay_in_memory_with_their_latest_pages() -> None:
    loaded = sites()
    for n in range(60):
        for host in range(50):
            answer(loaded, f"h{host}.example", n)
    in_memory = dict(loaded.items())
    assert len(in_memory) == 50
    assert sum(site.size for site in in_memory.values()) <= 2_000_000
    assert all("http://" + name + "/59" in site.pages for name, site in in_memory.items())


@pytest.mark.usefixtures("little_room")
def test_of_too_many_sites_those_with_rules_are_kept_longest() -> None:
    loaded = sites()
    for host in range(300):
        answer(loaded, f"h{host}.example", 0)
        if host < 20:
            rewrite = Rewrite(f"h{host}.example", "trailing-slash", new="slash")
            loaded[f"h{host}.example"].site.rules[rewrite] = RuleEvidence(rewrite)
    in_memory = dict(loaded.items())
    assert sum(site.size for site in in_memory.values()) <= 2_000_000
    assert {f"h{host}.example" for host in range(20)} < in_memory.keys()


@pytest.mark.usefixtures("little_room")
def test_a_site_without_rules_that_had_no_room_is_not_loaded_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads: Counter[str] = Counter()
    read = site_records.host_urls.latest

    def counted(connection: Connection, names: list[str], most: int) -> object:
        loads[names[0]] += 1
        return read(connection, names, most)

    monkeypatch.setattr(site_records.host_urls, "latest", counted)
    store, loaded = open_store(tmp_path), sites()
    loaded.is_known = True
    with store.transaction() as connection:
        loaded.connection = connection
        for _round in range(3):
            for host in range(300):
                answer(loaded, f"h{host}.example", _round)
    assert set(loads.values()) == {1}
    assert len(loads) == 300
    store.close()


@pytest.mark.usefixtures("little_room")
def test_the_store_is_not_asked_about_sites_that_are_new_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(
        site_records, "load", lambda _connection, name, *_given, **_options: asked.append(name)
    )
    store, loaded = open_store(tmp_path), sites()
    with store.transaction() as connection:
        loaded.connection = connection
        for host in range(1000):
            answer(loaded, f"h{host}.example", 0)
        assert asked == []
        answer(loaded, "h0.example", 1)
    assert asked == ["h0.example"], "it had no room"
    store.close()


def test_what_waits_for_a_site_is_known_when_it_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loaded_sites, "_MOST_UNANSWERED", 100)
    loaded = sites()
    for n in range(60):
        loaded.found("first.example", f"http://first.example/{n}", n)
    assert not list(loaded.items()), "none has answered"
    for n in range(60):
        loaded.found("second.example", f"http://second.example/{n}", n)
    answer(loaded, "second.example", 0)
    answer(loaded, "first.example", 0)
    pages = {name: len(site.pages) for name, site in loaded.items()}
    assert pages == {"second.example": 60, "first.example": 1}
