"""What a store says of one URL: its state, the reason, where it was found, what would change it."""

import json
import math
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Connection, event
from support.crawls import SEED, crawl, page, target_of
from support.servers import Answer, ok
from support.stores import MAKE, admit, open_store

from canonry.canon import InvalidURL
from canonry.canon.learned import LearnedRule, Rewrite, to_fields
from canonry.crawler.admission import exclusions
from canonry.crawler.fetch.faults import Fault
from canonry.crawler.hold_reason import HoldReason
from canonry.crawler.inquiry.ask import ask
from canonry.crawler.inquiry.remedies import REASONS, Case, remedy, sentence, sentence_about
from canonry.crawler.inquiry.url_answer import URLAnswer
from canonry.crawler.learn.rules import rule_store
from canonry.crawler.settings import load
from canonry.storage import StoreError
from canonry.storage.reading import report
from canonry.storage.steering import steered_patterns
from canonry.storage.steering.short_steps import ShortSteps
from canonry.storage.timestamps import iso

NOW = 2_000_000_000.0
ROBOTS = ok(b"# ours\r\nUser-agent: *\r\nDisallow: /private/\r\n")
ANSWERS = {
    "/robots.txt": ROBOTS,
    "/": page("/a?utm_source=x", "/private/1", "/old", "/down", "http://b.example/", "/n/1")[:-4]
    + b"</a>",
    "/a?utm_source=x": page("/broken", "/n/2", "/n/3"),
    "/old": ok(b"", "Location: /older", status="301 Moved"),
    "/older": ok(b"", "Location: /new", status="302 Found"),
    "/down": ok(b"", status="503 Down"),
    "/broken": ok(b"no", "Content-Type: text/plain", status="404 Not Found"),
}


def answer(head: bytes) -> Answer:
    return ANSWERS.get(target_of(head), ok(b"fine", "Content-Type: text/plain"))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Crawl the site above once; return the store's URL."""
    folder = tmp_path_factory.mktemp("asked")
    crawl(folder, answer, retries=1, traps={"max_per_pattern": 2}, max_pages=0)
    return f"sqlite:///{folder / 'store.db'}"


def asked(store: str, url: str, now: float = NOW) -> URLAnswer:
    with report.reading(store) as connection:
        return ask(connection, url, now)


def test_a_url_that_robots_holds_comes_with_the_line(store: str) -> None:
    found = asked(store, f"{SEED}private/1")
    assert (found.state, found.reason) == ("held", "robots")
    assert found.because == HoldReason.ROBOTS.value
    assert found.robots is not None
    assert (found.robots.url, found.robots.agent) == (f"{SEED}robots.txt", "canonry")
    assert (found.robots.line, found.robots.text) == (3, "Disallow: /private/")
    assert not found.robots.allows
    assert "owner of the site" in found.remedies[0]
    assert found.found is not None
    assert (found.found.on, found.found.depth) == ([SEED], 1)


def test_a_broken_link_is_traced_to_its_seed(store: str) -> None:
    found = asked(store, f"{SEED}broken")
    assert (found.state, found.page and found.page.status) == ("fetched", 404)
    assert found.found is not None
    assert found.found.on == [f"{SEED}a?utm_source=x", SEED]
    assert found.found.at.endswith("Z")
    assert asked(store, SEED).found is not None


def test_an_export_of_pages_has_what_found_them(store: str) -> None:
    with report.reading(store) as connection:
        rows = list(report.rows(connection, "pages"))
    found = {row["url"]: row["found_on"] for row in rows}
    assert all(row["elapsed"] == round(row["elapsed"], 6) for row in rows)
    assert found[f"{SEED}broken"] == f"{SEED}a?utm_source=x"
    assert found[f"{SEED}new"] == f"{SEED}older"
    assert found[SEED] is None


def test_a_redirect_comes_with_its_whole_chain(store: str) -> None:
    found = asked(store, f"{SEED}old")
    assert found.state == "redirected"
    steps = [(step.status, step.to, step.state, step.answer) for step in found.redirects]
    assert steps == [
        (301, f"{SEED}older", "redirected", None),
        (302, f"{SEED}new", "fetched", 200),
    ]
    end = asked(store, f"{SEED}new").found
    assert end is not None
    assert end.named_by == [f"{SEED}older"]
    assert (end.hops, end.on) == (2, [f"{SEED}older", f"{SEED}old", SEED])


@pytest.mark.parametrize(
    ("target", "reason", "because"),
    [("mailto:a@b", "scheme", "its scheme is not http"), ("http://[", "host", "neither a domain")],
)
def test_a_redirect_to_what_cannot_be_fetched_says_so(
    tmp_path: Path, target: str, reason: str, because: str
) -> None:
    moved = ok(b"", f"Location: {target}", status="301 Moved")
    crawl(tmp_path, lambda head: moved if target_of(head) == "/" else ok(b""))
    found = asked(f"sqlite:///{tmp_path / 'store.db'}", SEED)
    assert (found.state, found.reason) == ("redirected", reason)
    assert found.because is not None
    assert found.because.startswith("the target of its redirect cannot be fetched: ")
    assert because in found.because


def test_redirects_in_a_circle_are_said_to_have_no_end(tmp_path: Path) -> None:
    to = {"/in": "/a", "/a": "/b", "/b": "/a", "/moved": "/page"}
    to |= {"/near": "/refused", "/refused": "mailto:a@b"}

    def answer(head: bytes) -> Answer:
        target = target_of(head)
        if target in to:
            return ok(b"", f"Location: {to[target]}", status="302 Found")
        return page("/in", "/moved", "/near") if target == "/" else page()

    crawl(tmp_path, answer)
    store = f"sqlite:///{tmp_path / 'store.db'}"
    for path in ("in", "a", "b"):
        found = asked(store, f"{SEED}{path}")
        assert (found.state, found.reason) == ("redirected", None)
        assert found.because == "its redirects lead in a circle, and to no page"
    for path in ("moved", "near"):
        assert asked(store, f"{SEED}{path}").because is None


def test_another_spelling_is_that_of_the_known_url(store: str) -> None:
    found = asked(store, "HTTP://A.example:80/%61?utm_campaign=y#z")
    assert found.state == "fetched"
    assert found.known_as == f"{SEED}a?utm_source=x"
    assert found.merged_by == "percent-unreserved + tracking"
    assert asked(store, f"{SEED}a?utm_source=x").known_as is None


def test_a_failure_comes_with_its_cause_and_attempts(store: str) -> None:
    found = asked(store, f"{SEED}down")
    assert (found.state, found.reason, found.attempts) == ("failed", "server", 2)
    assert found.because == Fault.SERVER.value
    assert found.remedies == ["canonry refused release server, and the same crawl command again"]


def test_scope_and_limits_come_with_what_lifts_them(store: str) -> None:
    found = asked(store, "http://b.example/")
    assert (found.state, found.reason) == ("held", "out-of-scope")
    assert found.scope is not None
    assert (found.scope.kind, found.scope.seeds) == ("host", [SEED])
    assert found.remedies == ["--scope any, or a seed there: canonry crawl … http://b.example/"]
    [held] = [asked(store, f"{SEED}n/{n}") for n in (1, 2, 3) if _reason(store, n)]
    assert held.reason == "pattern-budget"
    [budget] = held.budgets
    assert (budget.setting, budget.common) == ("max_per_pattern of [traps]", "a.example/n/*")
    assert (budget.count, budget.limit) == (2, 2)
    assert "max_per_pattern of [traps]" in held.remedies[0]


def _reason(store: str, number: int) -> str | None:
    return asked(store, f"{SEED}n/{number}").reason


@pytest.mark.parametrize(
    ("url", "state", "reason", "because"),
    [
        ("http://a.example/never", "never-seen", None, "has named it"),
        ("http://a.example/private/2", "never-seen", "robots", "it would be held: the host's"),
        ("http://c.example/", "never-seen", "out-of-scope", "outside the scope"),
        ("http://a.example/n/9", "never-seen", "pattern-budget", "max_per_pattern"),
        ("http://a.example:25/", "never-seen", "port", "another protocol"),
        ("mailto:u@a.example", "invalid", "scheme", "only those are fetched"),
        ("javascript:x()", "invalid", "scheme", "only those are fetched"),
        ("http://[bad/", "invalid", "host", "neither a domain name"),
        ("a.example/x", "invalid", "relative", "no base URL"),
        ("", "invalid", "empty", "empty"),
    ],
)
def test_a_url_that_the_store_does_not_have_is_judged(
    store: str, url: str, state: str, reason: str | None, because: str
) -> None:
    found = asked(store, url)
    assert (found.state, found.reason) == (state, reason)
    assert found.because is not None
    assert because in found.because


def test_no_answer_shows_a_password(store: str) -> None:
    for url in ("http://u:s3cret@a.example/", "http://u:s3cret@ho st/", "u:s3cret@a.example"):
        assert "s3cret" not in repr(asked(store, url))


def test_an_excluded_pattern_is_named_for_known_and_unknown_urls(tmp_path: Path) -> None:
    crawl(tmp_path, answer, max_pages=1)
    store = f"sqlite:///{tmp_path / 'store.db'}"
    with ShortSteps(store) as opened:
        steered_patterns.exclude(opened, exclusions.named("a.example/find?"))
    found = asked(store, f"{SEED}find?c=3")
    assert (found.state, found.reason) == ("never-seen", "pattern-excluded")
    assert found.remedies == ["canonry patterns include 'a.example/find?'"]
    assert asked(store, f"{SEED}found?c=3").reason != "pattern-excluded"


def test_links_that_were_not_followed_are_named_as_a_reason(tmp_path: Path) -> None:
    def answer(head: bytes) -> Answer:
        links = b'<a href="/a" rel="nofollow">a</a><a href="/b" rel="nofollow">b</a>'
        return ok(links * (target_of(head) == "/"), "Content-Type: text/html")

    crawl(tmp_path, answer)
    found = asked(f"sqlite:///{tmp_path / 'store.db'}", f"{SEED}a")
    assert found.state == "never-seen"
    assert found.because is not None
    assert "2 links marked nofollow did not count" in found.because
    assert found.remedies == ["--config crawl.respect_nofollow=false, if such a link names it"]


def test_what_is_queued_says_when_it_is_tried(tmp_path: Path) -> None:
    crawl(tmp_path, answer, retries=0, max_pages=1, requests_per_host=1, concurrency=1)
    store = f"sqlite:///{tmp_path / 'store.db'}"
    found = asked(store, f"{SEED}old", now=0.0)
    assert (found.state, found.waiting > 1) == ("queued", True)
    assert found.not_before is not None, "at the time 0 it is not yet due"
    assert asked(store, f"{SEED}old").not_before is None
    assert found.remedies == ["--max-pages, where the last crawl stopped (it was 1)"]


def test_a_pattern_that_keeps_a_url_out_is_named(tmp_path: Path) -> None:
    crawl(tmp_path, answer, retries=0, exclude=["/old*"], include=["/a*", "/old"])
    store = f"sqlite:///{tmp_path / 'store.db'}"
    found = asked(store, f"{SEED}old")
    assert (found.reason, found.scope and found.scope.pattern) == ("excluded", "/old*")
    assert found.remedies[0].startswith("--exclude without the pattern")
    assert asked(store, f"{SEED}down").reason == "not-included"


def test_a_limit_of_a_host_and_settings_of_another_version_are_understood(tmp_path: Path) -> None:
    crawl(tmp_path, answer, retries=0)
    store = f"sqlite:///{tmp_path / 'store.db'}"
    with closing(sqlite3.connect(tmp_path / "store.db")) as database, database:
        job = json.loads(database.execute("SELECT settings FROM jobs").fetchone()[0])
        table = {"max_pages": 1, "basic_auth": "***", "headers": ["X: ***"], "unheard-of": 1}
        job["settings"] |= {"hosts": {"a.example": table}, "new": {"x": 1}}
        database.execute("UPDATE jobs SET settings = ?", (json.dumps(job),))
        database.execute(
            "UPDATE url_rows SET state = 4, reason = 'host-budget' WHERE suffix LIKE '%/old'"
        )
    database.close()
    found = asked(store, f"{SEED}old")
    [_, budget] = found.budgets
    assert (budget.reason, budget.limit) == ("host-budget", 1)
    assert budget.setting == "max_pages of [hosts] for a.example"
    assert found.remedies[0].startswith("max_pages of [hosts] for a.example in --config")
    repeating = asked(store, f"{SEED}x/x/x/x/x/x/x/x").remedies
    assert repeating == ["it as a seed of the crawl: seeds are always fetched"]
    job["settings"]["learn"] = {"enabled": "a value that was allowed"}
    with closing(sqlite3.connect(tmp_path / "store.db")) as database, database:
        database.execute("UPDATE jobs SET settings = ?", (json.dumps(job),))
    assert [one.reason for one in asked(store, f"{SEED}old").budgets] == ["pattern-budget"]


SLASH = LearnedRule(**to_fields(Rewrite("h.example", "trailing-slash", new="slash")))


@pytest.mark.every_database
@pytest.mark.usefixtures("database")
def test_a_url_that_a_learned_rule_holds_names_rule_and_prediction(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    admit(store, ["http://h.example/"])
    found = [MAKE("http://h.example/a"), MAKE("http://h.example/a/")]
    admit(store, [*(one.url for one in reversed(found)), "http://h.example/c/"], depth=1)
    with store.transaction() as connection:
        rule_store.import_rules(connection, [SLASH], MAKE, NOW, trial=False)
        held = ask(connection, "http://h.example/a", NOW)
        other = ask(connection, "http://h.example/a/", NOW)
        never = ask(connection, "http://h.example/b", NOW)
        double = ask(connection, "http://h.example/c", NOW)
    store.close()
    assert (held.state, held.reason) == ("held", "learned")
    assert held.same_as == "http://h.example/a/"
    [rule] = held.rules
    assert (rule.id, rule.state, rule.predicts) == (SLASH.id, "active", "http://h.example/a/")
    assert f"canonry rules revoke {SLASH.id}" in held.remedies[0]
    assert (other.state, other.same_as) == ("queued", None)
    assert (never.state, never.reason, never.rules[0].id) == ("never-seen", None, SLASH.id)
    assert "it would be fetched for all that a rule makes the same" in (never.because or "")
    slash = "http://h.example/c/"
    assert (double.state, double.reason, double.same_as) == ("never-seen", "learned", slash)
    assert f"a learned rule would let {slash} be fetched" in (double.because or "")


def test_a_store_of_another_policy_is_refused(store: str) -> None:
    with (
        report.reading(store) as connection,
        pytest.raises(StoreError, match="made under policy web@1"),
    ):
        ask(connection, SEED, NOW, policy="search")


def test_every_reason_to_hold_or_fail_has_a_remedy() -> None:
    assert set(REASONS) == {*HoldReason, *Fault}
    case = Case("http://a.example/", 0, 0, load(None, {}), (), ())
    for one in REASONS:
        assert sentence(one.label) == one.value
        assert not {"{", "}"} & set(remedy(one.label, case) or "{")
    assert sentence("unheard-of") is None


def test_a_refused_port_is_named_where_it_is_the_reason() -> None:
    assert sentence_about("http://a.example:9102/", "address") == (
        "port 9102 belongs to another protocol than HTTP"
    )
    assert sentence_about("http://a.example:8000/", "address") == sentence("address")
    assert sentence_about("http://a.example:9102/", "dns") == sentence("dns")
    for url, lifted in (
        ("http://10.0.0.1/", "--allow-private"),
        ("http://10.0.0.1:9102/", "never"),
    ):
        case = Case(url, 0, 0, load(None, {}), (), ())
        assert lifted in (remedy("address", case) or "")


# Tables that do not grow with the crawl, and indexes of a few rows.
_SMALL = {"rules", "meta", "jobs", "counts", "evidence", "sqlite_master"}
_FEW = ("urls_led_to", "budgets_excluded")


def test_no_question_reads_a_whole_table(store: str) -> None:
    with report.reading(store) as connection:
        asked_for = statements_of(connection)
        for url in (
            f"{SEED}private/1",
            f"{SEED}old",
            "http://c.example/",
            f"{SEED}a",
            f"{SEED}n/9",
        ):
            ask(connection, url, NOW)
        assert len(asked_for) > 40
        for statement, values in list(asked_for):
            plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", values)
            for row in plan.all():
                is_scan = row[3].startswith("SCAN") and row[3].split()[1] not in _SMALL
                assert not is_scan or any(one in row[3] for one in _FEW), (statement, row[3])


def statements_of(connection: Connection) -> list[tuple[str, tuple[object, ...]]]:
    """Return the list to which a connection's statements are added as they are executed."""
    found: list[tuple[str, tuple[object, ...]]] = []

    @event.listens_for(connection, "before_cursor_execute")
    def executed(
        _connection: object,
        _cursor: object,
        statement: str,
        values: tuple[object, ...],
        *_more: object,
    ) -> None:
        if statement.startswith("SELECT"):
            found.append((statement, values))

    return found


@pytest.mark.parametrize(
    ("at", "text"),
    [
        (None, None),
        (0.0, None),
        (1_795_320_525.9627044, "2026-11-22T04:08:45.962Z"),
        (1e300, "9999-12-31T23:59:59.000Z"),
        (-math.inf, None),
        (-5.0, "1970-01-01T00:00:00.000Z"),
    ],
)
def test_times_are_text(at: float | None, text: str | None) -> None:
    assert iso(at) == text


def test_a_text_that_is_no_url_is_no_error(store: str) -> None:
    with pytest.raises(InvalidURL):
        MAKE("http://[bad/")
    assert asked(store, "http://[bad/").state == "invalid"
