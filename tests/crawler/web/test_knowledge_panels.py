"""The panels about merges, learned rules and single URLs: a real server, a real store."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import msgspec
import pytest
from click.testing import CliRunner
from support.crawls import SEED, crawl, page, target_of
from support.live_pages import Viewer, live_page, shown
from support.servers import Answer, ok
from support.stores import MAKE, candidate, open_store

from canonry.canon import Evidence, LearnedRule
from canonry.crawler.cli.commands import main
from canonry.crawler.inquiry.url_answer import URLAnswer, lines
from canonry.crawler.learn.rules import rule_store
from canonry.storage.learned import ledger
from canonry.storage.learned.ledger import StoredPair

SCRIPT = "<script>document.title='run'</script>"
TURNED = "\u202egnp.exe"
TEXT = b"<p>one two three four five six seven eight nine ten eleven twelve thirteen fourteen"
WORDS = b"<title>A page</title>" + TEXT
UTF_8 = "Content-Type: text/html; charset=utf-8"
LONG = "/long/" + "x" * 9_000
_ANSWERS = {
    "/": page(
        "/p1", "/p1/", "/p2", "/p2/", f"/p1?utm_source={SCRIPT}", f"/p1?utm_medium={TURNED}",
        "http://me:secret@a.example/p1#x", "/moved", "/temporary", "/named", "/twin",
        "/names-an-error", "/names-no-page", "/moved-away",
        "/p1#x", LONG, "javascript:alert(1)", "/hostile",
    ),
    "/p1": ok(WORDS, "Content-Type: text/html"),
    "/p1/": ok(WORDS + b"<p>a b c d e f g h", "Content-Type: text/html"),
    "/p2": ok(WORDS + b"2", "Content-Type: text/html"),
    "/p2/": ok(b"", "Location: /p2", status="301 Moved"),
    "/moved": ok(b"", "Location: /p1", status="308 Moved"),
    "/temporary": ok(b"", "Location: /p1", status="302 Found"),
    "/named": ok(WORDS + b'<link rel="canonical" href="/p1">', "Content-Type: text/html"),
    "/names-an-error": ok(b'other<link rel="canonical" href="/gone">', "Content-Type: text/html"),
    "/names-no-page": ok(
        b'third<link rel="canonical" href="http://out.example/">', "Content-Type: text/html"
    ),
    "/moved-away": ok(b"", "Location: http://out.example/", status="301 Moved"),
    "/gone": ok(b"gone", status="404 Not Found"),
    "/twin": ok(WORDS, "Content-Type: text/html"),
    "/hostile": ok(f"<title>{SCRIPT}{TURNED}</title>".encode(), UTF_8),
}  # fmt: skip
SLASH = LearnedRule(
    host="a.example",
    family="trailing-slash",
    new="bare",
    evidence=Evidence(agree=20, disagree=1, first_seen=5.0, last_seen=9.0),
)


def _answer(head: bytes) -> Answer:
    return _ANSWERS.get(target_of(head), ok(b"fine", "Content-Type: text/plain"))


def made(folder: Path) -> str:
    """Crawl a site, import a learned rule that holds a URL; return the URL of the store."""
    crawl(folder, _answer)
    store = open_store(folder)
    store.admit([candidate(f"{SEED}{n}")._replace(source=1, depth=1) for n in ("q", "q/")], 5.0)
    with store.transaction() as connection:
        rule_store.import_rules(connection, [SLASH], MAKE, 6.0)
        seen = [
            (f"{SEED}p2/", f"{SEED}p2", ledger.SAME, ledger.OWN_WORD),
            (f"{SEED}gone", f"{SEED}gone/{SCRIPT}", ledger.SAME, ledger.MINED),
            (f"{SEED}p1", f"{SEED}p1/", ledger.DIFFERENT, ledger.CONTENT),
            (f"{SEED}u", f"{SEED}u/", ledger.UNKNOWN, ledger.CONTENT),
        ]
        pairs = [
            StoredPair(SLASH.id, *sorted(both), both[0], verdict, source, 4, 86_400.0)
            for *both, verdict, source in seen
        ]
        ledger.put_pairs(connection, pairs)
    store.close()
    return f"sqlite:///{folder / 'store.db'}"


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the URL of a store; do not write to it."""
    return made(tmp_path_factory.mktemp("knowledge"))


@pytest.fixture(scope="module")
def looking(known: str) -> Iterator[Viewer]:
    """Return a viewer of that store's page."""
    with live_page(known) as one:
        yield one


def assert_harmless(text: str) -> None:
    """Assert that nothing which a site wrote is markup, turns the text, or is a secret."""
    assert "<script>document" not in text
    assert "\u202e" not in text
    assert "secret" not in text
    assert 'href="javascript:' not in text


def test_merges_are_counted_by_rule_with_their_section(looking: Viewer) -> None:
    found = looking.json("/made-one")["merges"]
    by_rule = {row["rule"]: row for row in found["rules"]}
    assert by_rule.keys() == {
        "tracking", "fragment", "redirect", "canonical", "learned", "content",
    }  # fmt: skip
    assert (by_rule["tracking"]["count"], by_rule["tracking"]["noun"]) == (2, "link")
    assert by_rule["fragment"]["cites"].startswith("RFC 3986 section")
    assert by_rule["tracking"]["lossless"] is False
    assert (by_rule["redirect"]["count"], found["temporary_redirects"]) == (3, 1)
    assert by_rule["canonical"]["count"] == 3
    assert (by_rule["canonical"]["link"], by_rule["canonical"]["same_as"]) == (
        f"{SEED}named",
        f"{SEED}p1",
    )
    assert by_rule["redirect"]["link"] in {f"{SEED}moved", f"{SEED}p2/"}
    assert (by_rule["learned"]["link"], by_rule["learned"]["same_as"]) == (f"{SEED}q/", f"{SEED}q")
    assert (by_rule["content"]["link"], by_rule["content"]["same_as"]) == (
        f"{SEED}twin",
        f"{SEED}p1",
    )
    text = looking.get("/made-one").text
    assert "2 links" in text
    assert "3 canonical links" in shown(text)
    assert f'href="/not-fetched?url={quote(f"{SEED}p1", safe="")}"' in text
    assert_harmless(text)


def test_rules_are_listed_by_state_and_by_host(looking: Viewer) -> None:
    found = looking.json("/made-one?state=active")["rules"]
    states = {row["state"]: row["rules"] for row in found["states"]}
    assert (states["active"], states["revoked"]) == (1, 0)
    [row] = found["rules"]
    assert (row["id"], row["suppressed"]) == (SLASH.id, 1)
    assert (row["evidence"]["agree"], row["evidence"]["disagree"]) == (20, 1)
    assert looking.json("/made-one?host=a.example")["rules"]["rules"] == [row]
    assert looking.json("/made-one?host=b.example")["rules"]["rules"] == []
    assert looking.json("/made-one?state=revoked")["rules"]["rules"] == []
    assert looking.get("/made-one?state=%3Cb%3E").status == 400
    assert looking.get("/made-one?id=ffff").status == 400


def test_evidence_has_both_pages_side_by_side(looking: Viewer, known: str) -> None:
    chosen = looking.json(f"/made-one?id={SLASH.id[:6]}")["rules"]["chosen"]
    assert chosen["state"] == "active"
    assert chosen["standing"].startswith("It acts, but 1 page turned out to be another")
    sides = chosen["side_by_side"]
    found = {one["url"]["url"].removeprefix(SEED).split("/")[0]: one for one in sides}
    moved, gone, against, unknown = (found[name] for name in ("p2", "gone", "p1", "u"))
    assert moved["url"]["state"] == "redirected"
    assert (moved["url"]["redirect_status"], moved["url"]["redirects_to"]) == (301, f"{SEED}p2")
    assert (moved["found"]["status"], moved["found"]["title"]) == (200, "A page")
    assert (moved["pair"]["source"], moved["same_body"]) == ("own-word", None)
    assert (gone["agrees"], gone["pair"]["verdict"]) == (True, "same")
    assert "never-seen" in {gone["url"]["state"], gone["found"]["state"]}
    assert (against["agrees"], against["same_body"]) == (False, False)
    assert against["url"]["at"].startswith("20")
    assert (unknown["agrees"], unknown["pair"]["verdict"]) == (False, "unknown")
    assert chosen["holds"][0]["url"] == f"{SEED}q/"
    text = looking.get(f"/made-one?id={SLASH.id}").text
    for said in ("own word", "comparing them", "a log, or an import", "Not known yet"):
        assert said in text
    assert f"canonry rules revoke --store {known} {SLASH.id}" in shown(text)
    assert "canonry rules reinstate" not in shown(text)
    assert_harmless(text)


def test_the_answer_about_a_url_is_that_of_the_command(looking: Viewer, known: str) -> None:
    asked = "HTTP://A.example:80/moved?utm_source=x#top"
    page_says = looking.json(f"/not-fetched?url={quote(asked, safe='')}")["url"]
    done = CliRunner().invoke(main, ["why", asked, "--store", known, "--json"])
    assert done.exit_code == 0, done.output
    assert page_says == json.loads(done.stdout)
    told = CliRunner().invoke(main, ["why", asked, "--store", known]).stdout
    text = shown(looking.get(f"/not-fetched?url={quote(asked, safe='')}").text)
    for line in lines(msgspec.convert(page_says, URLAnswer)):
        assert line.text in text
        assert line.text in " ".join(told.split())
    assert page_says["surt"] == "example,a)/moved"
    assert [step["name"] for step in page_says["steps"]][-2:] == ["tracking", "fragment"]
    resource = page_says["resource"]
    assert resource["representative"] == f"{SEED}p1"
    members = {one["url"].removeprefix(SEED): one["reason"] for one in resource["members"]}
    assert members.pop("http://me:***@a.example/p1") == "content"
    assert members == {"moved": "redirect", "named": "canonical", "twin": "content"}
    assert looking.json(f"/not-fetched?row={page_says['row']}")["url"]["steps"] == []


def test_a_url_can_be_asked_by_its_row(looking: Viewer, known: str) -> None:
    with closing(sqlite3.connect(known.removeprefix("sqlite:///"))) as connection, connection:
        url_ids = dict(connection.execute("SELECT url, id FROM urls").fetchall())
    [long] = [url for url in url_ids if len(url) > 9_000]
    found = looking.json(f"/not-fetched?row={url_ids[long]}")["url"]
    assert (found["state"], found["reason"], found["url"]) == ("held", "too-long", long)
    text = looking.get(f"/not-fetched?row={url_ids[long]}").text
    assert len(text) < 40_000, "long texts are cut"
    text = looking.get(f"/not-fetched?row={url_ids[f'{SEED}hostile']}").text
    assert "⟨U+202E⟩gnp.exe" in text.replace("<wbr>", "")
    assert_harmless(text)
    assert looking.get("/not-fetched?row=999999").status == 400
    assert looking.get("/not-fetched?row=-1").status == 400


@pytest.mark.parametrize(
    "asked",
    [SCRIPT, "javascript:alert(1)", f"{SEED}{TURNED}", "http://me:secret@a.example/p1", "http://["],
)
def test_hostile_questions_are_harmless(looking: Viewer, asked: str) -> None:
    path = f"/not-fetched?url={quote(asked, safe='')}"
    reply = looking.get(path)
    assert reply.status == 200
    assert_harmless(reply.text.replace(quote(asked, safe=""), ""))  # data-query is the page's own
    assert looking.json(path)["url"]["asked"]
