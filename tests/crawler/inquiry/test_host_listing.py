"""The hosts of a store for people: in an order, by name, and why one waits."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection
from support.stores import candidate, open_store, visited

from canonry.crawler.inquiry.host_listing import HostListing, hosts_of
from canonry.crawler.run.job.preparation import as_job
from canonry.crawler.settings import load
from canonry.storage import State
from canonry.storage.reading import report
from canonry.storage.records import CachedRobots
from canonry.storage.rows import host_rows, leases

A = "http://a.example/"
_NOW = 1e9 + 100.0


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[Connection]:
    """Return a connection to a store with some seventy hosts: one failed, and one waits."""
    store = open_store(tmp_path)
    urls = [*(f"{A}day/{n}/" for n in range(60)), *(f"http://h{n}.example/" for n in range(70))]
    store.admit([candidate(url) for url in urls], 1.0)
    [fails] = store.admit([candidate(f"{A}fails")], 1.0)
    store.record([visited(fails.url_id, State.FAILED, "dns")], 5.0)
    with store.transaction() as writing:
        leases.pace(writing, {"h1.example": 4e9}, {"h1.example": 7.0})
        host_rows.cache_robots(writing, "http://h1.example", CachedRobots(None, 9e9, 1e9))
    store.begin_job("crawl", as_job([A], (), load(None, {"crawl": {"delay": 0.5}})), 1.0)
    store.close()
    with report.reading(f"sqlite:///{tmp_path / 'store.db'}") as found:
        yield found


def names(listing: HostListing) -> list[str]:
    return [one.host for one in listing.hosts]


def test_hosts_are_sorted_and_filtered(connection: Connection) -> None:
    first = hosts_of(connection, _NOW)
    assert (first.total, len(first.hosts), first.has_more) == (71, 50, True)
    assert (first.hosts[0].host, first.hosts[0].queued) == ("a.example", 60)
    by_name = names(hosts_of(connection, _NOW, order="name"))
    assert by_name == sorted(by_name)
    assert hosts_of(connection, _NOW, order="error").hosts[0].last_error == "dns"
    [found] = hosts_of(connection, _NOW, part="H69").hosts
    assert (found.host, found.delay, found.delay_from) == (
        "h69.example",
        0.5,
        "the settings (--delay)",
    )
    assert names(hosts_of(connection, _NOW, part="nowhere")) == []


def test_a_host_says_why_it_waits(connection: Connection) -> None:
    host = hosts_of(connection, _NOW, order="wait").hosts[0]
    assert (host.host, host.delay, host.delay_from) == ("h1.example", 7.0, "its robots.txt")
    assert host.waits_until is not None
    assert host.waits_until.startswith("2096-")
    assert host.waits_for == "it asked for a pause"
    assert host.robots == [
        "http://h1.example: not reached since 2001-09-09T01:46:40.000Z; nothing is fetched"
    ]
