"""A learning session: evidence is in the store, so that nothing that ends a process loses any."""

import hashlib
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, Table, func, select
from support.stores import MAKE, candidate, open_store
from support.strategies import tries

from canonry.canon.learned import RULE_STATES, Rewrite, RuleState
from canonry.crawler.documents.page_scan import blocks_of
from canonry.crawler.learn.request_policy import Probe
from canonry.crawler.learn.session import LearningSession, RuleReports
from canonry.storage import Outcome, Page, Queued, State
from canonry.storage.learned import rule_rows
from canonry.storage.learned.rule_rows import TrackedRule
from canonry.storage.rows import requeueing
from canonry.storage.sql.schema import answers, pairs

H = "http://h.example"
INTERRUPTED = ("restarted", "rolled back", "handed over")


class Crawled:
    """A host of pages, and a store that learns from it; its process may be interrupted."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self.store = open_store(folder)
        self.notices: list[str] = []
        self.requests = 0
        self._edition = ""
        self._now = self._began = 1e6
        self.begin()

    def begin(self) -> None:
        """Begin a process."""
        self.session = LearningSession(MAKE, self.notices.append, began=self._began)
        self.store.rules = self.session
        self._probes = list[Probe]()

    def body(self, url: str) -> bytes:
        """Return a page that has a token; a parameter, and a slash at the end, select nothing."""
        self.requests += 1
        name = url.partition("?")[0].rstrip("/") + self._edition
        return f"<p>token {self.requests}</p><h1>{name}</h1><div>All about {name}.</div>".encode()

    def begin_the_next_night(self) -> None:
        """End the run; in another one, each page has another text, and is visited again."""
        job = self.store.begin_job("crawl", "{}", self._began)
        self.store.end_job(job, "finished", self._now)
        self._began = self._now = self._now + 80_000
        self._edition += ", revised"
        with self.store.transaction() as connection:
            requeueing.requeue(connection, self._now)
        self.begin()

    def find(self, urls: Sequence[str]) -> None:
        """Find URLs, which wait in the queue."""
        found = [candidate(url)._replace(depth=1) for url in urls]
        self.session.find(found, self.store.admit(found, self._now))

    def visit(self, url: str, interruption: str = "") -> None:
        """Visit a URL; then what learning asks for. After the visit the process may end."""
        self._now += 1.0
        [admitted] = self.store.admit([candidate(url)._replace(depth=1)], self._now)
        outcome = self._fetched(admitted.url_id, url)
        if interruption == "rolled back":
            with pytest.raises(InterruptedError), self.store.transaction() as connection:
                self._learn(connection, outcome)
                raise InterruptedError
        with self.store.transaction() as connection:
            self._learn(connection, outcome)
        if interruption == "restarted":
            self.begin()
        elif interruption == "handed over":
            self.session.forget_hosts(["h.example"])
        while self._probes:
            probe = self._probes.pop()
            self.session.observe_probe(probe, self._fetched(0, probe.url))
            with self.store.transaction() as connection:
                self._learn(connection)

    def _fetched(self, url_id: int, url: str) -> Outcome:
        body = self.body(url)
        digest = hashlib.blake2b(body, digest_size=16).digest()
        page = Page(200, 0.1, "text/html", len(body), digest, None, None, 0)
        blocks = blocks_of(body, "text/html")
        return Outcome(Queued(url_id, url, 1, 0, 0), State.FETCHED, page=page, blocks=blocks)

    def _learn(self, connection: Connection, *outcomes: Outcome) -> None:
        recorded = self.store.record_in(connection, outcomes, self._now) if outcomes else ()
        self._probes += self.session.learn(connection, recorded, self._now).probes

    def rules(self) -> dict[str, tuple[str, int, int]]:
        """Return the rules of the store: by what they say their states and counts."""
        with self.store.transaction() as connection:
            found = rule_rows.in_states(connection, RULE_STATES)
        return {
            f"{rule.rewrite.family} {rule.rewrite.old}{rule.rewrite.new}": (
                rule.state,
                rule.agree,
                rule.disagree,
            )
            for rule in found
        }

    def number_of(self, table: Table) -> int:
        """Return how many rows a table has."""
        with self.store.transaction() as connection:
            return connection.scalar(select(func.count()).select_from(table)) or 0


URLS = [f"{H}/p{n}{end}" for n in range(32) for end in ("", "?ref=1", "/")]


# They never answer: however late it is known that a rule holds, it is still worth it.
WAITING = [f"{H}/waits-{n}{end}" for n in range(12) for end in ("?ref=1", "/")]


@pytest.mark.parametrize("interruption", INTERRUPTED)
def test_nothing_that_ends_a_process_loses_evidence(tmp_path: Path, interruption: str) -> None:
    plain, broken = Crawled(tmp_path / "plain"), Crawled(tmp_path / "broken")
    plain.find(URLS)
    broken.find(URLS)
    for number, url in enumerate(URLS):
        plain.visit(url)
        broken.visit(url, interruption if number % 7 == 3 else "")
    expected = plain.rules()
    assert {said: rule[0] for said, rule in expected.items()} == {
        "parameter-anywhere ref": "active",
        "trailing-slash bare": "active",
    }
    assert broken.rules() == expected
    assert broken.requests <= plain.requests + 10


@settings(max_examples=tries(0.03), deadline=None)
@given(st.lists(st.sampled_from(("", *INTERRUPTED)), min_size=len(URLS), max_size=len(URLS)))
def test_a_process_may_end_at_any_moment(
    tmp_path_factory: pytest.TempPathFactory, interruptions: list[str]
) -> None:
    broken = Crawled(tmp_path_factory.mktemp("broken"))
    broken.find(URLS + WAITING)
    for url, interruption in zip(URLS, interruptions, strict=True):
        broken.visit(url, interruption)
    assert {rule[0] for rule in broken.rules().values()} == {"active"}
    assert all(rule[2] == 0 for rule in broken.rules().values())


@pytest.mark.parametrize("interruption", ["", *INTERRUPTED])
def test_pages_that_change_in_a_night_in_which_processes_end_are_what_they_were(
    tmp_path: Path, interruption: str
) -> None:
    crawled = Crawled(tmp_path)
    crawled.find(URLS)
    for url in URLS:
        crawled.visit(url)
    crawled.begin_the_next_night()
    for number, url in enumerate(URLS):
        crawled.visit(url, interruption if number % 7 == 3 else "")
    assert [rule[::2] for rule in crawled.rules().values()] == [("active", 0)] * 2
    assert not [notice for notice in crawled.notices if "suspended" in notice]


def test_the_store_has_pairs_and_the_answers_that_are_needed(tmp_path: Path) -> None:
    crawled = Crawled(tmp_path)
    crawled.find(WAITING)
    for url in URLS:
        crawled.visit(url)
    assert crawled.number_of(pairs) >= 40
    assert 20 <= crawled.number_of(answers) <= crawled.requests


def test_where_no_page_has_two_names_nothing_is_stored(tmp_path: Path) -> None:
    crawled = Crawled(tmp_path)
    for n in range(50):
        crawled.visit(f"{H}/p{n}")
    assert crawled.number_of(pairs) == crawled.number_of(answers) == 0
    assert crawled.requests == 50


def test_a_rule_that_comes_and_goes_is_reported_once() -> None:
    reports = RuleReports()
    rule = TrackedRule(Rewrite("h.example", "trailing-slash", old="", new="bare"), agree=9)
    states: list[RuleState] = ["candidate", *(["active", "suspended"] * 5), "revoked"]
    sentences = []
    for before, state in pairwise(states):
        rule.enter(state, 0.0)
        sentences.append(reports.sentence(rule, before))
    active, suspended, again, *more, revoked = sentences
    assert active is not None
    assert active.startswith(f"rule {rule.id} is active (was candidate): ")
    assert "is suspended (was active): " in str(suspended)
    assert again == (
        f"rule {rule.id} is active again (was suspended); further changes of it are not reported "
        f"in this run ('canonry rules show {rule.id}')"
    )
    assert more == [None] * 7
    assert "is revoked (was suspended)" in str(revoked)
