"""Refused URLs, the hosts, and the patterns: shown, and changed from the page."""

import html
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.live_pages import Viewer, live_page
from support.stores import assert_counts_are_right, candidate, open_store, visited

from canonry.canon.learned import Rewrite
from canonry.crawler.admission import url_filter
from canonry.crawler.run.job.preparation import as_job
from canonry.crawler.settings import load
from canonry.crawler.web import viewer_actions
from canonry.storage import State
from canonry.storage.learned import rule_rows
from canonry.storage.learned.tracked_rule import TrackedRule
from canonry.storage.reading import report
from canonry.storage.records import CachedRobots, Page
from canonry.storage.rows import host_rows, leases, little_new
from canonry.storage.rows.little_new import LittleNew

A = "http://a.example/"
_EVIL = "<script>alert(1)</script>"


@pytest.fixture
def queue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Viewer]:
    """Return a viewer of a store with queued, held and failed URLs on a few hosts."""
    monkeypatch.setattr(viewer_actions, "_PATIENCE", 100.0)  # on a busy machine, a step takes long
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


def counted(folder: Path) -> dict[str, int]:
    """Return the number of URLs by state."""
    with report.reading(f"sqlite:///{folder / 'store.db'}") as connection:
        assert_counts_are_right(connection)
        found: dict[str, int] = report.status(connection)["urls"]
    return {state: number for state, number in found.items() if number}


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


def test_a_reason_is_released(queue: Viewer, tmp_path: Path) -> None:
    reply = queue.act("/refused", "release", state="held", reason="too-deep")
    assert reply.status == 303
    assert "too-deep: 3 URLs went back to the queue." in queue.get(reply.headers["Location"]).text
    assert counted(tmp_path) == {"queued": 133, "failed": 1, "held": 1}
    queue.act("/refused", "release", state="failed", reason="dns")
    assert counted(tmp_path) == {"queued": 134, "held": 1}


@pytest.mark.parametrize(
    ("action", "fields", "said"),
    [
        ("release", {"state": "held", "reason": "learned"}, "canonry rules revoke"),
        ("release", {"state": "queued", "reason": "dns"}, "held or failed"),
        ("release", {"state": "held", "reason": "too-deep", "host": "no.example"}, "no such host"),
        ("block", {"host": "no.example"}, "no such host"),
        ("unblock", {}, "no such host"),
        ("exclude", {"pattern": "/day"}, "has no host"),
        ("include", {}, "has no host"),
    ],
)
def test_what_cannot_be_done_is_said(
    queue: Viewer, tmp_path: Path, action: str, fields: dict[str, str], said: str
) -> None:
    before = counted(tmp_path)
    reply = queue.act("/refused", action, **fields)
    assert reply.status == 400
    assert said in reply.text
    assert counted(tmp_path) == before


def test_hosts_are_sorted_filtered_and_paged(queue: Viewer) -> None:
    first = queue.json("/hosts")
    assert (first["total"], len(first["hosts"])) == (71, 50)
    assert (first["hosts"][0]["host"], first["hosts"][0]["queued"]) == ("a.example", 60)
    rest = queue.json(f"/hosts?after={first['after'].replace('|', '%7C')}")
    assert (len(rest["hosts"]), rest["after"]) == (21, "")
    names = [one["host"] for part in (first, rest) for one in part["hosts"]]
    assert len(set(names)) == 71
    by_name = [one["host"] for one in queue.json("/hosts?sort=name")["hosts"]]
    assert by_name == sorted(by_name)
    assert queue.json("/hosts?sort=error")["hosts"][0]["last_error"] == "dns"
    [found] = queue.json("/hosts?match=H69")["hosts"]
    assert (found["host"], found["delay"], found["delay_from"]) == (
        "h69.example",
        0.5,
        "the settings (--delay)",
    )
    for wrong in ("sort=colour", "after=x", "after=1%7Cx", "show=none"):
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
        rule_rows.add_spared(connection, {rule.id: 12})
    store.close()
    found = queue.json("/summary")
    newest = [f"h{n}.example" for n in (6, 5, 4, 3, 2)]
    assert [one["host"] for one in found["little_new"]] == newest
    assert [(one["id"], one["spared"]) for one in found["rules"]] == [(rule.id, 12)]
    page = queue.get("/").text
    for link in (
        "/refused?state=held&amp;reason=too-deep",
        "/hosts?match=h1.example",
        "/patterns?pattern=h6.example%2Flist%3F",
        f"/rules?id={rule.id}",
    ):
        assert f'href="{link}"' in page
    assert page.index("At a glance") < page.index("Last pages</a></h2>")
    assert 'href="/summary"' not in page.partition("</nav>")[0]
    assert "figures" in page
    assert 'class="strip slim"' in queue.get("/hosts").text


def test_rare_patterns_are_left_out_unless_they_are_looked_for(queue: Viewer) -> None:
    listing = queue.json("/patterns")["listing"]
    assert [one["pattern"] for one in listing["patterns"]] == ["a.example/day/*/"]
    assert listing["left_out"] > 50
    assert (
        f"{listing['left_out']} patterns with fewer than five URLs" in queue.get("/patterns").text
    )
    listing = queue.json("/patterns?match=h7")["listing"]
    assert ("h7.example/", 1) in [(one["pattern"], one["queued"]) for one in listing["patterns"]]
    assert listing["left_out"] == 0


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


def test_a_host_is_blocked_and_unblocked(queue: Viewer, tmp_path: Path) -> None:
    before = counted(tmp_path)
    reply = queue.act("/hosts", "block", host="a.example")
    assert "a.example is blocked: 60 URLs held." in queue.get(reply.headers["Location"]).text
    assert counted(tmp_path) == {"queued": 70, "failed": 1, "held": 64}
    [host] = queue.json("/hosts?show=blocked")["hosts"]
    assert (host["host"], host["blocked"], host["queued"]) == ("a.example", True, 0)
    queue.act("/hosts?show=blocked", "unblock", host="a.example")
    assert counted(tmp_path) == before


def test_a_pattern_is_excluded_after_a_look_and_included_again(
    queue: Viewer, tmp_path: Path
) -> None:
    before = counted(tmp_path)
    [top, *_] = queue.json("/patterns?match=A.EXAMPLE")["listing"]["patterns"]
    assert top == {
        "pattern": "a.example/day/*/",
        "queued": 60,
        "limit": 100_000,
        "state": "counted",
        "is_host": False,
    }
    preview = queue.json("/patterns?pattern=http://a.example/day/7/")["preview"]
    assert (preview["pattern"], preview["would_hold"]) == (top["pattern"], 60)
    assert preview["at_least"] is False
    assert counted(tmp_path) == before, "a look changes nothing"
    page = "/patterns?pattern=a.example/day/*/"
    reply = queue.act(page, "exclude", pattern=top["pattern"])
    assert "is excluded: 60 URLs held." in queue.get(reply.headers["Location"]).text
    assert counted(tmp_path) == {"queued": 70, "failed": 1, "held": 64}
    found = queue.json("/patterns")["listing"]
    assert [one["pattern"] for one in found["excluded"]] == [top["pattern"]]
    queue.act("/patterns", "include", pattern=top["pattern"])
    assert counted(tmp_path) == before
    assert queue.json("/patterns")["listing"]["excluded"] == []


def test_patterns_that_repeat_pages_lead_to_their_exclusion(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.budgets_of = lambda url: url_filter.budgets_of(url, load(None, {}).traps)
    urls = [f"{A}wiki?title={name}&action=edit" for name in "abcd"]
    page = Page(200, 0.1, "text/html", 3, b"log in, please .", None, None, 0)
    for at, admission in enumerate(store.admit([candidate(url) for url in urls], 1.0)):
        if at < 3:
            store.record([visited(admission.url_id, State.FETCHED, page=page)], at)
    store.close()
    with live_page(f"sqlite:///{tmp_path / 'store.db'}") as viewer:
        [only] = viewer.json("/patterns")["repeats"]["patterns"]
        assert (only["pattern"], only["pages"], only["repeats"]) == (
            "a.example/wiki?action&title",
            3,
            2,
        )
        assert viewer.json("/patterns?match=x")["repeats"] is None
        link = re.search(
            r'href="(/patterns\?pattern=[^"]+title[^"]*)"', viewer.get("/patterns").text
        )
        assert link is not None
        preview = viewer.json(html.unescape(link[1]))["preview"]
        assert (preview["pattern"], preview["would_hold"]) == (only["pattern"], 1)
