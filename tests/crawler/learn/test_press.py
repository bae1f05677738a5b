"""Learning on the press web: what its URLs mean, and a crawl of some of its hosts."""

import random
from pathlib import Path

import pytest
from support.simweb import webcrawls, webjudge
from support.simweb.press import press_sites
from support.simweb.presshabits import ADVERSARIES, HONEST
from support.simweb.web import Reply, Spec, Web, sites
from support.simweb.websites import Site, When

_KINDS = [row.kind for row in (*HONEST, *ADVERSARIES)]
_DIFFERS = {"teaser", "quote", "offer", "offers", "wall", "soft 404"}  # by itself, if static
_DIFFERS |= {row.kind for row in HONEST if row.fresh is not None}  # by its links


@pytest.fixture(scope="module")
def press() -> list[Site]:
    return list(sites(Spec(seed=1, resources=30, press=True)))


def _of_kind(press: list[Site], kind: str, *, dynamic: bool) -> Site:
    (site,) = [s for s in press if s.kind == kind and s.frame.dynamic is dynamic]
    return site


def test_each_habit_has_a_static_and_a_dynamic_host_of_its_own(press: list[Site]) -> None:
    assert [site.kind for site in press[::2]] == [site.kind for site in press[1::2]] == _KINDS
    hosts = [host for site in press for host in site.hosts]
    assert len(hosts) == len(set(hosts))
    again = press_sites(1, 30, adversaries=True)
    assert [site.names for site in again] == [site.names for site in press]


def test_all_can_be_reached_from_the_home_page(press: list[Site]) -> None:
    """Who follows every link once loses nothing, but what a wall or a turn hides."""
    for site in press:
        (tally,) = webjudge.replayed([site], [site.home, *site.names, *site.must])
        hidden = 60 if site.kind == "wall" else 0
        assert len(tally.lost) <= hidden, site.kind


@pytest.mark.parametrize("kind", _KINDS)
def test_pages_differ_as_their_truth_does(press: list[Site], kind: str) -> None:
    """Equal answers mean one page; on a static host a page always looks the same."""
    site = _of_kind(press, kind, dynamic=False)
    web = Web([site], lambda _line: None)
    pages = [url for url in site.names if site.truth(url) == url][:12]
    first, second = ([_answered(web, url).body for url in pages] for _ in range(2))
    if kind not in _DIFFERS:
        assert first == second
        assert len(set(first)) == len(pages)
    site = _of_kind(press, kind, dynamic=True)
    web = Web([site], lambda _line: None)
    assert len({_answered(web, site.names[0]).body for _ in range(5)}) == 5


def _answered(web: Web, url: str) -> Reply:
    """Return the answer that a redirect leads to."""
    answer = web.answer_url(url)
    return answer if answer.location is None else web.answer_url(answer.location)


def test_fresh_names_lead_to_their_page(press: list[Site]) -> None:
    fresh = [site for site in press if site.spell is not None]
    assert len(fresh) == 10
    for site in fresh:
        web = Web([site], lambda _line: None)
        links = [web.answer_url(site.home).body for _ in range(2)]
        assert links[0] != links[1], site.kind
        home = site.resolve(site.home, When()).page
        assert home is not None
        for url in home.links:
            spelled = site.spell(url, random.Random(1))
            assert site.truth(spelled) == url.removesuffix("#")
            assert (spelled != url) is url.endswith("#")


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
def test_what_is_merged_there_is_true(
    press: list[Site], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, dynamic: bool
) -> None:
    kinds = ["slash", "src", "several", "variants", "rates", "pager, canonical first"]
    given = [_of_kind(press, kind, dynamic=dynamic) for kind in [*kinds, "session"]]
    judged = webcrawls.crawl(tmp_path, given, monkeypatch)
    assert [pair for one in judged.decisions for pair in one.wrong] == []
    assert {tally.site.home: tally.lost for tally in judged.tallies if tally.lost} == {}
    assert sum(one.merged for one in judged.decisions) > 20


def test_a_rule_that_lacks_one_page_is_decided(
    press: list[Site], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """40 requests are spent by then, and each fetch finds three new names of the 30 pages."""
    site = _of_kind(press, "session", dynamic=True)
    [tally] = webcrawls.crawl(tmp_path, [site], monkeypatch).tallies
    assert not tally.lost
    assert tally.fetches < 2_000, "not 5,000"
