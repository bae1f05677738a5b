"""The ladder of comparison (RFC 3986 section 6.2) and what every rule says of itself."""

from dataclasses import dataclass
from enum import IntEnum


class Rung(IntEnum):
    """How far up the ladder a rule stands: higher rungs cost more and may err more.

    ``STRING``, ``SYNTAX``, ``SCHEME`` and ``PROTOCOL`` are RFC 3986 sections 6.2.1 to 6.2.4.
    ``REPAIR`` makes a URL of what documents hold; ``PRACTICE`` is what crawlers do beyond the RFC.
    """

    STRING = 0
    REPAIR = 1
    SYNTAX = 2
    SCHEME = 3
    PRACTICE = 4
    PROTOCOL = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What a rule is called, an example of it, who orders it, and what it risks."""

    name: str
    why: str  # one sentence for people
    before: str  # an example, and ...
    after: str  # ... what the rule alone makes of it
    cites: str  # the section, or the decision page, that orders it
    rung: Rung
    lossless: bool  # guaranteed by the specifications; the others are guesses


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One rule that acted: its name, the whole URL before and after, and who orders it."""

    name: str
    before: str
    after: str
    rung: Rung
    cites: str
    lossless: bool
    why: str

    @classmethod
    def by(cls, rule: Rule, before: str, after: str) -> "Change":
        """Record that a rule made ``after`` of ``before``."""
        return cls(
            name=rule.name,
            before=before,
            after=after,
            rung=rule.rung,
            cites=rule.cites,
            lossless=rule.lossless,
            why=rule.why,
        )
