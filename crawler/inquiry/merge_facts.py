"""Merges for people: what merged, how often, why, and an example."""

from collections import defaultdict
from typing import Annotated

import msgspec
from msgspec.structs import replace
from sqlalchemy import Connection

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
    count: Annotated[int, Shown("how many", _count)] = 0  # of redirects and links: merging or not
    noun: str = "link"  # what is counted
    why: Annotated[str, Shown("because", _because)]  # one sentence
    cites: str | None = None  # the section that it follows
    lossless: bool | None = None  # None: it is no rule of the policy
    link: Annotated[str | None, Shown("such as")] = None  # an example that is merged ...
    same_as: Annotated[str | None, Shown("is the same as")] = None  # ... and what it is the same as


class Merges(msgspec.Struct, frozen=True, kw_only=True):
    """All that merged something, the most frequent first."""

    links: int  # that rules of the policy merged; a link that needed several counts once
    temporary_redirects: int  # which merge nothing
    rules: list[MergeLine]


# What merges besides the rules of the policy, by its kind in the store.
_MERGING = {
    "redirect": MergeLine(
        rule="redirect",
        noun="permanent redirect",
        why="A permanent redirect (301, 308) makes its two ends one, if the last one answered 200.",
        cites="RFC 3986 section 6.2.4; RFC 9110 section 15.4",
    ),
    "canonical": MergeLine(
        rule="canonical",
        noun="canonical link",
        why="A page is the one that it names as canonical, if that answered 200 and agrees.",
        cites="RFC 6596",
    ),
    "rule": MergeLine(
        rule="learned",
        noun="URL",
        why="A rule that the crawl has learned about the host says that both are one.",
        cites="docs/explanation/learning.md",
    ),
    "content": MergeLine(
        rule="content",
        noun="page",
        why="Another page answered with the same bytes.",
        cites="docs/how-to/search-index.md",
    ),
}


def merges(connection: Connection) -> Merges:
    """Return what was merged in a store, and by what."""
    sets = report.merged(connection)
    numbers = defaultdict(int, known_merges.numbers(connection))
    lines = []
    for row in merged_by_rule(sets):
        name = row["rules"]
        line = MergeLine(rule=name, why="A rule that this version does not have.")
        if rule := RULES.get(name):
            line = replace(line, why=rule.why, cites=rule.cites, lossless=rule.lossless)
        more = {"count": row["links"], "link": row["link"], "same_as": row["same_as"]}
        lines.append(replace(line, **more))
    for kind, line in _MERGING.items():
        if count := numbers[kind]:
            link, same_as = known_merges.example(connection, kind) or (None, None)
            lines.append(replace(line, count=count, link=link, same_as=same_as))
    return Merges(
        links=sum(row["links"] for row in sets),
        temporary_redirects=numbers["temporary"],
        rules=sorted(lines, key=lambda line: -line.count),
    )
