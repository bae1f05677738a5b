"""Mining, without the command: what captures say, and which rules come of them."""

import io
from collections.abc import Iterable, Sequence
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet
from support.stores import MAKE, open_store
from support.tables import each
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from canonry.canon.learned import LearnedRule, Rewrite
from canonry.crawler.compression import Stream
from canonry.crawler.files.captures import Capture, read, read_index, read_warc
from canonry.crawler.learn import mine as mining
from canonry.crawler.learn.evidence import RuleEvidence
from canonry.crawler.learn.mine import LEAST, as_learned, mine, put
from canonry.crawler.learn.rules import rule_store
from canonry.storage.learned import ledger
from canonry.storage.learned.ledger import CONTENT, MINED, SAME

# warcio's writer leaves it to the collector to close its temporary files.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
OLD, NEW = "http://h.example/a", "http://h.example/b"
CDX = f"example,h)/a 20240101000000 {OLD}"
CDXJ = "example,h)/a 20240101000000"


@each(
    ("line", "found"),
    [
        (f"{OLD},{NEW},308", (OLD, "308", NEW)),
        (f"{OLD}\t{NEW}", (OLD, "301", NEW)),
        (f'12,"{OLD}","{NEW}",GET,302', (OLD, "302", NEW)),
        (OLD, (OLD, "301")),
        (f"{OLD}\r,{NEW}", ("", "")),
        (f"{CDX} text/html 301 AAAA {NEW} - 1 2 f.warc.gz", (OLD, "301", NEW, "AAAA")),
        (f"{CDX} text/html 301 AAAA {NEW}", (OLD, "301", NEW, "AAAA")),
        (f"{CDX} text/html 301 AAAA", (OLD, "301", "", "AAAA")),
        (f"{CDX} text/html 200 AAAA - - 1 2 f.warc.gz", (OLD, "200", "", "AAAA")),
        (f"{CDX} text/html 301 -", (OLD, "301")),
        (f"{CDX} text/html", (OLD, "")),
        (f'{CDXJ} {{"url": "{OLD}", "status": "301", "redirect": "{NEW}"}}', (OLD, "301", NEW)),
        (f'{CDXJ} {{"url": "{OLD}", "status": 308, "redirect": "-"}}', (OLD, "308")),
        (f'{CDXJ} {{"url": "{OLD}", "status": "200", "digest": "B"}}', (OLD, "200", "", "B")),
        (f'{CDXJ} {{"url": "{OLD}"}}', (OLD, "")),
        (f"{CDXJ} {{}}", ("", "")),
        (f"{CDXJ} {{cut", ("", "")),
    ],
)
def test_each_kind_of_line_is_a_capture(line: str, found: Sequence[str]) -> None:
    assert list(read(["\r\n", f"{line}\n"])) == [Capture(2, *found)]


def test_a_columnar_index_has_captures() -> None:
    file = io.BytesIO()
    columns = {
        "url_surtkey": ["example,h)/a"] * 2,
        "url": [OLD, NEW],
        "fetch_status": pa.array([301, 200], pa.int16()),
        "content_digest": [None, "AAAA"],
        "fetch_redirect": [NEW, None],
    }
    parquet.write_table(pa.table(columns), file)
    file.seek(0)
    found = list(read_index(Stream(io.BufferedReader(file))))  # type: ignore[type-var]
    assert found == [Capture(1, OLD, "301", NEW), Capture(2, NEW, "200", "", "AAAA")]
    file = io.BytesIO()
    parquet.write_table(pa.table({"url": [OLD]}), file)
    with pytest.raises(OSError, match="no columns 'url' and 'fetch_status'"):
        list(read_index(Stream(io.BufferedReader(io.BytesIO(file.getvalue())))))  # type: ignore[type-var]


def warc(records: Iterable[tuple[str, str, str, list[tuple[str, str]], bytes]]) -> io.BytesIO:
    """Write records: their type, URL, status line, headers and payload."""
    file = io.BytesIO()
    writer = WARCWriter(file, gzip=False)
    for kind, url, status, headers, payload in records:
        record = writer.create_warc_record(
            url,
            kind,
            payload=io.BytesIO(payload),
            http_headers=StatusAndHeaders(status, headers, protocol="HTTP/1.1"),
            warc_headers_dict={"WARC-Payload-Digest": "sha1:B"} if kind == "revisit" else {},
        )
        writer.write_record(record)
    file.seek(0)
    return file


def test_records_of_warc_are_captures() -> None:
    html = [("Content-Type", "text/html")]
    found = list(
        read_warc(
            warc(
                [
                    ("response", OLD, "301 Moved", [("Location", "/b")], b"x"),
                    ("response", NEW, "200 OK", html, b"<p>y"),
                    ("request", NEW, "GET / HTTP/1.1", [], b""),
                    ("revisit", NEW, "304 Not Modified", html, b""),
                    ("response", NEW, "200 OK", html, b"z" * ((1 << 23) + 1)),
                ]
            )
        )
    )
    assert [one[:4] for one in found] == [
        (1, OLD, "301", "/b"),
        (2, NEW, "200", ""),
        (4, NEW, "200", ""),
        (5, NEW, "200", ""),
    ]
    assert found[1].headers == {"Content-Type": "text/html"}
    assert found[1].body == b"<p>y"
    assert found[2].digest == "sha1:B"
    assert found[2].headers is found[3].headers is None
    assert found[3].digest not in {"", found[1].digest}


def test_mining_counts_every_line_and_orders_its_rules() -> None:
    slashes = [(f"http://z.example/{n}", "301", f"http://z.example/{n}/") for n in range(10)]
    www = [(f"http://b.example/{n}", "308", f"http://www.b.example/{n}") for n in range(30)]
    rest = [
        (OLD, "302", NEW),  # it is temporary
        (OLD, "301", ""),  # it leads nowhere
        (OLD, "301", f"{OLD}#top"),  # both are one identity already
        (OLD, "404"),
        (OLD, "200"),
        ("http://[", "301", NEW),
        (OLD, "301", "http://["),
    ]
    rows = [Capture(number, *row) for number, row in enumerate([*slashes, *www, *rest], 1)]
    found = mine(rows, MAKE)
    assert (found.redirects, found.pages, found.other) == (41, 1, 3)
    assert sum(found.refused.values()) == 2
    made = [as_learned(rule) for rule in found.rules]
    assert [(rule.host, rule.family, rule.state) for rule in made] == [
        ("b.example", "www", "active"),
        ("z.example", "trailing-slash", "candidate"),
    ]
    assert [rule.evidence.agree for rule in made] == [30, 10]
    assert {rule.evidence.first_seen for rule in made} == {None}, "no line has a time"
    assert made[0].evidence.samples[0] == ("http://b.example/0", "http://www.b.example/0")


def test_captures_of_many_sites_in_turn_are_kept_together(monkeypatch: pytest.MonkeyPatch) -> None:
    def in_turn() -> list[Capture]:
        return [
            Capture(n, f"http://{host}/{n}", "301", f"http://www.{host}/{n}")
            for n in range(30)
            for host in ("b.example", f"s{n}.example")
        ]

    monkeypatch.setattr(mining, "_MOST_BYTES", 150_000)  # a little more than all of them take
    assert [rule.rewrite.host for rule in mine(in_turn(), MAKE).rules] == ["b.example"]
    monkeypatch.setattr(mining, "_MOST_BYTES", 2_000)
    assert mine(in_turn(), MAKE).rules == ()


def led(*pairs: tuple[str, str]) -> list[Capture]:
    return [
        Capture(0, f"http://h.example{old}", "301", f"http://h.example{new}") for old, new in pairs
    ]


def pages(*paths: str, digest: str = "{}") -> list[Capture]:
    """Return captures of pages; each has a digest of its path, without what a rule drops."""
    return [
        Capture(0, f"http://h.example{path}", "200", "", digest.format(path.partition("?")[0]))
        for path in paths
    ]


SLASHES = led(*((f"/{n}", f"/{n}/") for n in range(LEAST)))
REFS = led(*((f"/{n}?ref=1", f"/{n}") for n in range(LEAST)))
EQUAL = [page for n in range(LEAST) for page in pages(f"/{n}?ref=1", f"/{n}")]


@each(
    ("seen", "families"),
    [
        (SLASHES, ["trailing-slash"]),
        (SLASHES[1:], []),
        ([*SLASHES[1:], *led(("/1", "/1/"))], []),  # one page twice
        ([*SLASHES, *led(("/x/", "/x"))], []),  # back
        ([*SLASHES, *led(("/x", "/login"))], ["trailing-slash"]),  # elsewhere: /x/ was never seen
        ([*SLASHES, *led(("/x", "/login"), ("/y", "/x/"))], []),
        ([*SLASHES, *led(("/x/", "/login"))], ["trailing-slash"]),  # the rule does not change it
        ([*SLASHES, *led(("/x?ref=1", "/x/"))], ["trailing-slash"]),
        ([*REFS, *led(("/0?ref=2", "/y"))], []),  # /0 is known
        ([*REFS, *led(("/x?size=1", "/y"))], ["parameter-anywhere"]),
        ([*REFS, *SLASHES], ["parameter-anywhere", "trailing-slash"]),
        (EQUAL, ["parameter-anywhere"]),
        ([*EQUAL, *pages("/x"), Capture(0, "http://h.example/x?ref=2", "404")], []),
        (pages(*(f"/{n}{end}" for n in range(9) for end in ("", "?ref=1")), digest="frame"), []),
    ],
)
def test_a_candidate_has_three_pages_for_it_and_none_against(
    seen: Sequence[Capture], families: Sequence[str]
) -> None:
    for order in (seen, list(reversed(seen))):
        assert [rule.rewrite.family for rule in mine(order, MAKE).rules] == families


PROSE = "<title>{0}</title><h1>{0}</h1><p>The {0} of the day, told by {0} to all who came.</p>"


def captured(number: int, end: str, text: str = PROSE, frame: str = "") -> Capture:
    """Return the capture of a page; its words depend on its number."""
    words = " and ".join(f"word{number * 7 + n}x" for n in range(8))
    body = f"<body>{frame}{text.format(words)}</body>".encode()
    url = f"http://h.example/page/{number}{end}"
    return Capture(0, url, "200", "", f"{hash(body)}", {"Content-Type": "text/html"}, body)


def rules_of(seen: Sequence[Capture]) -> dict[str, str]:
    return {rule.rewrite.family: rule.state for rule in mine(seen, MAKE).rules}


def test_pages_with_the_same_text_make_a_rule_active_with_twice_the_evidence() -> None:
    def seen(count: int) -> list[Capture]:
        ends = [f"?from={n % 6}" for n in range(count)]
        return [captured(n, end) for n, end in enumerate(ends) for end in ("", end)]

    assert rules_of(seen(40)) == {"parameter-anywhere": "active"}
    assert rules_of(seen(20)) == {"parameter-anywhere": "candidate"}  # enough for a crawl
    few_values = [capture for n in range(60) for capture in (captured(n, ""), captured(n, "?s=a"))]
    assert rules_of(few_values) == {"parameter-anywhere": "candidate"}


def test_pages_that_differ_or_say_nothing_of_their_own_make_no_rule() -> None:
    other = [captured(n + 1000 * (n % 5 == 0), f"?v={n % 9}") for n in range(60)]
    moved = [
        one._replace(url=f"http://h.example/page/{n}?v={n % 9}") for n, one in enumerate(other)
    ]
    assert rules_of([*(captured(n, "") for n in range(60)), *moved]) == {}
    wall = [
        captured(0, "")._replace(url=f"http://h.example/x/{n}{end}")
        for n in range(60)
        for end in ("", "?a=1")
    ]
    assert rules_of(wall) == {}


def test_canonical_links_are_the_sites_own_word() -> None:
    link = '<link rel=canonical href="/page/{}">'
    seen = [
        captured(n, end, frame=link.format(n) + f"<p>Seen {n * 3 + len(end)} times.</p>")
        for n in range(40)
        for end in ("", f"?from={n % 6}")
    ]
    assert rules_of(seen) == {"parameter-anywhere": "active"}


def test_a_revisit_is_another_answer_of_its_page() -> None:
    seen = [captured(n, end) for n in range(40) for end in ("", f"?from={n % 6}")]
    again = [one._replace(headers=None, body=b"") for one in seen]
    assert rules_of([*seen, *again]) == {"parameter-anywhere": "active"}


def candidates(seen: Sequence[Capture]) -> tuple[RuleEvidence, ...]:
    return mine(seen, MAKE).rules


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
    assert (known.state, known.agree, known.confirmed) == ("revoked", LEAST, 0)
    assert (new.state, new.agree, new.first_seen) == ("candidate", LEAST, 5.0)
    assert pairs[urls[0]] == compared
    assert {pair.source for pair in pairs.values()} == {CONTENT, MINED}
