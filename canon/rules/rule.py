"""The ladder of comparison (RFC 3986 section 6.2), rules, and the changes that they make."""

from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple


class Rung(IntEnum):
    """A rule's place on the ladder of comparison: higher rungs cost more and may err more.

    ``STRING``, ``SYNTAX``, ``SCHEME`` and ``PROTOCOL`` are RFC 3986 sections 6.2.1 to 6.2.4.
    ``REPAIR`` makes URLs of what documents contain; ``PRACTICE`` is what crawlers do besides.
    """

    STRING = 0
    REPAIR = 1
    SYNTAX = 2
    SCHEME = 3
    PRACTICE = 4
    PROTOCOL = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A rule: its name, an example, the document that it follows, and its risk."""

    name: str
    why: str  # one sentence for people
    before: str  # an example URL
    after: str  # the same after this rule alone
    cites: str  # a section of a specification, or a decision page
    rung: Rung
    lossless: bool  # True: the specifications guarantee it; False: it is a heuristic


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What one rule did: its name, the whole URL before and after, and what it cites."""

    name: str
    before: str
    after: str
    rung: Rung
    cites: str
    lossless: bool
    why: str

    @classmethod
    def by(cls, rule: Rule, before: str, after: str) -> "Change":
        """Return the change by which a rule turned ``before`` into ``after``."""
        return cls(
            name=rule.name,
            before=before,
            after=after,
            rung=rule.rung,
            cites=rule.cites,
            lossless=rule.lossless,
            why=rule.why,
        )


class Parameters(NamedTuple):
    """The lists of one policy; names of query parameters are in lower case."""

    tracking: frozenset[str] = frozenset()  # query parameters, for the rule "tracking"
    tracking_prefixes: tuple[str, ...] = ()  # prefixes of more such names
    session: frozenset[str] = frozenset()  # query parameters, for the rule "session-id"
    index_files: frozenset[str] = frozenset()  # file names, for the rule "index-file"
