"""Merges for people: how many each rule made, the latest examples, and why each is one URL."""

from collections import Counter
from collections.abc import Sequence
from types import MappingProxyType

import msgspec
from sqlalchemy import Connection

from canonry.canon import Canonicalizer, InvalidURL, redact
from canonry.canon.learned import describe, site_in
from canonry.canon.pipeline import RULES
from canonry.crawler.inquiry.ask import steps_of
from canonry.crawler.inquiry.last_crawl import last_crawl, policy_of
from canonry.crawler.inquiry.url_answer import StepFacts
from canonry.crawler.learn.rules.in_force import RulesInForce
from canonry.storage.reading import known_merges
from canonry.storage.reading.known_merges import LOOKED_AT, LatestMerge, MergedLink
from canonry.storage.timestamps import iso

# What merges URLs besides the rules of the policy, each with a sentence and its source.
KINDS = MappingProxyType(
    {
        "redirect": (
            "A permanent redirect (301, 308) makes its two ends one, if the last one answered 200.",
            "RFC 3986 section 6.2.4; RFC 9110 section 15.4",
        ),
        "canonical": (
            "A page is the one that it names as canonical, if that answered 200 and agrees.",
            "RFC 6596",
        ),
        "learned": (
            "A rule that the crawl has learned about the host says that both are one.",
            "docs/explanation/learning.md",
        ),
        "content": (
            "Another page answered with the same bytes.",
            "docs/how-to/search-index.md",
        ),
    }
)
_UNNAMED = "A rule that this version does not have."


class MergeLine(msgspec.Struct, frozen=True, kw_only=True):
    """A rule, and how much it merged."""

    rule: str  # its name; or redirect, canonical, learned, content
    count: int  # of what was merged: all, or among the latest `looked_at`
    of: str  # what is counted: links, URLs or pages
    seen: int | None  # permanent redirects, or canonical links, merging or not; None: other rules
    looked_at: int | None  # the latest of these, which were checked; None: other rules
    why: str  # one sentence
    cites: str | None  # the section that it follows
    lossless: bool | None  # None: it is no rule of the policy
    link: str | None  # the latest example ...
    same_as: str | None  # ... and what it is the same as


class LearnedName(msgspec.Struct, frozen=True, kw_only=True):
    """A learned rule that made a URL another."""

    id: str
    says: str


class MergeFacts(msgspec.Struct, frozen=True, kw_only=True):
    """One merge, with its explanation."""

    link: str
    same_as: str  # as that was first written
    represented_by: str | None  # the end of the chain, if another
    row: int | None  # of the URL that it is the same as, or that was merged; in the store
    found_on: str | None  # the page of the link
    seen_at: str | None
    times: int | None  # how often an answer said so
    status: int | None  # HTTP status of a redirect
    rules: list[str]  # all rules that the two needed
    learned: list[LearnedName]
    identity: str | None  # that both have under the policy
    steps: list[StepFacts]  # of the link, from the text to the identity
    other_steps: list[StepFacts]  # of what it is the same as


class MergedBy(msgspec.Struct, frozen=True, kw_only=True):
    """A rule with its latest merges."""

    rule: MergeLine
    example: list[str]  # before and after, from the table of rules; empty for others
    merges: list[MergeFacts]


class Merges(msgspec.Struct, frozen=True, kw_only=True):
    """All rules that merged something; those that merged most come first."""

    links: int  # that rules of the policy merged; a link that needed several counts once
    temporary_redirects: int  # which merge nothing
    rules: list[MergeLine]
    chosen: MergedBy | None  # the rule that was asked for


def merges(connection: Connection, rule: str = "", most: int = 10) -> Merges:
    """Return what was merged in a store, by rule; and the latest merges of one rule.

    Args:
        connection: to a store.
        rule: that one: a rule of the policy, or redirect, canonical, learned, content; "": none.
        most: how many of its merges.

    Raises:
        LookupError: if no such rule merged anything.
    """
    sets = known_merges.by_rules(connection)
    lines = [*_of_policy(connection, sets), *_of_kinds(connection)]
    lines.sort(key=lambda line: -line.count)
    chosen = None
    if rule:
        line = next((line for line in lines if line.rule == rule), None)
        if line is None:
            raise LookupError(rule)
        named = RULES.get(rule)
        chosen = MergedBy(
            rule=line,
            example=[] if named is None or rule in KINDS else [named.before, named.after],
            merges=_merges_by(connection, rule, list(sets), most),
        )
    return Merges(
        links=sum(sets.values()),
        temporary_redirects=known_merges.kind_counts(connection).temporary,
        rules=lines,
        chosen=chosen,
    )


def _of_policy(connection: Connection, sets: dict[str, int]) -> list[MergeLine]:
    """Return the rules of the policy that merged links."""
    links: Counter[str] = Counter()
    example_by_rule: dict[str, MergedLink] = {}
    examples = known_merges.example_of_each(connection)
    for rules in sorted(sets, key=lambda rules: rules.count("+")):  # the smallest first
        for name in rules.split(" + "):
            links[name] += sets[rules]
            if rules in examples:
                example_by_rule.setdefault(name, examples[rules])
    lines = []
    for name, count in links.items():
        named, example = RULES.get(name), example_by_rule.get(name)
        lines.append(
            MergeLine(
                rule=name,
                count=count,
                of="links",
                seen=None,
                looked_at=None,
                why=_UNNAMED if named is None else named.why,
                cites=None if named is None else named.cites,
                lossless=None if named is None else named.lossless,
                link=None if example is None else redact(example.raw_url),
                same_as=None if example is None else redact(example.same_as),
            )
        )
    return lines


def _of_kinds(connection: Connection) -> list[MergeLine]:
    """Return what else merged URLs: redirects, canonical links, learned rules, content.

    Only for the latest redirects and canonical links is it checked whether they merge URLs.
    """
    totals = known_merges.kind_counts(connection)
    numbers = {
        "redirect": (totals.redirect, "URLs"),
        "canonical": (totals.canonical, "pages"),
        "learned": (totals.rule, "URLs"),
        "content": (totals.content, "pages"),
    }
    lines = []
    for kind, (count, of) in numbers.items():
        if not count:
            continue
        has_to_be_confirmed = kind in {"redirect", "canonical"}
        latest = _latest(connection, kind, LOOKED_AT if has_to_be_confirmed else 1)
        lines.append(
            MergeLine(
                rule=kind,
                count=len(latest) if has_to_be_confirmed else count,
                of=of,
                seen=count if has_to_be_confirmed else None,
                looked_at=min(count, LOOKED_AT) if has_to_be_confirmed else None,
                why=KINDS[kind][0],
                cites=KINDS[kind][1],
                lossless=None,
                link=redact(latest[0].url) if latest else None,
                same_as=redact(latest[0].same_as) if latest else None,
            )
        )
    return lines


def _latest(connection: Connection, kind: str, most: int) -> list[LatestMerge]:
    if kind == "content":
        return known_merges.equal_pages(connection, most)
    return known_merges.latest(connection, "rule" if kind == "learned" else kind, most)


def _merges_by(
    connection: Connection, rule: str, sets: Sequence[str], most: int
) -> list[MergeFacts]:
    """Return the latest merges of a rule, with their explanations."""
    canonicalizer = Canonicalizer(policy_of(connection, last_crawl(connection)))
    if rule in KINDS:
        return [
            _of_url(connection, canonicalizer, merge) for merge in _latest(connection, rule, most)
        ]
    having = [one for one in sets if rule in one.split(" + ")]
    return [
        MergeFacts(
            link=redact(merge.raw_url),
            same_as=redact(merge.same_as),
            represented_by=None,
            row=merge.url_id,
            found_on=None if merge.found_on is None else redact(merge.found_on),
            seen_at=iso(merge.seen_at),
            times=None,
            status=None,
            rules=merge.rules.split(" + "),
            learned=[],
            identity=_identity(canonicalizer, merge.raw_url),
            steps=_steps(canonicalizer, merge.raw_url),
            other_steps=_steps(canonicalizer, merge.same_as),
        )
        for merge in known_merges.examples(connection, having, most)
    ]


def _of_url(connection: Connection, canonicalizer: Canonicalizer, merge: LatestMerge) -> MergeFacts:
    """Return a merge by a redirect, a canonical link, content or a learned rule."""
    learned: list[LearnedName] = []
    if merge.kind == "rule":
        learned = rules_between(connection, canonicalizer, merge.url, merge.same_as)
    is_end = merge.same_as == merge.represented_by
    return MergeFacts(
        link=redact(merge.url),
        same_as=redact(merge.same_as),
        represented_by=None if is_end else redact(merge.represented_by),
        row=merge.url_id,
        found_on=None,
        seen_at=iso(merge.seen_at),
        times=merge.times,
        status=merge.status if merge.kind == "redirect" else None,
        rules=["learned" if merge.kind == "rule" else merge.kind],
        learned=learned,
        identity=None,
        steps=_steps(canonicalizer, merge.url),
        other_steps=_steps(canonicalizer, merge.same_as),
    )


def rules_between(
    connection: Connection, canonicalizer: Canonicalizer, url: str, represented_by: str
) -> list[LearnedName]:
    """Return the rules in force that make a URL and the one that represents it the same.

    If none changes the URL itself, these are the rules that change the other one.
    """
    for one in (url, represented_by):
        site = site_in(canonicalizer.identity(one))
        in_force = RulesInForce.around(connection, canonicalizer, site)
        rewritten = in_force.rewrite_held(one)
        if rewritten is not None and rewritten.rules:
            rewrites_by_id = {rule.id: rule.rewrite for rule in in_force.known}
            return [
                LearnedName(id=name, says=describe(rewrites_by_id[name]))
                for name in rewritten.rules
            ]
    return []


def _steps(canonicalizer: Canonicalizer, text: str) -> list[StepFacts]:
    """Return what the policy's rules do to a text; nothing for one that is no URL."""
    try:
        return steps_of(canonicalizer.explain(text).steps)
    except InvalidURL:
        return []


def _identity(canonicalizer: Canonicalizer, text: str) -> str | None:
    try:
        return redact(canonicalizer.identity(text))
    except InvalidURL:
        return None
