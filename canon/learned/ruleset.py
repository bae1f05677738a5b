"""Learned rules as data: checked as a set, applied to identities, kept in a file for people.

RFC 3986 section 6.2.4: who has seen redirects may regard two URLs as equivalent from then on. A
rule is a lesson about one host, with the evidence that it rests on.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

import msgspec

from canonry.canon.learned.families import FAMILIES, ORDER, Lesson, is_on
from canonry.canon.learned.validate import fault, find_circle
from canonry.canon.rules.rule import Change
from canonry.canon.syntax.parts import Parts

FORMAT, VERSION = "canonry-rules", 1
STATES = ("candidate", "probation", "active", "suspended", "frozen", "revoked")
_HOST = re.compile(r"https?://([^/?#@:]+)(?=[/?#]|\Z)")  # with a port or a user: not meant
_KEYS = ("format", "version", "policy", "rules")
_ROUNDS = 32  # more steps than any set that passes the checks can take on one URL


class RulesError(ValueError):
    """Rules that cannot be used; the message names the source, the rule, and what is allowed."""


class Evidence(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a rule rests on. Counts are of distinct paths; times are seconds since 1970, UTC."""

    agree: int = 0
    disagree: int = 0
    first_seen: float | None = None
    last_seen: float | None = None
    samples: tuple[tuple[str, str], ...] = ()  # a URL, and what it was found to equal
    against: tuple[tuple[str, str], ...] = ()  # a URL, and what it was found to be instead


class LearnedRule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, dict=True):
    """A lesson with its state and its evidence; the first eight fields are those of `Lesson`."""

    host: str
    family: str
    below: str = "/"
    old: str = ""
    new: str = ""
    beside: tuple[str, ...] = ()
    subdomains: bool = False
    but: tuple[str, ...] = ()
    state: Literal["candidate", "probation", "active", "suspended", "frozen", "revoked"] = "active"
    evidence: Evidence = Evidence()

    @cached_property
    def lesson(self) -> Lesson:
        """Return what the rule says, without what it rests on."""
        return Lesson(*(getattr(self, name) for name in Lesson._fields))

    @cached_property
    def id(self) -> str:
        """Return the rule's name: ten hexadecimal digits that follow from what it says."""
        return id_of(self.lesson)


def id_of(lesson: Lesson) -> str:
    """Return the name of a lesson; exceptions do not change it."""
    content = msgspec.json.encode(tuple(lesson._replace(but=())))
    return hashlib.blake2b(content, digest_size=5).hexdigest()


def _words(lesson: Lesson) -> str:
    """Name a lesson in errors."""
    return f"rule {id_of(lesson)} ({lesson.family} on {lesson.host})"


class RuleSet:
    """Rules that are applied together. Immutable; share it between threads."""

    def __init__(self, rules: Iterable[LearnedRule], policy: str, source: str = "rules") -> None:
        """Check rules and make them ready; those whose state is not ``active`` do nothing.

        Args:
            rules: of any state.
            policy: ``name/version`` of the policy whose identities they were learned on.
            source: what to call them in errors, such as the name of a file.

        Raises:
            RulesError: for a rule that its family does not allow, and for rules that lead from one
                to the other in a circle.
        """
        self.policy = policy
        self._source = source
        self.rules = tuple(rules)
        self.active = tuple(rule for rule in self.rules if rule.state == "active")
        for rule in self.rules:
            if why := fault(rule.lesson):
                raise RulesError(f"{source}: {_words(rule.lesson)}: {why}")
        if circle := find_circle([rule.lesson for rule in self.active]):
            raise RulesError(
                f"{source}: {_words(circle)}: it leads back to itself through other rules; "
                "revoke one of them"
            )
        own: dict[str, list[LearnedRule]] = {}
        for rule in self.active:
            own.setdefault(rule.host, []).append(rule)
        self._own = own
        self._on: dict[str, tuple[LearnedRule, ...]] = {}

    def check_policy(self, label: str) -> None:
        """Refuse to act on the identities of another policy than the rules were learned on.

        Raises:
            RulesError: naming both.
        """
        if self.policy != label:
            raise RulesError(
                f"{self._source}: learned under policy {self.policy}, not {label}; "
                f"give --policy {self.policy.partition('/')[0]}, or rules of that policy"
            )

    def __len__(self) -> int:
        """Return how many rules act."""
        return len(self.active)

    @cached_property
    def wide(self) -> bool:
        """Say whether a rule is meant for subdomains too."""
        return any(rule.subdomains for rule in self.active)

    def on(self, host: str) -> tuple[LearnedRule, ...]:
        """Return the rules that act on a host, in the order in which they run."""
        if host not in self._own and not self.wide:
            return ()
        found = self._on.get(host)
        if found is None:
            found = tuple(sorted(self._find(host), key=lambda r: (ORDER[r.family], r.lesson)))
            if len(self._on) > 65_536:  # noqa: PLR2004 - a bound, no more
                self._on.clear()
            self._on[host] = found
        return found

    def _find(self, host: str) -> Iterator[LearnedRule]:
        """Yield the rules that act on a host."""
        yield from self._own.get(host, ())
        labels = host.split(".")
        for start in range(1, len(labels) - 1):
            for rule in self._own.get(".".join(labels[start:]), ()):
                if is_on(rule.lesson, host):
                    yield rule

    def dumps(self) -> str:
        """Return the rules as text for people, which `loads` reads."""
        default = LearnedRule(host="", family="")
        rules = []
        for rule in sorted(self.rules, key=lambda r: (r.host, ORDER[r.family], r.lesson)):
            shown: dict[str, Any] = {"id": rule.id}
            for name in LearnedRule.__struct_fields__:
                value = getattr(rule, name)
                if value != getattr(default, name) or name in {"host", "family", "state"}:
                    shown[name] = msgspec.to_builtins(value)
            rules.append(shown)
        whole = {"format": FORMAT, "version": VERSION, "policy": self.policy, "rules": rules}
        return msgspec.json.format(msgspec.json.encode(whole), indent=2).decode() + "\n"


def loads(text: str | bytes, source: str = "rules") -> RuleSet:
    """Read rules from text that `RuleSet.dumps` wrote, or that somebody edited.

    Args:
        text: JSON.
        source: what to call it in errors.

    Raises:
        RulesError: naming the source, the rule, what is wrong, and what is allowed.
    """
    try:
        given = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RulesError(f"{source}: not JSON: {error}; 'canonry rules export' writes it") from None
    if not isinstance(given, dict) or given.get("format") != FORMAT:
        raise RulesError(f"{source}: no rules: key 'format' has to be {FORMAT!r}")
    if given.get("version") != VERSION:
        raise RulesError(f"{source}: key 'version': {VERSION} is what this program reads")
    if unknown := given.keys() - set(_KEYS):
        raise RulesError(
            f"{source}: no key {min(unknown)!r}; allowed: format, version, policy, rules"
        )
    policy, rules = given.get("policy"), given.get("rules")
    if not isinstance(policy, str) or not isinstance(rules, list):
        raise RulesError(f"{source}: 'policy' has to be a text such as 'web/1', 'rules' a list")
    return RuleSet(_read(rules, source), policy, source)


def _read(rules: list[Any], source: str) -> Iterator[LearnedRule]:
    """Read rules, and refuse those that are written wrong."""
    allowed = ", ".join(LearnedRule.__struct_fields__)
    for number, given in enumerate(rules, 1):
        where = f"{source}: rule {number}"
        if not isinstance(given, Mapping):
            raise RulesError(f"{where}: it has to be an object with the keys {allowed}")
        named = given.get("id")
        try:
            rule = msgspec.convert({k: v for k, v in given.items() if k != "id"}, LearnedRule)
        except msgspec.ValidationError as error:
            shown = f"{where} ({named})" if named else where
            raise RulesError(f"{shown}: {error}; the keys allowed are id, {allowed}") from None
        if why := fault(rule.lesson):
            raise RulesError(f"{where}: {why}")
        if named not in (None, rule.id):
            raise RulesError(
                f"{where}: it says something else than when it was named {named!r}; "
                "leave 'id' out where you change a rule"
            )
        yield rule


class Followed(NamedTuple):
    """Where rules lead: the identity, and what each that acted did, in order."""

    identity: str
    changes: tuple[tuple[LearnedRule, str, str], ...] = ()  # rule, before, after

    @property
    def rules(self) -> tuple[LearnedRule, ...]:
        """Return the rules that acted, each once."""
        return tuple({rule.id: rule for rule, _before, _after in self.changes}.values())

    def trace(self) -> Iterator[Change]:
        """Yield what each rule did, with its evidence."""
        for rule, before, after in self.changes:
            family, evidence = FAMILIES[rule.family], rule.evidence
            learned = f"{evidence.agree} paths agree, {evidence.disagree} disagree"
            yield replace(
                Change.by(family, before, after),
                cites=f"{family.cites}; rule {rule.id} on {rule.host}",
                why=f"{family.why} Learned: {learned}.",
            )


def follow(rules: RuleSet, identity: str, normalize: Callable[[str], str]) -> Followed:
    """Apply rules to an identity until none of them, nor the policy, has anything to do.

    What comes out is its own answer: the rules are idempotent. A set that never comes to rest on a
    URL (no set that passes the checks is known to) leaves that URL alone.

    Args:
        rules: as `RuleSet` holds them.
        identity: a canonical form under the rules' policy.
        normalize: makes canonical forms under that policy.
    """
    found = _HOST.match(identity)
    if found is None or not rules.on(found[1]):
        return Followed(identity)
    changes: list[tuple[LearnedRule, str, str]] = []
    text, parts = identity, Parts.of(identity)
    for _ in range(_ROUNDS):
        start = len(changes)
        for rule in rules.on(parts.host or ""):
            family = FAMILIES[rule.family]
            after = family.apply(parts, rule.lesson)
            if after is not parts and parts.path.startswith(rule.below):
                before, text, parts = text, str(after), after
                changes.append((rule, before, text))
                if family.moves_host:
                    break
        if len(changes) == start:
            return Followed(text, tuple(changes))
        normal = normalize(text)
        if normal != text:
            text, parts = normal, Parts.of(normal)
            changes[-1] = (*changes[-1][:2], text)
    return Followed(identity)
