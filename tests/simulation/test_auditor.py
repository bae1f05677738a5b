"""The auditor finds faults: some that Canonry once had are put back, one by one."""

from pathlib import Path
from typing import Any

import pytest
from simulation.history import follow
from simulation.world import ALWAYS, NEVER, Parameter, Site, Span, quiet_site

from canonry.crawler.learn import learned_site
from canonry.crawler.learn.request_policy import RequestPolicy
from canonry.crawler.learn.session import LearningSession
from canonry.storage.recrawls import absences
from canonry.storage.rows import budgets

pytestmark = pytest.mark.sqlite


def _kinds(
    site: Site, nights: int, folder: Path, settings: dict[str, Any] | None = None
) -> set[str]:
    """Return the kinds of faults that the auditor finds."""
    return {fault.kind for fault in follow([site], nights, "faults", folder, settings=settings)}


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
