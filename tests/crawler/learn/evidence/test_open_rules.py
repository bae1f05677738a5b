"""How many rules of a site are held against its facts at once, and which have to give way."""

import gc
from collections import Counter

import pytest

from canonry.canon.learned import Rewrite
from canonry.crawler.admission.scope import registrable
from canonry.crawler.learn.learner import Learner
from canonry.crawler.learn.life import thresholds
from canonry.crawler.learn.memory.site_memory import SiteMemory
from canonry.crawler.learn.news import Answered, Moved
from canonry.crawler.learn.tallies.tally import RuleTally

H = "http://h.example"


def observe(one: Learner, *news: Moved | Answered) -> list[tuple[str, str]]:
    """Pass news to a learner one by one; return the states that rules entered."""
    entered = []
    for item in news:
        one.observe(item)
        entered += [(rule.rewrite.family, rule.state) for rule, _ in one.decide(item.at)[1]]
    return entered


def once_each(count: int) -> list[Answered]:
    """Return pages that make one path speak for each of many rules about parameters."""
    return [
        Answered(f"{H}/p{n}{end}", f"{n}".encode(), float(n))
        for n in range(count)
        for end in ("/", f"/?option{n}=1")
    ]


def slashes(count: int) -> list[Moved]:
    return [Moved(f"{H}/d{n}", f"{H}/d{n}/", 1000.0 + n) for n in range(count)]


def test_many_rules_with_little_evidence_do_not_keep_a_site_from_learning() -> None:
    one = Learner(thresholds.load(), registrable)
    observe(one, *once_each(80))
    assert ("trailing-slash", "active") in observe(one, *slashes(40))


def test_a_rule_that_gave_way_leaves_the_book_and_the_store() -> None:
    one = Learner(thresholds.load(), registrable)
    stored: set[Rewrite] = set()
    gave_way = 0
    for news in once_each(80):
        one.observe(news)
        decisions = one.decide(news.at)
        stored |= {rule.rewrite for rule in decisions.changed}
        stored -= {rule.rewrite for rule in decisions.removed}
        gave_way += len(decisions.removed)
    assert gave_way > 20
    assert len(stored) == 48
    assert stored == {rule.rewrite for rule in one.rules("h.example")}


def test_rules_on_probation_stay_where_others_can_give_way() -> None:
    one = Learner(thresholds.load(), registrable)
    observe(one, *slashes(5), *once_each(80))
    [rule] = [rule for rule in one.rules("h.example") if rule.rewrite.family == "trailing-slash"]
    assert (rule.state, rule.agree) == ("probation", 5)


def one_path_against_each(count: int) -> list[Answered]:
    """Return pages that show 60 rules. All pages of a rule are one path, so none is refuted."""
    return [
        Answered(f"{H}/show?title={n}&view{n % 60}=1", f"{n}".encode(), float(n))
        for n in range(count)
    ]


def test_rules_without_evidence_are_not_opened_again_and_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each time costs a look at all facts."""
    opened = Counter[str]()
    really_open = SiteMemory.open

    def counted(self: SiteMemory, rewrite: Rewrite) -> RuleTally:
        opened[str(rewrite)] += 1
        return really_open(self, rewrite)

    monkeypatch.setattr(SiteMemory, "open", counted)
    observe(Learner(thresholds.load(), registrable), *one_path_against_each(1500))
    assert len(opened) >= 60
    assert max(opened.values()) <= 10


def test_nothing_waits_for_rules_that_gave_way() -> None:
    def tallies() -> list[RuleTally]:
        gc.collect()
        return [thing for thing in gc.get_objects() if isinstance(thing, RuleTally)]

    before = tallies()  # of other tests
    one = Learner(thresholds.load(), registrable)
    observe(one, *one_path_against_each(600))
    assert len(tallies()) - len(before) == 48
    assert not one.rules("h.example")


@pytest.mark.parametrize(("same", "others", "kept"), [(10, 40, False), (40, 18, True)])
def test_a_moved_directory_that_mostly_is_none_is_not_looked_at_again(
    same: int, others: int, *, kept: bool
) -> None:
    """A server with two repositories that have some files in common, by content alone."""
    one = Learner(thresholds.load(), registrable)
    for n in range(same + others):
        for folder in ("alpha", "beta"):
            body = f"{n}" if n < same else f"{n} {folder}"
            observe(one, Answered(f"{H}/{folder}/file{n}.c", body.encode(), float(n)))
    found = {rule.rewrite.family for rule in one.rules("h.example") if rule.rewrite.below == "/"}
    assert ("path-prefix" in found) is kept


def test_a_parameter_that_mostly_selects_is_looked_at_again() -> None:
    """Some part of the site may be without exceptions, or some value."""
    one = Learner(thresholds.load(), registrable)
    for n in range(50):
        body, other = f"{n}".encode(), f"{n} other".encode()
        observe(one, Answered(f"{H}/p{n}", body, float(n)))
        observe(one, Answered(f"{H}/p{n}?v=1", body if n < 10 else other, float(n)))
    assert [rule.rewrite.old for rule in one.rules("h.example")] == ["v"]
