"""Counts for people: with their nouns, and by rule."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any


def counted(number: int, noun: str) -> str:
    """Return a count with its noun: "1 page", "2,000 pages"."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def agreement(agree: int, disagree: int, joint: str = ",") -> str:
    """Return how many pages agree with a rule: "20 pages agree, 1 disagrees".

    Args:
        agree: number of pages that agree.
        disagree: number of pages that disagree.
        joint: text between the two counts.
    """
    for_it = f"{counted(agree, 'page')} agree{'s' * (agree == 1)}"
    return f"{for_it}{joint} {disagree:,} disagree{'s' * (disagree == 1)}"


def lasting(seconds: float) -> str:
    """Return about how long a time is: "36 minutes", "5 hours", "12 days"."""
    for unit, length in (("day", 86_400), ("hour", 3_600)):
        if seconds >= 2 * length:
            return counted(round(seconds / length), unit)
    return counted(round(seconds / 60), "minute")


def merged_by_rule(merged: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return how many links each single rule merged, the largest count first.

    Args:
        merged: as `report.status` returns it: each row has the rules that merged
            its links, joined by " + ". A link that needed several rules counts for each of them.

    Returns:
        Rows of the same shape, with one rule each. The example is one that needed few rules.
    """
    links: Counter[str] = Counter()
    example: dict[str, Mapping[str, Any]] = {}
    for row in sorted(merged, key=lambda row: row["rules"].count("+")):
        for rule in row["rules"].split(" + "):
            links[rule] += row["links"]
            example.setdefault(rule, row)
    return [{**example[rule], "rules": rule, "links": n} for rule, n in links.most_common()]
