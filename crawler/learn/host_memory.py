"""What the learner remembers of a host: its rules, and the bodies that its URLs answered with."""

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from canonry.canon.learned import ORDER, Rewrite, act
from canonry.canon.syntax import Parts
from canonry.crawler.learn.lifecycle import IN_FORCE
from canonry.storage.learned.tracked_rule import TrackedRule

_RULES = 48
_BODIES = 256
_SOURCES = 64
_BOILERPLATE = 3  # resources with one body: more are an error page or a form


@dataclass(slots=True)
class HostMemory:
    """The rules and the recent bodies of one host, bounded in size.

    Attributes:
        rules: by what they say.
        bodies: from an identity to the digest of its body.
        by_body: from a digest to the identities that answered with it.
        sources: for each rule, from what it made of a URL to that URL and its body's digest.
        missing: the digest of the body that the host answers with for what does not exist.
        probed: True if the host was asked for something that does not exist.
    """

    rules: dict[Rewrite, TrackedRule] = field(default_factory=dict)
    bodies: OrderedDict[str, bytes] = field(default_factory=OrderedDict)
    by_body: OrderedDict[bytes, list[str]] = field(default_factory=OrderedDict)
    sources: dict[Rewrite, OrderedDict[str, tuple[str, bytes]]] = field(default_factory=dict)
    missing: bytes | None = None
    probed: bool = False

    @classmethod
    def of(cls, rules: Iterable[TrackedRule]) -> "HostMemory":
        """Return the memory of a host that has some rules and answered nothing yet."""
        return cls({rule.rewrite: rule for rule in rules})

    def has_rules_in_force(self) -> bool:
        """Return True if any rule holds URLs."""
        return any(rule.state in IN_FORCE for rule in self.rules.values())

    def add_rule(self, rewrite: Rewrite) -> tuple[TrackedRule, TrackedRule | None]:
        """Add a candidate; if the host has too many rules, the weakest candidate makes room.

        Returns:
            The new rule, and the one that was removed for it.
        """
        removed = None
        candidates = [rule for rule in self.rules.values() if rule.state == "candidate"]
        if len(self.rules) >= _RULES and candidates:
            removed = min(candidates, key=lambda rule: (rule.agree, rule.last_seen))
            del self.rules[removed.rewrite]
            self.sources.pop(removed.rewrite, None)
        rule = self.rules[rewrite] = TrackedRule(rewrite)
        return rule, removed

    def add_body(self, url: str, digest: bytes) -> None:
        """Remember the body of an identity."""
        self.bodies[url] = digest
        _trim(self.bodies, _BODIES)

    def add_equal(self, url: str, digest: bytes) -> list[str]:
        """Remember that an identity answered with a body; return all that did, itself included."""
        equal = self.by_body.pop(digest, [])
        self.by_body[digest] = equal
        if url not in equal and len(equal) <= _BOILERPLATE:
            equal.append(url)
        _trim(self.by_body, _BODIES)
        return equal

    def is_telling(self, digest: bytes, equal: list[str]) -> bool:
        """Return True if an equal body is evidence: it is neither boilerplate nor an error page."""
        return len(equal) <= _BOILERPLATE and digest != self.missing

    def add_source(self, rewrite: Rewrite, result: str, url: str, digest: bytes) -> None:
        """Remember a URL, and its body, by what a rule made of it."""
        sources = self.sources.setdefault(rewrite, OrderedDict())
        sources[result] = (url, digest)
        _trim(sources, _SOURCES)

    def source(self, rewrite: Rewrite, result: str) -> tuple[str, bytes] | None:
        """Return a URL of which a rule made a result, and its body's digest."""
        sources = self.sources.get(rewrite)
        return None if sources is None else sources.get(result)

    def combine(self, rule: TrackedRule, parts: Parts) -> tuple[str, list[TrackedRule]]:
        """Apply the host's other good rules to what one rule made, to reach a known body.

        Returns:
            An identity whose body is known and the rules that helped; else what the rule made.
        """
        combined, helping = parts, []
        for other in sorted(self.rules.values(), key=lambda rule: ORDER[rule.rewrite.family]):
            if other is not rule and other.agree > other.disagree:
                before, combined = combined, act(other.rewrite, combined)
                helping += [other] * (combined is not before)
        if str(combined) in self.bodies:
            return str(combined), helping
        return str(parts), []


def _trim(memory: OrderedDict[Any, Any], size: int) -> None:
    """Remove the oldest entries beyond a size."""
    while len(memory) > size:
        memory.popitem(last=False)
