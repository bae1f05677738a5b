"""Merges for people: how many each rule made, why, and an example."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any

import msgspec
from sqlalchemy import Connection

from canonry.canon import redact
from canonry.canon.pipeline import RULES
from canonry.crawler.plurals import merged_by_rule
from canonry.storage.reading import known_merges, report
from canonry.storage.reading.known_merges import LOOKED_AT, LatestMerge
from canonry.storage.shown import Shown

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
    link: Annotated[str | None, Shown("such as")]  # an example ...
    same_as: Annotated[str | None, Shown("is the same as")]  # ... and what it is the same as


class Merges(msgspec.Struct, frozen=True, kw_only=True):
    """All rules that merged something; those that merged most come first."""

    links: int  # that rules of the policy merged; a link that needed several counts once
    temporary_redirects: int  # which merge nothing
    rules: list[MergeLine]


def merges(connection: Connection) -> Merges:
    """Return what was merged in a store, by rule."""
    sets = report.merged(connection)
    lines = [*map(_of_policy, merged_by_rule(sets)), *_of_kinds(connection)]
    return Merges(
        links=sum(row["links"] for row in sets),
        temporary_redirects=known_merges.kind_counts(connection).temporary,
        rules=sorted(lines, key=lambda line: -line.count),
    )


def _of_policy(row: Mapping[str, Any]) -> MergeLine:
    """Return a rule of the policy that merged links."""
    named = RULES.get(row["rules"])
    return MergeLine(
        rule=row["rules"],
        count=row["links"],
        of="links",
        seen=None,
        looked_at=None,
        why=_UNNAMED if named is None else named.why,
        cites=None if named is None else named.cites,
        lossless=None if named is None else named.lossless,
        link=row["link"],
        same_as=row["same_as"],
    )


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
