"""Clusters of a store: each page in one of them, and exports of changes that add up to all."""

import random
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
from support.databases import url_of
from support.stores import MAKE, candidate, open_store, visited

from canonry.canon import Canonical
from canonry.canon.pipeline import Rewritten
from canonry.canon.policies import preset
from canonry.crawler.lookup import Lookup
from canonry.storage import Hop, Outcome, Page, State, Store, StoreError
from canonry.storage.clusters import cluster_export, export_log
from canonry.storage.clusters.cluster_export import Reading
from canonry.storage.clusters.cluster_rows import ClusterRow
from canonry.storage.clusters.equivalences import Equivalences
from canonry.storage.clusters.one_cluster import cluster_of
from canonry.storage.learned import applied_rules
from canonry.storage.reading import report
from canonry.storage.rows import requeueing
from canonry.storage.sql.schema import urls as table

pytestmark = pytest.mark.every_database

A = "http://a.example"
PATHS = [f"/{n}{end}" for n in range(6) for end in ("", "/")]


def rules_of(_url: str, _there: str) -> tuple[str, ...]:
    return ("r1",)


class Web:
    """A store that holds what crawls saw; URLs by their paths."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store: Store = open_store(folder)
        self.now = 1.0
        self.has_rule = False  # a trailing slash is no difference

    def url_id(self, path: str) -> int:
        [answer] = self.store.admit([candidate(A + path)], self.now)
        return answer.url_id

    def queue_again(self) -> None:
        with self.store.transaction() as connection:
            requeueing.requeue(connection, self.now)

    def moved(self, path: str, to: str, status: int = 301) -> None:
        hop = Hop("redirect", status, candidate(A + to))
        self._record(visited(self.url_id(path), State.REDIRECTED, hops=(hop,)))

    def page(
        self, path: str, body: str = "", status: int = 200, canonical: str | None = None
    ) -> None:
        hops = (Hop("canonical", 200, candidate(A + canonical)),) if canonical else ()
        digest, named = (body or path).encode().ljust(16), hops[0].target.url if hops else None
        answer = Page(status, 0.1, "text/html", 9, digest, None, named, 0)
        url_id = self.url_id(path)
        self._record(visited(url_id, State.FETCHED, page=answer, hops=hops))

    def _record(self, outcome: Outcome) -> None:
        self.now += 1.0
        settled = (table.c.id == outcome.url_id) & (table.c.state != State.QUEUED)
        with self.store.transaction() as connection:
            requeueing.queue_again(connection, settled)
        self.store.record([outcome], self.now)

    def rule(self, *, active: bool) -> None:
        self.has_rule = active
        self.now += 1.0
        with self.store.transaction() as connection:
            applied_rules.apply_rules(connection, ["a.example"], self._all, self._all, self.now)

    def _all(self, urls: list[str]) -> list[Rewritten | None]:
        return [self._rewrite(url) for url in urls]

    def _rewrite(self, url: str) -> Rewritten | None:
        plain = MAKE(url)
        if not self.has_rule:
            return None
        short = url.rstrip("/") or url
        found = MAKE(short if short.count("/") > 2 else url)
        used = ("r1",) if found.key != plain.key else ()
        return Rewritten(found.identity, found.key, used, plain.identity)

    def export(self, since: str | None = None) -> tuple[list[ClusterRow], str]:
        """Export clusters; return them, and the cursor."""
        self.now += 1.0
        with report.reading(url_of(self.folder)) as connection:
            reading = None if since is None else Reading.begin(connection, since)
            found = list(cluster_export.clusters(connection, rules_of, reading))
        if reading is None:
            return found, ""
        written = export_log.write(url_of(self.folder), reading.last, reading.changes, self.now)
        return found, written

    def clusters(self) -> dict[str, set[str]]:
        """Return the members of each representative, by paths."""
        return {
            row.url.removeprefix(A): {member.url.removeprefix(A) for member in row.members}
            for row in self.export()[0]
        }


class Index(dict[str, object]):
    """A search index as a reader keeps it: documents by id."""

    def follow(self, rows: Iterable[ClusterRow]) -> None:
        for row in rows:
            if row.action == "delete":
                self.pop(row.id, None)
            else:
                self[row.id] = document(row)


def document(row: ClusterRow) -> object:
    """Return what is indexed of a row: when it was seen last is not in it."""
    members = [member._replace(last_seen=None) for member in row.members]
    return row._replace(last_seen=None, members=members, left=())


@pytest.fixture
def web(tmp_path: Path) -> Iterator[Web]:
    found = Web(tmp_path)
    yield found
    found.store.close()


def test_members_have_their_reason_and_the_step_that_they_take(web: Web) -> None:
    web.page("/end")
    web.moved("/1", "/2", 301)
    web.moved("/2", "/end", 308)
    web.page("/copy", "/end")
    web.page("/print", "other", canonical="/end")
    web.page("/end/", "held")
    web.queue_again()
    web.rule(active=True)
    web.page("/end")
    [found] = (row for row in web.export()[0] if row.url == f"{A}/end")
    assert (found.action, found.status, found.reason) == ("upsert", 200, None)
    assert found.id == MAKE(f"{A}/end").key.hex()
    assert found.digest == b"/end".ljust(16).hex()
    assert {
        (m.url.removeprefix(A), m.reason, m.via.removeprefix(A), m.status, *m.rules)
        for m in found.members
    } == {
        ("/1", "redirect", "/2", 301),
        ("/2", "redirect", "/end", 308),
        ("/copy", "content", "/end", None),
        ("/print", "canonical", "/end", None),
        ("/end/", "rule", "/end", None, "r1"),
    }


def test_a_cluster_needs_an_end_that_answers(web: Web) -> None:
    web.page("/gone", status=404)
    web.moved("/1", "/gone")
    web.moved("/2", "/3")
    web.moved("/3", "/2")
    web.moved("/4", "/awaited")
    web.moved("/5", "/end", 302)
    web.page("/end")
    assert web.clusters() == {"/gone": set(), "/end": set()}
    assert {row.url: row.action for row in web.export()[0]} == {
        f"{A}/gone": "delete",
        f"{A}/end": "upsert",
    }


def test_a_stale_canonical_link_merges_nothing(web: Web) -> None:
    web.page("/end")
    web.page("/1", canonical="/end")
    assert web.clusters() == {"/end": {"/1"}}
    web.page("/1")
    assert web.clusters() == {"/end": set(), "/1": set()}


def test_of_equal_bodies_the_one_that_others_lead_to_represents(web: Web) -> None:
    web.page("/short", "same")
    web.page("/longer", "same")
    assert web.clusters() == {"/short": {"/longer"}}
    web.moved("/1", "/longer")
    assert web.clusters() == {"/longer": {"/1", "/short"}}


def test_a_recrawl_that_is_under_way_changes_nothing(web: Web) -> None:
    web.page("/end")
    web.moved("/1", "/end")
    before, cursor = web.export("start")
    assert len(before) == 1
    web.queue_again()
    assert web.export(cursor) == ([], cursor)
    assert web.clusters() == {"/end": {"/1"}}


def test_many_unlike_names_that_lead_to_one_page_are_no_members(web: Web) -> None:
    web.page("/login")
    for n in range(12):
        web.moved(f"/private{n}", "/login")
    assert web.clusters() == {"/login": set()}


def test_a_rule_that_goes_leaves_tombstones(web: Web) -> None:
    web.page("/1")
    web.page("/1/", "another page")
    index = Index()
    rows, cursor = web.export("start")
    index.follow(rows)
    assert len(index) == 2
    web.queue_again()
    web.rule(active=True)
    web.page("/1")
    rows, cursor = web.export(cursor)
    index.follow(rows)
    gone = [row for row in rows if row.action == "delete"]
    assert [(row.url, row.same_as) for row in gone] == [(f"{A}/1/", f"{A}/1")]
    assert len(index) == 1
    web.rule(active=False)
    rows, cursor = web.export(cursor)
    index.follow(rows)
    assert {row.url: list(row.left) for row in rows} == {f"{A}/1": [f"{A}/1/"], f"{A}/1/": []}
    assert len(index) == 2
    assert web.export(cursor) == ([], cursor), "nothing has changed, so the cursor stays"


def change(web: Web, chance: random.Random) -> None:
    """Change something, as a crawl or the rules would."""
    path, other = chance.choices(PATHS, k=2)
    changes: list[Callable[[], None]] = [
        lambda: web.moved(path, other, chance.choice([301, 302])),
        lambda: web.page(path, canonical=other),
        lambda: web.page(path, chance.choice("xyz")),
        lambda: web.page(path, status=chance.choice([200, 404])),
        lambda: web.rule(active=chance.random() < 0.6),
        web.queue_again,
    ]
    chance.choice(changes)()


@pytest.mark.parametrize("seed", range(5))
def test_what_changed_adds_up_to_everything(web: Web, seed: int) -> None:
    """Readers that export at other times all end with what a full export has."""
    chance = random.Random(seed)
    indexes = [Index() for _ in range(3)]
    cursors = ["start"] * len(indexes)
    for _ in range(20):
        change(web, chance)
        for n, index in enumerate(indexes):
            if chance.random() < 0.2:
                rows, cursors[n] = web.export(cursors[n])
                index.follow(rows)
    everything = web.export()[0]
    expected = Index()
    expected.follow(everything)
    for index, cursor in zip(indexes, cursors, strict=True):
        index.follow(web.export(cursor)[0])
        assert index == expected
    inside = {member.url: row.url for row in everything for member in row.members}
    names = [row.url for row in everything] + list(inside)
    assert len(set(names)) == len(names), "clusters are disjoint"
    with report.reading(url_of(web.folder)) as connection:
        assert {row["url"] for row in report.rows(connection, "pages")} <= set(names)
        pairs = list(cluster_export.merged_pairs(connection, rules_of, str.upper))
    assert {(pair.url, pair.same_as) for pair in pairs} == set(inside.items())


@pytest.mark.parametrize("seed", range(8))
def test_all_readers_name_one_representative(web: Web, seed: int) -> None:
    """Also after second visits, dropped links, and recrawls that are under way."""
    chance = random.Random(seed)
    for _ in range(40):
        change(web, chance)
    rows = web.export()[0]
    represented = {row.url: row.url for row in rows}
    represented |= {member.url: row.url for row in rows for member in row.members}
    with report.reading(url_of(web.folder)) as connection:
        url_ids = dict(connection.exec_driver_sql("SELECT url, id FROM urls").all())
        expected = {url: represented.get(url, url) for url in url_ids}
        one_by_one = Equivalences(connection)
        assert {u: one_by_one.representative(n).url for u, n in url_ids.items()} == expected
        prepared = Equivalences(connection)
        prepared.prepare(url_ids.values())
        assert {u: prepared.representative(n).url for u, n in url_ids.items()} == expected
        aliases = {one["url"]: one["representative"] for one in report.rows(connection, "aliases")}
        assert aliases == {url: expected[url] for url in aliases}
        lookup = Lookup(connection, preset("web"))
        ends = {url: lookup.canonical(url) for url in url_ids}
        assert {u: end.identity for u, end in ends.items() if isinstance(end, Canonical)} == {
            url: MAKE(to).identity for url, to in expected.items()
        }
        # A rule leads to a page that is not fetched yet, too: its URL is all that is known of it.
        awaited = {
            n: one.url for n, one in Equivalences(connection).of_many(url_ids.values()).items()
        }
        assert {u: awaited.get(n, u) for u, n in url_ids.items() if expected[u] != u} == {
            url: to for url, to in expected.items() if to != url
        }
        for url, url_id in url_ids.items():
            assert cluster_of(connection, url_id, 50).url == awaited.get(url_id, url)


@pytest.mark.parametrize("seed", range(5))
def test_one_cluster_is_that_of_the_export(web: Web, seed: int) -> None:
    chance = random.Random(seed)
    for path in chance.sample(PATHS, 11):
        other = chance.choice(PATHS)
        if chance.random() < 0.4:
            web.moved(path, other, chance.choice([301, 308, 302]))
        else:
            canonical = chance.choice([None, None, other, path])
            web.page(path, chance.choice(["", "one", "two"]), canonical=canonical)
    web.rule(active=True)
    exported = web.export()[0]
    assert any(row.members for row in exported)
    with report.reading(url_of(web.folder)) as connection:
        found_rows = connection.exec_driver_sql("SELECT url, id FROM urls")
        url_ids = {str(url): int(url_id) for url, url_id in found_rows}
        for row in exported:
            expected = {(one.url, one.reason, one.via, one.status) for one in row.members}
            for url in (row.url, *(one.url for one in row.members)):
                found = cluster_of(connection, url_ids[url], 50)
                assert found.url == row.url
                assert {
                    (one.url, one.kind, one.via, one.status if one.kind == "redirect" else None)
                    for one in found.members
                } == expected
                assert not found.has_more


def test_a_page_that_all_name_as_canonical_or_redirect_to_gathers_none(web: Web) -> None:
    web.page("/")
    web.page("/moved")
    for n in range(12):
        web.page(f"/p/{n}", f"{n}", canonical="/")
        web.page(f"/v{n}/moved", f"v{n}", canonical="/moved")
        web.moved(f"/gone/{n}", "/moved")
    found = web.clusters()
    assert found.pop("/moved") == {f"/v{n}/moved" for n in range(12)}, "those with its own name"
    assert not any(found.values())


def test_of_one_cluster_only_so_many_members_are_looked_for(web: Web) -> None:
    web.page("/end")
    for n in range(9):  # ten with other names would make it a sink
        web.moved(f"/{n}", "/end")
    with report.reading(url_of(web.folder)) as connection:
        question = f"SELECT id FROM urls WHERE url = '{A}/end'"  # noqa: S608 - our own URL
        [end] = connection.exec_driver_sql(question).one()
        some, every = (cluster_of(connection, end, most) for most in (3, 9))
    assert (len(some.members), some.has_more) == (3, True)
    assert (len(every.members), every.has_more) == (9, False)


def test_a_cursor_of_another_store_is_refused(web: Web) -> None:
    web.page("/1")
    rows, cursor = web.export("start")
    assert rows
    assert cursor.startswith("1-")
    with pytest.raises(StoreError, match="not of this store"):
        web.export("1-" + "0" * 12)
    with pytest.raises(StoreError, match="not of this store"):
        web.export("2" + cursor[1:])
    with pytest.raises(StoreError, match="give the cursor"):
        web.export("yesterday")


def test_a_time_stands_for_the_exports_before_it(web: Web) -> None:
    web.page("/1")
    web.now = 1e9
    _rows, _cursor = web.export("start")
    web.page("/2")
    assert [row.url for row in web.export("2001-09-10")[0]] == [f"{A}/2"]
    assert len(web.export("2001-09-08")[0]) == 2
    assert len(web.export("2001-09-08T23:00:00+02:00")[0]) == 2


def test_of_two_exports_at_once_one_is_told_to_run_again(web: Web) -> None:
    web.page("/1")
    with report.reading(url_of(web.folder)) as connection:
        slow = Reading.begin(connection, "start")
        list(cluster_export.clusters(connection, rules_of, slow))
    web.export("start")
    with pytest.raises(StoreError, match="run this one again"):
        export_log.write(url_of(web.folder), slow.last, slow.changes, web.now)
