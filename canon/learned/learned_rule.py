"""A learned rule as users see it: what it says, its state, and its evidence."""

from functools import cached_property
from typing import Literal, get_args

import msgspec
from msgspec.structs import astuple

from canonry.canon.learned.rewrite import Rewrite

RuleState = Literal["candidate", "active", "suspended", "revoked"]
RULE_STATES: tuple[RuleState, ...] = get_args(RuleState)


class RulesError(ValueError):
    """Rules that cannot be used; the message names the source, the rule, and what is allowed."""


class Evidence(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a rule rests on. Counts are of classes of URLs; times are seconds since 1970, UTC."""

    agree: int = 0
    disagree: int = 0
    first_seen: float | None = None
    last_seen: float | None = None
    samples: tuple[tuple[str, str], ...] = ()  # a URL, and the URL that it was found to equal
    against: tuple[tuple[str, str], ...] = ()  # a URL, and what was found instead


class LearnedRule(Rewrite, frozen=True, kw_only=True, dict=True):
    """A rewrite with its state and its evidence. Only rules in state ``active`` are applied."""

    state: RuleState = "active"
    evidence: Evidence = Evidence()

    @cached_property
    def rewrite(self) -> Rewrite:
        """Return what the rule says, without state and evidence."""
        return Rewrite(*astuple(self)[: len(Rewrite.__struct_fields__)])

    @cached_property
    def id(self) -> str:
        """Return the rule's id: ten hexadecimal digits of a digest of what it says."""
        return self.rewrite.id
