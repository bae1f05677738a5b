"""Sets of learned rules: checked together, and applied to identities.

RFC 3986 section 6.2.4: a crawler that has seen redirects may treat two URLs as equivalent from
then on. A learned rule says so for one host, and carries the evidence that it rests on.
"""

from collections.abc import Callable, Iterable, Iterator
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import msgspec

from canonry.canon.arguments import check_several, check_text, wrong_type
from canonry.canon.learned import learned_rule
from canonry.canon.learned.families import FAMILIES, ORDER
from canonry.canon.learned.learned_rule import LearnedRule, RulesError
from canonry.canon.learned.rewrite import Rewrite, site_in, site_of
from canonry.canon.learned.validate import fault, find_circle
from canonry.canon.policies.policy import label_of, versioned_name
from canonry.canon.rules.rule import Change
from canonry.canon.syntax.parts import Parts

_ROUNDS = 32  # more steps than any valid set takes on one URL
_CACHED_SITES = 65_536


def _name(rewrite: Rewrite) -> str:
    """Return the name of a rule in errors."""
    return f"rule {rewrite.id} ({rewrite.family} on {rewrite.host})"


def _fault_or_type_error(rule: LearnedRule, source: str) -> str | None:
    """Return what `validate.fault` does, but name ``source`` if a wrong type makes that fail.

    Raises:
        TypeError: a field has a wrong type, which rules from files never have.
    """
    try:
        return fault(rule)
    except (TypeError, AttributeError):
        try:
            msgspec.convert(msgspec.to_builtins(rule), LearnedRule)
        except msgspec.ValidationError as error:
            raise TypeError(f"{source}: a rule: {error}") from None
        raise  # pragma: no cover - the types were right


def _check_circles(active: Iterable[LearnedRule], source: str) -> None:
    """Check that no active rule leads back to itself.

    Raises:
        RulesError: if one does.
    """
    if circle := find_circle(active):
        raise RulesError(
            f"{source}: {_name(circle)}: it leads back to itself through other rules; "
            "revoke one of them"
        )


def _by_host(rules: Iterable[LearnedRule]) -> dict[str, list[LearnedRule]]:
    """Return rules by the host that they are about."""
    found: dict[str, list[LearnedRule]] = {}
    for rule in rules:
        found.setdefault(rule.host, []).append(rule)
    return found


class RuleStep(NamedTuple):
    """What a rule does to a URL, looked up once."""

    rule: LearnedRule
    prefilter: Callable[[str], object]  # false for a URL's text if the rule does not change it
    apply: Callable[[Parts, Rewrite], Parts]
    below: str
    moves_host: bool
    names: frozenset[str] | None  # of all parameters of a URL that the rule changes; None: any

    @classmethod
    def of(cls, rule: LearnedRule) -> "RuleStep":
        """Look up what a rule does."""
        family = FAMILIES[rule.family]
        names = family.removes and family.removes.names(rule)
        return cls(rule, family.prefilter(rule), family.apply, rule.below, family.moves_host, names)


class RuleSet:
    """Rules that are applied together. Immutable; share it between threads."""

    def __init__(self, rules: Iterable[LearnedRule], policy: str, source: str = "rules") -> None:
        """Check rules and prepare them. Rules that are not ``active`` are kept but not applied.

        Args:
            rules: of any state.
            policy: ``name/version`` or ``name@version`` of the policy whose identities they were
                learned on.
            source: what to call them in errors, such as the name of a file.

        Raises:
            RulesError: for a rule that its family does not allow, and for active rules that form a
                circle.
            TypeError: an argument has a wrong type.
        """
        check_several("rules", rules, "learned rules")
        check_text("policy", policy)
        self.policy = label_of(policy)
        self._source = source
        self.rules = tuple(rules)
        for rule in self.rules:
            if not isinstance(rule, LearnedRule):
                raise wrong_type("a rule", rule, "a LearnedRule")
        self.active = tuple(rule for rule in self.rules if rule.state == "active")
        for rule in self.rules:
            if wrong := _fault_or_type_error(rule, source):
                raise RulesError(f"{source}: {_name(rule)}: {wrong}")
        _check_circles(self.active, source)
        self._own = _by_host(self.active)
        self._on: dict[str, tuple[LearnedRule, ...]] = {}
        self._steps: dict[str, tuple[RuleStep, ...]] = {}

    def __repr__(self) -> str:
        """Return how many rules there are, and the policy."""
        return f"<RuleSet of {len(self.rules):,} rules for {versioned_name(self.policy)}>"

    def with_changes(self, changed: Iterable[LearnedRule]) -> "RuleSet":
        """Return a set in which some rules take the place of those with their ids, if any.

        Only these are checked, which takes a small part of the time in which all are prepared.

        Args:
            changed: of any state.

        Raises:
            RulesError: as for a new set.
        """
        by_id = {rule.id: rule for rule in changed}
        sites = {rule.host for rule in by_id.values()}
        for rule in by_id.values():
            if wrong := _fault_or_type_error(rule, self._source):
                raise RulesError(f"{self._source}: {_name(rule)}: {wrong}")
        kept = [rule for rule in self.rules if rule.host not in sites or rule.id not in by_id]
        rules = (*kept, *by_id.values())
        active = tuple([rule for rule in rules if rule.state == "active"])
        if any(FAMILIES[rule.family].can_chain for rule in by_id.values()):
            _check_circles(active, self._source)
        own = {site: rules for site, rules in self._own.items() if site not in sites}
        own |= _by_host([rule for rule in active if rule.host in sites])
        new = copy(self)
        new.__dict__.pop("wide", None)  # cached for the old rules
        new.__dict__.update(rules=rules, active=active, _own=own, _on={}, _steps={})
        return new

    def covers(self, site: str) -> bool:
        """Return True if an active rule is about a site, or about subdomains that it is one of."""
        return site in self._own or (self.wide and bool(self.on(site)))

    def check_policy(self, label: str) -> None:
        """Check that the rules were learned on the identities of a policy.

        Raises:
            RulesError: naming both policies, if not.
        """
        if self.policy != label:
            own = versioned_name(self.policy)
            raise RulesError(
                f"{self._source}: learned under policy {own}, not {versioned_name(label)}; "
                f"give --policy {own}, or rules of that policy"
            )

    def __len__(self) -> int:
        """Return the number of active rules."""
        return len(self.active)

    @cached_property
    def wide(self) -> bool:
        """Return True if any active rule also covers subdomains."""
        return any(rule.subdomains for rule in self.active)

    def on(self, site: str) -> tuple[LearnedRule, ...]:
        """Return the active rules that cover a site, in the order in which they run."""
        if site not in self._own and not self.wide:
            return ()
        rules = self._on.get(site)
        if rules is None:
            rules = tuple(sorted(self._find(site), key=lambda r: (ORDER[r.family], r.rewrite)))
            if len(self._on) >= _CACHED_SITES:
                self._on.clear()
            self._on[site] = rules
        return rules

    def steps_on(self, site: str) -> tuple[RuleStep, ...]:
        """Return what the active rules that cover a site do, in the order in which they run."""
        if site not in self._own and not self.wide:
            return ()
        steps = self._steps.get(site)
        if steps is None:
            if len(self._steps) >= _CACHED_SITES:
                self._steps.clear()
            steps = self._steps[site] = tuple(map(RuleStep.of, self.on(site)))
        return steps

    def _find(self, site: str) -> Iterator[LearnedRule]:
        """Yield the active rules that cover a site."""
        yield from self._own.get(site, ())
        labels = site.split(".")
        for start in range(1, len(labels) - 1):
            for rule in self._own.get(".".join(labels[start:]), ()):
                if rule.covers(site):
                    yield rule

    def dumps(self) -> str:
        """Return the rules as JSON for people; `loads` reads it."""
        rules = sorted(self.rules, key=lambda rule: (rule.host, ORDER[rule.family], rule.rewrite))
        return learned_rule.encode(rules, self.policy)


def loads(text: str | bytes, source: str = "rules") -> RuleSet:
    """Read rules that `RuleSet.dumps` wrote, or that somebody wrote by hand.

    Args:
        text: JSON.
        source: what to call it in errors.

    Raises:
        RulesError: naming the source, the rule, what is wrong, and what is allowed.
        TypeError: it is neither text nor bytes.
    """
    if not isinstance(text, (str, bytes, bytearray)):
        raise wrong_type("rules", text, "str or bytes")
    return RuleSet(*learned_rule.decode(text, source), source)


class Followed(NamedTuple):
    """The result of applying rules: the new identity, and what each rule changed, in order."""

    identity: str
    changes: tuple[tuple[LearnedRule, str, str], ...] = ()  # rule, before, after

    @property
    def rules(self) -> tuple[LearnedRule, ...]:
        """Return the rules that changed something, each once."""
        return tuple({rule.id: rule for rule, _before, _after in self.changes}.values())

    def trace(self) -> Iterator[Change]:
        """Yield what each rule changed, with its evidence."""
        for rule, before, after in self.changes:
            family, evidence = FAMILIES[rule.family], rule.evidence
            learned = f"{evidence.agree} pages agree, {evidence.disagree} disagree"
            yield replace(
                Change.by(family, before, after),
                cites=f"{family.cites}; rule {rule.id} on {rule.host}",
                why=f"{family.why} Learned: {learned}.",
            )


def follow(rules: RuleSet, identity: str, normalize: Callable[[str], str]) -> Followed:
    """Apply rules to an identity until neither they nor the policy change it any more.

    So applying rules is idempotent. If a set of rules never stops changing a URL, the URL stays as
    it is; no set that passes the checks is known to do that.

    Args:
        rules: the rules.
        identity: a canonical form under the rules' policy.
        normalize: returns canonical forms under that policy.
    """
    steps = rules.steps_on(site_in(identity))
    if not is_marked(steps, identity):
        return Followed(identity)
    changes: list[tuple[LearnedRule, str, str]] = []
    text, parts = identity, Parts.of(identity)
    for _ in range(_ROUNDS):
        start = len(changes)
        for rule, prefilter, apply, below, moves_host, _names in steps:
            if not prefilter(text):
                continue
            after = apply(parts, rule)
            if after is not parts and parts.path.startswith(below):
                before, text, parts = text, str(after), after
                changes.append((rule, before, text))
                if moves_host:
                    break
        if len(changes) == start:
            return Followed(text, tuple(changes))
        normal = normalize(text)
        if normal != text:
            text, parts = normal, Parts.of(normal)
            changes[-1] = (*changes[-1][:2], text)
        steps = rules.steps_on(site_of(parts))
    return Followed(identity)


def is_marked(steps: Iterable[RuleStep], text: str) -> bool:
    """Return True if a step may change a URL with this text."""
    for step in steps:  # noqa: SIM110 - a generator takes longer than the prefilters
        if step.prefilter(text):
            return True
    return False
