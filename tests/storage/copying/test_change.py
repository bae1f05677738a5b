"""A store changes its policy: URLs that are one are merged, those that are two are split."""

import random
import sqlite3
import time
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import Connection
from support.databases import url_of
from support.stores import (
    MAKE,
    admit,
    assert_counts_are_right,
    candidate,
    lease,
    open_store,
    visited,
)

from canonry.canon import Canonicalizer, LearnedRule
from canonry.canon.pipeline import merging_rules
from canonry.canon.policies import from_toml, preset
from canonry.crawler.admission.scope import host_of
from canonry.crawler.learn.rules import rule_store
from canonry.crawler.policy_upgrade import change_policy, foresee_change
from canonry.storage import Candidate, Hop, Page, State, Store, StoreError
from canonry.storage.copying import Changed, publishing
from canonry.storage.frontier import scheduling
from canonry.storage.learned import ledger
from canonry.storage.reading import report
from canonry.storage.recrawls import revisit_rows
from canonry.storage.rows import leases
from canonry.storage.sql.tables.guest_tables import requests

pytestmark = pytest.mark.every_database

H = "http://h.example"
_SOURCES = "SELECT url, id, source_id FROM urls"
SEARCH = Canonicalizer("search")


def page(status: int = 200, digest: bytes = b"d" * 16) -> Page:
    """Return a page."""
    return Page(status, 0.1, "text/html", 10, digest, None, None, 0)


def change_to(folder: Path, policy: str = "search") -> Changed:
    """Change the policy of the store in a folder."""
    foreseen = foresee_change(url_of(folder), preset(policy), lambda _done, _number: None)
    done = change_policy(url_of(folder), preset(policy), print, lambda _done, _number: None)
    assert (foreseen.merged, foreseen.split) == (done.merged, done.split), "as it was foreseen"
    return done


def rows(connection: Connection, question: str) -> list[tuple[object, ...]]:
    """Return the rows that a query finds."""
    return [tuple(row) for row in connection.exec_driver_sql(question)]


def read(folder: Path, question: str) -> list[tuple[object, ...]]:
    """Return rows of the store in a folder, after its counts were checked."""
    with report.reading(url_of(folder)) as connection:
        assert_counts_are_right(connection)
        return rows(connection, question)


def states(folder: Path) -> dict[str, str]:
    """Return the state of each URL, and the reason for which it is held."""
    found = read(folder, "SELECT url, state, reason FROM urls ORDER BY id")
    return {
        str(url).removeprefix(H): State(int(str(state))).name.lower() + (f" {why}" if why else "")
        for url, state, why in found
    }


def search_candidate(url: str) -> Candidate:
    """Return a URL as the URL filter would give it under "search"."""
    found = SEARCH(url)
    return Candidate(found.url, url, found.key, host_of(found.url), 0)


def test_a_changed_store_is_as_one_that_was_made_so(tmp_path: Path) -> None:
    rng = random.Random(4)
    texts = [
        f"http://h{rng.randrange(9)}.example/{rng.choice(['', '/', 'a/'])}"
        f"{rng.choice(['', 'index.html', 'x', 'x?b=1&a=2', 'x?a=2&b=1', '?'])}"
        f"{rng.choice(['', '#f'])}"
        for _ in range(600)
    ]
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    new.mkdir()
    store = open_store(old)
    known = admit(store, texts)
    store.close()
    done = change_to(old)
    store = open_store(new, "search")
    store.admit([search_candidate(text) for text in texts], 0.0)
    store.close()
    question = "SELECT keys.key FROM keys JOIN urls ON urls.id = url_id ORDER BY keys.key"
    assert read(old, question) == read(new, question)
    assert done.urls == sum(answer.new for answer in known)
    assert done.merged == done.urls - len(read(new, question)) > 10
    store = open_store(old, "search")
    assert not any(a.new for a in store.admit([search_candidate(text) for text in texts], 0.0))
    store.close()
    with pytest.raises(StoreError, match="under policy search@1, not web@1"):
        open_store(old)


def test_the_best_of_several_urls_stays(tmp_path: Path) -> None:
    """A page that is there; else a URL that is to be fetched, so that no page is lost."""
    store = open_store(tmp_path)
    names = [f"{H}/{one}{slash}x" for one in "abcde" for slash in ("", "/")]
    found = dict(zip(names, admit(store, names, depth=3), strict=True))

    def url_id(name: str) -> int:
        return found[f"{H}/{name}"].url_id

    outcomes = [
        visited(url_id("ax"), State.FAILED, "dns"),
        visited(url_id("a/x"), State.FETCHED, page=page()),
        visited(url_id("bx"), State.FETCHED, page=page(404)),
        visited(url_id("cx"), State.FETCHED, page=page()),
        visited(url_id("c/x"), State.FETCHED, page=page()),
        visited(url_id("dx"), State.HELD, "robots"),
        visited(url_id("d/x"), State.FAILED, "dns"),
        visited(url_id("ex"), State.REDIRECTED, hops=[Hop("redirect", 301, candidate(f"{H}/e/x"))]),
    ]
    store.record(outcomes, 5.0)
    # Another depth, and another source.
    store.admit([candidate(f"{H}/a//x", 1), candidate(f"{H}/c//x", 1)], 1.0)
    store.close()
    assert states(tmp_path)["/a//x"] == "queued"
    mine = """
name = "mine"
version = 1
extends = "web@1"
[add]
practice = ["duplicate-slashes"]
"""
    policy = from_toml(mine.replace("duplicate-slashes", "all-slashes"), "mine.toml")
    change_policy(url_of(tmp_path), policy, print, lambda _done, _number: None)
    after = states(tmp_path)
    assert after == {
        "/ax": "failed dns",
        "/a/x": "fetched",
        "/bx": "fetched",
        "/b/x": "queued",
        "/cx": "fetched",
        "/c/x": "fetched",
        "/dx": "held robots",
        "/d/x": "failed dns",
        "/ex": "redirected",
        "/e/x": "queued",
    }
    depths = dict(read(tmp_path, "SELECT url, depth FROM urls"))  # type: ignore[arg-type]
    assert (depths[f"{H}/a/x"], depths[f"{H}/b/x"]) == (1, 3)
    merged = read(tmp_path, "SELECT rules, count FROM merges")
    assert merged == [("all-slashes", 2)]


_STAYS = [
    ("fetched", "queued", "fetched"),
    ("failed", "fetched", "fetched"),
    ("missing", "queued", "queued"),
    ("redirected", "queued", "queued"),
    ("missing", "redirected", "redirected"),
    ("robots", "queued", "queued"),
    ("failed", "robots", "held robots"),
    ("fetched", "fetched", "fetched"),
]


def test_which_of_two_stays(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    given = []
    for number, (one, other, _stays) in enumerate(_STAYS):
        home = f"http://h{number}.example"
        first, second, linked = admit(store, [f"{home}/a", f"{home}//a", f"{home}/linked"])
        found_on = [candidate(f"{home}/linked/{n}")._replace(source=second.url_id) for n in (1, 2)]
        further = store.admit(found_on, 1.0)
        redirect = Hop("redirect", 301, candidate(f"{home}/linked"))
        ends = {
            "fetched": (State.FETCHED, None, page(), ()),
            "missing": (State.FETCHED, None, page(404), ()),
            "failed": (State.FAILED, "dns", None, ()),
            "robots": (State.HELD, "robots", None, ()),
            "redirected": (State.REDIRECTED, None, None, (redirect,)),
        }
        for answer, what in ((first, one), (second, other)):
            if what != "queued":
                state, reason, body, hops = ends[what]
                store.record([visited(answer.url_id, state, reason, page=body, hops=hops)], 2.0)
        given.append(({first.url_id, second.url_id}, {linked.url_id, *(f.url_id for f in further)}))
    store.close()
    assert change_to(tmp_path).merged == len(_STAYS)
    found = states(tmp_path)
    known = {str(url): (url_id, source) for url, url_id, source in read(tmp_path, _SOURCES)}
    edges = read(tmp_path, "SELECT from_id, to_id FROM aliases")
    with_pages = {url_id for (url_id,) in read(tmp_path, "SELECT url_id FROM pages")}
    assert len(found) == 4 * len(_STAYS)
    everything = set()
    for number, ((_one, _other, stays), (two, others)) in enumerate(
        zip(_STAYS, given, strict=True)
    ):
        home = f"http://h{number}.example"
        kept = f"{home}/a" if f"{home}/a" in found else f"{home}//a"
        assert found[kept] == stays
        url_id = known[kept][0]
        assert [known[f"{home}/linked/{n}"][1] for n in (1, 2)] == [url_id, url_id]
        [gone] = two - {url_id}
        assert gone not in with_pages
        everything |= {url_id, *others}
    assert all({start, end} <= everything for start, end in edges)


def test_what_recrawls_have_learned_stays_with_the_url_that_stays(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    one, other = admit(store, [f"{H}/x?a=1&b=2", f"{H}/x?b=2&a=1"])
    outcomes = [
        visited(one.url_id, State.FAILED, "dns"),
        visited(other.url_id, State.FETCHED, page=page()),
    ]
    store.record(outcomes, 5.0)
    with store.transaction() as connection:
        rows = [revisit_rows.Revisited(each.url_id, 9.0, 5.0) for each in (one, other)]
        revisit_rows.put(connection, rows)
    store.close()
    change_to(tmp_path)
    assert read(tmp_path, "SELECT url_id FROM revisits") == [(other.url_id,)]


def test_no_table_keeps_what_it_says_of_a_url_that_is_merged_away(tmp_path: Path) -> None:
    """Its id may be given again: to a URL that would inherit it."""
    store = open_store(tmp_path)
    one, other = admit(store, [f"{H}/x?a=1&b=2", f"{H}/x?b=2&a=1"])
    store.record([visited(other.url_id, State.FETCHED, page=page())], 5.0)
    with store.transaction() as connection:
        scheduling.put_metadata(connection, {one.url_id: b"of one", other.url_id: b"of other"})
        ledger.put_answers(connection, [(each.url_id, 1, b"d", b"b") for each in (one, other)])
    store.close()
    change_to(tmp_path)
    for table in ("frontier_urls", "answers"):
        assert read(tmp_path, f"SELECT url_id FROM {table}") == [(other.url_id,)]  # noqa: S608


def test_waiting_requests_of_other_crawlers_get_the_new_keys(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    one, other = admit(store, [f"{H}/x?a=1&b=2", f"{H}/x?b=2&a=1"])
    store.record([visited(other.url_id, State.FETCHED, page=page())], 5.0)
    waiting = {"spider": "s", "status": 0, "rank": 0, "place": 0, "is_start": 0, "depth": 0}
    rows = [
        waiting | {"fingerprint": b"1", "url": f"{H}/x?b=2&a=1", "url_id": one.url_id},
        waiting | {"fingerprint": b"2", "url": f"{H}/y?b=2&a=1", "url_id": None},
    ]
    with store.transaction() as connection:
        for row in rows:
            key = MAKE(str(row["url"])).key
            connection.execute(requests.insert(), row | {"hops": 0, "key": key})
    store.close()
    change_to(tmp_path)
    found = read(tmp_path, "SELECT key, url_id FROM requests ORDER BY id")
    assert found == [
        (SEARCH(str(row["url"])).key, url_id)
        for row, url_id in zip(rows, (other.url_id, None), strict=True)
    ]


def test_edges_that_become_one_are_added_up(tmp_path: Path) -> None:
    """Also if an edge takes the place of one that itself leads elsewhere now."""
    store = open_store(tmp_path)
    names = [f"{H}/a", f"{H}//a", f"{H}/b", f"{H}//b", f"{H}/c"]
    a, a2, b, b2, c = admit(store, names)
    to = {name: Hop("redirect", 301, candidate(f"{H}{name}")) for name in ("/b", "//b", "/c")}
    for one, target, at in ((a, "/b", 1.0), (a2, "//b", 2.0), (a2, "/b", 3.0), (b, "//b", 4.0)):
        outcome = visited(one.url_id, State.REDIRECTED, hops=[to[target]])
        with store.transaction() as connection:
            store.record_in(connection, [outcome], at, again=True)
    store.record([visited(b2.url_id, State.REDIRECTED, hops=[to["/c"]])], 5.0)
    store.close()
    change_to(tmp_path)
    found = read(
        tmp_path, "SELECT from_id, to_id, first_seen, last_seen, count FROM aliases ORDER BY id"
    )
    assert found == [
        (a.url_id, b.url_id, 1.0, 3.0, 3),
        (b.url_id, b.url_id, 4.0, 4.0, 1),
        (b.url_id, c.url_id, 5.0, 5.0, 1),
    ]


def test_targets_that_become_distinct_get_a_row_and_are_queued(tmp_path: Path) -> None:
    store = open_store(tmp_path, "search")
    given = [search_candidate(url) for url in (f"{H}/old", f"{H}/x?b=1&a=2")]
    old, known = store.admit(given, 0.0)
    hop = Hop("redirect", 301, search_candidate(f"{H}/x?a=2&b=1"))
    store.record([visited(old.url_id, State.REDIRECTED, hops=[hop])], 7.0)
    store.record([visited(known.url_id, State.FETCHED, page=page())], 8.0)
    store.close()
    assert change_to(tmp_path, "web").split == 1
    assert states(tmp_path) == {
        "/old": "redirected",
        "/x?b=1&a=2": "fetched",
        "/x?a=2&b=1": "queued",
    }
    new = read(tmp_path, "SELECT id, depth, hops, source_id FROM urls WHERE state = 0")
    assert new == [(known.url_id + 1, 0, 1, old.url_id)]
    assert read(tmp_path, "SELECT from_id, to_id FROM aliases") == [(old.url_id, known.url_id + 1)]
    with report.reading(url_of(tmp_path)) as connection:
        assert rows(connection, "SELECT url_id FROM keys ORDER BY url_id") == [(1,), (2,), (3,)]
    store = open_store(tmp_path)
    [host] = lease(store)
    assert [queued.url for queued in host.urls] == [f"{H}/x?a=2&b=1"]
    store.close()


def test_learned_rules_and_what_they_hold_stay(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    names = [f"{H}{path}" for path in ("/a", "/a/", "/b//c", "/b/c/", "/d/")]
    admit(store, names[:1])
    store.admit([candidate(name)._replace(source=1, depth=1) for name in names[1:]], 1.0)
    rule = LearnedRule(host="h.example", family="trailing-slash", new="bare")
    with store.transaction() as connection:
        rule_store.import_rules(connection, [rule], MAKE, 2.0)
    store.close()
    assert states(tmp_path) == {
        "/a": "queued",
        "/a/": "held learned",
        "/b//c": "queued",
        "/b/c/": "queued",
        "/d/": "queued",
    }
    change_to(tmp_path)
    assert states(tmp_path) == {
        "/a": "queued",
        "/a/": "held learned",
        "/b//c": "queued",
        "/b/c/": "held learned",
        "/d/": "queued",
    }
    edges = read(tmp_path, "SELECT from_id, to_id, kind, target_url FROM aliases ORDER BY from_id")
    assert edges == [(2, 1, "rule", f"{H}/a"), (4, 3, "rule", f"{H}/b/c")]
    store = open_store(tmp_path, "search")
    with store.transaction() as connection:
        found = rule_store.find(connection, rule.id)
        assert found.state == "active"
        released = rule_store.revoke(connection, found, SEARCH, 3.0).released
    store.close()
    assert released == [2, 4]
    assert set(states(tmp_path).values()) == {"queued"}


def test_a_url_that_is_one_with_its_representative_is_no_longer_held(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    admit(store, [f"{H}/a"])
    store.admit([candidate(f"{H}/a/")._replace(source=1, depth=1)], 1.0)
    rule = LearnedRule(host="h.example", family="trailing-slash", new="bare")
    with store.transaction() as connection:
        rule_store.import_rules(connection, [rule], MAKE, 2.0)
    store.close()
    change_policy(url_of(tmp_path), preset("archive"), print, lambda _done, _number: None)
    assert states(tmp_path) == {"/a": "queued"}
    assert read(tmp_path, "SELECT count(*) FROM aliases") == [(0,)]


def test_a_store_that_a_crawl_uses_is_refused(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    admit(store, [f"{H}/a", f"{H}//a"])
    lease(store, "elsewhere:1:x", now=time.time())
    with pytest.raises(StoreError, match=r"a crawl uses it \(elsewhere:1:x\); stop that first"):
        change_policy(url_of(tmp_path), preset("search"), print, lambda _done, _number: None)
    with store.transaction() as connection:
        leases.HOSTS.give_back(connection, ["elsewhere:1:x"])
    store.close()
    assert change_to(tmp_path).merged == 1


def test_a_process_that_has_it_open_notices(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    admit(store, [f"{H}/a"])
    change_to(tmp_path)
    with pytest.raises(StoreError, match="its policy was web@1 and is search@1 now"):
        admit(store, [f"{H}/b"])
    store.close()
    assert states(tmp_path) == {"/a": "queued"}
    store = open_store(tmp_path, "search")
    assert [a.new for a in store.admit([search_candidate(f"{H}/{n}") for n in "ab"], 0.0)] == [
        False,
        True,
    ]
    store.close()


def test_fragments_that_were_in_the_keys_stay_there(tmp_path: Path) -> None:
    """Under a policy that keeps fragments, the key is that of the raw URL."""
    text = 'name = "mine"\nversion = {}\nextends = "rfc3986@1"\n[add]\npractice = {}\n'
    one, two = (
        from_toml(text.format(n, practice), "mine.toml")
        for n, practice in ((1, '["empty-query"]'), (2, '["empty-query", "duplicate-slashes"]'))
    )
    made, after = Canonicalizer(one), Canonicalizer(two)
    store = Store(url_of(tmp_path), policy=one.label, fingerprint=one.fingerprint)
    spelled = [f"{H}/a#x", f"{H}/a#y", f"{H}/a"]
    keys = [made(text) for text in spelled]
    store.admit(
        [
            Candidate(found.url, text, found.key, "h.example", 0)
            for text, found in zip(spelled, keys, strict=True)
        ],
        0.0,
    )
    store.close()
    change_policy(url_of(tmp_path), two, print, lambda _done, _number: None)
    found = {bytes(key) for (key,) in read(tmp_path, "SELECT key FROM keys")}  # type: ignore[arg-type]
    assert found == {after(text).key for text in spelled}


def test_a_forecast_writes_nothing_and_gives_examples(tmp_path: Path) -> None:
    store = open_store(tmp_path, "search")
    store.merging_rules = partial(merging_rules, SEARCH)
    store.admit([search_candidate(f"{H}/a?b=1&a=2"), search_candidate(f"{H}/a?a=2&b=1")], 0.0)
    store.close()
    before = read(tmp_path, "SELECT name, value FROM meta ORDER BY name")
    found = foresee_change(url_of(tmp_path), preset("web"), lambda _done, _number: None)
    assert read(tmp_path, "SELECT name, value FROM meta ORDER BY name") == before
    assert (found.urls, found.merged, found.split, found.apart) == (1, 0, 0, 1)
    assert [tuple(one) for one in found.apart_examples] == [
        (f"{H}/a?a=2&b=1", f"{H}/a?b=1&a=2", "sorted-query")
    ]


@pytest.mark.sqlite
@pytest.mark.parametrize("ends", [True, False])
def test_a_writer_that_comes_before_the_copy_is_not_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, ends: bool
) -> None:
    store = open_store(tmp_path)
    admit(store, [f"{H}/a", f"{H}//a"])
    store.close()
    other = sqlite3.connect(tmp_path / "store.db", isolation_level=None)
    publish = publishing.publish_file

    def late(connection: Connection, version: int) -> None:
        other.execute("BEGIN IMMEDIATE")
        other.execute("INSERT INTO meta VALUES ('late', 'kept')")
        if ends:
            other.execute("COMMIT")
        publish(connection, version)

    with monkeypatch.context() as patch:
        patch.setattr(publishing, "publish_file", late)
        patch.setattr(publishing, "BUSY_SECONDS", 0.4)
        said = "it was written to meanwhile" if ends else "another process holds it"
        with pytest.raises(StoreError, match=said):
            change_to(tmp_path)
    if not ends:
        other.execute("COMMIT")
    other.close()
    assert states(tmp_path) == {"/a": "queued", "//a": "queued"}
    assert change_to(tmp_path).merged == 1
    assert read(tmp_path, "SELECT value FROM meta WHERE name = 'late'") == [("kept",)]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["store.db"]
