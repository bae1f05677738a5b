"""Learning on a simulated web: merges are right, and nothing untrue is learned from adversaries."""

import http.client
import random
import socket
import ssl
from pathlib import Path

import pytest
from support.simweb import webcrawls, webjudge, webreturns
from support.simweb.web import HABITS, Line, Spec, Web, sites
from support.simweb.webadversaries import KINDS, adversary
from support.simweb.webcrawls import Judged
from support.simweb.webhabits import habits
from support.simweb.webserver import served
from support.simweb.websites import Doubt, Manner, honest
from support.sites import wait_for
from support.tables import each

from canonry.crawler.learn import learned_site
from canonry.crawler.learn.text.comparison import PageComparison, PageVerdict

# What a crawl of honest hosts has to reach: the share of what could be avoided after a host's first
# 200 requests, on static and on dynamic hosts; and how many fetches a page are wasted at most.
# docs/explanation/learning.md has the figures of many seeds; these floors only catch a regression.
LEAST_AVOIDED = {"static": 0.15, "dynamic": 0.08}
MOST_WASTED = {"static": 2.2, "dynamic": 2.4}
_PAGES = 120  # of an honest host


def lost(judged: Judged) -> dict[str, list[str]]:
    return {tally.site.home: tally.lost for tally in judged.tallies if tally.lost}


def wrong(judged: Judged) -> list[tuple[str, str]]:
    return [pair for one in judged.decisions for pair in one.wrong]


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
@pytest.mark.parametrize("place", range(4))
def test_nothing_untrue_is_learned_from_adversaries(
    place: int, *, dynamic: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = [adversary(kind, place, 45, dynamic=dynamic) for kind in KINDS[place::4]]
    judged = webcrawls.crawl(tmp_path, given, monkeypatch)
    assert [one.untrue for one in judged.decisions if one.untrue] == []
    assert wrong(judged) == []
    assert lost(judged) == {}


@pytest.mark.slow
@pytest.mark.parametrize("how", ["static", "dynamic"])
def test_merges_are_right_and_most_duplicates_are_avoided(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dynamic = how == "dynamic"
    given = [
        honest(habit, f"{habit.replace(' ', '')}.com", (habit,), manner, _PAGES)
        for n, habit in enumerate(HABITS)
        for manner in [Manner(redirects=n % 2 == 0, dynamic=dynamic, canonical=n % 4 in {0, 3})]
    ]
    judged = webcrawls.crawl(tmp_path, given, monkeypatch)
    assert wrong(judged) == []
    assert lost(judged) == {}
    sums = webjudge.figures(judged.tallies)
    assert sums.avoided is not None
    assert sums.avoided >= LEAST_AVOIDED[how], list(webjudge.table(judged.tallies))
    assert sums.wasted <= MOST_WASTED[how], list(webjudge.table(judged.tallies))


@pytest.mark.parametrize("how", ["static", "dynamic"])
def test_a_form_that_says_where_to_return_to_is_one_page(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = [webreturns.returning("r.com", 300, dynamic=how == "dynamic")]
    judged = webcrawls.crawl(tmp_path, given, monkeypatch)
    assert wrong(judged) == []
    assert lost(judged) == {}
    assert webjudge.figures(judged.tallies).avoidable < 200, "of 300 that all pages link"


def test_a_host_that_changes_its_mind_loses_no_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manner = Manner(redirects=True, dynamic=False, canonical=False)
    doubt = Doubt(turns_at=300)
    given = [honest("turning", "turning.com", ("slash off",), manner, 300, doubt)]
    judged = webcrawls.crawl(tmp_path, given, monkeypatch)
    assert lost(judged) == {}


def test_exceptions_are_no_wrong_merges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    manner = Manner(redirects=True, dynamic=False, canonical=True)
    given = [
        honest("mixed", "mixed.com", ("slash off",), manner, 200, Doubt(mixed=True)),
        honest("exceptions", "except.com", ("parameter",), manner, 200, Doubt(exceptions=0.1)),
    ]
    judged = webcrawls.crawl(tmp_path, given, monkeypatch)
    assert wrong(judged) == []
    assert lost(judged) == {}


def test_the_judge_detects_a_wrong_learner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One for which all pages say the same."""
    same = PageComparison(PageVerdict.SAME)
    monkeypatch.setattr(learned_site, "compare", lambda *_given: same)
    given = [adversary(kind, 0, 60, dynamic=False) for kind in ("selects", "variants")]
    judged = webcrawls.crawl(tmp_path, given, monkeypatch)
    assert any(one.untrue for one in judged.decisions)
    assert len(wrong(judged)) > 5
    assert lost(judged) != {}


def test_all_names_of_an_honest_page_lead_to_it() -> None:
    manner = Manner(redirects=True, dynamic=False, canonical=False)
    chosen = ("prefix", "slashes"), ("scheme", "www", "slash off"), ("parameter beside", "order")
    for several in chosen:
        site = honest("several", "s.com", several, manner, 60)
        (everything,) = webjudge.replayed([site], [site.home, *site.names])
        assert everything.missing == 0, several


def test_the_judge_counts_what_a_crawler_fetches_in_vain_and_what_it_loses() -> None:
    manner = Manner(redirects=False, dynamic=False, canonical=False)
    site = honest("slash off", "one.com", ("slash off",), manner, 20)
    pages = sorted(site.must)
    slashed = [name for name in site.names if name.endswith("/")]
    (everything,) = webjudge.replayed([site], [site.home, *site.names])
    assert everything.lost == []
    assert everything.again == len(slashed)
    assert everything.suppressed == 0
    (wise,) = webjudge.replayed([site], [site.home, *pages])
    assert (wise.lost, wise.again, wise.suppressed) == ([], 0, len(slashed))
    (careless,) = webjudge.replayed([site], [site.home, *pages[1:], f"{site.home}not/there"])
    assert careless.lost == [pages[0]]
    assert careless.missing == 1


def test_a_redirect_alone_is_no_page() -> None:
    manner = Manner(redirects=True, dynamic=False, canonical=False)
    site = honest("slash off", "one.com", ("slash off",), manner, 5)
    name = next(name for name in site.names if name.endswith("/"))
    (tally,) = webjudge.replayed([site], [site.home, name])
    assert site.truth(name) in tally.lost
    assert tally.again == 0


def test_a_web_is_served_to_any_crawler(tmp_path: Path) -> None:
    """Over http, over https, and as a proxy for both; connections are used again."""
    spec = Spec(seed=1, hosts=2, resources=10, adversaries=False)  # of one habit: the scheme
    (site, *_more) = sites(spec)
    host = site.home.split("/")[2]
    with served(spec, tmp_path) as serving:
        assert serving.seeds[0] == site.home
        tls = ssl.create_default_context(cafile=str(serving.ca_file))
        plain = http.client.HTTPConnection("127.0.0.1", serving.http)
        secure = http.client.HTTPSConnection("127.0.0.1", serving.http, context=tls)
        secure.set_tunnel(host)
        direct = socket.create_connection(("127.0.0.1", serving.https))
        with tls.wrap_socket(direct, server_hostname=host) as wrapped:
            wrapped.sendall(f"GET / HTTP/1.1\r\nhost: {host}\r\n\r\n".encode())
            assert wrapped.recv(15) == b"HTTP/1.1 200 OK"
        for target in ("/", f"http://{host}/", "/robots.txt"):
            plain.request("GET", target, headers={"Host": host})
            answer = plain.getresponse()
            assert answer.status in {200, 301, 404}
            answer.read()
        secure.request("GET", "/")
        assert b"<a href=" in secure.getresponse().read()
        plain.close()
        secure.close()
        log = serving.log_file
        wait_for(lambda: log.read_text(encoding="utf-8").count("\n") == 6)
    (tally, _other) = webjudge.judge_log(log.read_text(encoding="utf-8").splitlines())
    assert tally.fetches == 4, "robots.txt does not count"
    assert tally.again == 3


def test_a_log_is_read_as_it_was_written() -> None:
    spec = Spec(seed=3, hosts=2, resources=10, adversaries=False)
    lines: list[Line] = []
    web = Web(list(sites(spec)), lines.append)
    for url in (*web.seeds, f"{web.seeds[0]}robots.txt", "http://elsewhere.com/"):
        web.answer_url(url)
    text = [webjudge.write_head(spec), *map(webjudge.write, lines)]
    again, read = webjudge.read(text)
    assert again == spec
    assert [line[1:] for line in read] == [line[1:] for line in lines]
    assert [tally.fetches for tally in webjudge.judge_log(text)] == [1, 1]
    with pytest.raises(ValueError, match="first line"):
        webjudge.read(["no log\n"])


def test_a_seed_always_makes_the_same_web_and_its_sites_are_told_apart() -> None:
    spec = Spec(seed=5, resources=12)
    one, other = list(sites(spec)), list(sites(spec))
    assert [(site.home, site.names) for site in one] == [(site.home, site.names) for site in other]
    hosts = [host for site in one for host in site.hosts]
    assert len(hosts) == len(set(hosts))
    assert {site.kind for site in one} == {
        *HABITS,
        *KINDS,
        "several",
        "exceptions",
        "mixed",
        "turning",
        webreturns.KIND,
    }


def test_the_answers_of_a_dynamic_site_differ_and_those_of_a_static_one_do_not() -> None:
    for dynamic in (False, True):
        manner = Manner(redirects=False, dynamic=dynamic, canonical=True)
        site = honest("parameter", "one.com", ("parameter",), manner, 5)
        web = Web([site], lambda _line: None)
        bodies = {web.answer_url(site.names[0]).body for _ in range(5)}
        assert len(bodies) == (5 if dynamic else 1)


@each("name", HABITS)
def test_every_name_of_a_page_leads_back_to_it(name: str) -> None:
    rng = random.Random(1)
    (habit,) = [habit for habit in habits("www.one.com", rng) if habit.name == name]
    scheme = "https" if name == "scheme" else "http"
    for shape in habit.shapes:
        page = f"{scheme}://www.one.com{shape}"
        spelled = habit.spell(page, rng)
        assert spelled != page
        assert habit.clean(spelled) == page
        assert habit.clean(page) == page
