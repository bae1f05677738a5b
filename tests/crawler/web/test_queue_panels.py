"""Refused URLs and the hosts, with the commands that change something."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.live_pages import Viewer, live_page, shown
from support.stores import candidate, open_store, visited

from canonry.canon.learned import Rewrite
from canonry.crawler.admission import url_filter
from canonry.crawler.run.job.preparation import as_job
from canonry.crawler.settings import load
from canonry.storage import State
from canonry.storage.learned import rule_rows
from canonry.storage.learned.rule_rows import TrackedRule
from canonry.storage.records import CachedRobots
from canonry.storage.rows import host_rows, leases, little_new
from canonry.storage.rows.little_new import LittleNew
from canonry.storage.steering import blocked_hosts
from canonry.storage.steering.short_steps import ShortSteps

A = "http://a.example/"
_EVIL = "<script>alert(1)</script>"


@pytest.fixture
def queue(tmp_path: Path) -> Iterator[Viewer]:
    """Return a viewer of a store with queued, held and failed URLs on a few hosts."""
    store = open_store(tmp_path)
    settings = load(None, {"crawl": {"max_depth": 3, "delay": 0.5}})
    store.budgets_of = lambda url: url_filter.budgets_of(url, settings.traps)
    urls = [*(f"{A}day/{n}/" for n in range(60)), *(f"http://h{n}.example/" for n in range(70))]
    store.admit([candidate(url) for url in urls], 1.0)
    store.admit([candidate(f"{A}{n}", depth=4, held="too-deep") for n in range(3)], 1.0)
    store.admit([candidate(f"{A}{_EVIL}", held="out-of-scope")], 1.0)
    url_id = store.admit([candidate(f"{A}fails")], 1.0)[0].url_id
    store.record([visited(url_id, State.FAILED, "dns")], 5.0)
    with store.transaction() as connection:
        leases.pace(connection, {"h1.example": 4e9}, {"h1.example": 7.0})
        kept = CachedRobots(None, 9e9, 1e9)
        host_rows.cache_robots(connection, "http://h1.example", kept)
    store.begin_job("crawl", as_job([A], (), settings), 1.0)
    store.close()
    with live_page(f"sqlite:///{tmp_path / 'store.db'}") as viewer:
        yield viewer


def test_reasons_have_examples_and_what_lifts_them(queue: Viewer) -> None:
    found = queue.json("/refused")["reasons"]
    assert [(one["state"], one["reason"], one["urls"]) for one in found] == [
        ("held", "too-deep", 3),
        ("failed", "dns", 1),
        ("held", "out-of-scope", 1),
    ]
    assert found[0]["remedy"] == "--max-depth 4 or more (it was 3)"
    assert found[0]["examples"] == [f"{A}2", f"{A}1", f"{A}0"]
    one = queue.json("/refused?state=held&reason=too-deep")["one"]
    assert [row["url"] for row in one["urls"]] == found[0]["examples"]
    page = queue.get("/refused?state=held&reason=out-of-scope").text
    assert _EVIL not in page
    assert queue.get("/refused?state=other&reason=x").status == 400


def test_the_commands_that_change_something_are_there_to_copy(
    queue: Viewer, tmp_path: Path
) -> None:
    store = f"--store sqlite:///{tmp_path}/store.db"
    assert f"canonry refused release {store} too-deep" in shown(queue.get("/refused").text)
    assert f"canonry hosts block {store} a.example" in shown(queue.get("/hosts").text)
    with ShortSteps(f"sqlite:///{tmp_path}/store.db") as steps:
        blocked_hosts.block(steps, "a.example")
    text = shown(queue.get("/hosts?show=blocked").text)
    assert f"canonry hosts unblock {store} a.example" in text
    assert "canonry hosts block" not in text


def test_hosts_are_sorted_and_filtered(queue: Viewer) -> None:
    first = queue.json("/hosts")
    assert (first["total"], len(first["hosts"])) == (71, 50)
    assert (first["hosts"][0]["host"], first["hosts"][0]["queued"]) == ("a.example", 60)
    assert first["has_more"]
    assert "canonry hosts list --limit 1000" in queue.get("/hosts").text
    by_name = [one["host"] for one in queue.json("/hosts?sort=name")["hosts"]]
    assert by_name == sorted(by_name)
    assert queue.json("/hosts?sort=error")["hosts"][0]["last_error"] == "dns"
    [found] = queue.json("/hosts?match=H69")["hosts"]
    assert (found["host"], found["delay"], found["delay_from"]) == (
        "h69.example",
        0.5,
        "the settings (--delay)",
    )
    for wrong in ("sort=colour", "show=none"):
        assert queue.get(f"/hosts?{wrong}").status == 400
    assert "no such" not in queue.get("/hosts?match=nowhere").text


def test_the_overview_begins_with_what_needs_a_look(queue: Viewer, tmp_path: Path) -> None:
    found = queue.json("/summary?before=1")
    assert [(one["reason"], one["urls"]) for one in found["held"]] == [
        ("too-deep", 3),
        ("dns", 1),
        ("out-of-scope", 1),
    ]
    assert [(one["host"], one["reason"]) for one in found["hosts"]] == [
        ("h1.example", None),
        ("a.example", "dns"),
    ]
    assert (found["little_new"], found["rules"], found["more_reasons"]) == ([], [], 0)
    empty = queue.get("/summary?before=1").text
    assert "None was found so far." in empty
    assert "No rule is active yet" in empty
    store = open_store(tmp_path)
    with store.transaction() as connection:
        for n in range(7):
            poor = LittleNew(f"h{n}.example", 0.04, f"h{n}.example/list?", 150, 0.02)
            little_new.put(connection, poor, float(n))
        rewrite = Rewrite("a.example", "trailing-slash", old="", new="bare")
        rule_rows.put(connection, [TrackedRule(rewrite, "active", agree=9)])
        rule = TrackedRule(rewrite, "active")
        rule_rows.add_suppressed(connection, {rule.id: 12})
    store.close()
    found = queue.json("/summary")
    newest = [f"h{n}.example" for n in (6, 5, 4, 3, 2)]
    assert [one["host"] for one in found["little_new"]] == newest
    assert [(one["id"], one["suppressed"]) for one in found["rules"]] == [(rule.id, 12)]
    page = queue.get("/").text
    exclude = f"canonry patterns exclude --dry-run --store sqlite:///{tmp_path}/store.db"
    assert f"{exclude} 'h6.example/list?'" in shown(page)
    for link in (
        "/refused?state=held&amp;reason=too-deep",
        "/hosts?match=h1.example",
        f"/rules?id={rule.id}",
    ):
        assert f'href="{link}"' in page
    assert page.index("At a glance") < page.index("Last pages</a></h2>")
    assert 'href="/summary"' not in page.partition("</nav>")[0]
    assert "figures" in page
    assert 'class="strip slim"' in queue.get("/hosts").text


def test_a_host_says_why_it_waits(queue: Viewer) -> None:
    host = queue.json("/hosts?sort=wait")["hosts"][0]
    assert (host["host"], host["delay"], host["delay_from"]) == (
        "h1.example",
        7.0,
        "its robots.txt",
    )
    assert host["waits_until"].startswith("2096-")
    assert host["waits_for"] == "it asked for a pause"
    assert host["robots"] == [
        "http://h1.example: not reached since 2001-09-09T01:46:40.000Z; nothing is fetched"
    ]
