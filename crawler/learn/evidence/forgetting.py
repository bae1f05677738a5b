"""Forgetting: a large site has more facts than the memory; its rules still count all of them."""

from collections.abc import Iterable
from itertools import islice

from msgspec.structs import replace

from canonry.crawler.learn.evidence.assessor import Assessor
from canonry.crawler.learn.evidence.recollection import recollect
from canonry.crawler.learn.evidence.rule_book import RuleBook, lies_in, part_of
from canonry.crawler.learn.memory.known_site import KnownSite
from canonry.crawler.learn.memory.site_memory import SiteMemory
from canonry.crawler.learn.tallies.tally import RuleTally
from canonry.storage.learned.tracked_rule import SAMPLES


def make_room(memory: SiteMemory, book: RuleBook, assessor: Assessor) -> None:
    """Forget facts, if there are too many; what they have said about rules still counts."""
    for name in memory.crowded():
        old = memory.shorten(name)
        site = memory.site(name)
        stored, site.rules = site.rules, {}
        waiting = [rule for said, rule in stored.items() if book.is_changed(said)]
        for tally in old.tallies.values():
            assessor.judge_anew(site, tally)
        for rule in stored.values():
            book.put(rule)
        for rule in waiting:
            book.mark_changed(rule)
        if site.answers >= 2 * site.recalled_at:  # it takes longer and longer
            recollect_active(memory, book, site)


def recollect_active(memory: SiteMemory, book: RuleBook, site: KnownSite) -> None:
    """Hold the active rules of a site against all facts: a pair may be half forgotten."""
    site.recalled_at = site.answers
    rules = site.rules.values()
    active = {rule.rewrite for rule in rules if rule.state == "active"}
    hold_against_all(
        memory, book, site, [site.tallies[said] for said in site.tallies if said in active]
    )


def hold_against_all(
    memory: SiteMemory, book: RuleBook, site: KnownSite, tallies: Iterable[RuleTally]
) -> None:
    """Hold rules against all facts about their site, also those that are not at hand.

    Each rule is checked once, until more facts are forgotten.
    """
    if not site.is_partial:
        return
    new = [
        tally
        for tally in tallies
        if tally.rewrite not in site.recalled and not tally.rewrite.subdomains
    ]
    if not new:
        return
    site.recalled.update(tally.rewrite for tally in new)
    for tally, past in zip(new, recollect(memory.archive, site.known, new), strict=True):
        tally.remember_all(past)
        against = list(islice(past.that_count(agrees=False), SAMPLES))
        for rewrite, rule in site.rules.items():
            if replace(rewrite, below="/") == tally.rewrite:
                book.recount(rule)
                for url in against:
                    if lies_in(url, part_of(rewrite)):
                        rule.add_sample(url, past.results[url], agrees=False)
                book.mark_changed(rule)
