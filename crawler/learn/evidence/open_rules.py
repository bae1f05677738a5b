"""Which rules of a site are held against its facts: so many at once; a weak one gives way."""

from msgspec.structs import replace

from canonry.canon.learned import FAMILIES, Rewrite
from canonry.crawler.learn.evidence.hearing import is_heard
from canonry.crawler.learn.evidence.mixes import MIX, is_within, within_active
from canonry.crawler.learn.evidence.rule_book import RuleBook, is_narrow
from canonry.crawler.learn.life.lifecycle import UNDECIDED
from canonry.crawler.learn.memory.known_site import KnownSite
from canonry.crawler.learn.memory.site_memory import SiteMemory
from canonry.crawler.learn.tallies.tally import RuleTally
from canonry.storage.learned.tracked_rule import Counts

_MOST = 48  # of one site: each new fact is held against all of them
_FACTS = 50  # for each answer, on average: to open a rule is to look at all facts
_REFUTED = 16  # paths against a rule
_AGAIN = 1.5  # times as many answers as then, until a rule that gave way is opened again


def has_room(memory: SiteMemory, book: RuleBook, rewrite: Rewrite) -> bool:
    """Return True if a rule can be opened; where there are too many, the weakest gives way.

    To open a rule is to look at all facts of its site. So where rules have to give way, that is
    done less often the more facts there are, and it is a while until one of them is opened again.
    A rule about any mix of parameters comes at once: it takes the place of many.
    """
    site = memory.site(rewrite.host)
    if rewrite in site.tallies or rewrite in site.refuted or within_active(site, rewrite):
        return False
    if len(site.tallies) < _MOST:
        return True
    if rewrite.family != MIX and site.answers < max(site.room_at, site.again_at.get(rewrite, 0)):
        return False
    weak = _weakest(site)
    if weak is None:
        return False
    let_go(book, site, weak)
    site.again_at[weak.rewrite] = int(site.answers * _AGAIN)
    site.room_at = site.answers + len(site.known.facts) // _FACTS
    return True


def drop_if_refuted(memory: SiteMemory, book: RuleBook, tally: RuleTally) -> None:
    """Look at a rule never again, if much speaks against it and nothing for it.

    Pages that may only seem to be others are asked twice before that.

    A rule that is not for a whole site cannot hold in some parts of it. So it is enough if no more
    speaks for it than against it: on a server with three similar repositories, each is a little
    like the others.
    """
    said, site, totals = tally.rewrite, memory.site(tally.rewrite.host), tally.totals()
    if totals.disagree < _REFUTED or said not in site.tallies:
        return
    is_baseless = not totals.agree and said not in site.rules and is_heard(site, tally)
    is_hopeless = is_narrow(said) and _can_go(site, said) and totals.agree <= totals.disagree
    if is_baseless or is_hopeless:
        let_go(book, site, tally)
        site.refuted.add(said)


def let_go(book: RuleBook, site: KnownSite, tally: RuleTally) -> None:
    """Look no more at what a rule says; its evidence is forgotten, and with that the rule."""
    said = tally.rewrite
    del site.tallies[said]
    site.recalled.discard(said)
    if not FAMILIES[said.family].moves_host:  # else another site waits, and forgets it in time
        site.forget_awaiting([tally], tally.members)
    rule = site.rules.get(said)
    if rule is not None:
        rule.set_counts(Counts())
        rule.state = "candidate"
        book.mark_changed(rule)


def let_go_of_those_within(book: RuleBook, site: KnownSite, mix: Rewrite) -> None:
    """Look no more at undecided rules that change nothing which an active mix does not."""
    for said, tally in list(site.tallies.items()):
        if is_within(mix, said) and _can_go(site, said):
            let_go(book, site, tally)


def _weakest(site: KnownSite) -> RuleTally | None:
    """Return the rule with the least evidence, of those that nothing depends on yet."""
    wholes = {replace(said, below="/") for said in site.rules if said.below != "/"}
    free = [
        tally for said, tally in site.tallies.items() if said not in wholes and _can_go(site, said)
    ]
    return min(free, key=lambda tally: _weight(site, tally), default=None)


def _can_go(site: KnownSite, said: Rewrite) -> bool:
    """Return True if a rule is undecided, and nothing but its evidence is known of it."""
    rule = site.rules.get(said)
    is_open = rule is None or (rule.state in UNDECIDED and not rule.hsts)
    return is_open and not said.subdomains


def _weight(site: KnownSite, tally: RuleTally) -> tuple[bool, bool, int, int]:
    """Return what is sorted by: the least comes first."""
    rule, totals = site.rules.get(tally.rewrite), tally.totals()
    on_probation = rule is not None and rule.state == "probation"
    return on_probation, tally.suspected, totals.agree, -totals.disagree
