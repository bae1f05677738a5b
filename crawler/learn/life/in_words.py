"""Words for people: counts with their nouns, and the states of rules in sentences."""

from collections.abc import Mapping
from types import MappingProxyType

from canonry.canon.learned import RuleState

# What stands behind "it is".
IN_STATE: Mapping[RuleState, str] = MappingProxyType(
    {
        "candidate": "a candidate",
        "probation": "on probation",
        "active": "active",
        "suspended": "suspended",
        "revoked": "revoked",
        "frozen": "frozen",
    }
)


def counted(number: int, noun: str) -> str:
    """Return a count with its noun: "1 page", "2,000 pages"."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
