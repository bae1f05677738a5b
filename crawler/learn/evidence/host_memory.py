"""What the learner remembers of hosts: their rules, and the bodies that their URLs answered with.

Memory is bounded: so many hosts, so many rules and bodies of each. Forgetting costs only evidence.
"""

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from msgspec.structs import replace

from canonry.canon.learned import FAMILIES, ORDER, Rewrite, act, is_host_name, site_of
from canonry.canon.syntax import Parts
from canonry.crawler.learn.life.lifecycle import IN_FORCE
from canonry.storage.learned.tracked_rule import TrackedRule

_HOSTS = 4_000
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


class RuleArchive(Protocol):
    """Knows rules for longer than the memory does."""

    def rules_of(self, host: str) -> Iterable[TrackedRule]:
        """Return the rules of a host; called when the learner meets the host (again)."""
        ...


class Memory:
    """The hosts that were used last, and which of their rules have changed since a decision.

    Attributes:
        wide_domains: the domains with rules for their subdomains, too.
    """

    def __init__(self, registrable: Callable[[str], str], archive: RuleArchive) -> None:
        """Start empty.

        Args:
            registrable: from a host to its registrable domain, private suffixes respected.
            archive: knows earlier rules.
        """
        self._registrable = registrable
        self._archive = archive
        self._hosts: OrderedDict[str, HostMemory] = OrderedDict()
        self._changed: dict[Rewrite, TrackedRule] = {}
        self._removed: list[TrackedRule] = []
        self.wide_domains: set[str] = set()

    def forget(self, wide_domains: Iterable[str] = ()) -> None:
        """Forget all rules and evidence.

        Args:
            wide_domains: the domains for which the archive has rules for their subdomains, too.
        """
        self.wide_domains = set(wide_domains)
        self._hosts.clear()
        self._changed.clear()
        self._removed.clear()

    def host(self, name: str) -> HostMemory:
        """Return the memory of a host; forget the host that was not used for longest."""
        host = self._hosts.pop(name, None)
        if host is None:
            host = HostMemory.of(self._archive.rules_of(name))
            if len(self._hosts) >= _HOSTS:
                self._hosts.popitem(last=False)
        self._hosts[name] = host
        return host

    def hosts_of(self, domain: str) -> Iterator[tuple[str, HostMemory]]:
        """Yield the names and memories of a domain and its subdomains."""
        for name, host in self._hosts.items():
            if name == domain or name.endswith("." + domain):
                yield name, host

    def predictions(self, parts: Parts) -> Iterator[tuple[TrackedRule, Parts]]:
        """Yield the rules that change a URL, and what each makes of it."""
        name = site_of(parts)
        own = self.host(name).rules
        domain = self._registrable(name) if is_host_name(name) else name
        wide = []
        if domain in self.wide_domains:
            wide = [r for r in self.host(domain).rules.values() if r.rewrite.subdomains]
        decided = [rule for rule in own.values() if rule.state not in {"candidate", "probation"}]
        own_ones = {replace(rule.rewrite, host=domain) for rule in decided} if wide else set()
        for rule in (*own.values(), *wide):
            said = rule.rewrite
            if said.subdomains and replace(said, subdomains=False, but=()) in own_ones:
                continue  # the host has decided for itself
            after = act(said, parts)
            if after is not parts:
                yield rule, after

    def rule(self, rewrite: Rewrite) -> TrackedRule:
        """Return the rule that says something; add it as a candidate if there is none."""
        host = self.host(rewrite.host)
        rule = host.rules.get(rewrite)
        if rule is None:
            rule, removed = host.add_rule(rewrite)
            if removed is not None:
                self._removed.append(removed)
                self._changed.pop(removed.rewrite, None)
        return rule

    def remove(self, rule: TrackedRule) -> None:
        """Remove a rule."""
        self._removed.append(self.host(rule.rewrite.host).rules.pop(rule.rewrite))

    def count(
        self, rule: TrackedRule, parts: Parts, pair: tuple[str, str], at: float, *, agrees: bool
    ) -> None:
        """Count a piece of evidence for a rule, or against it.

        Args:
            rule: the rule.
            parts: of the URL that the evidence is about.
            pair: the two URLs that were compared.
            at: seconds since 1970.
            agrees: True if the evidence is for the rule.
        """
        path = parts.path
        if FAMILIES[rule.rewrite.family].by_query:
            path = f"{path}?{parts.query}"
        if rule.rewrite.subdomains:
            path = f"{site_of(parts)}{path}"
        if rule.count(path, pair, at, agrees=agrees):
            self.mark_changed(rule)

    def mark_changed(self, rule: TrackedRule) -> None:
        """Remember that a rule has new evidence."""
        self._changed[rule.rewrite] = rule

    @property
    def changed(self) -> Collection[TrackedRule]:
        """The rules with new evidence since these were last taken."""
        return self._changed.values()

    def take_changed(self) -> list[TrackedRule]:
        """Return the rules with new evidence, once."""
        changed, self._changed = list(self._changed.values()), {}
        return changed

    def take_removed(self) -> list[TrackedRule]:
        """Return the candidates that were removed, once."""
        removed, self._removed = self._removed, []
        return removed


def _trim(memory: OrderedDict[Any, Any], size: int) -> None:
    """Remove the oldest entries beyond a size."""
    while len(memory) > size:
        memory.popitem(last=False)
