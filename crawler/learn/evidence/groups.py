"""Groups: parameters that were seen together, though one of them may select by itself. Pure.

Where all links have ``page=1&from=x&run=7``, content shows that the three select nothing, but only
for ``page=1``. What is known of ``page`` alone, where it stands alone, tells more. So it does where
``instock=1`` was seen to select now and then, and stands beside ``page`` elsewhere.
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


def selects_now_and_then(site: KnownSite, rewrite: Rewrite, needed: float) -> bool:
    """Return True if a rule's parameter was seen to select, though seldom, beside fewer others.

    Or beside more. Where it mostly selects beside others, as ``page`` where no ``id`` is, these are
    other pages. Where it seldom does, the rule has only not met its exceptions yet.

    Args:
        site: the rule's.
        rewrite: what the rule says.
        needed: the bound that the evidence of all such rules must reach, if any contradicts them.
    """
    if rewrite.family != "parameter-irrelevant":
        return False
    own, agree, disagree, elsewhere = set(rewrite.beside), 0, 0, 0
    for said, tally in site.tallies.items():
        is_nested = own.issubset(said.beside) or own.issuperset(said.beside)
        if said.old == rewrite.old and said.family == rewrite.family and is_nested:
            found = tally.where_it_holds()
            agree, disagree = agree + found.agree, disagree + found.disagree
            elsewhere += found.disagree if said.beside != rewrite.beside else 0
    return elsewhere > 0 and lower_bound(agree, disagree) < needed
