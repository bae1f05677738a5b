"""The commands ``refused``, ``hosts`` and ``patterns``."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from support.stores import candidate, open_store

from canonry.crawler.admission import url_filter
from canonry.crawler.cli.commands import main
from canonry.crawler.settings import load
from canonry.storage.reading import report


@pytest.fixture
def store(tmp_path: Path) -> str:
    """Make a store with a few queued and held URLs."""
    made = open_store(tmp_path)
    limits = load(None, {}).traps
    made.budgets_of = lambda url: url_filter.budgets_of(url, limits)
    made.admit([candidate(f"http://a.example/day/{n}/") for n in range(4)], 1.0)
    made.admit([candidate("http://b.example/")], 1.0)
    made.admit([candidate("http://b.example/deep", depth=9, held="too-deep")], 1.0)
    made.close()
    return str(tmp_path / "store.db")


def run(store: str, *words: str) -> Result:
    """Run a command about the store."""
    return CliRunner().invoke(main, [*words, "--store", store])


def queued(store: str) -> int:
    """Return how many URLs are queued."""
    with report.reading(store) as connection:
        found: int = report.status(connection)["urls"]["queued"]
        return found


def test_what_is_refused_is_listed_and_released(store: str) -> None:
    [found] = json.loads(run(store, "refused", "list", "--json").stdout)["reasons"]
    assert (found["reason"], found["urls"], found["can_be_released"]) == ("too-deep", 1, True)
    assert "--max-depth 9" in run(store, "refused", "list").stdout
    assert run(store, "refused", "release", "learned").exit_code == 2
    other = run(store, "refused", "release", "nonsense")
    assert (other.exit_code, queued(store)) == (0, 5)
    assert "no URL is held" in other.stderr
    done = run(store, "refused", "release", "too-deep")
    assert "1 URL went back to the queue" in done.stderr
    assert queued(store) == 6


def test_hosts_are_listed_blocked_and_unblocked(store: str) -> None:
    found = json.loads(run(store, "hosts", "list", "--json", "--limit", "1").stdout)
    assert (found["hosts"][0]["host"], found["total"]) == ("a.example", 2)
    assert found["has_more"]
    assert "there are more: --limit 10" in run(store, "hosts", "list", "--limit", "1").stderr
    assert "4 queued URLs held" in run(store, "hosts", "block", "a.example").stderr
    assert queued(store) == 1
    assert "blocked" in run(store, "hosts", "list", "--blocked").stdout
    assert "4 URLs went back" in run(store, "hosts", "unblock", "a.example").stderr
    assert queued(store) == 5
    unknown = run(store, "hosts", "block", "c.example")
    assert (unknown.exit_code, "knows no such host" in unknown.stderr) == (1, True)


def test_patterns_are_listed_excluded_and_included(store: str) -> None:
    pattern = "a.example/day/*/"
    found = json.loads(run(store, "patterns", "list", "--json").stdout)
    assert [one["pattern"] for one in found["patterns"]] == [pattern, "b.example/"]
    words = ("patterns", "exclude", "http://a.example/day/77/")
    seen = json.loads(run(store, *words, "--dry-run", "--json").stdout)
    assert (seen["pattern"], seen["would_hold"], queued(store)) == (pattern, 4, 5)
    assert "would hold 4 queued URLs" in run(store, *words, "--dry-run").stderr
    assert "4 queued URLs held" in run(store, *words).stderr
    assert queued(store) == 1
    told = run(store, "patterns", "list").stdout
    assert "Excluded" in told
    assert "ever queued" in told
    assert "4 URLs went back" in run(store, "patterns", "include", pattern).stderr
    assert queued(store) == 5
    assert run(store, "patterns", "exclude", "/day/").exit_code == 2
