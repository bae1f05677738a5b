"""The results of converting a rule list: our rules, and the reasons for what was lost."""

from collections import Counter
from collections.abc import Iterable
from enum import Enum
from typing import Any, NamedTuple

from canonry.canon.learned import LearnedRule, Rewrite, to_fields


class Lost(Enum):
    """What our families cannot express; each value is the sentence that people read."""

    EVERY_HOST = "it is for every host; a policy of your own can name tracking parameters"
    HOSTS = "its hosts cannot be listed: any top-level domain, or subdomains without their domain"
    SUFFIX = "its host is a public suffix, whose subdomains have different owners"
    EXCEPTIONS = "it has exceptions by URL"
    PATH = "its path has wildcards, ends within a segment, or is a file"
    SCHEME = "it is for one scheme only"
    QUERY = "it is for URLs with certain parameters or fragments only"
    NAMES = "the names of its parameters cannot be listed"
    PATTERN = "it is a free pattern over the whole URL"
    SEGMENTS = "it removes segments of the path"
    TARGET = "it reads a redirect's target out of the URL, and so may read what its rules remove"
    BLOCKS = "it blocks requests"
    INVALID = "it is not valid in its own format"
    # Of rules that are converted in part:
    OPEN_END = "left out: hosts and paths that only begin so, and other ports"
    PATH_CASE = "left out: the path in other letter cases"
    ESCAPES = "left out: some spellings of the parameter with escapes"
    EMPTY = "left out: URLs that lack one of the parameters, or its value"
    SUBDOMAINS = "left out: subdomains, since they may have other owners"
    WWW = "left out: 'www' with digits, and before subdomains; several slashes at the end"


class Converted(NamedTuple):
    """The conversion of one rule of a list."""

    name: str  # as the list names it
    rules: tuple[Rewrite, ...] = ()
    lost: tuple[Lost, ...] = ()

    @property
    def outcome(self) -> str:
        """Return ``whole``, ``part`` or ``none``."""
        if not self.rules:
            return "none"
        return "part" if self.lost else "whole"


class Conversion(NamedTuple):
    """The conversion of a whole list."""

    kind: str  # the list's format
    found: tuple[Converted, ...]

    @property
    def rules(self) -> tuple[LearnedRule, ...]:
        """Return our rules, each once, in the order of the list."""
        every = dict.fromkeys(rule for one in self.found for rule in one.rules)
        return tuple(LearnedRule(**to_fields(rule)) for rule in every)


def no_rule(name: str, *lost: Lost) -> Converted:
    """Return the result for a rule that our families cannot express."""
    return Converted(name, lost=lost)


def summary(conversions: Iterable[Conversion]) -> dict[str, Any]:
    """Return conversions as plain data: counts, reasons, and the outcome of each rule."""
    several = tuple(conversions)
    source_rules = [source_rule for conversion in several for source_rule in conversion.found]
    outcomes = Counter(source_rule.outcome for source_rule in source_rules)
    reasons = Counter(lost for source_rule in source_rules for lost in source_rule.lost)
    return {
        "formats": sorted({conversion.kind for conversion in several}),
        "rules": len(source_rules),
        "converted": outcomes["whole"],
        "in_part": outcomes["part"],
        "not_converted": outcomes["none"],
        "made": len({rule for conversion in several for rule in conversion.rules}),
        "reasons": {lost.name.lower(): count for lost, count in reasons.most_common()},
        "outcomes": [
            {
                "name": source_rule.name,
                "outcome": source_rule.outcome,
                "reasons": [lost.name.lower() for lost in source_rule.lost],
            }
            for source_rule in source_rules
        ],
    }
