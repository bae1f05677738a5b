"""One crawl as a frontier: what is handed out, when, and what becomes of reports."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from support.databases import url_of
from support.stores import assert_counts_are_right

from canonry.crawler.frontier.crawl_frontier import CrawlFrontier, UnknownQueueError
from canonry.crawler.frontier.reports import Item
from canonry.crawler.inquiry.ask import ask
from canonry.crawler.learn.session import LearningSession
from canonry.crawler.named_policies import find_policy
from canonry.crawler.settings import load
from canonry.storage import State
from canonry.storage.frontier.queues import QueueFigures
from canonry.storage.frontier.scheduling import Wish
from canonry.storage.reading import report
from canonry.storage.steering import blocked_hosts, releases
from canonry.storage.steering.short_steps import ShortSteps

pytestmark = pytest.mark.every_database
NOW = 1_800_000_000.0
_A = "http://a.example/"
_OK = {"fetch.statusCode": "200"}


class Frontier:
    """A frontier with a clock of its own."""

    def __init__(self, store: str) -> None:
        self.store = store
        self.now = NOW
        self.open()

    def open(self, *, learns: bool = True) -> None:
        self.notices: list[str] = []
        settings = load(None, {}).frontier
        policy = find_policy("web")
        self.own = CrawlFrontier(self.store, policy, settings, self.notices.append, learns=learns)

    def reopen(self) -> None:
        self.own.close()
        self.open()

    def put(self, *urls: str, queue: str = "", **notes: str) -> list[bool | None]:
        return self.own.put([Item(url, queue, b"m", notes=notes) for url in urls], self.now)

    def report(
        self, url: str, notes: Mapping[str, str] = _OK, *, again_at: float = 0
    ) -> bool | None:
        item = Item(url, "", b"r", is_known=True, again_at=int(again_at), notes=notes)
        return self.own.put([item], self.now)[0]

    def get(
        self, per_queue: int = 10, queues: int = 10, seconds: float = 30, queue: str | None = None
    ) -> list[str]:
        wish = Wish(per_queue, queues, seconds, queue)
        return [one.url for one in self.own.get(wish, self.now)]

    def states(self) -> dict[str, int]:
        with report.reading(self.store) as connection:
            return {k: n for k, n in report.status(connection)["urls"].items() if n}


@pytest.fixture
def frontier(database: str, tmp_path: Path) -> Iterator[Frontier]:
    assert database
    made = Frontier(url_of(tmp_path))
    yield made
    made.own.close()
    with report.reading(made.store) as connection:
        assert_counts_are_right(connection)


def test_what_no_database_can_hold_fails_no_other_item_and_no_learning(frontier: Frontier) -> None:
    bad = [
        Item(_A + "status", "", b"", is_known=True, notes={"fetch.statusCode": "999999999"}),
        Item(_A + "cause", "", b"", is_known=True, notes={"error.cause": "a\0b"}),
        Item(_A + "key", "a\0b", b""),
    ]
    good = [Item(f"{_A}{n}", "", b"") for n in range(3)]
    assert frontier.own.put([*good, *bad], frontier.now) == [True] * 5 + [None]
    assert frontier.notices == []


def test_spellings_of_one_resource_are_one_url(frontier: Frontier) -> None:
    assert frontier.put(_A + "x", _A + "x", "HTTP://A.example:80/x#top", _A + "x?utm_source=m") == [
        *(True, False, False, False)
    ]
    assert frontier.put(_A + "%78") == [False], "in a later call, too"
    assert frontier.get() == [_A + "x"]


def test_different_resources_stay_apart(frontier: Frontier) -> None:
    apart = [_A + "x", _A + "x/", _A + "X", _A + "x?id=1", _A + "x?id=2", "https://a.example/x"]
    assert frontier.put(*apart) == [True] * len(apart)
    assert sorted(frontier.get()) == sorted(apart)


def test_what_is_no_url_is_skipped_and_the_rest_is_put(frontier: Frontier) -> None:
    assert frontier.put("", "mailto:a@b.example", "http://[", _A) == [None, None, None, True]


def test_urls_are_out_until_they_are_reported_or_their_time_is_over(frontier: Frontier) -> None:
    frontier.put(_A + "1", _A + "2")
    assert frontier.get(seconds=30) == [_A + "1", _A + "2"]
    frontier.now += 20
    assert frontier.get() == [], "both are out"
    assert frontier.report(_A + "1") is True
    frontier.now += 11
    assert frontier.get() == [_A + "2"], "the client may have died"
    frontier.report(_A + "2")
    frontier.now += 1_000
    assert frontier.get() == [], "both are done"
    assert frontier.states() == {"fetched": 2}


def test_a_queue_has_no_more_urls_out_than_one_call_may_get(frontier: Frontier) -> None:
    frontier.put(*(f"{_A}{n}" for n in range(5)))
    assert frontier.get(per_queue=2) == [_A + "0", _A + "1"]
    frontier.now += 2
    assert frontier.get(per_queue=2) == []
    frontier.report(_A + "0")
    assert frontier.get(per_queue=2) == [_A + "2"]


def test_a_queue_rests_between_two_calls(frontier: Frontier) -> None:
    frontier.put(_A + "1", _A + "2", "http://b.example/")
    assert frontier.get(per_queue=1) == [_A + "1", "http://b.example/"]
    frontier.report(_A + "1")
    frontier.now += 0.9
    assert frontier.get(per_queue=1) == []
    frontier.now += 0.2
    assert frontier.get(per_queue=1) == [_A + "2"]


def test_delays_and_blocks_survive_a_restart(frontier: Frontier) -> None:
    frontier.put(_A + "1", _A + "2", "http://b.example/", "http://c.example/")
    frontier.own.set_delay("a.example", 60, frontier.now)
    frontier.own.block("b.example", frontier.now + 86_400 * 90, frontier.now)
    frontier.own.set_delay("", 5, frontier.now)
    assert frontier.get(per_queue=1) == [_A + "1", "http://c.example/"]
    frontier.report(_A + "1")
    frontier.put("http://c.example/2")
    frontier.reopen()
    frontier.now += 4
    assert frontier.get(per_queue=2) == []
    frontier.now += 2
    assert frontier.get(per_queue=2) == ["http://c.example/2"]
    frontier.now += 55
    assert sorted(frontier.get(per_queue=2, seconds=1e9)) == [
        *(_A + "2", "http://c.example/", "http://c.example/2")
    ]
    frontier.now += 86_400 * 89
    assert frontier.get() == []
    frontier.own.block("b.example", 0, frontier.now)
    assert frontier.get() == ["http://b.example/"]


def test_the_end_of_a_block_does_not_end_the_pause(frontier: Frontier) -> None:
    frontier.put(_A + "1", _A + "2")
    frontier.own.set_delay("a.example", 60, frontier.now)
    frontier.get(per_queue=1, seconds=1)
    frontier.own.block("a.example", frontier.now + 1_000, frontier.now)
    frontier.now += 10
    frontier.own.block("a.example", 0, frontier.now)
    assert frontier.get() == []
    frontier.now += 51
    assert len(frontier.get()) == 2


def test_the_most_overdue_goes_first(frontier: Frontier) -> None:
    frontier.put(_A + "again", _A + "failed")
    frontier.get()
    frontier.report(_A + "again", again_at=frontier.now + 100)
    frontier.report(_A + "failed", {"fetch.statusCode": "503"}, again_at=frontier.now + 300)
    frontier.now += 200
    frontier.put(_A + "z", _A + "b", depth="7")
    frontier.now += 200
    frontier.put(_A + "new", depth="1")
    assert frontier.get() == [f"{_A}{name}" for name in ("again", "z", "b", "failed", "new")]


def test_a_failure_with_a_date_is_tried_again_then(frontier: Frontier) -> None:
    frontier.put(_A + "1", _A + "2")
    frontier.get()
    frontier.report(_A + "1", {"fetch.statusCode": "503"}, again_at=frontier.now + 600)
    frontier.report(_A + "2", {"error.cause": "Read timed out"})
    frontier.now += 599
    assert frontier.get() == []
    frontier.now += 2
    assert frontier.get() == [_A + "1"]
    assert frontier.states() == {"queued": 1, "failed": 1}


def test_pages_are_fetched_again_at_their_date(frontier: Frontier) -> None:
    frontier.put(_A + "1", _A + "2")
    frontier.get()
    frontier.report(_A + "1", again_at=frontier.now + 86_400 * 30)
    frontier.report(_A + "2")
    assert frontier.states() == {"fetched": 2}
    frontier.reopen()
    frontier.now += 86_400 * 29
    assert frontier.get() == []
    frontier.now += 86_401
    assert frontier.get() == [_A + "1"]
    frontier.report(_A + "1", {"fetch.statusCode": "304"}, again_at=frontier.now + 60)
    frontier.now += 61
    assert frontier.get() == [_A + "1"]


def test_a_report_on_a_url_that_was_never_put(frontier: Frontier) -> None:
    assert frontier.report(_A + "1", again_at=frontier.now + 10) is True
    assert frontier.put(_A + "1") == [False]
    assert frontier.get() == []
    frontier.now += 11
    assert frontier.get() == [_A + "1"]


def test_a_report_in_another_spelling(frontier: Frontier) -> None:
    frontier.put(_A + "x?a=1&utm_medium=m")
    frontier.get()
    frontier.report(_A + "x?a=1")
    assert frontier.states() == {"fetched": 1}


def test_where_a_redirect_leads_is_not_fetched_before_the_engine_finds_it(
    frontier: Frontier,
) -> None:
    frontier.put(_A + "old", queue="one")
    frontier.get()
    frontier.report(_A + "old", {"fetch.statusCode": "301", "_redirTo": "http://b.example/new"})
    assert frontier.states() == {"redirected": 1, "held": 1}
    frontier.now += 100
    assert frontier.get() == []
    known = frontier.own.known("http://b.example/new")
    assert known is None, "the engine has not put it"
    assert frontier.put("http://b.example/new", queue="two") == [True]
    assert frontier.get(queue="two") == ["http://b.example/new"]
    with report.reading(frontier.store) as connection:
        assert report.status(connection)["aliases"] == [
            {"kind": "redirect", "status": 301, "aliases": 1}
        ]


def test_an_undiscovered_target_is_put_in_its_own_queue(frontier: Frontier) -> None:
    frontier.put(_A + "old")
    frontier.get()
    frontier.report(_A + "old", {"_redirTo": "http://b.example/new"})
    frontier.put("http://b.example/new", "http://b.example/other")
    figures = frontier.own.figures("b.example", frontier.now)
    assert (figures.waiting, figures.out) == (2, 0)
    assert frontier.own.figures("a.example", frontier.now).waiting == 0


def test_learns_from_redirects_and_fetches_one_name_of_each_page(frontier: Frontier) -> None:
    pages = [f"{_A}page-{n}" for n in range(30)]
    frontier.put(*(page + "?ref=x" for page in pages))
    frontier.get(per_queue=100)
    for page in pages:
        frontier.put(page)
        frontier.report(page + "?ref=x", {"fetch.statusCode": "301", "_redirTo": page})
    frontier.now += 100
    assert sorted(frontier.get(per_queue=100)) == sorted(pages)
    for page in pages:
        frontier.report(page, {"fetch.statusCode": "200", "signature": page})
    assert any("is active" in notice for notice in frontier.notices), frontier.notices
    frontier.put(_A + "page-7?ref=other", _A + "page-99", _A + "page-99?ref=x")
    frontier.now += 100
    assert frontier.get(per_queue=100) == [_A + "page-99"]


def test_nothing_is_learned_where_the_status_of_redirects_is_not_known(frontier: Frontier) -> None:
    pages = [f"{_A}page-{n}" for n in range(30)]
    frontier.put(*(page + "?ref=x" for page in pages), *pages)
    frontier.get(per_queue=100)
    for page in pages:
        frontier.report(page + "?ref=x", {"_redirTo": page})
        frontier.report(page)
    assert not any("is active" in notice for notice in frontier.notices)


def test_learns_from_canonical_links(frontier: Frontier) -> None:
    pages = [f"{_A}article/{n}" for n in range(40)]
    frontier.put(*(f"{page}?ref={n % 7}" for n, page in enumerate(pages)), *pages)
    frontier.get(per_queue=100)
    for n, page in enumerate(pages):
        frontier.report(page, {"fetch.statusCode": "200", "canonical": page})
        frontier.report(f"{page}?ref={n % 7}", {"fetch.statusCode": "200", "canonical": page})
    assert any("is active" in notice for notice in frontier.notices), frontier.notices
    frontier.put(_A + "article/new", _A + "article/new?ref=9")
    frontier.now += 100
    assert frontier.get(per_queue=100) == [_A + "article/new"]


def test_a_queue_whose_limit_is_reached_gives_no_more_urls(frontier: Frontier) -> None:
    frontier.put(*(f"{_A}{n}" for n in range(9)), "http://b.example/")
    frontier.own.set_limit("a.example", 3)
    assert frontier.get() == [_A + "0", _A + "1", _A + "2", "http://b.example/"]
    frontier.report(_A + "0", again_at=frontier.now + 1_000)
    frontier.now += 2
    assert frontier.get() == [_A + "3"], "what is fetched again later is not completed"
    for n in (1, 2, 3):
        frontier.report(f"{_A}{n}")
    frontier.reopen()
    frontier.now += 2_000
    assert frontier.get(per_queue=1) == ["http://b.example/"], "its first client has died"
    assert frontier.put(_A + "9") == [True]
    frontier.own.set_limit("a.example", 4)
    assert frontier.get() == [_A + "4"]
    frontier.own.set_limit("a.example", 0)
    frontier.now += 2
    assert len(frontier.get()) == 6
    assert frontier.states() == {"queued": 8, "fetched": 3}
    with pytest.raises(UnknownQueueError):
        frontier.own.set_limit("c.example", 5)


def test_a_url_for_later_waits_and_keeps_its_queue(frontier: Frontier) -> None:
    frontier.put(_A + "1", _A + "2", "http://b.example/")
    frontier.get()
    frontier.report(_A + "1", again_at=frontier.now + 86_400)
    frontier.report(_A + "2")
    frontier.report("http://b.example/")
    assert frontier.own.figures("", frontier.now) == QueueFigures(
        waiting=1, out=0, completed=2, queues=2, active_queues=1
    )
    assert frontier.own.figures("a.example", frontier.now) == QueueFigures(1, 0, 1, 1, 1)
    assert frontier.own.names(0, 10, frontier.now, inactive=False) == (["a.example"], 1)


def test_a_deleted_queue_is_gone(frontier: Frontier) -> None:
    frontier.put(_A + "1", _A + "2", "http://b.example/")
    frontier.get()
    frontier.report(_A + "1", again_at=frontier.now + 60)
    assert frontier.own.delete_queue("a.example") == 2
    assert frontier.own.figures("", frontier.now) == QueueFigures(1, 1, 0, 1, 1)
    assert frontier.own.figures("a.example", frontier.now) == QueueFigures(0, 0, 0, 0, 0)
    assert frontier.own.names(0, 10, frontier.now, inactive=True) == (["b.example"], 1)


def test_deleted_urls_are_new_when_they_come_again(frontier: Frontier) -> None:
    frontier.put(_A + "1", _A + "2", "http://b.example/")
    frontier.get(per_queue=1)
    frontier.report(_A + "1", again_at=frontier.now + 5)
    assert frontier.own.delete_queue("a.example") == 2
    assert frontier.own.delete_queue("a.example") == 0
    assert frontier.own.delete_queue("c.example") == 0
    assert frontier.own.count("", "", ignore_case=False) == 1
    assert frontier.own.known(_A + "1") is None
    frontier.now += 100
    assert frontier.get() == ["http://b.example/"]
    assert frontier.put(_A + "1", _A + "1") == [True, False]
    assert frontier.get() == [_A + "1"]


def test_old_urls_are_purged(frontier: Frontier) -> None:
    frontier.put(_A + "old", "http://b.example/old")
    frontier.now += 86_400 * 3
    frontier.put(_A + "new")
    assert frontier.own.purge("a.example", 2, frontier.now) == 1
    assert frontier.own.purge("", 2, frontier.now) == 1
    assert frontier.get() == [_A + "new"]


def test_whether_it_is_active_survives_a_restart(frontier: Frontier) -> None:
    assert frontier.own.is_active()
    frontier.own.set_active(active=False)
    frontier.own.set_active(active=False)
    frontier.reopen()
    assert not frontier.own.is_active()
    frontier.own.set_active(active=True)
    assert frontier.own.is_active()


def test_one_call_gets_a_bounded_number_of_urls(frontier: Frontier) -> None:
    for queue in range(4):
        frontier.put(*(f"http://h{queue}.example/{n}" for n in range(6_000)))
    assert len(frontier.get(per_queue=1 << 20, queues=1 << 20)) == 12_000
    assert len(frontier.get(per_queue=1 << 20, queues=1 << 20)) == 12_000


def test_queues_are_listed_in_pages(frontier: Frontier) -> None:
    frontier.put(*(f"http://h{n}.example/" for n in range(5)))
    frontier.own.block("h1.example", frontier.now + 60, frontier.now)
    frontier.get(queue="h3.example")
    frontier.report("http://h3.example/")
    own = frontier.own
    active = ["h0.example", "h2.example", "h4.example"]
    assert own.names(0, 10, frontier.now, inactive=False) == (active, 3)
    assert own.names(1, 1, frontier.now, inactive=False) == (["h2.example"], 3)
    assert own.names(0, 10, frontier.now, inactive=True)[1] == 5
    own.delete_queue("h3.example")
    assert own.names(0, 10, frontier.now, inactive=True)[1] == 4


def test_urls_are_listed_and_counted_by_queue_and_text(frontier: Frontier) -> None:
    frontier.put(_A + "Report_1", _A + "report%5f2", "http://b.example/REPORT")
    own = frontier.own
    assert own.count("", "", ignore_case=False) == 3
    assert own.count("", "report", ignore_case=False) == 1
    assert own.count("", "report", ignore_case=True) == 3
    assert own.count("a.example", "Report_", ignore_case=True) == 1, "_ is no wildcard"
    assert own.count("c.example", "", ignore_case=True) == 0
    [one] = own.listed("b.example", "", 0, 10, ignore_case=False)
    assert (one.url, one.queue, one.state, one.metadata) == (
        *("http://b.example/REPORT", "b.example", State.QUEUED, b"m"),
    )
    assert [one.url for one in own.listed("", "", 1, 1, ignore_case=False)] == [_A + "report%5f2"]


def test_a_url_is_known_in_any_spelling(frontier: Frontier) -> None:
    frontier.put(_A + "1")
    frontier.get()
    frontier.report(_A + "1", again_at=frontier.now + 60)
    known = frontier.own.known("HTTP://A.EXAMPLE:80/1")
    assert known is not None
    assert (known.state, known.again_at, known.metadata) == (State.FETCHED, int(NOW) + 60, b"r")
    assert frontier.own.known("http://a.example/2") is None
    assert frontier.own.known("http://[") is None


def test_what_people_release_is_handed_out_though_the_queue_waits(frontier: Frontier) -> None:
    frontier.put(_A + "1", _A + "2")
    frontier.get()
    frontier.report(_A + "1", {"error.cause": "x"}, again_at=frontier.now + 86_400 * 30)
    frontier.report(_A + "2", {"error.cause": "x"})
    frontier.now += 2
    assert frontier.get() == []
    with ShortSteps(frontier.store) as opened:
        assert releases.release(opened, releases.Refusal("failed", "engine: x")) == 1
    assert frontier.get() == [_A + "2"]


def test_people_block_a_queue_as_they_block_a_host(frontier: Frontier) -> None:
    frontier.put(_A + "1")
    with ShortSteps(frontier.store) as opened:
        blocked_hosts.block(opened, "a.example")
    frontier.put(_A + "2")
    assert frontier.get() == []
    with ShortSteps(frontier.store) as opened:
        blocked_hosts.unblock(opened, "a.example")
    assert frontier.get() == [_A + "1", _A + "2"]


def test_why_explains_the_urls_of_a_frontier(frontier: Frontier) -> None:
    frontier.put(_A + "1", _A + "1?utm_source=x")
    frontier.get()
    frontier.report(_A + "1", {"fetch.statusCode": "301", "_redirTo": "/2"})
    with report.reading(frontier.store) as connection:
        held = ask(connection, _A + "2", frontier.now)
        merged = ask(connection, _A + "1?utm_source=y", frontier.now)
    assert (held.state, held.reason) == ("held", "undiscovered")
    assert merged.state == "redirected"


def test_a_fault_of_learning_loses_nothing(
    frontier: Frontier, monkeypatch: pytest.MonkeyPatch
) -> None:
    frontier.put(_A + "1")
    monkeypatch.setattr(LearningSession, "learn", lambda *_given: 1 / 0)
    assert frontier.report(_A + "1") is True
    assert frontier.states() == {"fetched": 1}
    assert "learning failed" in frontier.notices[-1]
    assert frontier.put(_A + "2") == [True]
