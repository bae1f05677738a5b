"""What ``why`` prints: a line for each fact that is known, and nothing that controls a terminal."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.crawls import SEED, crawl, page, target_of
from support.databases import url_of
from support.servers import Answer, ok
from support.stores import hold_a_name

from canonry.crawler.cli.commands import main

ANSWERS = {
    "/robots.txt": ok(b"User-agent: *\nDisallow: /\x1b[31mred\nDisallow: /no"),
    "/": page("/no/1", "/one", "/down", "http://b.example/", "/t?utm_source=q"),
    "/one": page("/two"),
    "/two": page("/three"),
    "/three": page("/four"),
    "/four": page("/five"),
    "/five": page("/six"),
    "/six": page("/seven"),
    "/seven": ok(b"<title>\x1b[31mred</title>", "Content-Type: text/html"),
    "/t?utm_source=q": ok(b"", "Location: /gone", status="302 Found"),
    "/gone": ok(b"", status="410 Gone"),
    "/down": ok(b"", status="503 Down"),
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Crawl the site above once; return the store's URL."""
    folder = tmp_path_factory.mktemp("why")

    def answer(head: bytes) -> Answer:
        return ANSWERS[target_of(head)]

    crawl(folder, answer, retries=0)
    return f"sqlite:///{folder / 'store.db'}"


def lines(store: str, *words: str, command: str = "why") -> list[str]:
    """Run a command; return the lines, each with single spaces."""
    done = CliRunner().invoke(main, [command, *words, "--store", store])
    assert done.exit_code == 0, done.output
    assert "\x1b" not in done.output
    return [" ".join(line.split()) for line in done.output.splitlines()]


def test_it_shows_what_holds_a_url_and_what_lifts_that(store: str) -> None:
    found = lines(store, f"{SEED}no/1")
    assert found[0] == f"{SEED}no/1"
    assert found[2].startswith("state held (robots), 20")
    assert "because the host's robots.txt disallows it (RFC 9309)" in found
    assert f"robots line 3 of {SEED}robots.txt disallows it: Disallow: /no" in found
    assert any(line.startswith("to change the owner of the site") for line in found)
    assert found[-1].endswith("(policy web@1)")
    found = lines(store, "http://b.example/")
    assert f"scope host of {SEED}" in found


def test_it_shows_the_way_to_a_url(store: str) -> None:
    found = lines(store, f"{SEED}seven")
    [place] = [n for n, line in enumerate(found) if line.startswith(f"found on {SEED}six, 20")]
    assert found[place].endswith("7 links from a seed")
    assert found[place + 1 : place + 5] == [
        f"which was found on {SEED}{n}" for n in ("five", "four", "three", "two")
    ]
    assert found[place + 5 : place + 7] == ["… 1 more …", f"which was found on {SEED}"]
    assert "title ⟨U+001B⟩[31mred" in found


def test_it_shows_redirects_spellings_and_failures(store: str) -> None:
    found = lines(store, f"{SEED}t")
    assert f"known as {SEED}t?utm_source=q (merged by tracking)" in found
    assert f"redirect 302 to {SEED}gone, which is fetched with status 410" in found
    found = lines(store, f"{SEED}down")
    assert "attempts 1 attempt failed" in found
    assert lines(store, f"{SEED}none")[2] == "state never seen"
    assert lines(store, "mailto:a")[2] == "state invalid (scheme)"


def test_explain_shows_the_same_of_a_store(store: str) -> None:
    found = lines(store, f"{SEED}no/1", command="explain")
    assert "no rule changes it: it is canonical" in found
    assert "because the host's robots.txt disallows it (RFC 9309)" in found
    done = CliRunner().invoke(main, ["explain", SEED, "--store", store, "--json"])
    assert json.loads(done.output)["store"]["state"] == "fetched"


def test_json_has_every_fact(store: str) -> None:
    done = CliRunner().invoke(main, ["why", f"{SEED}no/1", "--store", store, "--json"])
    found = json.loads(done.output)
    assert (found["state"], found["robots"]["line"]) == ("held", 3)
    assert found["found"]["on"] == [SEED]
    assert found["scope"]["seeds"] == [SEED]


def test_a_missing_store_is_said(tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["why", SEED, "--store", f"sqlite:///{tmp_path / 'no.db'}"])
    assert done.exit_code == 1
    assert "there is no store" in done.output


def test_it_shows_what_learned_rules_make_of_a_url(tmp_path: Path) -> None:
    hold_a_name(tmp_path)
    store = url_of(tmp_path)
    found = lines(store, "http://h.example/p0/")
    place = found.index("identity http://h.example/p0/")
    assert found[place + 1] == "the learned rules make it http://h.example/p0"
    assert "the learned rules" not in " ".join(lines(store, "http://h.example/p0"))
