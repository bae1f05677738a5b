"""Hosts, patterns and refused URLs: each once, in order, on both databases."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.databases import url_of
from support.stores import candidate, open_store, visited

from canonry.storage import State, Store
from canonry.storage.reading import report
from canonry.storage.records import Budget, CachedRobots
from canonry.storage.rows import host_rows, leases, waiting
from canonry.storage.steering import host_list, releases, steered_patterns
from canonry.storage.steering.releases import Refusal

pytestmark = pytest.mark.every_database
_SIZES = {"a": 3, "b": 1, "c": 150, "d": 2, "e": 1}


def budgets_of(url: str) -> list[Budget]:
    """Return the budget of the URL's host."""
    host = url.split("/")[2]
    return [Budget(host.encode().ljust(16), host, 1_000, "too-many")]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Return a store with five hosts."""
    made = open_store(tmp_path)
    made.budgets_of = budgets_of
    urls = [f"http://{h}.example/{n}" for h, size in _SIZES.items() for n in range(size)]
    url_ids = {u: made.admit([candidate(u)], 1.0)[0].url_id for u in urls}
    made.admit([candidate(f"http://a.example/held{n}", held="too-deep") for n in range(5)], 2.0)
    retried = visited(url_ids["http://a.example/0"], State.QUEUED, "timeout", retry_at=1e9)
    made.record([retried], 7.0)
    made.record([visited(url_ids["http://d.example/0"], State.FAILED, "dns")], 8.0)
    with made.transaction() as connection:
        leases.pace(connection, {f"{h}.example": 1e6 + n for n, h in enumerate("ebda")}, {})
        for origin in ("http://a.example", "https://a.example", "http://other.example"):
            host_rows.cache_robots(connection, origin, CachedRobots("", 5.0))
    yield made
    made.close()


@pytest.mark.parametrize(
    ("order", "names"), [("queue", "cae"), ("wait", "adbec"), ("error", "da"), ("name", "abcde")]
)
def test_hosts_come_in_an_order(store: Store, order: str, names: str) -> None:
    with store.transaction() as connection:
        rows, has_more = host_list.hosts_in(connection, order=order, most=2)
        assert "".join(one.name[0] for one in rows) == names[:2]
        assert has_more == (order != "error")
        rows, has_more = host_list.hosts_in(connection, order=order)
        assert "".join(one.name[0] for one in rows).startswith(names)
        assert (len(rows), has_more) == (2 if order == "error" else 5, False)


def test_hosts_without_a_queue_come_last_and_those_found_first_before_others(store: Store) -> None:
    [done] = store.admit([candidate("http://f.example/")], 1.0)
    store.record([visited(done.url_id, State.FAILED, "dns")], 9.0)
    found = [candidate(f"http://{h}.example/", held="out-of-scope") for h in "zyx"]
    store.admit(found, 10.0)
    with store.transaction() as connection:
        rows, has_more = host_list.hosts_in(connection)
        assert ("".join(one.name[0] for one in rows), has_more) == ("caedb" + "fzyx", False)
        rows, has_more = host_list.hosts_in(connection, most=7)
        assert ("".join(one.name[0] for one in rows), has_more) == ("caedbfz", True)
        rows, has_more = host_list.hosts_in(connection, part="Z.example", most=1)
        assert ([one.name for one in rows], has_more) == (["z.example"], False)
        rows, has_more = host_list.hosts_in(connection, part="example", order="name", most=2)
        assert ("".join(one.name[0] for one in rows), has_more) == ("ab", True)


def test_hosts_are_found_by_a_part_of_their_name(store: Store) -> None:
    with store.transaction() as connection:
        rows, has_more = host_list.hosts_in(connection, part="D.EX")
        assert ([one.name for one in rows], has_more) == (["d.example"], False)
        assert host_list.number_of(connection) == 5
        assert host_list.hosts_in(connection, blocked=True) == ([], False)


def test_a_host_has_its_last_error_and_the_robots_of_its_origins(store: Store) -> None:
    with store.transaction() as connection:
        a, d = (host_list.hosts_in(connection, part=f"{name}.example")[0][0] for name in "ad")
        assert (a.error, a.error_at, d.error, d.error_at) == ("timeout", 7.0, "dns", 8.0)
        assert waiting.reason_of(connection, a.id) == "timeout"
        assert waiting.reason_of(connection, d.id) is None
        origins = {
            name: sorted(state.origin for state in states)
            for name, states in host_list.robots_of(connection, [a, d]).items()
        }
        assert origins == {"a.example": ["http://a.example", "https://a.example"]}
        waits = waiting.waiting_hosts(connection, 10.0)
        assert [(one.host[0], one.reason) for one in waits] == [
            ("a", "timeout"),
            ("d", None),
            ("b", None),
            ("e", None),
        ]


def test_patterns_come_in_order_and_the_rare_ones_last(store: Store) -> None:
    with store.transaction() as connection:
        rows, has_more = steered_patterns.patterns_in(connection)
        assert [(one.pattern[0], one.number) for one in rows[:3]] == [
            ("c", 150),
            ("a", 3),
            ("d", 2),
        ]
        assert {(one.pattern[0], one.number) for one in rows[3:]} == {("b", 1), ("e", 1)}
        assert not has_more
        rows, has_more = steered_patterns.patterns_in(connection, most=1)
        assert ([one.pattern for one in rows], has_more) == (["c.example"], True)
        [only], _more = steered_patterns.patterns_in(connection, part="D.")
        assert only == steered_patterns.pattern_with(connection, b"d.example".ljust(16))
        assert steered_patterns.pattern_with(connection, b"?" * 16) is None


@pytest.mark.usefixtures("store")
def test_refused_urls_come_with_the_newest_first(tmp_path: Path) -> None:
    with report.reading(url_of(tmp_path)) as connection:
        deep, dns = Refusal("held", "too-deep"), Refusal("failed", "dns")
        assert releases.refusals(connection) == [(deep, 5), (dns, 1)]
        rows, has_more = releases.urls_of(connection, deep, most=3)
        assert ([one.url[-1] for one in rows], has_more) == (list("432"), True)
        assert len(releases.urls_of(connection, deep)[0]) == 5
        [failed], _more = releases.urls_of(connection, dns)
        assert (failed.host, failed.at) == ("d.example", 8.0)
