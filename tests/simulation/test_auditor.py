"""The auditor finds faults: some that Canonry once had are put back, one by one."""

from pathlib import Path
from typing import Any

import pytest
from simulation.history import follow
from simulation.nights import Faults
from simulation.world import ALWAYS, NEVER, Parameter, Site, Span, quiet_site
from sqlalchemy import Connection

from canonry.crawler.learn import learned_site
from canonry.crawler.learn.request_policy import RequestPolicy
from canonry.crawler.learn.session import LearningSession
from canonry.storage.clusters import cluster_export
from canonry.storage.recrawls import absences
from canonry.storage.rows import budgets, leases

pytestmark = pytest.mark.sqlite


def _kinds(
    site: Site,
    nights: int,
    folder: Path,
    settings: dict[str, Any] | None = None,
    faults: Faults | None = None,
) -> set[str]:
    """Return the kinds of faults that the auditor finds."""
    each = faults or Faults()
    found = follow([site], nights, "faults", folder, lambda _night: each, settings=settings)
    return {fault.kind for fault in found}


def test_all_gone_at_once_is_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(absences, "_FEWEST", 1_000_000)
    assert "lost" in _kinds(quiet_site(30, accidents=[("gone", Span(2, 2))]), 2, tmp_path)


@pytest.mark.parametrize("accident", ["consent", "error page"])
def test_a_wall_replaces_what_was_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, accident: str
) -> None:
    monkeypatch.setattr(absences, "give_back", lambda _connection, _url_ids: set())
    site = quiet_site(30, accidents=[(accident, Span(2, 2))])
    assert "lost" in _kinds(site, 2, tmp_path)


def test_a_rule_is_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learned_site, "IN_FORCE", ())
    monkeypatch.setattr(RequestPolicy, "tests_of_run", lambda _policy: [])
    site = quiet_site(30, parameters=[Parameter("lang", ("en", "de"), ALWAYS, Span(3, 10_000))])
    assert {"lost", "merged"} <= _kinds(site, 4, tmp_path)


def test_what_was_fetched_twice_stays_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LearningSession, "hold_further_names", lambda *_given: 0)
    site = quiet_site(
        30, parameters=[Parameter("ref", ("a", "b", "c"), ALWAYS, NEVER)], tokens=True
    )
    assert "twice" in _kinds(site, 3, tmp_path)


def test_limits_count_what_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budgets, "count", lambda *_given: None)
    site = quiet_site(30)
    site.pages |= {n: Span(n - 30, n - 30) for n in range(31, 40)}
    assert "lost" in _kinds(site, 9, tmp_path, {"traps": {"max_per_host": 37}})


def test_requests_come_too_soon(tmp_path: Path) -> None:
    crawl = {"recrawl_after": "20h", "delay": 0.5, "contact": "mailto:a@b.example"}
    assert _kinds(quiet_site(30), 1, tmp_path, {"crawl": crawl}) == {"impolite"}


def test_what_redirects_to_an_error_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(absences, "_UNASKED", set())
    site = quiet_site(30, accidents=[("robots broken", Span(2, 2))], secure=2)
    assert "lost" in _kinds(site, 2, tmp_path)


def test_whatever_goes_is_an_outage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(absences, "_LIVING", 1_000)
    monkeypatch.setattr(absences, "_NIGHT", 1e9)
    site = quiet_site(30)
    site.pages |= {n: Span(0, 1) for n in range(31, 40)}
    assert _kinds(site, 3, tmp_path) == {"stale"}


def test_changes_are_not_exported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compare = cluster_export._compare
    monkeypatch.setattr(cluster_export, "_compare", lambda *given: {*sorted(compare(*given))[1:]})
    assert "differs" in _kinds(quiet_site(10, edits={1: [2]}), 2, tmp_path)


def test_hosts_of_dead_workers_are_asked_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def reclaim(connection: Connection, dead: set[str], *_given: float) -> None:
        leases.HOSTS.give_back(connection, dead)

    monkeypatch.setattr(leases, "reclaim", reclaim)
    assert "impolite" in _kinds(quiet_site(30), 2, tmp_path, faults=Faults(kills=3))
