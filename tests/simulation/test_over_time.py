"""What was learned is about now, and what was known is kept: night after night."""

import random
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from simulation.history import follow
from simulation.nights import Faults
from simulation.world import ALWAYS, NEVER, Accident, Parameter, Site, Span, quiet_site
from support.stores import assert_counts_are_right, faults_of, open_store

pytestmark = pytest.mark.sqlite
_PAGES = 32
_FEW = 16  # pages, where nothing is learned of names
_BAD_NIGHTS: list[Accident] = [
    *("error page", "consent", "log-in", "gone", "to home", "unavailable", "robots closed"),
]


def _requests(
    site: Site | list[Site],
    nights: int,
    folder: Path,
    settings: dict[str, Any] | None = None,
    faults: Faults | None = None,
) -> list[int]:
    """Return how many requests each night took; there is no fault in any."""
    told, each = list[str](), faults or Faults()
    sites = site if isinstance(site, list) else [site]
    assert follow(sites, nights, "nights", folder, lambda _n: each, told.append, settings) == []
    return [int(line.split(": ")[1].split(" ")[0]) for line in told if line.startswith("night")]


def test_a_parameter_that_begins_to_select_is_believed_the_same_night(tmp_path: Path) -> None:
    lang = Parameter("lang", ("en", "de"), ALWAYS, selects=Span(4, 10_000))
    found = _requests(quiet_site(_PAGES, parameters=[lang]), 6, tmp_path)
    assert max(found[1:3]) <= 1.3 * _PAGES, "a rule acts, and what was fetched twice no more is"
    assert found[-1] <= 2.2 * _PAGES


def test_a_parameter_that_selected_for_some_nights_is_believed_again(tmp_path: Path) -> None:
    lang = Parameter("lang", ("en", "de"), ALWAYS, selects=Span(3, 5))
    found = _requests(quiet_site(_PAGES, parameters=[lang]), 14, tmp_path)
    assert found[-1] <= 1.3 * _PAGES


@pytest.mark.parametrize(("pages", "values"), [(24, "abc"), (40, "abcdef")])
def test_one_of_several_values_that_begins_to_select_is_believed_the_same_night(
    tmp_path: Path, pages: int, values: str
) -> None:
    """What refutes the rule was asked as a test of it, and has to be asked again to be sure."""
    ref = Parameter("ref", tuple(values), ALWAYS, selects=Span(2, 10_000))
    found = _requests(quiet_site(pages, parameters=[ref]), 3, tmp_path)
    assert max(found) <= 1.2 * len(values) * pages


def test_of_two_rules_that_a_pair_refutes_the_true_one_goes_on(tmp_path: Path) -> None:
    ref = Parameter("ref", ("a", "b", "c"), ALWAYS, selects=Span(2, 10_000))
    found = _requests(
        quiet_site(_PAGES, parameters=[ref, Parameter("sid", (), ALWAYS, NEVER)]), 3, tmp_path
    )
    assert sum(found[1:]) <= 10 * _PAGES, "three names of a page, and some tests"


def test_a_rule_ends_in_the_night_in_which_all_names_change(tmp_path: Path) -> None:
    ref = Parameter("ref", ("a", "b", "c"), ALWAYS, selects=Span(2, 10_000))
    lang = Parameter("lang", ("en", "de"), Span(2, 10_000), NEVER)
    site = quiet_site(_PAGES, parameters=[lang, ref], styles=[(0, "item"), (2, "docs")])
    _requests(site, 4, tmp_path)


def test_sessions_that_begin_are_no_pages_where_text_changes_by_itself(tmp_path: Path) -> None:
    ref = Parameter("ref", ("a", "b", "c"), ALWAYS, NEVER)
    sid = Parameter("sid", (), Span(2, 10_000), NEVER)
    found = _requests(quiet_site(_PAGES, parameters=[ref, sid], tokens=True), 3, tmp_path)
    assert max(found[1:]) <= 6 * _PAGES


def test_answers_of_two_nights_decide_where_text_changes_by_itself(tmp_path: Path) -> None:
    lang = Parameter("lang", ("en", "de"), Span(2, 10_000), NEVER)
    _requests(quiet_site(_PAGES, parameters=[lang], tokens=True), 3, tmp_path)


def test_a_name_that_a_rule_held_while_it_waited_shows_no_page_that_is_gone(
    tmp_path: Path,
) -> None:
    """All pages move, and then some go: what held their old names is not what is gone."""
    lang = Parameter("lang", ("en", "de"), Span(0, 1), selects=ALWAYS)
    sid = Parameter("sid", (), ALWAYS, NEVER)
    site = quiet_site(_PAGES, parameters=[lang, sid], styles=[(0, "item"), (3, "docs")])
    site.pages |= dict.fromkeys(range(1, _PAGES, 4), Span(0, 3))
    _requests(site, 5, tmp_path)


def test_an_outage_in_a_night_of_two_runs_is_one_outage(tmp_path: Path) -> None:
    site = quiet_site(_FEW, accidents=[("log-in", Span(2, 2))], secure=2)
    _requests(site, 3, tmp_path, faults=Faults(kills=2, workers=2))


def test_a_wall_of_two_nights_that_two_workers_meet_hides_nothing(tmp_path: Path) -> None:
    accidents: list[tuple[Accident, Span]] = [("error page", Span(2, 3))]
    site = quiet_site(_FEW, accidents=accidents)
    _requests(site, 4, tmp_path, faults=Faults(kills=1, workers=2))


def test_a_clock_that_was_ahead_before_all_is_gone_loses_nothing(tmp_path: Path) -> None:
    site = quiet_site(_FEW, accidents=[("gone", Span(2, 2))])
    jumps = {1: Faults(jump=90_000)}
    assert follow([site], 3, "ahead", tmp_path, lambda n: jumps.get(n, Faults())) == []


@pytest.mark.parametrize("accident", ["gone", "log-in"])
def test_what_a_clock_that_was_ahead_believed_to_be_gone_is_asked_in_the_next_night(
    tmp_path: Path, accident: Accident
) -> None:
    site = quiet_site(_FEW, accidents=[(accident, Span(2, 3))])
    jumps = {3: Faults(jump=90_000)}
    assert follow([site], 4, "ahead", tmp_path, lambda n: jumps.get(n, Faults())) == []


def test_pages_that_redirect_to_what_cannot_be_asked_are_kept(tmp_path: Path) -> None:
    _requests(quiet_site(_FEW, accidents=[("robots broken", Span(2, 3))], secure=2), 4, tmp_path)


@pytest.mark.parametrize("tokens", [False, True])
def test_pages_that_change_leave_a_rule_as_it_is(tmp_path: Path, tokens: bool) -> None:
    site = quiet_site(
        _PAGES, parameters=[Parameter("ref", ("a", "b", "c"), ALWAYS, NEVER)], tokens=tokens
    )
    chance = random.Random(5)
    site.edits = {number: sorted(chance.sample(range(2, 7), 2)) for number in site.pages}
    found = _requests(site, 6, tmp_path)
    assert max(found[1:]) <= 1.6 * _PAGES


def test_one_bad_night_costs_one_night(tmp_path: Path) -> None:
    sites = [
        replace(quiet_site(_FEW, accidents=[(accident, Span(3, 3))]), host=f"s{n}.example")
        for n, accident in enumerate(_BAD_NIGHTS)
    ]
    found = _requests(sites, 4, tmp_path)
    assert found[3] <= found[1] + len(sites)


@pytest.mark.parametrize("setting", [{}, {"crawl": {"recrawl": True}}])
def test_a_server_that_still_fails_is_asked_for_one_page_and_for_all_once_it_answers(
    tmp_path: Path, setting: dict[str, Any]
) -> None:
    site = quiet_site(_FEW, accidents=[("unavailable", Span(2, 4))])
    found = _requests(site, 6, tmp_path, setting, Faults(kills=1, workers=2))
    assert found[1] > 2 * _FEW, "each page, with retries"
    assert max(found[2:4]) <= 20, "the home page and one more, with retries, and robots.txt"
    assert found[4] >= _FEW


@pytest.mark.parametrize("wall", ["consent", "parked"])
def test_a_wall_that_stands_hides_no_page_that_was_known(tmp_path: Path, wall: Accident) -> None:
    found = _requests(quiet_site(_FEW, accidents=[(wall, Span(2, 5))]), 6, tmp_path)
    assert max(found[1:5]) <= 2 * _FEW


@pytest.mark.parametrize("limit", [{"traps": {"max_per_host": 22}}, {"crawl": {"max_pages": 22}}])
def test_a_limit_counts_what_lives(tmp_path: Path, limit: dict[str, dict[str, int]]) -> None:
    site = quiet_site(_FEW)
    site.pages |= {n: Span(n - _FEW, n - _FEW) for n in range(_FEW + 1, _FEW + 10)}
    _requests(site, 8, tmp_path, limit)


def test_what_is_gone_is_asked_ever_more_rarely(tmp_path: Path) -> None:
    site = quiet_site(_FEW)
    site.pages |= {n: Span(0, 2) for n in range(_FEW + 1, 2 * _FEW + 1)}
    all_of_them, living = 2 * _FEW + 2, _FEW + 2  # with the home page and robots.txt
    assert _requests(site, 7, tmp_path)[3:] == [all_of_them, all_of_them, living, living]


class _Nights(frozenset[int]):
    """Nights one by one: a page that comes back lives on some of them."""


def test_what_has_been_gone_for_long_leaves_the_store_and_is_new_when_it_is_linked_again(
    tmp_path: Path,
) -> None:
    site = quiet_site(6, styles=[(0, "item"), (3, "docs")], kept=300)  # six names move for good
    site.pages |= {n: Span(0, 2) for n in range(7, 12)}
    back, last = 7, 40
    site.pages[back] = _Nights({0, 1, 2, *range(39, 50)})  # type: ignore[assignment]
    faults = Faults(kills=1, workers=2)
    found = _requests(site, last, tmp_path, {"crawl": {"forget_after": "4d"}}, faults)
    assert found[-1] <= 1.3 * (6 + 3)
    with closing(open_store(tmp_path)) as store, store.transaction() as connection:
        known = list(connection.exec_driver_sql("SELECT url FROM urls").scalars())
        assert_counts_are_right(connection)
        assert faults_of(connection) == []
    home = "http://site.example/"
    assert sorted(known) == sorted([home, *(f"{home}docs/{n}" for n in range(1, 8))])


@pytest.mark.parametrize("nights", [Span(2, 10_000), Span(0, 1), Span(2, 3)])
def test_pages_that_become_one_and_one_that_becomes_two(tmp_path: Path, nights: Span) -> None:
    site = quiet_site(_FEW, merged={n: (nights, n + 1) for n in range(1, _FEW, 8)})
    _requests(site, 5, tmp_path)


def test_a_mirror_that_parts_is_believed_the_same_night(tmp_path: Path) -> None:
    _requests(quiet_site(_PAGES, mirror=Span(0, 2)), 4, tmp_path)


def test_sessions_are_no_pages_where_text_changes_by_itself_and_a_mirror_repeats_it(
    tmp_path: Path,
) -> None:
    sid = Parameter("sid", (), ALWAYS, NEVER)
    site = quiet_site(_PAGES, parameters=[sid], tokens=True, mirror=Span(0, 10_000))
    found = _requests(site, 4, tmp_path)
    assert found[-1] <= 4 * _PAGES


def test_names_that_redirect_for_good_are_asked_ever_more_rarely(tmp_path: Path) -> None:
    site = quiet_site(_FEW, styles=[(0, "item"), (3, "docs")])
    found = _requests(site, 9, tmp_path)
    assert min(found[6:]) <= 1.3 * _FEW
