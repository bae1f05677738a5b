"""Mining, without the command: which lines of a log are pairs, and which rules come of them."""

import io
from collections.abc import Sequence
from pathlib import Path

import pytest
from support.stores import MAKE, open_store
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from canonry.canon.learned import LearnedRule, Rewrite
from canonry.crawler.files.redirect_logs import LoggedRedirect, read, read_warc
from canonry.crawler.learn.mine import (
    LEAST,
    SeenPair,
    as_candidate,
    candidates,
    mine,
    put,
)
from canonry.crawler.learn.rules import rule_store
from canonry.crawler.learn.text.comparison import PageVerdict
from canonry.storage.learned import ledger
from canonry.storage.learned.ledger import CONTENT, MINED, SAME

OLD, NEW = "http://h.example/a", "http://h.example/b"
CDX = f"example,h)/a 20240101000000 {OLD}"
CDXJ = "example,h)/a 20240101000000"


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (f"{OLD},{NEW},308", (OLD, NEW, "308")),
        (f"{OLD}\t{NEW}", (OLD, NEW, "301")),
        (f'12,"{OLD}","{NEW}",GET,302', (OLD, NEW, "302")),
        (OLD, (OLD, "", "301")),
        (f"{OLD}\r,{NEW}", ("", "", "")),
        (f"{CDX} text/html 301 AAAA {NEW} - 1 2 f.warc.gz", (OLD, NEW, "301")),
        (f"{CDX} text/html 301 AAAA {NEW}", (OLD, NEW, "301")),
        (f"{CDX} text/html 301 AAAA", (OLD, "", "301")),
        (f"{CDX} text/html 200 AAAA - - 1 2 f.warc.gz", (OLD, "", "200")),
        (f"{CDX} text/html 301", (OLD, "", "301")),
        (f"{CDX} text/html", (OLD, "", "")),
        (f'{CDXJ} {{"url": "{OLD}", "status": "301", "redirect": "{NEW}"}}', (OLD, NEW, "301")),
        (f'{CDXJ} {{"url": "{OLD}", "status": 308, "redirect": "-"}}', (OLD, "", "308")),
        (f'{CDXJ} {{"url": "{OLD}"}}', (OLD, "", "")),
        (f"{CDXJ} {{}}", ("", "", "")),
        (f"{CDXJ} {{cut", ("", "", "")),
    ],
)
def test_each_kind_of_line_is_a_pair(line: str, found: Sequence[str]) -> None:
    assert list(read(["\r\n", f"{line}\n"])) == [LoggedRedirect(2, *found)]


# warcio's writer leaves it to the collector to close its temporary files.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_response_without_a_location_has_no_target() -> None:
    file = io.BytesIO()
    writer = WARCWriter(file, gzip=False)
    for headers in ([("Location", "/b")], []):
        said = StatusAndHeaders("301 Moved", headers, protocol="HTTP/1.1")
        body = io.BytesIO(b"x")
        writer.write_record(
            writer.create_warc_record(OLD, "response", payload=body, http_headers=said)
        )
    file.seek(0)
    assert list(read_warc(file)) == [
        LoggedRedirect(1, OLD, "/b", "301"),
        LoggedRedirect(2, OLD, "", "301"),
    ]


def test_mining_counts_every_line_and_orders_its_candidates() -> None:
    slashes = [(f"http://z.example/{n}", f"http://z.example/{n}/", "301") for n in range(30)]
    www = [(f"http://b.example/{n}", f"http://www.b.example/{n}", "308") for n in range(30)]
    rest = [
        (OLD, NEW, "302"),  # it is temporary
        (OLD, "", "301"),  # it leads nowhere
        (OLD, f"{OLD}#top", "301"),  # both are one identity already
        ("http://[", NEW, "301"),
        (OLD, "http://[", "301"),
    ]
    pairs = [LoggedRedirect(number, *row) for number, row in enumerate([*slashes, *www, *rest], 1)]
    found = mine(pairs, MAKE)
    assert (found.pairs, found.other) == (61, 2)
    assert sum(found.refused.values()) == 2
    made = [as_candidate(rule) for rule in found.rules]
    assert [(rule.host, rule.family, rule.state) for rule in made] == [
        ("b.example", "www", "candidate"),
        ("z.example", "trailing-slash", "candidate"),
    ]
    assert [rule.evidence.agree for rule in made] == [30, 30]
    assert {rule.evidence.first_seen for rule in made} == {None}, "no line has a time"
    assert made[0].evidence.samples[0] == ("http://b.example/0", "http://www.b.example/0")


def led(*pairs: tuple[str, str]) -> list[SeenPair]:
    return [SeenPair(f"http://h.example{old}", f"http://h.example{new}") for old, new in pairs]


SLASHES = led(*((f"/{n}", f"/{n}/") for n in range(LEAST)))
REFS = led(*((f"/{n}?ref=1", f"/{n}") for n in range(LEAST)))


@pytest.mark.parametrize(
    ("seen", "families"),
    [
        (SLASHES, ["trailing-slash"]),
        (SLASHES[1:], []),
        ([*SLASHES[1:], *led(("/1", "/1/"))], []),  # one page twice
        ([*SLASHES, *led(("/x/", "/x"))], []),  # back
        ([*SLASHES, *led(("/x", "/login"))], ["trailing-slash"]),  # elsewhere: /x/ was never seen
        ([*SLASHES, *led(("/x", "/login"), ("/y", "/x/"))], []),
        ([*SLASHES, *led(("/x/", "/login"))], ["trailing-slash"]),  # the rule does not change it
        ([*SLASHES, *led(("/x", "/login/?x"), ("/x/", "/y"))], []),
        ([*SLASHES, *led(("/x?ref=1", "/x/"))], ["trailing-slash"]),
        ([*REFS, *led(("/0?ref=2", "/y"))], []),  # /0 is known
        ([*REFS, *led(("/x?size=1", "/y"))], ["parameter-anywhere"]),
        ([*REFS, *SLASHES], ["parameter-anywhere", "trailing-slash"]),
        (
            [one._replace(led=False, by=CONTENT) for one in REFS],
            ["parameter-anywhere"],
        ),
        ([*REFS, REFS[0]._replace(verdict=PageVerdict.DIFFERENT, led=False)], []),
        ([*REFS, REFS[0]._replace(source="http://h.example/0?a=1&ref=1")], ["parameter-anywhere"]),
    ],
)
def test_a_candidate_has_three_pages_for_it_and_none_against(
    seen: Sequence[SeenPair], families: Sequence[str]
) -> None:
    assert [rule.rewrite.family for rule in candidates(seen)] == families
    assert [rule.rewrite.family for rule in candidates(reversed(seen))] == families


def test_a_pair_that_differs_in_two_things_says_only_that_one_of_them_selects() -> None:
    other = SeenPair(
        "http://h.example/x?ref=1&size=2", "http://h.example/x", PageVerdict.DIFFERENT, led=False
    )
    assert [rule.rewrite.old for rule in candidates([*REFS, other])] == ["ref"]


def test_what_a_store_knows_of_a_rule_stays(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    [slash] = candidates(SLASHES)
    urls = next(iter(slash.pairs))
    compared = ledger.StoredPair(slash.rewrite.id, *urls, urls[1], SAME, CONTENT, 2, 4.0)
    with store.transaction() as connection:
        rule = LearnedRule(host="h.example", family="trailing-slash", new="slash", state="revoked")
        rule_store.import_rules(connection, [rule], MAKE, 3.0)
        ledger.put_pairs(connection, [compared])
        put(connection, [*candidates(SLASHES), *candidates(REFS)], 5.0)
        known = rule_store.find(connection, slash.rewrite.id)
        new = rule_store.find(connection, Rewrite("h.example", "parameter-anywhere", old="ref").id)
        pairs = {pair.first: pair for pair in ledger.pairs_of(connection, [known.id])}
    store.close()
    assert (known.state, known.agree, known.moved) == ("revoked", LEAST, 0)
    assert (new.state, new.agree, new.first_seen) == ("candidate", LEAST, 5.0)
    assert pairs[urls[0]] == compared
    assert {pair.source for pair in pairs.values()} == {CONTENT, MINED}
