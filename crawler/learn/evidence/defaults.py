"""Defaults: the one value of a parameter that selects nothing, where other values do. Pure.

Where ``?page=1`` is the page without it and ``?page=2`` is another, no rule about ``page`` holds,
but one about ``page=1`` does. So it is with parameters that are always together, as ``?order=up``
with ``&sort=name``. Such a rule is looked for only where the parameter was found to
select, and has to be better than chance: of enough values, one meets no exception by luck.
"""

from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from msgspec.structs import replace

from canonry.canon.learned import FAMILIES, Rewrite
from canonry.canon.syntax import query
from canonry.crawler.content.differences import chance_of_so_many
from canonry.crawler.learn.evidence.assessor import Assessor
from canonry.crawler.learn.evidence.verdicts import of_all_values
from canonry.crawler.learn.memory.known_site import KnownSite
from canonry.crawler.learn.memory.stances import FOR, Stance
from canonry.crawler.learn.memory.tally import RuleTally

_OF_ALL_VALUES = ("parameter-irrelevant", "parameter-group")
_SUPPORT = 3  # pages with a value, before a rule about it is looked for
_MOST = 4  # values of one parameter
_CHANCE = 0.001  # that a value does no better than the others
_LOOK_AGAIN = 8  # pages with the parameter, for each answer until the next look


def open_defaults(site: KnownSite, tally: RuleTally, assessor: Assessor) -> None:
    """Open rules for the values of parameters that select nothing, where others do.

    Args:
        site: the parameters'.
        tally: of the rule that the parameter selects nothing, or several together.
        assessor: opens rules.
    """
    said = tally.rewrite
    if said.family not in _OF_ALL_VALUES or site.answers < tally.look_at:
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


class _Pages(NamedTuple):
    """How many pages agree that a parameter selects nothing, and how many disagree."""

    agree: int
    disagree: int


def _is_by_chance(by_value: Mapping[str, _Pages], field: str) -> bool:
    """Return True if what speaks against a parameter may be missing at one value by chance."""
    here = by_value.get(field, _Pages(0, 0))
    against = sum(pages.disagree for pages in by_value.values()) - here.disagree
    others = sum(map(sum, by_value.values())) - sum(here)
    if not sum(here) or not against:
        return True
    return chance_of_so_many(against, others, here.disagree, sum(here)) > _CHANCE


def _by_value(tally: RuleTally) -> dict[str, _Pages]:
    """Return what the pages say that have a rule's parameters, by the fields that they are in."""
    agree, disagree = Counter[str](), Counter[str]()
    names, against = tally.rewrite.old, tally.against() - {Stance.ALONE}
    for url in tally.results:
        stance = tally.stance(url)
        if stance in against:
            disagree[_value_in(url, names)] += 1
        elif stance in FOR:
            agree[_value_in(url, names)] += 1
    values = sorted(agree.keys() | disagree.keys())
    return {value: _Pages(agree[value], disagree[value]) for value in values}


@lru_cache(maxsize=8192)  # the same pages are looked at again and again
def _value_in(url: str, names: str) -> str:
    """Return the fields of a URL's query that have some names, which "&" separates."""
    wanted, text = query.fields(names), url.partition("#")[0].partition("?")[2]
    fields = [field for field in query.fields(text) if query.name(field) in wanted]
    return "&".join(sorted(fields, key=query.name))
