"""A domain with endless hosts, on a real server: another host gets its share, and hosts are few."""

import time
from itertools import count, pairwise
from pathlib import Path

import pytest
from support.crawls import crawl, host_of, page, target_of
from support.servers import Answer, ok

from canonry.crawler.inquiry import ask
from canonry.storage.reading import report

_GOOD = 8  # pages, each found on the one before: so the host is leased anew for each
_DELAY = 0.5


class Web:
    """A host with a chain of pages, and a domain of which each page links fresh hosts."""

    def __init__(self, links: int, most: int) -> None:
        self.links = links
        self.most = most  # pages of the domain that link
        self.fresh = count()
        self.good: list[float] = []  # when its pages were requested
        self.asked: list[str] = []  # hosts of the domain

    def answer(self, head: bytes) -> Answer:
        """Answer a request."""
        host, target = host_of(head), target_of(head)
        if target == "/robots.txt":
            return ok(b"", status="404 None")
        if host == "good.example":
            self.good.append(time.monotonic())
            number = int(target[1:] or 0) + 1
            return page(f"/{number}") if number < _GOOD else page()
        self.asked.append(host)
        if len(self.asked) > self.most:
            return page()
        return page(*(f"http://h{next(self.fresh)}.evil.example/" for _ in range(self.links)))


@pytest.mark.slow
@pytest.mark.parametrize(("links", "most"), [(50, 1_000), (2_000, 40)])
def test_a_wildcard_domain_leaves_another_host_its_share(
    tmp_path: Path, links: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("canonry.storage.rows.budgets._MOST_HELD", 5_000)
    web = Web(links, most)
    notices: list[str] = []
    found, _pages = crawl(
        tmp_path,
        web.answer,
        seeds=("http://evil.example/", "http://good.example/"),
        scope="any",
        delay=_DELAY,
        traps={"max_hosts_per_domain": 100},
        notices=notices,
    )
    gaps = sorted(later - sooner for sooner, later in pairwise(web.good))
    assert len(web.good) == _GOOD
    assert gaps[len(gaps) // 2] < 2 * _DELAY, "half of what it gets alone"
    assert len(set(web.asked)) == len(web.asked) == 101, "and the seed"
    held, refused = found["held"]["domain-budget"], found["refused"]
    assert held >= min(5_000, 101 * links - 100)
    assert found["hosts"] == held + 102
    assert held < 5_000 + 8 * links, "those of the requests in flight, and no more"
    counted = sum(one["links"] for one in refused if one["reason"] == "domain-budget")
    assert held + counted == min(101, most) * links - 100
    assert sum("evil.example has more than 100 hosts" in one for one in notices) == 1


def test_what_a_budget_holds_is_released_when_it_is_raised(tmp_path: Path) -> None:
    """With several URLs on a host, also one that another limit holds."""
    requested: list[str] = []

    def answer(head: bytes) -> Answer:
        host, target = host_of(head), target_of(head)
        if target == "/robots.txt":
            return ok(b"", status="404 None")
        requested.append(host + target)
        if host != "seed.example":
            return page("/more")
        long = [f"http://{n}.many.example/{'x' * 2000}" for n in range(9)]
        return page(*long, *(f"http://{n}.many.example/" for n in range(9)), "http://other.example")

    def run(most: int) -> dict[str, int]:
        seeds = ("http://seed.example/", "http://s.many.example/")
        traps = {"max_hosts_per_domain": most}
        found, _pages = crawl(tmp_path, answer, seeds=seeds, scope="any", traps=traps)
        assert len(requested) == len(set(requested))
        held: dict[str, int] = found["held"]
        return held

    assert run(4) == {"too-long": 9, "domain-budget": 5}
    assert len(requested) == 1 + 2 * (1 + 4 + 1)
    with report.reading(f"sqlite:///{tmp_path / 'store.db'}") as connection:
        reasons = [
            ask.ask(connection, f"http://{name}.many.example/new", 0.0).reason
            for name in ("0", "8", "x")
        ]
    assert reasons == [None, "domain-budget", "domain-budget"]
    assert run(7) == {"too-long": 9, "domain-budget": 2}
    assert len(requested) == 1 + 2 * (1 + 7 + 1)
    assert run(0) == {"too-long": 9}
    assert len(requested) == 1 + 2 * (1 + 9 + 1)
