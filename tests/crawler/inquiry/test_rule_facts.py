"""What people are told of learned rules: how many URLs they hold now, wherever it is said."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from msgspec.structs import replace
from support.crawls import crawl, page, target_of
from support.databases import url_of
from support.live_pages import live_page
from support.servers import Answer, ok
from support.stored_rules import SLASH, put_in_force
from support.stores import MAKE, candidate, open_store, visited

from canonry.crawler.cli.commands import main
from canonry.crawler.inquiry import rule_facts
from canonry.crawler.learn.rules import rule_store
from canonry.storage import Page, State

H = "http://h.example"
_PATHS = 4


@pytest.mark.parametrize("status", [200, 500])
def test_suppressed_are_the_urls_that_are_held_now(tmp_path: Path, status: int) -> None:
    """What represents a URL may fail: then the URL is fetched, and nothing is suppressed."""
    answered = Page(status, 0.1, "text/html", 1, b"d" * 16, None, None, 0)
    store = open_store(tmp_path)
    names = [f"{H}/{n}{end}" for n in range(_PATHS) for end in ("", "/")]
    store.admit([candidate(name)._replace(source=1) for name in names], 1.0)
    with store.transaction() as connection:
        put_in_force(connection, SLASH)
    for url_id in range(1, 2 * _PATHS, 2):
        store.record([visited(url_id, State.FETCHED, page=answered)], 4.0)
    released = [] if status == 200 else range(2, 2 * _PATHS + 1, 2)
    for url_id in released:
        store.record([visited(url_id, State.FETCHED, page=answered)], 5.0)
    store.close()
    [said] = _everywhere(url_of(tmp_path)).values()
    assert said == dict.fromkeys(said, _PATHS if status == 200 else 0)
    assert _held_in_all(url_of(tmp_path)) == {said["list"]}


def test_of_hosts_with_many_urls_the_number_is_the_one_that_the_crawl_counted(
    tmp_path: Path,
) -> None:
    store = open_store(tmp_path)
    small = [f"http://s.example/{n}{end}" for n in range(2) for end in ("", "/")]
    large = [f"{H}/{n}{end}" for n in range(12) for end in ("", "/")]
    store.admit([candidate(name)._replace(source=1) for name in (*small, *large)], 1.0)
    wide = replace(SLASH, host="w.example", subdomains=True)
    with store.transaction() as connection:
        small_host = replace(SLASH, host="s.example")
        rules, _in_force = put_in_force(connection, SLASH, small_host, wide)

        def looked(most: int) -> list[int | None]:
            """Return the numbers of the three rules; None for one that was not looked at."""
            for rule in rules:
                rule.suppressed = 70
            cut = rule_facts.count_suppressed(connection, rules, most)
            assert all(rule.suppressed == 70 for rule in rules if rule.id in cut)
            return [None if rule.id in cut else rule.suppressed for rule in rules]

        assert looked(1_000) == [12, 2, 0]
        assert looked(30) == [12, None, 0], "too little is left for the second host"
        assert looked(20) == [None, 2, None], "two hosts at most, and the first has more URLs"
        assert looked(1) == [None, None, None], "the store has more hosts"
        connection.exec_driver_sql("DROP INDEX urls_by_host")
        assert looked(1_000) == [None, None, None], "each look would read all URLs"
    store.close()


def test_after_a_crawl_all_places_say_how_many_urls_learned_rules_hold(tmp_path: Path) -> None:
    """What a crawl tells of is held afterwards: URLs that are under way are none of these."""
    notices: list[str] = []
    found, _pages = crawl(tmp_path, _site, notices=notices)
    by_rule = _everywhere(url_of(tmp_path))
    assert len(by_rule) == 2, "a slash and a parameter"
    for said in by_rule.values():
        assert said == dict.fromkeys(said, said["list"])
    held = found["held"]["learned"]
    assert sum(said["list"] for said in by_rule.values()) == held, "no URL needs both rules"
    assert _held_in_all(url_of(tmp_path)) == {held}
    told = [re.search(r"(\d+) queued URLs held", notice) for notice in notices]
    assert 0 < sum(int(one[1]) for one in told if one is not None) <= held
    assert found["urls"]["queued"] == 0


def test_a_rule_that_was_imported_is_tested_by_the_first_crawl(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    with store.transaction() as connection:
        rule_store.import_rules(connection, [replace(SLASH, host="a.example")], MAKE, 1.0)
    store.close()
    crawl(tmp_path, _site)
    by_name = {rule["family"]: rule for rule in _rules(url_of(tmp_path))}
    slash = by_name["trailing-slash"]
    assert slash["tests"] > 1
    assert (slash["state"], slash["evidence"]["disagree"]) == ("active", 0)
    assert slash["evidence"]["agree"] > 0


def _rules(store: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(_printed("rules", "list", "--store", store, "--json"))[
        "rules"
    ]
    return found


def _site(head: bytes) -> Answer:
    """Answer for a hundred and twenty pages with four names each."""
    target = target_of(head)
    if target == "/":
        return page(*(f"/list/{n}" for n in range(12)))
    if target.startswith("/list/"):
        first = 10 * int(target.removeprefix("/list/"))
        ends = ("", "/", "?ref=1", "?ref=2")
        return page(*(f"/p{n}{end}" for n in range(first, first + 10) for end in ends))
    name = target.partition("?")[0].rstrip("/")
    return ok(f"<h1>{name}</h1><p>This is {name}".encode(), "Content-Type: text/html")


def _printed(*words: str) -> str:
    done = CliRunner().invoke(main, [*words])
    assert done.exit_code == 0, done.output
    return done.output


def _everywhere(store: str) -> dict[str, dict[str, int]]:
    """Return by rule, and by place, how many URLs it holds."""
    where = ["--store", store]
    listed = _rules(store)
    found = {}
    with live_page(store) as viewer:
        host = listed[0]["host"]
        by_state = {
            one["id"]: one for one in viewer.json("/made-one?state=active")["rules"]["rules"]
        }
        by_host = {
            one["id"]: one for one in viewer.json(f"/made-one?host={host}")["rules"]["rules"]
        }
        for one in listed:
            rule_id = one["id"]
            shown = _printed("rules", "show", rule_id, *where)
            as_json = json.loads(_printed("rules", "show", rule_id, *where, "--json"))
            found[rule_id] = {
                "list": one["suppressed"],
                "show --json": as_json["suppressed"],
                "show": int(shown.partition(" held because of it")[0].split()[-2]),
                "state": by_state[rule_id]["suppressed"],
                "host": by_host[rule_id]["suppressed"],
                "rule": viewer.json(f"/made-one?id={rule_id}")["rules"]["chosen"]["suppressed"],
            }
    return found


def _held_in_all(store: str) -> set[int]:
    """Return what different places say of how many URLs rules hold in all."""
    urls = [json.loads(line) for line in _printed("export", "urls", "--store", store).splitlines()]
    status = json.loads(_printed("status", "--store", store, "--json"))
    with live_page(store) as viewer:
        return {
            sum(url["reason"] == "learned" for url in urls),
            status["held"].get("learned", 0),
            viewer.json("/now")["suppressed"],
        }
