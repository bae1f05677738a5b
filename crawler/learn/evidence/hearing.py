"""Hearing: before much that speaks against a rule refutes it, it is seen what changes by itself.

The lists of a shop may stay as they are, while the pages of its goods show how often they were
viewed. If only lists were asked twice, each page of goods seems to be another one. Pure.
"""

from collections.abc import Iterator
from itertools import islice

from canonry.crawler.learn.memory.known_site import KnownSite
from canonry.crawler.learn.tallies.tally import RuleTally

_AGAINST = 12  # paths that speak against a rule, or are in doubt
_HEARD = 4  # pages of a rule that are asked twice
_LOOKED = 8  # of these, that are looked at
_RULES = 4  # of a site, for which that is done ...
_SHARE = 256  # ... and one more for so many answers


def to_hear(site: KnownSite) -> list[str]:
    """Return pages to ask twice before rules are refuted for which nothing speaks.

    They speak against a rule by what they say, or are in doubt, and are like the pages that they
    were compared with: perhaps nothing differs but what changes by itself. Nobody else asks pages
    of such a rule twice, if those of other rules did not change.
    """
    found: dict[str, None] = {}
    for tally in site.tallies.values():
        totals = tally.totals()
        paths = totals.disagree + tally.undecided
        if totals.agree or paths < _AGAINST or paths == tally.heard_at:
            continue
        tally.heard_at = paths
        asked = sum(url in tally.results or url in tally.members for url in site.repeated)
        found |= dict.fromkeys(islice(_alike(site, tally), max(0, _HEARD - asked)))
    most = _HEARD * (_RULES + site.answers // _SHARE)
    pages = list(islice(found, max(0, most - len(site.heard))))
    site.heard.update(pages)
    return pages


def is_heard(site: KnownSite, tally: RuleTally) -> bool:
    """Return True if a rule may be refuted: no page is to be asked twice before that."""
    is_looked_at = tally.heard_at >= _AGAINST
    return is_looked_at and all(site.repeated[url] for url in site.heard if url in tally.results)


def _alike(site: KnownSite, tally: RuleTally) -> Iterator[str]:
    """Yield pages that do not speak for a rule, and are like those they were compared with."""
    facts = site.known.facts
    for url in islice([*tally.contrary(), *tally.that_are_open()], _LOOKED):
        page, other = facts.get(url), site.compared_with(tally, url)
        if page is None or other is None or url in site.repeated:
            continue
        if site.known.are_alike(page, other):
            yield url
