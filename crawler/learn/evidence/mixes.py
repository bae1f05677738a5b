"""Mixes: parameters that select nothing, whichever of them a link has. Pure.

Where links have any of eight such parameters, there are 255 sets of them beside one identifier, and
each needs a rule of its own. Rules about some of the sets show which names are worth a rule about
all of them; and so do two pages that seem to be the same, each with parameters that the other one
lacks. A mix only speaks of names that were each found to select nothing, on more pages than a rule
about one parameter needs, and that were seen together: two may select only with each other.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator
from itertools import combinations, islice

from msgspec.structs import replace

from canonry.canon.learned import FAMILIES, Rewrite
from canonry.canon.syntax import Parts, query
from canonry.crawler.learn.evidence.verdicts import Facts
from canonry.crawler.learn.inference.infer import rewrite_across
from canonry.crawler.learn.knowledge.site_facts import Fact
from canonry.crawler.learn.memory.known_site import KnownSite
from canonry.crawler.learn.tallies.selecting_fields import selecting_fields
from canonry.crawler.learn.tallies.tally import RuleTally

MIX = "parameter-mix"
_OF_NAMES = ("parameter-irrelevant", "parameter-group")
_SUPPORT = 2  # pages for a rule about some of the names
_SETS = 3  # of names with such rules, before one about any mix of them is looked for
_TOGETHER = 3  # pages that agree and have two names at once
_MOST_ACROSS = 64  # pairs of pages that are remembered
_COMPARED = 256  # pairs that are compared in a site in any case; and one for each answer
_MOST_CONTRARY = 64  # URLs against a mix that are looked at
_OFTEN = 3  # pairs that differ in a name, for it to seem to select nothing


def is_about_names(said: Rewrite) -> bool:
    """Return True if a rule says that one parameter selects nothing, or several together."""
    return said.family in _OF_NAMES


def note_across(site: KnownSite, fact: Fact, parts: Parts) -> bool:
    """Note which pages that may be the same differ in several parameters; return True for news.

    Args:
        site: the site.
        fact: about one of its pages.
        parts: of its URL.
    """
    before = len(site.across)
    if before >= _MOST_ACROSS:
        return False
    for url in site.known.across(fact.url, parts):
        rewrite = rewrite_across(Parts.of(url), parts)
        if rewrite is None or rewrite in site.across:
            continue
        if site.compared_across >= _COMPARED + site.answers:
            break
        site.compared_across += 1
        if site.known.may_be_same(fact, site.known.facts[url]):
            site.across[rewrite] = (url, fact.url)
    return len(site.across) > before


def mixes_of(site: KnownSite) -> Iterator[Rewrite]:
    """Yield the rules about all names that seem to select nothing, by what they stand beside.

    A rule about ``ref`` beside ``id`` and ``view`` is one beside ``id``, if ``view`` is such a name
    itself.
    """
    here = {said: tally.totals() for said, tally in site.tallies.items() if not said.subdomains}
    known = {said: found for said, found in here.items() if is_about_names(said)}
    clean = [
        said for said, found in known.items() if found.agree >= _SUPPORT and not found.disagree
    ]
    across = _still_the_same(site)
    often = Counter(name for said in across for name in said.old.split("&"))
    idle = {name for name, number in often.items() if number >= _OFTEN}
    idle.update(name for said in clean for name in said.old.split("&"))
    clean += [said for said in across if idle.issuperset(said.old.split("&"))]

    def core_of(said: Rewrite) -> tuple[str, ...]:
        """Return the parameters beside those of a rule that seem to select something."""
        core: tuple[str, ...] = ()
        left = tuple(name for name in said.beside if name not in idle)
        while left != core:
            core, select = left, selecting_beside(site, left)
            left = tuple(name for name in said.beside if name in left or name in select)
        return core

    by_core: dict[tuple[str, ...], list[Rewrite]] = {}
    for said in clean:
        by_core.setdefault(core_of(said), []).append(said)
    for core, rules in by_core.items():
        mixes = [
            said
            for said, found in here.items()
            if said.family == MIX and core_of(said) == core and not found.disagree
        ]
        contradicted = {
            name
            for said, found in known.items()
            if found.disagree and core_of(said) == core
            for name in said.old.split("&")
        }
        contradicted -= {said.old for said in rules}  # it is another one of a group
        contradicted |= {
            said.old
            for said in site.refuted
            if said.family == _OF_NAMES[0] and core_of(said) == core
        }
        contradicted |= selecting_beside(site, core).keys()
        left = [said for said in rules if contradicted.isdisjoint(said.old.split("&"))]
        if len(left) < (1 if mixes else _SETS):
            continue
        names = {name for said in (*left, *mixes) for name in said.old.split("&")}
        names |= {name for said in left for name in said.beside if name not in core}
        mix = _mix(replace(rules[0], beside=core), sorted(names - contradicted))
        if mix is not None and not any(
            said.family == MIX and is_within(mix, said) for said in site.refuted
        ):
            yield mix


def find_selecting(site: KnownSite) -> int:
    """Find out which names of mixes may select something; return how many are contradicted."""
    site.selecting.clear()
    contradicted = 0
    for said, tally in site.tallies.items():
        if said.family == MIX and tally.totals().disagree:
            contradicted += 1
            names = site.selecting.setdefault(said.beside, {})
            for some in _that_select(site, tally):
                names.update((name, len(some) == 1 or names.get(name, False)) for name in some)
    return contradicted


def _that_select(site: KnownSite, tally: RuleTally) -> Iterator[Collection[str]]:
    """Yield names of a mix, one of which each page that contradicts it shows to select something.

    Each such page differs in one of them from the page that it was compared with. They are those
    in which most of the pages differ; then those of the pages that do not; and so on.
    """
    left: list[set[str]] = []
    for url in islice(tally.contrary(), _MOST_CONTRARY):
        other = site.compared_with(tally, url)
        if other is not None:
            here = set(selecting_fields(tally.rewrite, url))
            there = set(selecting_fields(tally.rewrite, other.url))
            left.append(set(map(query.name, here ^ there)))
    while left := list(filter(None, left)):
        often = Counter(name for differ in left for name in differ)
        most = max(often.values())
        some = {name for name in often if often[name] == most}
        yield some
        left = [differ for differ in left if some.isdisjoint(differ)]


def selecting_beside(site: KnownSite, beside: Iterable[str]) -> dict[str, bool]:
    """Return names that may select beside some others, or beside fewer; True if one does."""
    all_beside = set(beside)
    found: dict[str, bool] = {}
    for some, names in site.selecting.items():
        if all_beside.issuperset(some):
            found |= {name: is_one or found.get(name, False) for name, is_one in names.items()}
    return found


def has_one_that_may_select(site: KnownSite, said: Rewrite, *, is_certain: bool) -> bool:
    """Return True if a mix drops a name that may select, as pages show that contradict another mix.

    Args:
        site: the rule's.
        said: what the rule says.
        is_certain: True if only names count that nothing but themselves explains.
    """
    if said.family != MIX or not site.selecting:
        return False
    select = selecting_beside(site, said.beside)
    return any(select[name] or not is_certain for name in said.old.split("&") if name in select)


def _still_the_same(site: KnownSite) -> list[Rewrite]:
    """Return what pairs of pages show that still may be the same; the others are forgotten."""
    facts = site.known.facts
    for said, (one, other) in list(site.across.items()):
        here, there = facts.get(one), facts.get(other)
        if here is not None and there is not None and site.known.is_same(here, there) is False:
            del site.across[said]
    return list(site.across)


def supported(facts: Facts, tally: RuleTally, least: int) -> Rewrite | None:
    """Return the rule about those names of a mix for which there is evidence enough.

    Args:
        facts: about the site.
        tally: of the mix.
        least: how many paths have to agree with each name.

    Returns:
        What the mix says if it is about all of its names, and None if there are less than two.
    """
    by_name = defaultdict[str, set[str]](set)
    by_two = defaultdict[tuple[str, str], set[str]](set)
    for url in tally.that_count(agrees=True):
        result = tally.results[url]
        here = set(selecting_fields(tally.rewrite, url))
        there = set(_dropped_from_reference(facts, tally, result))
        varied = set(map(query.name, here ^ there))
        for name in varied:
            by_name[name].add(result)
        for dropped in (here, there):
            for two in combinations(sorted(set(map(query.name, dropped))), 2):
                if not varied.isdisjoint(two):
                    by_two[two].add(result)
    names: list[str] = []
    for name in sorted(by_name, key=lambda name: (-len(by_name[name]), name)):
        with_others = [by_two.get((min(name, one), max(name, one)), ()) for one in names]
        if len(by_name[name]) >= least and all(len(seen) >= _TOGETHER for seen in with_others):
            names.append(name)
    return _mix(tally.rewrite, sorted(names))


def is_within(mix: Rewrite, said: Rewrite) -> bool:
    """Return True if all URLs that a rule about parameters changes are changed by a mix, too."""
    names = set(mix.old.split("&"))
    return (
        (is_about_names(said) or said.family == MIX)
        and (said.host, said.below, mix.family) == (mix.host, mix.below, MIX)
        and said.subdomains == mix.subdomains
        and said != mix
        and names.issuperset(said.old.split("&"))
        and names.issuperset(set(said.beside).difference(mix.beside))
        and set(said.beside).issuperset(mix.beside)
    )


def within_active(site: KnownSite, said: Rewrite) -> bool:
    """Return True if a rule would change nothing that an active mix does not."""
    return any(
        is_within(mix, said)
        for mix in site.tallies
        if mix.family == MIX and mix in site.rules and site.rules[mix].state == "active"
    )


def _mix(said: Rewrite, names: Iterable[str]) -> Rewrite | None:
    """Return the mix of some names, beside those of a rule; None if it is not allowed."""
    rewrite = replace(said, family=MIX, old="&".join(names), below="/")
    return None if FAMILIES[MIX].check(rewrite) else rewrite


def _dropped_from_reference(facts: Facts, tally: RuleTally, result: str) -> tuple[str, ...]:
    """Return what a mix would drop from the page with which the others of a class are compared."""
    if facts.fact(result) is not None:
        return ()
    reference = facts.reference(tally.members.get(result, ()))
    return () if reference is None else selecting_fields(tally.rewrite, reference.url)
