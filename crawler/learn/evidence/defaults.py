"""Defaults: the one value of a parameter that selects nothing, where other values do. Pure.

Where ``?page=1`` is the page without it and ``?page=2`` is another, no rule about ``page`` holds,
but one about ``page=1`` does. So it is with parameters that are always together, as ``?order=up``
with ``&sort=name``. Such a rule is looked for only where the parameter was found to
select, and has to be better than chance: of enough values, one meets no exception by luck.
"""

from collections import Counter
from collections.abc import Container, Mapping
from functools import lru_cache
from typing import NamedTuple

from msgspec.structs import replace

from canonry.canon.learned import FAMILIES, Rewrite
from canonry.canon.syntax import query
from canonry.crawler.content.differences import chance_of_so_many
from canonry.crawler.learn.evidence.assessor import Assessor
from canonry.crawler.learn.evidence.mixes import is_about_names
from canonry.crawler.learn.evidence.verdicts import of_all_values
from canonry.crawler.learn.memory.known_site import KnownSite
from canonry.crawler.learn.tallies.stances import ANSWERS, FOR, OPEN, Stance
from canonry.crawler.learn.tallies.tally import RuleTally

_SUPPORT = 3  # pages with a value, before a rule about it is looked for
_MOST = 4  # values of one parameter
_CHANCE = 0.001  # that a value does no better than the others
_RARE = 0.01  # that no page with a value agrees, if they are as those with others
_LOOK_AGAIN = 8  # pages with the parameter, for each answer until the next look


def open_defaults(site: KnownSite, tally: RuleTally, assessor: Assessor) -> None:
    """Open rules for the values of parameters that select nothing, where others do.

    Args:
        site: the parameters'.
        tally: of the rule that the parameter selects nothing, or several together.
        assessor: opens rules.
    """
    said = tally.rewrite
    if not is_about_names(said) or site.answers < tally.look_at:
        return
    tally.look_at = site.answers + 1 + len(tally.results) // _LOOK_AGAIN
    by_value = _by_value(tally)
    clean = Counter({field: n.agree for field, n in by_value.items() if not n.disagree})
    for field, agree in clean.most_common(_MOST):
        if agree >= _SUPPORT and not _is_by_chance(by_value, field):
            rewrite = replace(said, family="parameter-default", old=field)
            if FAMILIES[rewrite.family].check(rewrite) is None:
                assessor.open(rewrite)


def is_by_chance(site: KnownSite, rewrite: Rewrite) -> bool:
    """Return True if a value of a parameter may only seem to be better than its other values."""
    if rewrite.family != "parameter-default":
        return False
    tally = site.tallies.get(replace(of_all_values(rewrite), below="/"))
    return tally is None or _is_by_chance(_by_value(tally), rewrite.old)


def depends_on_value(tally: RuleTally) -> bool:
    """Return True if no page agrees that has one value of a parameter, and others do, not by luck.

    Where much changes by itself, no page may be another one for certain. Then of a list, its first
    page agrees, and of the others nothing is known. A page of which nothing can be known, since it
    is not text, is not like the others, whatever its value.
    """
    if not is_about_names(tally.rewrite):
        return False
    by_value = _by_value(tally, OPEN - {Stance.UNKNOWN})
    together = _together(by_value)
    return any(
        len(by_value) * _chance(here, together.without(here)) < _RARE
        for here in by_value.values()
        if together.agree and not here.agree
    )


class _Pages(NamedTuple):
    """How many pages agree that a parameter selects nothing, disagree, and say neither."""

    agree: int
    disagree: int
    undecided: int

    @property
    def do_not(self) -> int:
        """How many do not agree."""
        return self.disagree + self.undecided

    def without(self, some: "_Pages") -> "_Pages":
        """Return how many it is without some of them."""
        return _Pages(*(n - m for n, m in zip(self, some, strict=True)))


_NO_PAGES = _Pages(0, 0, 0)


def _together(by_value: Mapping[str, _Pages]) -> _Pages:
    """Return how many pages there are with any value."""
    return _Pages(*map(sum, zip(_NO_PAGES, *by_value.values(), strict=True)))


def _chance(these: _Pages, those: _Pages) -> float:
    """Return the probability that so many of these do not agree, if they are like those."""
    return chance_of_so_many(these.do_not, sum(these), those.do_not, sum(those))


def _is_by_chance(by_value: Mapping[str, _Pages], field: str) -> bool:
    """Return True if what speaks against a parameter may be missing at one value by chance."""
    here = by_value.get(field, _NO_PAGES)
    others = _together(by_value).without(here)
    return not sum(here) or not others.do_not or _chance(others, here) > _CHANCE


def _by_value(tally: RuleTally, are_open: Container[Stance] = OPEN) -> dict[str, _Pages]:
    """Return what the pages say that have a rule's parameters, by the fields that they are in.

    Args:
        tally: of the rule.
        are_open: what pages say of which it is not known whether they agree.
    """
    agree, disagree, undecided = Counter[str](), Counter[str](), Counter[str]()
    names, against = tally.rewrite.old, tally.against() - ANSWERS
    for url in tally.results:
        stance = tally.stance(url)
        if stance in against:
            disagree[_value_in(url, names)] += 1
        elif stance in FOR:
            agree[_value_in(url, names)] += 1
        elif stance in are_open:
            undecided[_value_in(url, names)] += 1
    values = sorted(agree.keys() | disagree.keys() | undecided.keys())
    return {value: _Pages(agree[value], disagree[value], undecided[value]) for value in values}


@lru_cache(maxsize=8192)  # the same pages are looked at again and again
def _value_in(url: str, names: str) -> str:
    """Return the fields of a URL's query that have some names, which "&" separates."""
    wanted, text = query.fields(names), url.partition("#")[0].partition("?")[2]
    fields = [field for field in query.fields(text) if query.name(field) in wanted]
    return "&".join(sorted(fields, key=query.name))
