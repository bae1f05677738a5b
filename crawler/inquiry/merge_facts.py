"""Merges for people: what merged, how often, why, and an example."""

from collections import defaultdict
from typing import Annotated

import msgspec
from sqlalchemy import Connection

from canonry.canon import redact
from canonry.canon.pipeline import RULES
from canonry.crawler.plurals import counted, merged_by_rule
from canonry.storage.reading import known_merges, report
from canonry.storage.shown import Shown


def _count(line: "MergeLine") -> str:
    return counted(line.count, line.noun)


def _because(line: "MergeLine") -> str:
    return f"{line.why} {line.cites or ''}".rstrip()


class MergeLine(msgspec.Struct, frozen=True, kw_only=True):
    """A rule of the policy, or other evidence, that merged URLs."""

    rule: Annotated[str, Shown("rule")]  # its name; or redirect, canonical, learned, content
    count: Annotated[int, Shown("how many", _count)]  # of redirects and links: merging or not
    noun: str  # what is counted
    why: Annotated[str, Shown("because", _because)]  # one sentence
    cites: str | None  # the section that it follows
    lossless: bool | None = None  # None: it is no rule of the policy
    link: Annotated[str | None, Shown("such as")]  # an example that is merged ...
    same_as: Annotated[str | None, Shown("is the same as")]  # ... and what it is the same as


class Merges(msgspec.Struct, frozen=True, kw_only=True):
    """All that merged something, the most frequent first."""

    links: int  # that rules of the policy merged; a link that needed several counts once
    temporary_redirects: int  # which merge nothing
    rules: list[MergeLine]


# What merges besides the rules of the policy: kind, name, what is counted, why, source.
_MERGING = (
    (
        *("redirect", "redirect", "permanent redirect"),
        "A permanent redirect (301, 308) makes its two ends one, if the last one answered 200.",
        "RFC 3986 section 6.2.4; RFC 9110 section 15.4",
    ),
    (
        *("canonical", "canonical", "canonical link"),
        "A page is the one that it names as canonical, if that answered 200 and agrees.",
        "RFC 6596",
    ),
    (
        *("rule", "learned", "URL"),
        "A rule that the crawl has learned about the host says that both are one.",
        "docs/explanation/learning.md",
    ),
    (
        *("content", "content", "page"),
        "Another page answered with the same bytes.",
        "docs/how-to/search-index.md",
    ),
)


def merges(connection: Connection) -> Merges:
    """Return what was merged in a store, and by what."""
    sets = report.merged(connection)
    numbers = defaultdict(int, known_merges.numbers(connection))
    lines = []
    for row in merged_by_rule(sets):
        rule = RULES.get(row["rules"])
        lines.append(
            MergeLine(
                rule=row["rules"],
                count=row["links"],
                noun="link",
                why="A rule that this version does not have." if rule is None else rule.why,
                cites=None if rule is None else rule.cites,
                lossless=None if rule is None else rule.lossless,
                link=row["link"],
                same_as=row["same_as"],
            )
        )
    for kind, name, noun, why, cites in _MERGING:
        if count := numbers[kind]:
            pair = known_merges.example(connection, kind)
            lines.append(
                MergeLine(
                    rule=name,
                    count=count,
                    noun=noun,
                    why=why,
                    cites=cites,
                    link=redact(pair[0]) if pair else None,
                    same_as=redact(pair[1]) if pair else None,
                )
            )
    return Merges(
        links=sum(row["links"] for row in sets),
        temporary_redirects=numbers["temporary"],
        rules=sorted(lines, key=lambda line: -line.count),
    )
