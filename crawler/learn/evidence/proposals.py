"""Proposals: which rules two pages of a site may be evidence for, if they are the same. Pure."""

from collections.abc import Iterator

from msgspec.structs import replace

from canonry.canon.learned import Rewrite
from canonry.canon.syntax import Parts
from canonry.crawler.learn.evidence.infer import rewrites_between
from canonry.crawler.learn.evidence.site_facts import Fact
from canonry.crawler.learn.evidence.site_memory import SiteMemory


def proposals(memory: SiteMemory, name: str, fact: Fact, parts: Parts) -> Iterator[Rewrite]:
    """Yield the rules that would make a page one with others that may be the same.

    Args:
        memory: what is known of sites.
        name: the page's site.
        fact: about the page.
        parts: of its URL.
    """
    for other in _alike(memory, name, fact, parts):
        for rewrite in rewrites_between(Parts.of(other.url), parts):
            if _is_worth_a_look(memory, name, rewrite):
                yield rewrite


def opposite(rewrite: Rewrite) -> Rewrite:
    """Return the rule that undoes what a rule does, where a pair of pages shows either."""
    if rewrite.family == "www":
        return replace(rewrite, host=rewrite.new, new=rewrite.host)
    turned = {"slash": "bare", "bare": "slash"}.get(rewrite.new, "")
    slashes = rewrite.family == "trailing-slash" and turned
    return replace(rewrite, new=turned) if slashes else rewrite


def _alike(memory: SiteMemory, name: str, fact: Fact, parts: Parts) -> Iterator[Fact]:
    """Yield the pages that may be the same as one, on its site or on that with ``www.``."""
    for site in (memory.site(name), memory.twin(name)):
        if site is not None:
            for url in site.known.alike(fact, parts):
                yield site.known.facts[url]


def _is_worth_a_look(memory: SiteMemory, name: str, rewrite: Rewrite) -> bool:
    """Return True if a rewrite that explains two pages is to be held against all others."""
    against = opposite(rewrite)
    if against == rewrite:
        return True
    # Content says nothing about the direction: that of redirects and canonical links counts.
    shorter = rewrite.new == "bare" or rewrite.host.startswith("www.")
    named = memory.site(against.host).named
    return rewrite in memory.site(name).named or (shorter and against not in named)
