"""Verdicts: what the facts about a URL say for a rule, or against it. Pure functions of facts."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Protocol

from msgspec.structs import replace

from canonry.canon.learned import FAMILIES, Rewrite, act, names_in, site_in, site_of
from canonry.canon.syntax import Parts, query
from canonry.crawler.content.differences import NO_DIFFERENCE, Difference
from canonry.crawler.content.host_text import Comparison
from canonry.crawler.learn.inference.infer import family_for, rewrites_from
from canonry.crawler.learn.knowledge.site_facts import ChangedText, Fact
from canonry.crawler.learn.tallies.selecting_fields import selecting_fields
from canonry.crawler.learn.tallies.stances import Stance
from canonry.crawler.learn.tallies.tally import Judgement, RuleTally

_MAX_HOPS = 5
_OF_PARAMETERS = frozenset(
    {
        "parameter-irrelevant",
        "parameter-group",
        "parameter-mix",
        "parameter-default",
        "parameter-of-page",
    }
)
_NOTHING = Judgement(Stance.NOTHING)
_COMPARED = {True: Stance.SAME, False: Stance.OTHER}
_ASKED_AGAIN = {True: Stance.APART, False: Stance.TOGETHER, None: Stance.NOTHING}
_OTHERS = {Stance.OTHER, Stance.APART}
_NAMED = {
    ChangedText.NOTHING: Stance.NAMED,
    ChangedText.NUMBERS: Stance.RENUMBERED,
    ChangedText.WORDS: Stance.REWORDED,
}


class Facts(Protocol):
    """What verdicts need to know."""

    def fact(self, identity: str) -> Fact | None:
        """Return what became of a URL; None if that is not known."""
        ...

    def reference(self, members: Sequence[str]) -> Fact | None:
        """Return the page with which the others of a class are compared, or None."""
        ...

    def canonical(self, identity: str) -> str | None:
        """Return the confirmed target of a page's canonical link."""
        ...

    def compare(self, one: Fact, other: Fact) -> Comparison:
        """Compare the content of two pages."""
        ...

    def are_others(self, one: Fact, other: Fact) -> bool:
        """Return True if the content of two pages clearly differs."""
        ...

    def changed(self, one: Fact, other: Fact) -> ChangedText:
        """Return what differs between two pages of a site on which nothing changes by itself."""
        ...

    @property
    def links_are_meant(self) -> bool:
        """Return True if the site chooses which parameters its canonical links have."""
        ...


@lru_cache(maxsize=4096)  # a redirect is held against each rule of its site
def _rewrites(source: str, target: str) -> tuple[Rewrite, ...]:
    return rewrites_from(Parts.of(source), Parts.of(target))


@lru_cache(maxsize=4096)
def shown_by(source: str, target: str) -> tuple[Rewrite, ...]:
    """Return the rewrites that a URL shows which names another, by redirect or canonical link.

    One that leads to another host says nothing about the other differences on this one.
    """
    shown = _rewrites(source, target)
    return tuple(rewrite for rewrite in shown if rewrite.family == "host-alias") or shown


def counted_path(rewrite: Rewrite, source: Parts, result: str) -> str:
    """Return what counts once as evidence for a rewrite: a path, or a path and a query.

    For a rule about one page, that is each name of this page; else what the rule makes of it.
    """
    path, family = source.path, FAMILIES[rewrite.family]
    if family.one_page:
        path = f"{path}?{source.query}"
    elif family.by_query:
        after = Parts.of(result)
        path = after.path if after.query is None else f"{after.path}?{after.query}"
    return f"/{site_of(source)}{path}" if rewrite.subdomains else path


def verdict(facts: Facts, tally: RuleTally, url: str) -> Judgement:
    """Return what a URL says about a rule that changes it."""
    fact = facts.fact(url)
    result = tally.results[url]
    other = facts.fact(result)
    if fact is None:
        leads_back = other is not None and other.target == url
        return Judgement(Stance.REVERSED, result) if leads_back else _NOTHING
    if fact.missing:
        there = other is not None and not other.missing
        return Judgement(Stance.OTHER, result) if there else _NOTHING
    if fact.target is not None:
        return _of_redirect(facts, tally.rewrite, fact, fact.target, other)
    if other is not None:
        return _of_pair(facts, tally.rewrite, fact, other)
    return _of_page(facts, tally, fact, result)


def _of_redirect(
    facts: Facts, rewrite: Rewrite, fact: Fact, target: str, other: Fact | None
) -> Judgement:
    """Return what a URL says that redirects."""
    plain = _plain(rewrite, fact.url)
    if plain in shown_by(fact.url, target):
        return Judgement(Stance.MOVED, target, is_final=True)
    if other is not None and other.target is not None and _end(facts, other) == _end(facts, fact):
        return Judgement(Stance.MOVED, target)
    shown = _rewrites(fact.url, target)
    led = Parts.of(target)
    if plain in shown or (shown and act(rewrite, led) is not led):
        return _NOTHING  # what the rule is about is still to be decided, at the target
    if any(_is_of_group(plain, group) for group in shown):
        return _NOTHING  # with others, the parameter selects nothing; what it does alone is open
    return Judgement(Stance.OTHER, target)


def _of_pair(facts: Facts, rewrite: Rewrite, fact: Fact, other: Fact) -> Judgement:
    """Return what a page says if it is known what became of the URL that the rule makes of it."""
    if other.missing:
        return Judgement(Stance.OTHER, other.url)
    end = _end(facts, other)
    if end == fact.url:
        return Judgement(Stance.REVERSED, other.url)
    page = facts.fact(end)
    if page is None or not page.is_page:
        return _NOTHING
    return _compared(facts, rewrite, fact, page)


def _of_page(facts: Facts, tally: RuleTally, fact: Fact, result: str) -> Judgement:
    """Return what a page says if nothing is known of the URL that the rule makes of it."""
    reference = facts.reference(tally.members.get(result, ()))
    if reference is not None and reference.url != fact.url:
        return _compared(facts, tally.rewrite, fact, reference)
    if _names(facts, tally.rewrite, fact):
        return Judgement(Stance.NAMED, result)
    stance = Stance.OTHER if _keeps(facts, tally.rewrite, fact) else Stance.ALONE
    return Judgement(stance, fact.url)


def beside(facts: Facts, tally: RuleTally, url: str) -> Difference:
    """Return how much a page differs from another one of which the rule makes the same.

    The verdict does not need that if the page that the rule makes of them is known, too.
    """
    fact, members = facts.fact(url), tally.members[tally.results[url]]
    if len(members) == 1 or fact is None or not fact.is_page:
        return NO_DIFFERENCE
    reference = facts.reference(members)
    if reference is None or reference.url == url or reference.digest == fact.digest:
        return NO_DIFFERENCE
    return facts.compare(fact, reference).difference


def _compared(facts: Facts, rewrite: Rewrite, fact: Fact, page: Fact) -> Judgement:
    """Return what a page says by its content, and by its canonical link; or that it is open."""
    said = _by_content_or_link(facts, rewrite, fact, page)
    if said.stance is not Stance.NOTHING or fact.digest == page.digest:
        return said
    is_text = not (fact.sketch is page.sketch is None)
    return said._replace(stance=Stance.IN_DOUBT if is_text else Stance.UNKNOWN, found=page.url)


def _by_content_or_link(facts: Facts, rewrite: Rewrite, fact: Fact, page: Fact) -> Judgement:
    """Return what a page says by its content, or by its canonical link, if that is known."""
    if _names(facts, rewrite, fact):
        return Judgement(_of_named(facts, fact, page), page.url)
    if _keeps(facts, rewrite, fact) and not _are_one(facts, fact, page):
        return Judgement(Stance.OTHER, fact.url)
    said = facts.compare(fact, page)
    if said.same is None and said.apart is None and not said.in_doubt:
        return _NOTHING
    stance = _ASKED_AGAIN[said.apart] if said.same is None else _COMPARED[said.same]
    if stance in _OTHERS and _may_name(facts, rewrite, fact):
        return Judgement(Stance.IN_DOUBT, page.url)
    if said.is_masked and stance is Stance.NOTHING:
        stance = Stance.MASKED
    return Judgement(stance, page.url, said.difference)


def _of_named(facts: Facts, fact: Fact, page: Fact) -> Stance:
    """Return what a page says that names the other one by its canonical link."""
    if facts.are_others(fact, page):
        return Stance.OTHER
    changed = facts.changed(fact, page)
    if changed is ChangedText.NOTHING and facts.compare(fact, page).same:
        return Stance.NAMED_SAME
    return _NAMED[changed]


def _names(facts: Facts, rewrite: Rewrite, fact: Fact) -> bool:
    """Return True if a page's confirmed canonical link leads where the rule says."""
    named = facts.canonical(fact.url)
    if named is None:
        return False
    return _plain(rewrite, fact.url) in shown_by(fact.url, named)


def _may_name(facts: Facts, rewrite: Rewrite, fact: Fact) -> bool:
    """Return True if a page's canonical link leads where the rule says, and is not confirmed yet.

    Then the site has said that they are the same, and what it links to has not answered.
    """
    named = fact.names
    if named is None or named == fact.url:
        return False
    leads_there = _plain(rewrite, fact.url) in shown_by(fact.url, named)
    return leads_there and facts.fact(named) is None


def _keeps(facts: Facts, rewrite: Rewrite, fact: Fact) -> bool:
    """Return True if a page's canonical link keeps a parameter that a rule drops.

    So the site says that the parameter selects content, there at least.
    """
    if rewrite.family not in _OF_PARAMETERS or not facts.links_are_meant:
        return False
    named = fact.url if fact.names == fact.url else facts.canonical(fact.url)
    if named is None:
        return False
    if rewrite.family == "parameter-default":
        kept = query.fields(Parts.of(named).query or "")
        return any(field in kept for field in query.fields(rewrite.old))
    return bool(selecting_fields(rewrite, named))


def _are_one(facts: Facts, fact: Fact, page: Fact) -> bool:
    """Return True if two pages are the same to the byte, or the second one names the first."""
    return fact.digest == page.digest or facts.canonical(page.url) == fact.url


def _end(facts: Facts, fact: Fact) -> str:
    """Return where a chain of redirects ends, as far as it is known."""
    seen = {fact.url}
    for _ in range(_MAX_HOPS):
        if fact.target is None:
            return fact.url
        after = facts.fact(fact.target)
        if after is None or after.url in seen:
            return fact.target
        seen.add(after.url)
        fact = after
    return fact.url


def _plain(rewrite: Rewrite, source: str) -> Rewrite:
    """Return a rewrite as it is inferred from a pair of URLs of one site.

    A pair never tells that it is only one value of a parameter that selects nothing, or one page.
    """
    if rewrite.family == "parameter-of-page":
        others = rewrite.new.partition("?")[2]
        names = tuple(sorted(set(query.names(others)))) if others else ()
        rewrite = replace(rewrite, family="parameter-irrelevant", new="", beside=names)
    if rewrite.family == "parameter-default":
        rewrite = of_all_values(rewrite)
    if rewrite.family == "parameter-mix":
        rewrite = of_those_that_are_there(rewrite, source)
    if not rewrite.subdomains:
        return rewrite
    return replace(rewrite, host=site_in(source), subdomains=False, but=())


def of_all_values(rewrite: Rewrite) -> Rewrite:
    """Return the rewrite that drops some parameters whatever their values, for one that has these.

    Args:
        rewrite: of the family ``parameter-default``.
    """
    names = query.names(rewrite.old)
    return replace(rewrite, family=family_for(names), old="&".join(names))


def of_those_that_are_there(rewrite: Rewrite, url: str) -> Rewrite:
    """Return the rewrite that drops just those parameters of a mix which a URL has.

    Args:
        rewrite: of the family ``parameter-mix``.
        url: an identity that it changes.
    """
    names = names_in(url).intersection(rewrite.old.split("&"))
    return replace(rewrite, family=family_for(names), old="&".join(sorted(names)))


def _is_of_group(rewrite: Rewrite, group: Rewrite) -> bool:
    """Return True if a rule drops one of the parameters that another drops together."""
    return (
        group.family == "parameter-group"
        and rewrite.family == "parameter-irrelevant"
        and rewrite.old in group.old.split("&")
    )
