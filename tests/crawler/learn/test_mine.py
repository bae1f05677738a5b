"""Mining, without the command: which lines of a log are pairs, and which rules come of them."""

import io
from collections.abc import Sequence

import pytest
from canonry.crawler.learn.life import thresholds
from support.stores import MAKE
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from canonry.crawler.learn.mine import Pair, mine, read, read_warc

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
    assert list(read(["\r\n", f"{line}\n"])) == [Pair(2, *found)]


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
    assert list(read_warc(file)) == [Pair(1, OLD, "/b", "301"), Pair(2, OLD, "", "301")]


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
    pairs = [Pair(number, *row) for number, row in enumerate([*slashes, *www, *rest], 1)]
    found = mine(pairs, MAKE, thresholds.load())
    assert (found.pairs, found.other) == (61, 2)
    assert sum(found.refused.values()) == 2
    rules = [(rule.host, rule.family, rule.state) for rule in found.rules]
    assert rules == [
        ("b.example", "www", "candidate"),
        ("z.example", "trailing-slash", "candidate"),
    ]
    assert [rule.evidence.agree for rule in found.rules] == [30, 30]
    assert {rule.evidence.first_seen for rule in found.rules} == {None}, "no line has a time"
