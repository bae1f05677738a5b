"""Groups: parameters that were seen together, though one of them may select by itself. Pure.

Where all links have ``page=1&from=x&run=7``, content shows that the three select nothing, but only
for ``page=1``. What is known of ``page`` alone, where it stands alone, tells more.
"""

from msgspec.structs import replace

from canonry.canon.learned import Rewrite
from canonry.crawler.learn.life.lifecycle import lower_bound
from canonry.crawler.learn.memory.known_site import KnownSite


def has_one_that_selects(site: KnownSite, rewrite: Rewrite, needed: float) -> bool:
    """Return True if a rule drops several parameters, and one of them selects by itself.

    Args:
        site: the rule's.
        rewrite: what the rule says.
        needed: the bound that the evidence about one parameter must reach, if any contradicts it.
    """
    if rewrite.family not in {"parameter-group", "parameter-mix"}:
        return False
    for name in rewrite.old.split("&"):
        alone = replace(rewrite, family="parameter-irrelevant", old=name, below="/")
        if alone in site.refuted:
            return True
        tally = site.tallies.get(alone)
        if tally is not None:
            found = tally.totals()
            if found.disagree and lower_bound(found.agree, found.disagree) < needed:
                return True
    return False
