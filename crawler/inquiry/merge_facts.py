"""Merges for people: how many each rule made, and the latest of each."""

from collections import Counter
from collections.abc import Sequence
from types import MappingProxyType
from typing import Annotated

import msgspec
from sqlalchemy import Connection

from canonry.canon import redact
from canonry.canon.pipeline import RULES
from canonry.storage.reading import known_merges
from canonry.storage.reading.known_merges import LOOKED_AT, LatestMerge, MergedLink
from canonry.storage.shown import Shown
from canonry.storage.timestamps import iso, moment

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


def _merged(line: "MergeLine") -> str:
    """Return how much a rule merged, and of how many that were seen."""
    if line.seen is None or line.looked_at is None:
        return f"{line.count:,} {line.of}"
    latest = f"the latest {line.looked_at:,} of " if line.looked_at < line.seen else ""
    kind = "redirect for good" if line.rule == "redirect" else "name another page"
    none = "" if line.count else ": for none is it known that the other one answered 200 and agrees"
    return f"{line.count:,} {line.of} of {latest}{line.seen:,} that {kind}{none}"


def _because(line: "MergeLine") -> str:
    return f"{line.why} {line.cites or ''}".rstrip()


def _seen(merge: "MergeFacts") -> str:
    times = f", {merge.times:,} times" if (merge.times or 0) > 1 else ""
    return "" if merge.seen_at is None else f"{moment(merge.seen_at)}{times}"


def _by(merge: "MergeFacts") -> str:
    return ", ".join(merge.rules) + (f" {merge.status}" if merge.status else "")


class MergeLine(msgspec.Struct, frozen=True, kw_only=True):
    """A rule, and how much it merged."""

    rule: Annotated[str, Shown("rule")]  # its name; or redirect, canonical, learned, content
    count: Annotated[int, Shown("merged", _merged)]  # all, or among the latest `looked_at`
    of: str  # what is counted: links, URLs or pages
    seen: int | None  # permanent redirects, or canonical links, merging or not; None: other rules
    looked_at: int | None  # the latest of these, which were checked; None: other rules
    why: Annotated[str, Shown("because", _because)]  # one sentence
    cites: str | None  # the section that it follows
    lossless: bool | None  # None: it is no rule of the policy
    link: Annotated[str | None, Shown("the latest")]  # an example ...
    same_as: Annotated[str | None, Shown("is the same as")]  # ... and what it is the same as


class MergeFacts(msgspec.Struct, frozen=True, kw_only=True):
    """One merge."""

    link: Annotated[str, Shown("link")]
    same_as: Annotated[str, Shown("is the same as")]  # as that was first written
    represented_by: Annotated[str | None, Shown("which is")]  # the end of the chain, if another
    found_on: Annotated[str | None, Shown("linked on")]  # the page of the link
    seen_at: Annotated[str | None, Shown("seen", _seen)]
    times: int | None  # how often an answer said so
    status: int | None  # HTTP status of a redirect
    rules: Annotated[list[str], Shown("by", _by)]  # all rules that the two needed


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
    """Return the latest merges of a rule."""
    if rule in KINDS:
        return [
            MergeFacts(
                link=redact(merge.url),
                same_as=redact(merge.same_as),
                represented_by=None
                if merge.same_as == merge.represented_by
                else redact(merge.represented_by),
                found_on=None,
                seen_at=iso(merge.seen_at),
                times=merge.times,
                status=merge.status if merge.kind == "redirect" else None,
                rules=["learned" if merge.kind == "rule" else merge.kind],
            )
            for merge in _latest(connection, rule, most)
        ]
    having = [one for one in sets if rule in one.split(" + ")]
    return [
        MergeFacts(
            link=redact(merge.raw_url),
            same_as=redact(merge.same_as),
            represented_by=None,
            found_on=None if merge.found_on is None else redact(merge.found_on),
            seen_at=iso(merge.seen_at),
            times=None,
            status=None,
            rules=merge.rules.split(" + "),
        )
        for merge in known_merges.examples(connection, having, most)
    ]
