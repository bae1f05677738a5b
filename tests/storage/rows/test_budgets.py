"""Budgets: how many URLs of a pattern are queued, counted exactly, whoever admits them."""

from pathlib import Path

import pytest
from support.stores import assert_counts_are_right, candidate, open_store

from canonry.crawler.admission.scope import registrable
from canonry.storage import Admission, State, Store
from canonry.storage.reading import report
from canonry.storage.records import Budget
from canonry.storage.rows import budgets, requeueing
from canonry.storage.rows.budgets import HostBudget

_LIMITS = {"even": 3, "odd": 5}


def budgets_of(url: str) -> list[Budget]:
    """Return the budgets of a URL: that of even or odd numbers, and that of all."""
    kind = "even" if int(url.rpartition("/")[2]) % 2 == 0 else "odd"
    return [
        Budget(kind.encode().ljust(16), kind, _LIMITS[kind], f"too-{kind}"),
        Budget(b"all".ljust(16), "all", 7, "too-many"),
    ]


def admit(store: Store, numbers: range) -> None:
    """Admit numbered URLs."""
    store.admit([candidate(f"http://a.example/{n}") for n in numbers], 0.0)


def states(store: Store) -> dict[str, str | None]:
    """Return the reason for which each URL is held."""
    with store.transaction() as connection:
        assert_counts_are_right(connection)
        return {row["url"][17:]: row["reason"] for row in report.rows(connection, "urls")}


def test_urls_are_held_when_their_budget_is_spent(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.budgets_of = budgets_of
    admit(store, range(4))
    admit(store, range(12))  # known URLs spend nothing
    assert states(store) == {
        **dict.fromkeys(["0", "1", "2", "3", "4", "5", "7"]),
        "6": "too-even",
        "8": "too-even",
        "10": "too-even",
        "9": "too-many",
        "11": "too-many",
    }
    store.close()


def test_several_stores_share_a_budget(tmp_path: Path) -> None:
    one, other = open_store(tmp_path), open_store(tmp_path)
    one.budgets_of = other.budgets_of = budgets_of
    for n in range(12):
        admit((one, other)[n % 3 == 0], range(n, n + 1))
    assert sum(reason is None for reason in states(one).values()) == 7
    one.close()
    other.close()


def test_urls_held_for_other_reasons_spend_nothing(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.budgets_of = budgets_of
    held = [candidate(f"http://a.example/{n}", held="out-of-scope") for n in range(100, 110)]
    store.admit(held, 0.0)
    admit(store, range(3))
    found = states(store)
    assert [found[str(n)] for n in range(3)] == [None, None, None]
    store.close()


def test_a_rolled_back_transaction_spends_nothing(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.budgets_of = budgets_of
    with pytest.raises(ZeroDivisionError), store.transaction() as connection:
        store.admit_in(connection, [candidate("http://a.example/0")], 0.0)
        raise ZeroDivisionError
    admit(store, range(0, 6, 2))
    assert set(states(store).values()) == {None}
    store.close()


def test_a_larger_budget_releases_urls(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.budgets_of = budgets_of
    admit(store, range(0, 12, 2))
    with store.transaction() as connection:
        requeueing.review(
            connection, State.HELD, lambda url, _d, _h: None if url[-1] in "68" else "no"
        )
    assert [n for n, reason in states(store).items() if reason is None] == ["0", "2", "4", "6", "8"]
    store.close()


def link(store: Store, *urls: str, held: str | None = None) -> list[Admission]:
    """Admit URLs that a page links."""
    found = [candidate(url, held=held)._replace(source=1, depth=1) for url in urls]
    return store.admit(found, 0.0)


def held(store: Store) -> set[str]:
    """Return the URLs that are held for the number of hosts in their domain."""
    with store.transaction() as connection:
        assert_counts_are_right(connection)
        rows = report.rows(connection, "urls")
        return {row["url"] for row in rows if row["reason"] == "too-many-hosts"}


def test_hosts_beyond_the_budget_of_their_domain_are_held_whoever_finds_them(
    tmp_path: Path,
) -> None:
    one, other = open_store(tmp_path), open_store(tmp_path)
    one.host_budget = other.host_budget = HostBudget(registrable, 3, "too-many-hosts")
    one.admit([candidate(f"http://seed{n}.d.example/") for n in range(9)], 0.0)
    for n in range(5):  # hosts that are known for a URL beyond another limit count as well
        link((one, other)[n % 2], f"http://h{n}.d.example/long", held="too-long")
        link((one, other)[n % 3 == 0], f"http://h{n}.d.example/")
    link(other, "http://h0.d.example/more", "http://h4.d.example/more")
    link(other, "http://seed8.d.example/more", "http://h9.e.example/")
    link(one, *(f"http://192.0.2.{n}/" for n in range(9)))
    link(one, *(f"http://{n}.blogspot.com/" for n in range(9)))
    beyond = {"http://h3.d.example/", "http://h4.d.example/", "http://h4.d.example/more"}
    assert held(one) == beyond
    one.close()
    other.close()


def test_links_to_further_hosts_are_only_counted_where_many_urls_are_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(budgets, "_MOST_HELD", 4)
    store = open_store(tmp_path)
    store.host_budget = HostBudget(registrable, 2, "too-many-hosts")
    link(store, *(f"http://h{n}.d.example/" for n in range(7)))
    links = ["http://new.d.example/a", "http://h6.d.example/b", "http://new.other.example/"]
    found = link(store, *links, "http://new.d.example/c")
    assert [one.new for one in found] == [False, True, True, False]
    with store.transaction() as connection:
        status = report.status(connection)
        urls = {row["url"] for row in report.rows(connection, "urls")}
    assert urls.isdisjoint({links[0], "http://new.d.example/c"})
    assert links[1] in held(store)
    assert links[2] in urls - held(store)
    assert status["refused"] == [{"reason": "too-many-hosts", "links": 2, "link": links[0]}]
    assert store.merged_by([candidate(links[0])]) == {}, "it is not known, so it is asked for again"
    store.close()
