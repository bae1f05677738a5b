"""The learning session: what it publishes, what the gate blocks, what survives a restart."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from sqlalchemy import select
from support.stores import MAKE, candidate, open_store

from canonry.canon import LearnedRule
from canonry.crawler.inquiry.ask import ask
from canonry.crawler.learn.life import thresholds
from canonry.crawler.learn.life.thresholds import Thresholds
from canonry.crawler.learn.memory.site_memory import FACTS
from canonry.crawler.learn.questions.probes import Probe, again, beside
from canonry.crawler.learn.rules import rule_store
from canonry.crawler.learn.session import Learned, LearningSession
from canonry.storage import Hop, Outcome, Page, Queued, State, Store
from canonry.storage.learned import rule_rows
from canonry.storage.records import RecordedOutcome
from canonry.storage.sql.schema import urls

H = "http://h.example"
LIMITS = thresholds.load()
Hops = tuple[Hop, ...]


class Crawl:
    """A store with a learning session, and pages that are recorded one by one."""

    def __init__(self, folder: Path, limits: Thresholds = LIMITS, most_facts: int = FACTS) -> None:
        self.said: list[str] = []
        self.store: Store = open_store(folder)
        self.session = LearningSession(MAKE, limits, self.said.append, most_facts)
        self.store.rules = self.session
        self.now = 1000.0

    def record(
        self,
        url: str,
        state: State,
        *,
        page: Page | None = None,
        hops: Hops = (),
        links: tuple[str, ...] = (),
    ) -> Learned:
        self.now += 1.0
        row = self.row(url)
        named = tuple(candidate(link, depth=2)._replace(source=row) for link in links)
        outcome = Outcome(Queued(row, url, 1, 0, 0), state, page=page, hops=hops, links=named)
        with self.store.transaction() as connection:
            recorded = self.store.record_in(connection, [outcome], self.now)
            return self.session.learn(connection, recorded, self.now)

    def row(self, url: str) -> int:
        found = candidate(url)._replace(source=1, depth=1)
        [answer] = self.store.admit([found], self.now)
        return answer.row

    def moved(self, source: str, target: str, status: int = 301) -> None:
        """Record a URL that redirects to another, and that one."""
        hop = Hop("redirect", status, candidate(target)._replace(hops=1, source=1))
        self.record(source, State.REDIRECTED, hops=(hop,))
        page = Page(200, 0.1, "text/html", 1, target.encode()[:16].ljust(16), None, None, 0)
        self.record(target, State.FETCHED, page=page)

    def states(self) -> dict[tuple[str, str], str]:
        with self.store.transaction() as connection:
            return {
                (rule.family, rule.below): rule.state for rule in rule_store.rules_in(connection)
            }


def with_gate(**changes: float) -> Thresholds:
    gate = msgspec.structs.replace(LIMITS.gate, **changes)
    return msgspec.structs.replace(LIMITS, gate=gate)


def learn_slashes(crawl: Crawl, count: int = 40, start: int = 0) -> None:
    for n in range(start, start + count):
        crawl.moved(f"{H}/p{n}", f"{H}/p{n}/")


@pytest.mark.parametrize("make", [again, lambda url: beside(url, 0.0)], ids=["again", "missing"])
def test_a_probe_may_answer_when_its_host_is_forgotten(
    tmp_path: Path, make: Callable[[str], Probe]
) -> None:
    """A host that goes to another worker is; when it is met again, the store is asked."""
    crawl = Crawl(tmp_path)
    page = Page(200, 0.1, "text/html", 1, b"%16d" % 1, None, None, 0)
    crawl.record(f"{H}/p", State.FETCHED, page=page)
    crawl.session.forget_hosts({"h.example"})
    found = Outcome(Queued(0, f"{H}/p", 0, 0, 0), State.FETCHED, page=page)
    crawl.session.observe_probe(make(f"{H}/p"), found)
    assert crawl.session.has_news
    with crawl.store.transaction() as connection:
        crawl.session.learn(connection, (), crawl.now)
    assert not crawl.session.has_news
    crawl.store.close()


def test_it_activates_a_rule_with_enough_evidence(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path)
    learn_slashes(crawl)
    assert crawl.states()["trailing-slash", "/"] == "active"
    assert any("is active (was on probation)" in line for line in crawl.said)
    crawl.store.close()


def test_urls_that_are_deferred_or_give_way_leave_the_memory_of_the_crawl(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path)
    early = {crawl.row(f"{H}/early{n}"): n for n in range(200)}
    later: list[int] = []
    for n in range(40):
        row = crawl.row(f"{H}/p{n}")
        hop = Hop("redirect", 301, candidate(f"{H}/p{n}/")._replace(hops=1, source=row))
        later += crawl.record(f"{H}/p{n}", State.REDIRECTED, hops=(hop,)).later
        page = Page(200, 0.1, "text/html", 1, b"%16d" % n, None, None, 0)
        later += crawl.record(f"{H}/p{n}/", State.FETCHED, page=page).later
    assert len(later) > len(early) / 2, "some are to verify the rule, or were questions before"
    assert set(later) <= early.keys()
    own = f"{H}/early{early[later[0]]}/"
    found = crawl.record(f"{H}/x/", State.FETCHED, page=page, links=(own,))
    assert found.later == (later[0],), "its page was found under its own name"
    crawl.store.close()


@pytest.mark.parametrize(
    ("gate", "says"),
    [
        ({"share": 0.1, "from_": 10}, "it would change"),
        ({"hosts_a_day": 1}, "1 hosts have learned such a rule within a day"),
    ],
)
def test_a_rule_that_would_change_too_much_is_blocked_and_reported_once(
    tmp_path: Path, gate: dict[str, float], says: str
) -> None:
    crawl = Crawl(tmp_path, with_gate(**gate))
    with crawl.store.transaction() as connection:
        other = LearnedRule(host="o.example", family="trailing-slash", new="slash")
        rule_store.import_rules(connection, [other], MAKE, crawl.now)
    learn_slashes(crawl, 80)
    assert crawl.states()["trailing-slash", "/"] in {"probation", "active"}
    with crawl.store.transaction() as connection:
        own = {r.host: r.state for r in rule_store.rules_in(connection) if r.below == "/"}
    assert own["h.example"] == "probation"
    held = [line for line in crawl.said if "is held back" in line]
    assert len(held) == 1
    assert says in held[0]
    crawl.store.close()


def test_a_rule_that_would_merge_too_many_urls_is_blocked(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path, with_gate(class_size=2))
    for n in range(3):
        crawl.row(f"{H}/{'a' * n}A{'a' * (2 - n)}")  # three spellings of one word
    crawl.row(f"{H}/aaa")
    for n in range(60):
        crawl.moved(f"{H}/P{n}", f"{H}/p{n}")
    assert crawl.states()["letter-case", "/"] == "probation"
    assert any("it would merge 3 URLs into one" in line for line in crawl.said)
    crawl.store.close()


def test_a_rule_that_would_form_a_circle_is_blocked(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path)
    with crawl.store.transaction() as connection:
        back = [
            LearnedRule(host="www.h.example", family="host-alias", new="c.example"),
            LearnedRule(host="c.example", family="host-alias", new="h.example"),
        ]
        rule_store.import_rules(connection, back, MAKE, crawl.now)
    for n in range(60):
        crawl.moved(f"{H}/p{n}", f"http://www.h.example/p{n}")
    assert crawl.states()["www", "/"] == "probation"
    assert any("form a circle" in line for line in crawl.said)
    crawl.store.close()


def test_of_two_rules_that_form_a_circle_and_are_proven_at_once_one_is_active(
    tmp_path: Path,
) -> None:
    """Each of two directories with the same pages may be made the other."""
    crawl = Crawl(tmp_path)
    names = ["latest/a/", "stable/a/index.html"]  # the longer one is made the other
    names += [f"{directory}/{n}" for n in range(60) for directory in ("latest", "stable")]
    for start in range(0, len(names), 30):
        outcomes = []
        for name in names[start : start + 30]:
            said = name.partition("/")[2].removesuffix("index.html").encode().ljust(16)
            page = Page(200, 0.1, "text/html", 1, said, None, None, 0)
            queued = Queued(crawl.row(f"{H}/{name}"), f"{H}/{name}", 1, 0, 0)
            outcomes.append(Outcome(queued, State.FETCHED, page=page))
        with crawl.store.transaction() as connection:
            recorded = crawl.store.record_in(connection, outcomes, crawl.now + start)
            crawl.session.learn(connection, recorded, crawl.now + start)
    with crawl.store.transaction() as connection:
        found = [r.state for r in rule_store.rules_in(connection) if r.family == "path-prefix"]
    assert sorted(found) == ["active", "probation"]
    [told] = [line for line in crawl.said if "form a circle" in line]
    assert "is held back" in told
    crawl.store.close()


def test_evidence_survives_a_restart(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path)
    learn_slashes(crawl, 5)
    crawl.store.close()
    again = Crawl(tmp_path)
    learn_slashes(again, 4, start=5)
    assert again.states()["trailing-slash", "/"] == "probation"
    learn_slashes(again, 1, start=9)
    assert again.states()["trailing-slash", "/"] == "active"
    again.store.close()


def test_evidence_goes_to_another_worker_with_its_host(tmp_path: Path) -> None:
    workers = [Crawl(tmp_path), Crawl(tmp_path)]
    with workers[1].store.transaction():  # it has met the store while that was empty
        pass
    for start, crawl in zip((0, 3, 6, 8), workers * 2, strict=True):  # it goes to and fro
        assert "active" not in crawl.states().values()
        crawl.session.forget_hosts({"h.example"})
        learn_slashes(crawl, 3 if start < 6 else 2, start)
    assert workers[1].states()["trailing-slash", "/"] == "active"
    for crawl in workers:
        crawl.store.close()


def test_nothing_is_learned_from_a_transaction_that_fails(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path)
    learn_slashes(crawl, 9)
    with pytest.raises(KeyError), crawl.store.transaction() as connection:
        hop = Hop("redirect", 301, candidate(f"{H}/x/"))
        outcome = Outcome(Queued(1, f"{H}/x", 1, 0, 0), State.REDIRECTED, hops=(hop,))
        crawl.session.learn(connection, [RecordedOutcome(outcome, [])], crawl.now)
        raise KeyError
    assert crawl.states()["trailing-slash", "/"] == "probation"
    learn_slashes(crawl, 1, start=9)
    assert crawl.states()["trailing-slash", "/"] == "active"
    crawl.store.close()


@pytest.mark.parametrize("late", ["redirect", "page"])
def test_what_is_recorded_late_is_no_evidence(tmp_path: Path, late: str) -> None:
    """Another worker has found pages, where this one comes with redirects, or with other pages."""
    crawl = Crawl(tmp_path)
    for n in range(20):
        url, end = f"{H}/p{n}", f"{H}/p{n}/"
        first = Queued(crawl.row(url), url, 1, 0, 0)
        crawl.store.record([Outcome(first, State.FETCHED, page=page_of(n))], crawl.now)
        crawl.record(end, State.FETCHED, page=page_of(n + 50))
        if late == "redirect":
            hop = Hop("redirect", 301, candidate(end)._replace(hops=1, source=1))
            crawl.record(url, State.REDIRECTED, hops=(hop,))
        else:
            crawl.record(url, State.FETCHED, page=page_of(n + 50))
    assert not evidence(crawl)
    crawl.store.close()


def test_a_chain_is_evidence_when_its_end_answers(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path)
    for n in range(6):
        one, two, end = f"{H}/a{n}", f"https://h.example/a{n}", f"https://h.example/a{n}/"
        crawl.moved(one, two)  # it answered before, and redirects now
        hop = Hop("redirect", 301, candidate(end)._replace(hops=2, source=1))
        crawl.record(two, State.REDIRECTED, hops=(hop,))
    for n in range(6):
        hop = Hop("redirect", 301, candidate(f"{H}/gone"))
        crawl.record(f"{H}/g{n}", State.REDIRECTED, hops=(hop,))
    gone = Page(410, 0.1, None, 0, b"0" * 16, None, None, 0)
    crawl.record(f"{H}/gone", State.FETCHED, page=gone)
    with crawl.store.transaction() as connection:
        rules = {rule.rewrite.family: rule for rule in rule_rows.in_states(connection)}
    assert (rules["scheme-upgrade"].agree, rules["scheme-upgrade"].disagree) == (6, 0)
    crawl.store.close()


def test_a_redirect_to_a_page_that_has_answered_is_evidence_at_once(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path)
    page = Page(200, 0.1, "text/html", 1, b"x" * 16, None, None, 0)
    crawl.record(f"{H}/p/", State.FETCHED, page=page)
    assert not evidence(crawl)
    hop = Hop("redirect", 301, candidate(f"{H}/p/")._replace(hops=1, source=1))
    crawl.record(f"{H}/p", State.REDIRECTED, hops=(hop,))
    assert evidence(crawl) == {("trailing-slash", "slash", 1, 0)}
    crawl.store.close()


def test_a_page_that_another_names_as_canonical_is_asked_sooner(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path)
    crawl.row(f"{H}/other")
    named = crawl.row(f"{H}/p")
    page = Page(200, 0.1, "text/html", 1, b"x" * 16, None, None, 0)
    hop = Hop("canonical", 200, candidate(f"{H}/p")._replace(hops=1, source=1))
    learned = crawl.record(f"{H}/p?ref=1", State.FETCHED, page=page, hops=(hop,))
    assert learned.sooner == (named,)
    crawl.store.close()


def test_temporary_redirects_are_no_evidence(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path)
    for n in range(20):
        crawl.moved(f"{H}/p{n}", f"{H}/p{n}/", 302)
    assert crawl.states() == {}
    crawl.store.close()


def test_a_probe_is_in_the_directory_of_a_known_page() -> None:
    assert beside(f"{H}/a/b?c", 1.0).url.startswith(f"{H}/a/")
    assert beside(f"{H}/a/b", 1.0) != beside(f"{H}/a/b", 2.0)


def evidence(crawl: Crawl) -> set[tuple[str, str, int, int]]:
    with crawl.store.transaction() as connection:
        rules = rule_store.rules_in(connection)
    return {(r.family, r.new, r.evidence.agree, r.evidence.disagree) for r in rules}


def test_what_was_fetched_before_a_restart_counts_for_rules_that_open_later(tmp_path: Path) -> None:
    """Contrary pages first, then a process that is killed, then the redirects of a new one."""
    for name in ("whole", "parts"):
        (tmp_path / name).mkdir()
    whole, parts = Crawl(tmp_path / "whole"), Crawl(tmp_path / "parts")
    for crawl in (whole, parts):
        for n in range(100, 120):
            for end in ("", "/"):
                digest = f"{n}{end}".encode().ljust(16)
                page = Page(200, 0.1, "text/html", 1, digest, None, None, 0)
                crawl.record(f"{H}/p{n}{end}", State.FETCHED, page=page)
        if crawl is parts:
            crawl.session = LearningSession(MAKE, LIMITS, crawl.said.append)
            crawl.store.rules = crawl.session
        learn_slashes(crawl, 40)
        if crawl is parts:
            crawl.session = LearningSession(MAKE, LIMITS, crawl.said.append)
            crawl.store.rules = crawl.session
        learn_slashes(crawl, 20, start=40)
    assert ("trailing-slash", "slash", 60, 20) in evidence(whole)
    assert evidence(parts) == evidence(whole)
    assert "active" not in whole.states().values()
    whole.store.close()
    parts.store.close()


def answers(crawl: Crawl, status: int, names: list[str]) -> list[str]:
    """Record the same answer for names that are queued; return those that are."""
    asked = []
    for name in names:
        url = f"{H}/{name}"
        row = crawl.row(url)
        with crawl.store.transaction() as connection:
            if connection.scalar(select(urls.c.state).where(urls.c.id == row)) != State.QUEUED:
                continue
        asked.append(name)
        page = Page(status, 0.1, "text/html", 1, name.encode()[:16].ljust(16), None, None, 0)
        crawl.record(url, State.FETCHED, page=page)
    return asked


def test_of_a_page_that_is_gone_under_three_names_no_more_are_asked(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path)
    rule = LearnedRule(host="h.example", family="parameter-irrelevant", old="sid")
    with crawl.store.transaction() as connection:
        rule_store.import_rules(connection, [rule], MAKE, crawl.now)
    names = [f"gone?sid=value{n}" for n in range(300)]
    asked = answers(crawl, 404, names)
    assert asked[:3] == names[:3]
    assert 3 <= len(asked) < 20, "some verify the rule"
    with crawl.store.transaction() as connection:
        [held] = [name for name in names[-9:] if name not in asked][-1:]
        said = ask(connection, f"{H}/{held}", crawl.now)
    assert said.same_as is not None
    assert sorted(said.gone) == sorted(f"{H}/{name}" for name in asked)
    found = [f"found?sid=value{n}" for n in range(9)]
    assert answers(crawl, 410, found[:2]) == found[:2]
    assert answers(crawl, 200, found[2:3]) == found[2:3], "a page may be gone under two names"
    assert len(answers(crawl, 404, found[3:])) < 3
    crawl.store.close()


def test_a_sample_is_asked_in_place_of_pages_that_wait(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path, with_sample(100))
    rows = {crawl.row(f"{H}/p{n}"): n for n in range(120)}
    names = {crawl.row(f"{H}/p{n}?ref=1"): n for n in range(120)}

    def named(n: int) -> Learned:
        """Record a page under another name; it names its own."""
        source = crawl.row(f"{H}/p{n}?ref=1")
        hop = Hop("canonical", 200, candidate(f"{H}/p{n}", depth=2)._replace(source=source))
        return crawl.record(f"{H}/p{n}?ref=1", State.FETCHED, page=page_of(n), hops=(hop,))

    for n in range(40):
        named(n)
        crawl.record(f"{H}/p{n}", State.FETCHED, page=page_of(n))
    assert crawl.states()["parameter-irrelevant", "/"] == "active"
    answers = [
        crawl.record(f"{H}/other{n}", State.FETCHED, page=page_of(n + 500)) for n in range(9)
    ]
    asked = [names[row] for one in answers for row in one.sooner if row in names]
    deferred = [rows[row] for one in answers for row in one.later if row in rows]
    assert sorted(asked) == sorted(deferred), "in place of the pages, which wait"
    assert len(asked) >= 4
    for n in asked:
        assert crawl.row(f"{H}/p{n}") in named(n).later
    with crawl.store.transaction() as connection:
        held = set(connection.scalars(select(urls.c.url).where(urls.c.state == State.HELD)))
    assert held.issuperset(f"{H}/p{n}" for n in asked)
    crawl.store.close()


def page_of(n: int) -> Page:
    return Page(200, 0.1, "text/html", 1, b"%16d" % n, None, None, 0)


def with_sample(paths: int) -> Thresholds:
    more = msgspec.structs.replace(LIMITS.verification, sample=paths, sample_every=2)
    return msgspec.structs.replace(LIMITS, verification=more)


@pytest.mark.every_database
def test_on_a_host_that_is_too_large_for_the_memory_the_evidence_is_the_same(
    tmp_path: Path,
    database: str,
) -> None:
    del database  # it decides what `open_store` opens
    found = []
    for most in (FACTS, 60):
        (tmp_path / str(most)).mkdir()
        crawl = Crawl(tmp_path / str(most), most_facts=most)

        def fetch(url: str, body: str, crawl: Crawl = crawl) -> None:
            page = Page(200, 0.1, "text/html", 1, body.encode().ljust(16), None, None, 0)
            crawl.record(url, State.FETCHED, page=page)

        for n in range(8):
            fetch(f"{H}/a{n}", f"a{n}")
            fetch(f"{H}/a{n}?ref=1", f"a{n}")
        crawl.moved(f"{H}/old", f"{H}/old/")
        for n in range(60):
            fetch(f"{H}/b{n}", f"b{n}")
        learn_slashes(crawl, 40)
        for n in range(8, 30):
            fetch(f"{H}/b{n}?ref=1", f"b{n}" if n % 5 else "other")
            fetch(f"{H}/p{n}/?ref=1", f"c{n}")
        found.append(evidence(crawl))
        crawl.store.close()
    assert found[0] == found[1]
    assert ("trailing-slash", "slash", 41, 68) in found[0]
    assert ("parameter-irrelevant", "", 26, 26) in found[0]


def test_rules_of_other_workers_do_not_make_one_forget_its_own_hosts(tmp_path: Path) -> None:
    """Else with each rule that is learned anywhere, all facts of all hosts were read again."""
    mine, other = Crawl(tmp_path), Crawl(tmp_path)
    with mine.store.transaction() as connection:
        mine.session.refresh(connection)
    page = Page(200, 0.1, "text/html", 1, b"o".ljust(16), None, None, 0)
    mine.record("http://o.example/", State.FETCHED, page=page)
    learn_slashes(other, 12)
    assert other.states()["trailing-slash", "/"] == "active"
    with mine.store.transaction() as connection:
        mine.session.refresh(connection)
        own = LearnedRule(host="h.example", family="trailing-slash", new="slash")
        assert [rule.id for rule in mine.session._in_force.known] == [own.id]  # noqa: SLF001
    memory = mine.session._learner._memory  # noqa: SLF001 - that it is kept is what is asked for
    before = memory.site("o.example")
    assert len(before.known.facts) == 1
    learn_slashes(other, 1, 12)
    with mine.store.transaction() as connection:
        assert memory.site("h.example").rules, "it knows the rules of the other's host"
        rule_store.revoke(connection, rule_store.find(connection, own.id), MAKE, 9.0)
    with mine.store.transaction() as connection:
        mine.session.refresh(connection)
        assert [rule.state for rule in mine.session._learner.rules("h.example")] == ["revoked"]  # noqa: SLF001
    assert memory.site("o.example") is before
    for crawl in (mine, other):
        crawl.store.close()
