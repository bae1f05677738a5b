"""Decide the state of each rule from its evidence, and derive rules for parts of a site. Pure.

A rule becomes active when enough classes are the same, none is different, and few are unknown. It
is revoked when too many URLs turn out to be different pages.
"""

from collections.abc import Iterator
from typing import TypeAlias

from msgspec.structs import replace

from canonry.canon.learned import FAMILIES, Rewrite, RuleState
from canonry.canon.syntax import Parts, query
from canonry.crawler.learn import limits
from canonry.crawler.learn.evidence import (
    NAMES_FOR_A_CLASS,
    ClassTally,
    JudgedPair,
    PairTally,
    RuleEvidence,
)
from canonry.crawler.learn.learned_site import LearnedSite
from canonry.crawler.learn.limits import Needed
from canonry.crawler.learn.rules.infer import as_read, opposite, sections_of
from canonry.crawler.learn.text.comparison import PageVerdict
from canonry.storage.learned.rule_rows import IN_FORCE, URLPair

WITH_VALUES = _DROPS, _BESIDE = "parameter-anywhere", "parameter-irrelevant"
_OF_PAGE = "parameter-of-page"

_REST = 7 * 86_400.0  # seconds for which a revoked rule stays so, whatever its pages become

_Pairs: TypeAlias = dict[URLPair, JudgedPair]
_Groups: TypeAlias = dict[Rewrite, _Pairs]  # pairs, by the rule for their group


def needed_for(rewrite: Rewrite, *, is_mined: bool = False) -> Needed:
    """Return how much evidence a rule needs, by its family; more if nobody can ask again."""
    factor = limits.UNTESTED if is_mined else 1.0
    if rewrite.family in {"host-alias", "path-prefix"}:
        found = limits.MOVED
    elif not rewrite.family.startswith(("parameter", "path-slug")):
        found = limits.ORDINARY
    else:
        selects = rewrite.old in limits.SELECTING_NAMES
        found = limits.SELECTING if selects else limits.PARAMETER
    own_word, content = (int(factor * number) for number in found)
    return Needed(own_word, limits.NAMES_OF_PAGE if rewrite.family == _OF_PAGE else content)


def decide(site: LearnedSite) -> Iterator[tuple[RuleEvidence, RuleState]]:
    """Decide on the rules of a site whose evidence has changed.

    Yields:
        The rules whose state changes, with the state before.
    """
    for whole in list(site.rules.values()):
        fresh, whole.fresh = whole.fresh, {}
        changed = list(_known_parts_of(site, whole.rewrite, fresh)) if fresh else []
        if whole.is_undecided:
            whole.is_undecided = False
            changed += [whole, *_parts_of(site, whole)]
        for rule in changed:
            before = rule.state
            rule.state = _next_state(site, rule)
            if rule.state != before:
                if rule.state == "revoked":
                    site.clear_suspects(rule.rewrite)
                yield rule, before


def _next_state(site: LearnedSite, rule: RuleEvidence) -> RuleState:
    """Return the state that the evidence for a rule gives it."""
    counts, needed = rule.tally, needed_for(rule.rewrite, is_mined=site.is_mined)
    if rule.state in {"active", "suspended"}:
        if counts.refuted > most_wrong(counts):
            return "revoked"
        return "suspended" if counts.different > counts.refuted else "active"
    if rule.state == "revoked":
        if not rule.is_mended or site.began - rule.entered_at < _REST:
            return "revoked"
        rule.accept_mended()
        rule.state, counts = "candidate", rule.tally
    unknown = counts.undecidable if site.text.varies else counts.unknown
    if counts.different or unknown > most_unknown(counts):
        return rule.state
    against = site.rules.get(opposite(rule.rewrite))
    if unconfirmed(counts) or is_outdone(rule, against):
        return rule.state
    is_enough = counts.own_word >= needed.own_word or _is_enough(site, rule)
    return "active" if is_enough else rule.state


def _is_enough(site: LearnedSite, rule: RuleEvidence) -> bool:
    """Return True if the content of its pages is enough for a rule to become active."""
    rule.is_widespread = site.text.has_few_pages(2 * rule.tally.same)
    is_enough = rule.weight >= needed_for(rule.rewrite, is_mined=site.is_mined).content
    least = 0 if site.is_mined else limits.WORTHWHILE  # nothing waits in the queue of an archive
    if rule.rewrite.family == "parameter-separator":  # it holds no URLs itself
        return is_enough
    may_act = is_enough and not _is_copy(site, rule) and site.may_hold(rule.rewrite, least)
    return may_act and (rule.rewrite.family not in WITH_VALUES or _knows_values(site, rule))


def _knows_values(site: LearnedSite, rule: RuleEvidence) -> bool:
    """Return True if enough values of a parameter were seen, or no queued URL has another.

    Two values may be equivalent, as ``HEAD`` and ``master``, while all others select pages.
    """
    known = values_seen(rule)
    waiting = [_fields_of(url, rule.rewrite.old)[0] for url in site.queued_by(rule.rewrite)]
    is_all = bool(waiting) and all(values <= known for values in waiting)
    return is_all or len(known) >= limits.VALUES


def values_seen(rule: RuleEvidence) -> set[str]:
    """Return the values of a rule's parameter on pages that turned out to be the same."""
    same = (urls for urls, pair in rule.pairs.items() if pair.verdict is PageVerdict.SAME)
    here = (as_read(Parts.of(url)) for urls in same for url in urls)
    return {field for parts in here for field in _fields_of(parts, rule.rewrite.old)[0]}


def _is_copy(site: LearnedSite, rule: RuleEvidence) -> bool:
    """Return True if equal pages in two directories prove too little for this rule.

    Releases of a manual are nearly the same. So only one rule about a directory is active at a
    time. None becomes active where two directories had many equal pages, and then different ones.
    """
    rewrite = rule.rewrite
    if rewrite.family != "path-prefix":
        return False
    for other in site.rules.values():
        if other.rewrite.family == "path-prefix" and other is not rule:
            shared = {rewrite.old, rewrite.new} & {other.rewrite.old, other.rewrite.new}
            has_differed = other.tally.different and other.tally.same >= limits.COPIES
            if has_differed or (shared and other.state in IN_FORCE):
                return True
    return False


def most_wrong(counts: ClassTally) -> int:
    """Return how many classes may turn out to be different while a rule acts."""
    return min(1, int(limits.WRONG * counts.same))


def most_unknown(counts: ClassTally) -> int:
    """Return how many classes may be unknown when a rule becomes active."""
    return max(1, int(limits.UNKNOWN * counts.same))


def unconfirmed(counts: ClassTally) -> int:
    """Return how many more classes a crawl has to see, where the evidence was mined or imported."""
    return max(0, limits.CONFIRMED - (counts.same - counts.mined)) if counts.mined else 0


def is_outdone(rule: RuleEvidence, against: RuleEvidence | None) -> bool:
    """Return True if the opposite rule is active, or the site's own word favours it."""
    if against is None or against is rule:
        return False
    return against.state == "active" or against.tally.own_word > rule.tally.own_word


def _parts_of(site: LearnedSite, whole: RuleEvidence) -> Iterator[RuleEvidence]:
    """Yield the same rule for parts of its site: a section, a value, or one page.

    What was the same in an earlier run alone says nothing for a part, whose names may be old ones.
    """
    counts, rewrite = whole.tally, whole.rewrite
    least = needed_for(rewrite, is_mined=site.is_mined).own_word
    evidence = {
        urls: pair
        for urls, pair in whole.pairs.items()
        if pair.verdict is not PageVerdict.SAME or urls not in site.past
    }
    if rewrite.family == _BESIDE and counts.different and counts.same >= least:
        for groups in _beside_values(rewrite, evidence):
            yield from _rules_by(site, _where_it_holds(groups, least))
    if rewrite.below != "/" or rewrite.family == "host-alias" or whole.state == "active":
        return
    alike = counts.same + counts.in_part
    if alike + counts.names / NAMES_FOR_A_CLASS < least:
        return  # no part can have enough
    if counts.different:
        yield from _rules_by(site, _where_it_holds(_by_section(rewrite, evidence)))
    if counts.different and rewrite.family == _DROPS:
        yield from _rules_by(site, _where_it_holds(_by_value(rewrite, evidence)))
    may_be = rewrite.family == _DROPS and rewrite.old not in limits.SELECTING_NAMES
    if may_be and counts.names >= limits.NAMES_OF_PAGE:
        pages = _by_page(rewrite, evidence).items()
        enough = {page: found for page, found in pages if _same(found) >= limits.NAMES_OF_PAGE}
        yield from _rules_by(site, enough)


def _known_parts_of(site: LearnedSite, whole: Rewrite, fresh: _Pairs) -> Iterator[RuleEvidence]:
    """Yield the rules for parts that new evidence for the whole is about."""
    every = [] if whole.below != "/" else [_by_section(whole, fresh)]
    if whole.family == _DROPS:
        every += [_by_value(whole, fresh), _by_page(whole, fresh)]
    elif whole.family == _BESIDE:
        every += _beside_values(whole, fresh)
    for groups in every:
        known = {rewrite: pairs for rewrite, pairs in groups.items() if rewrite in site.rules}
        yield from _rules_by(site, known)


def _where_it_holds(groups: _Groups, least: int = 0) -> _Groups:
    """Return the groups that have enough same classes and may get a rule of their own.

    There are none if exceptions are everywhere: then a part without one proves nothing.
    """
    tallies = {rewrite: PairTally(pairs.values()).counts for rewrite, pairs in groups.items()}
    bad = [counts for counts in tallies.values() if counts.different]
    doubts = sum(counts.different + counts.unknown for counts in bad)
    is_true = doubts > sum(counts.same for counts in bad)
    return {s: pairs for s, pairs in groups.items() if is_true and tallies[s].same >= least}


def _rules_by(site: LearnedSite, groups: _Groups) -> Iterator[RuleEvidence]:
    """Yield a rule for each group, with the evidence of that group."""
    for rewrite, pairs in groups.items():
        if FAMILIES[rewrite.family].check(rewrite):
            continue
        rule = site.rules.setdefault(rewrite, RuleEvidence(rewrite))
        for urls, pair in pairs.items():
            rule.put(urls, pair)
        rule.is_undecided = False
        yield rule


def _by_section(whole: Rewrite, evidence: _Pairs) -> _Groups:
    """Return rules for the sections of a site."""
    groups: _Groups = {}
    for urls, pair in evidence.items():
        for section in sections_of(Parts.of(pair.key).path):
            if section != "/":  # the rewritten URL is in it
                rewrite = _in_section(whole, section)
                if rewrite != whole:
                    groups.setdefault(rewrite, {})[urls] = pair
    return groups


def _in_section(rewrite: Rewrite, section: str) -> Rewrite:
    """Return a rule limited to a section; for a moved directory, its subdirectory there."""
    if rewrite.family != "path-prefix":
        return replace(rewrite, below=section)
    if not section.startswith(rewrite.new) or section == rewrite.new:
        return rewrite
    return replace(rewrite, old=rewrite.old + section[len(rewrite.new) :], new=section)


def _by_value(whole: Rewrite, evidence: _Pairs) -> _Groups:
    """Return rules for default values, which select what no parameter does, such as ``page=1``."""
    groups: _Groups = {}
    name = whole.old
    for urls, pair in evidence.items():
        here, there = (_fields_of(as_read(Parts.of(url)), name) for url in urls)
        field = here[0] | there[0]
        if len(field) == 1 and len(here[0]) + len(there[0]) == 1 and here[1] == there[1]:
            beside = tuple(sorted(here[1]))
            rewrite = replace(
                whole, family="parameter-default", old=next(iter(field)), beside=beside
            )
            groups.setdefault(rewrite, {})[urls] = pair
    return groups


def _beside_values(whole: Rewrite, evidence: _Pairs) -> Iterator[_Groups]:
    """Yield rules for each value of the other parameters, such as ``action=history``."""
    beside = whole.beside
    if "=" in "".join(beside):  # the rule already names a value
        return
    queries = [
        (dict(zip(query.names(text), query.fields(text), strict=True)), urls, pair)
        for urls, pair in evidence.items()
        if (text := Parts.of(pair.key).query)
    ]
    for place, name in enumerate(beside):
        groups: _Groups = {}
        for fields, urls, pair in queries:
            if name in fields:
                named = (*beside[:place], fields[name], *beside[place + 1 :])
                groups.setdefault(replace(whole, beside=named), {})[urls] = pair
        yield groups


def _fields_of(parts: Parts, name: str) -> tuple[set[str], set[str]]:
    """Return the fields with a given name in a URL's query, and the names of all other fields."""
    fields = query.fields(parts.query) if parts.query else []
    own = {field for field in fields if query.name(field) == name}
    return own, {query.name(field) for field in fields} - {name}


def _by_page(whole: Rewrite, evidence: _Pairs) -> _Groups:
    """Return rules for single pages."""
    groups: _Groups = {}
    for urls, pair in evidence.items():
        parts = Parts.of(pair.key)
        page = parts.path + (f"?{parts.query}" if parts.query else "")
        rewrite = replace(whole, family="parameter-of-page", new=page)
        groups.setdefault(rewrite, {})[urls] = pair
    return groups


def _same(pairs: _Pairs) -> int:
    return sum(pair.verdict is PageVerdict.SAME for pair in pairs.values())
