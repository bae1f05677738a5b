"""Rules for domains: what several hosts of a domain have learned is tried on the others. Pure."""

from collections.abc import Callable

from msgspec.structs import replace

from canonry.canon.learned import FAMILIES
from canonry.crawler.learn.evidence.assessor import Assessor
from canonry.crawler.learn.evidence.rule_book import RuleBook
from canonry.crawler.learn.memory.site_memory import SiteMemory
from canonry.storage.learned.tracked_rule import TrackedRule

_AGREEING_HOSTS = 3


def extend_to_domain(
    memory: SiteMemory,
    book: RuleBook,
    assessor: Assessor,
    registrable: Callable[[str], str],
    rule: TrackedRule,
    now: float,
) -> None:
    """Add a rule for a whole domain, if several of its hosts have learned the same.

    Args:
        memory: what is known of the hosts.
        book: the rules.
        assessor: holds facts against the new rule.
        registrable: from a host to its registrable domain, private suffixes respected.
        rule: which has become active.
        now: seconds since 1970.
    """
    said = rule.rewrite
    if said.below != "/" or said.subdomains or FAMILIES[said.family].moves_host:
        return
    if not _may_agree(memory, said.host) or (domain := registrable(said.host)) in {"", said.host}:
        return
    agreeing = 0
    for name, site in memory.sites_of(domain):
        own = site.rules.get(replace(said, host=name))
        if own is not None and own.state in {"revoked", "frozen"}:
            return
        agreeing += own is not None and own.state == "active"
    if agreeing < _AGREEING_HOSTS:
        return
    wide = replace(said, host=domain, subdomains=True)
    memory.wide_domains.add(domain)
    assessor.open(wide)
    learned = book.rule(wide)
    if learned.state == "candidate":
        learned.enter("probation", now)
        book.mark_changed(learned)


def _may_agree(memory: SiteMemory, host: str) -> bool:
    """Return True if enough hosts may have the domain of a host.

    That is cheap, and to know the domain takes the Public Suffix List, which takes long to
    read. A domain has two labels at least.
    """
    end = ".".join(host.split(".")[-2:])
    return sum(1 for _ in memory.sites_of(end)) >= _AGREEING_HOSTS
