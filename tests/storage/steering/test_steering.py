"""What people change in a queue: nothing is lost, counts stay right, interrupted steps go on."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import Connection, event
from support.databases import url_of
from support.stores import admit, assert_counts_are_right, candidate, lease, open_store, visited

from canonry.crawler.admission import exclusions, url_filter
from canonry.crawler.settings import load
from canonry.storage import State, Store, StoreError, facts
from canonry.storage.reading import report
from canonry.storage.records import HOST_BLOCKED, PATTERN_EXCLUDED
from canonry.storage.steering import blocked_hosts, releases, short_steps, steered_patterns
from canonry.storage.steering.releases import Refusal
from canonry.storage.steering.short_steps import ShortSteps

pytestmark = pytest.mark.every_database
A, B = "http://a.example/", "http://b.example/"
_DAYS = [f"{A}calendar/{day}/" for day in range(12)]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Return a store with two hosts; the steps in it are short."""
    made = open_store(tmp_path)
    limits = load(None, {}).traps
    made.budgets_of = lambda url: url_filter.budgets_of(url, limits)
    admit(made, [*_DAYS, f"{A}x", f"{A}y", f"{B}calendar/1/"])
    yield made
    made.close()


@pytest.fixture(autouse=True)
def _few_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (blocked_hosts, short_steps):
        monkeypatch.setattr(module, "STEP", 5)
    monkeypatch.setattr(short_steps, "_SHORTEST_PAUSE", 0.0)


def states(store: Store) -> dict[str, str]:
    """Return the state of each URL, with the reason if it is held or failed."""
    with store.transaction() as connection:
        assert_counts_are_right(connection)
        return {
            row["url"]: row["state"] + (f" {row['reason']}" if row["reason"] else "")
            for row in report.rows(connection, "urls")
        }


def with_state(store: Store, state: str) -> set[str]:
    """Return the URLs in a state."""
    return {url for url, found in states(store).items() if found == state}


@contextmanager
def killed_after(steps: int, folder: Path) -> Iterator[ShortSteps]:
    """Open a store for steps; the transaction after some of them is never committed."""
    with ShortSteps(url_of(folder)) as opened:
        commits = 0

        @event.listens_for(opened._engine, "commit")  # noqa: SLF001 - a fault is planted
        def committing(_connection: Connection) -> None:
            nonlocal commits
            commits += 1
            if commits > steps:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            yield opened


def test_a_blocked_host_is_asked_nothing_more_and_loses_nothing(
    store: Store, tmp_path: Path
) -> None:
    assert {host.name for host in lease(store, now=5.0)} == {"a.example", "b.example"}
    with ShortSteps(url_of(tmp_path)) as opened:
        assert blocked_hosts.block(opened, "a.example") == 14
        assert blocked_hosts.block(opened, "a.example") == 0
        held = with_state(store, f"held {HOST_BLOCKED}")
        assert held == {*_DAYS, f"{A}x", f"{A}y"}
        admit(store, [f"{A}new", f"{B}new"])  # by a crawl that runs
        assert states(store)[f"{A}new"] == f"held {HOST_BLOCKED}"
        assert [host.name for host in lease(store, now=99.0)] == ["b.example"]
        assert blocked_hosts.unblock(opened, "a.example") == 15
    assert set(states(store).values()) == {"queued"}
    assert {host.name for host in lease(store, now=200.0)} == {"a.example", "b.example"}


def test_what_was_in_flight_on_a_blocked_host_counts(store: Store, tmp_path: Path) -> None:
    first, second, third = (url.url_id for url in lease(store)[0].urls[:3])
    with ShortSteps(url_of(tmp_path)) as opened:
        blocked_hosts.block(opened, "a.example")
    outcomes = [visited(first, State.FETCHED), visited(second, State.FAILED, "timeout")]
    store.record([*outcomes, visited(third, State.QUEUED, "timeout", retry_at=50.0)], 2.0)
    found = states(store)
    assert found[_DAYS[0]] == "fetched"
    assert found[_DAYS[1]] == "failed timeout"
    assert found[_DAYS[2]] == f"held {HOST_BLOCKED}", "it is not retried"


def test_an_interrupted_block_is_finished_by_whoever_comes_by(store: Store, tmp_path: Path) -> None:
    with killed_after(2, tmp_path) as opened:
        blocked_hosts.block(opened, "a.example")
    assert len(with_state(store, f"held {HOST_BLOCKED}")) == 5
    assert [host.name for host in lease(store, now=5.0)] == ["b.example"], "it is blocked already"
    with store.transaction() as connection:
        assert [blocked_hosts.finish(connection) for _ in range(3)] == [5, 4, 0]
    assert len(with_state(store, f"held {HOST_BLOCKED}")) == 14
    with killed_after(2, tmp_path) as opened:
        blocked_hosts.unblock(opened, "a.example")
    with ShortSteps(url_of(tmp_path)) as opened:
        assert blocked_hosts.unblock(opened, "a.example") == 9
    assert set(states(store).values()) == {"queued"}


def test_an_excluded_pattern_holds_what_is_queued_and_what_comes(
    store: Store, tmp_path: Path
) -> None:
    pattern = exclusions.named("a.example/calendar/*/")
    with report.reading(url_of(tmp_path)) as connection:
        found = steered_patterns.preview(connection, pattern)
        assert found == (12, 14, 14)
        assert found.is_exact
        some = steered_patterns.preview(connection, pattern, 10)
        assert (some.held, some.is_exact) == (10, False)
    with ShortSteps(url_of(tmp_path)) as opened:
        assert steered_patterns.exclude(opened, exclusions.named(_DAYS[3])) == 12
        assert with_state(store, f"held {PATTERN_EXCLUDED}") == set(_DAYS)
        admit(store, [f"{A}calendar/99/", f"{B}calendar/2/"])
        found_now = states(store)
        assert found_now[f"{A}calendar/99/"] == f"held {PATTERN_EXCLUDED}"
        assert found_now[f"{B}calendar/2/"] == "queued"
        assert steered_patterns.include(opened, pattern) == 13
    assert set(states(store).values()) == {"queued"}
    with store.transaction() as connection:
        assert steered_patterns.excluded(connection) == []


def test_a_query_is_excluded_by_its_parameters_or_whole(store: Store, tmp_path: Path) -> None:
    wiki = "http://a.example:8080/index.php?"
    pages = [f"{wiki}title={name}" for name in "abcdefgh"]
    edits = [f"{wiki}title={name}&action=edit" for name in "abcdefgh"]
    admit(store, [*pages, *edits, "http://a.example:8080/index.php"])
    shape = exclusions.named(edits[0])
    assert shape.text == "a.example:8080/index.php?action&title"
    program = exclusions.named("a.example/index.php?")
    with report.reading(url_of(tmp_path)) as connection:
        assert steered_patterns.preview(connection, shape).held == len(edits)
        assert steered_patterns.preview(connection, program).held == len(pages + edits)
    with ShortSteps(url_of(tmp_path)) as opened:
        assert steered_patterns.exclude(opened, shape) == len(edits)
        assert with_state(store, f"held {PATTERN_EXCLUDED}") == set(edits)
        assert steered_patterns.exclude(opened, program) == len(pages)
        assert steered_patterns.include(opened, program) == len(pages), "the shape holds the rest"
        assert with_state(store, f"held {PATTERN_EXCLUDED}") == set(edits)
        admit(store, [f"{wiki}action=edit&title=x", f"{wiki}title=y"])
        assert states(store)[f"{wiki}action=edit&title=x"] == f"held {PATTERN_EXCLUDED}"
        assert states(store)[f"{wiki}title=y"] == "queued"
        assert steered_patterns.include(opened, shape) == len(edits) + 1


def test_an_interrupted_exclusion_is_finished_by_the_next_crawl(
    store: Store, tmp_path: Path
) -> None:
    pattern = exclusions.named("a.example/calendar/*/")
    with killed_after(2, tmp_path) as opened:
        steered_patterns.exclude(opened, pattern)
    assert len(with_state(store, f"held {PATTERN_EXCLUDED}")) == 5
    with store.transaction() as connection:
        assert exclusions.finish(connection, every=False) == 7
        assert exclusions.finish(connection, every=False) == 0
    assert with_state(store, f"held {PATTERN_EXCLUDED}") == set(_DAYS)
    with killed_after(2, tmp_path) as opened:
        steered_patterns.include(opened, pattern)
    with store.transaction() as connection:
        assert exclusions.finish(connection, every=False) == 7
    assert set(states(store).values()) == {"queued"}


def test_a_release_puts_back_what_one_reason_holds(store: Store, tmp_path: Path) -> None:
    urls = [f"{A}deep{n}" for n in range(7)] + [f"{B}deep"]
    store.admit([candidate(url, held="too-deep") for url in [*urls, f"{A}calendar/77/"]], 1.0)
    store.admit([candidate(f"{A}far", held="out-of-scope")], 1.0)
    with ShortSteps(url_of(tmp_path)) as opened:
        steered_patterns.exclude(opened, exclusions.named("a.example/calendar/*/"))
        blocked_hosts.block(opened, "b.example")
        wanted = Refusal("held", "too-deep")
        assert releases.release(opened, wanted, host="a.example", keeps=exclusions.keeps) == 7
        assert releases.release(opened, wanted, keeps=exclusions.keeps) == 0
        with pytest.raises(StoreError, match="knows no such host"):
            releases.release(opened, wanted, host="c.example")
    found = states(store)
    assert {found[url] for url in urls[:7]} == {"queued"}
    assert found[f"{B}deep"] == "held too-deep", "its host is blocked"
    assert found[f"{A}calendar/77/"] == "held too-deep", "its pattern is excluded"
    assert found[f"{A}far"] == "held out-of-scope"


def test_failures_are_released_as_if_they_had_never_been_tried(
    store: Store, tmp_path: Path
) -> None:
    url_id = lease(store)[0].urls[0].url_id
    store.record([visited(url_id, State.FAILED, "dns")], 2.0)
    with ShortSteps(url_of(tmp_path)) as opened:
        assert releases.release(opened, Refusal("failed", "dns")) == 1
    assert set(states(store).values()) == {"queued"}
    [host] = [one for one in lease(store, now=3.0) if one.name == "a.example"]
    assert (host.urls[0].url_id, host.urls[0].attempts) == (url_id, 0)


def test_crawls_are_told_of_every_step(store: Store, tmp_path: Path) -> None:
    url_ids = [url.url_id for url in lease(store)[0].urls]

    def look(change: Callable[[ShortSteps], object]) -> tuple[bool, int]:
        with store.transaction() as connection:
            before = facts.generation(connection, facts.QUEUE)
        with ShortSteps(url_of(tmp_path)) as opened:
            change(opened)
        with store.transaction() as connection:
            after = facts.generation(connection, facts.QUEUE)
            return after > before, len(short_steps.withdrawn(connection, url_ids))

    assert look(lambda opened: blocked_hosts.block(opened, "a.example")) == (True, 14)
    assert look(lambda opened: blocked_hosts.unblock(opened, "a.example")) == (True, 0)


def test_an_unknown_host_is_refused(store: Store, tmp_path: Path) -> None:
    for change in (blocked_hosts.block, blocked_hosts.unblock):
        with (
            ShortSteps(url_of(tmp_path)) as opened,
            pytest.raises(StoreError, match="knows no such host"),
        ):
            change(opened, "c.example")
    assert set(states(store).values()) == {"queued"}
