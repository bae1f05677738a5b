"""Proposals: which rules two pages of a site may be evidence for, if they are the same. Pure."""

from collections.abc import Iterator

from msgspec.structs import replace

from canonry.canon.learned import Rewrite
from canonry.canon.syntax import Parts
from canonry.crawler.learn.inference.infer import rewrites_between
from canonry.crawler.learn.knowledge.site_facts import Fact
from canonry.crawler.learn.memory.known_site import KnownSite
from canonry.crawler.learn.memory.site_memory import SiteMemory


def proposals(
    memory: SiteMemory, name: str, site: KnownSite, fact: Fact, parts: Parts
) -> Iterator[tuple[Rewrite, Fact]]:
    """Yield the rules that would make a page one with others that may be the same, with the other.

    These are pages of its site, or of that with ``www.`` before its name, or without it.

    Args:
        memory: what is known of sites.
        name: the page's site.
        site: what is known of it.
        fact: about the page.
        parts: of its URL.
    """
    twin = memory.twin(name)
    for known in (site,) if twin is None else (site, twin):
        for other in known.known.alike(fact, parts):
            for rewrite in rewrites_between(Parts.of(other), parts):
                if _is_worth_a_look(memory, name, rewrite):
                    yield rewrite, known.known.facts[other]


def opposite(rewrite: Rewrite) -> Rewrite:
    """Return the rule that undoes what a rule does, where a pair of pages shows either."""
    if rewrite.family == "www":
        return replace(rewrite, host=rewrite.new, new=rewrite.host)
    turned = {"slash": "bare", "bare": "slash"}.get(rewrite.new, "")
    slashes = rewrite.family == "trailing-slash" and turned
    return replace(rewrite, new=turned) if slashes else rewrite


def _is_worth_a_look(memory: SiteMemory, name: str, rewrite: Rewrite) -> bool:
    """Return True if a rewrite that explains two pages is to be held against all others."""
    against = opposite(rewrite)
    if against == rewrite:
        return True
    # Content says nothing about the direction: that of redirects and canonical links counts.
    shorter = rewrite.new == "bare" or rewrite.host.startswith("www.")
    named = memory.site(against.host).named
    return rewrite in memory.site(name).named or (shorter and against not in named)
