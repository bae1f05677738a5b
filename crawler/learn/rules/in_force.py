"""The rules in force in a store, and the URLs that they rewrite."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from copy import copy

from msgspec.structs import replace
from sqlalchemy import Connection, select

from canonry.canon import Canonicalizer
from canonry.canon.learned import (
    FAMILIES,
    LearnedRule,
    Rewrite,
    RuleSet,
    site_in,
    without_port,
)
from canonry.canon.pipeline import Rewritten, followed, forms_of, rewrite_many
from canonry.storage import facts
from canonry.storage.learned import rule_rows
from canonry.storage.learned.rule_rows import IN_FORCE
from canonry.storage.sql.schema import hosts

_REMEMBERED = 65_536  # combinations of rules
SOURCE = "the rules of the store"  # the name that errors show


class RulesInForce:
    """The active rules of a store, and the suspended ones. Immutable.

    Active rules hold new URLs. Suspended rules hold no new ones, but keep those that they held.
    """

    def __init__(self, rules: Iterable[LearnedRule], canonicalizer: Canonicalizer) -> None:
        """Prepare the rules that are active or suspended.

        Args:
            rules: in any state.
            canonicalizer: makes identities, without learned rules.

        Raises:
            RulesError: if they form a circle.
        """
        label = canonicalizer.policy.label
        in_force = [rule for rule in rules if rule.state in IN_FORCE]
        self._known = {rule.id: rule for rule in in_force}
        self._behind: dict[tuple[str, ...], list[LearnedRule]] = {}  # by ids
        self._canonicalizer = canonicalizer
        self.active = RuleSet([rule for rule in in_force if rule.state == "active"], label, SOURCE)
        self._active_or_suspended = RuleSet(map(_as_active, in_force), label, SOURCE)
        self._moving = _by_target(self._active_or_suspended)

    @property
    def known(self) -> Collection[LearnedRule]:
        """The active and suspended rules, in their own states."""
        return self._known.values()

    def with_changes(self, changed: Iterable[LearnedRule]) -> "RulesInForce":
        """Return the rules in force after some were changed or added.

        This is much faster than loading all of them; there may be thousands.

        Args:
            changed: in any state.

        Raises:
            RulesError: if they form a circle.
        """
        by_id = {rule.id: rule for rule in changed}
        rules_by_id = {name: rule for name, rule in self._known.items() if name not in by_id}
        rules_by_id |= {name: rule for name, rule in by_id.items() if rule.state in IN_FORCE}
        both = self._active_or_suspended.with_changes(map(_as_active, by_id.values()))
        new = copy(self)
        new.active = self.active.with_changes(by_id.values())
        new.__dict__.update(_known=rules_by_id, _behind={}, _active_or_suspended=both)
        if any(FAMILIES[rule.family].moves_host for rule in by_id.values()):
            new.__dict__.update(_moving=_by_target(both))
        return new

    def refreshed(
        self, connection: Connection, states: Mapping[str, Mapping[str, str]]
    ) -> "RulesInForce":
        """Return the rules in force in a store; read only those that have changed.

        Rules for subdomains are always read, since their exceptions may have changed.

        Args:
            connection: of the store.
            states: of the stored rules, by host and by rule id.
        """
        stored = {
            name: state
            for by_id in states.values()
            for name, state in by_id.items()
            if state in IN_FORCE
        }
        known = self._known.items()
        same = {name for name, r in known if stored.get(name) == r.state and not r.subdomains}
        changed = [r.as_learned() for r in rule_rows.with_ids(connection, stored.keys() - same)]
        changed += [replace(r, state="revoked") for name, r in known if name not in stored]
        return self.with_changes(changed) if changed else self

    @classmethod
    def load(cls, connection: Connection, canonicalizer: Canonicalizer) -> "RulesInForce":
        """Return the rules in force in a store."""
        rules = rule_rows.in_states(connection, IN_FORCE)
        return cls([rule.as_learned() for rule in rules], canonicalizer)

    @classmethod
    def around(
        cls, connection: Connection, canonicalizer: Canonicalizer, *sites: str
    ) -> "RulesInForce":
        """Return the rules in force that may change the URLs of some sites, read by an index.

        They are the rules of the sites, of their domains, and of hosts that rules move them to.
        """
        learned_rules: list[LearnedRule] = []
        seen: set[str] = set()
        wanted = set().union(*map(_with_domains, sites))
        while wanted:
            seen |= wanted
            rules = rule_rows.of_hosts(connection, wanted, IN_FORCE)
            learned_rules += [rule.as_learned() for rule in rules]
            moving = [
                rule.rewrite.new for rule in rules if FAMILIES[rule.rewrite.family].moves_host
            ]
            wanted = {name for target in moving for name in _with_domains(target)} - seen
        return cls(learned_rules, canonicalizer)

    def behind(self, rewritten: Rewritten) -> Sequence[LearnedRule]:
        """Return the active rules that changed a URL; if none did, one that covers its site."""
        rules = self._behind.get(rewritten.rules)
        if rules is None:
            if len(self._behind) >= _REMEMBERED:
                self._behind.clear()
            known = [self._known.get(name) for name in rewritten.rules]
            active = [rule for rule in known if rule is not None and rule.state == "active"]
            rules = self._behind[rewritten.rules] = active
        return rules or self.active.on(site_in(rewritten.identity))[:1]

    def is_wide(self, rule_id: str) -> bool:
        """Return True if a rule, by its id, also covers subdomains."""
        rule = self._known.get(rule_id)
        return rule is not None and rule.subdomains

    def about(self, site: str) -> list[LearnedRule]:
        """Return the active and suspended rules that cover a site, or move other hosts to it.

        All of them say that they are active; only `active` tells them apart.
        """
        both = self._active_or_suspended
        return [*both.on(site), *self._moving.get(site, ())]

    def rewrite(self, url: str) -> Rewritten | None:
        """Return what the active rules make of a URL; None if no rule is about its site."""
        return self._rewrite(self.active, url)

    def rewrite_held(self, url: str) -> Rewritten | None:
        """Return what active and suspended rules make of a URL; None as in `rewrite`."""
        return self._rewrite(self._active_or_suspended, url)

    def change_all(self, urls: list[str]) -> list[Rewritten | None]:
        """Return what the active rules make of URLs; None for those that they do not change."""
        return self._change_all(self.active, urls)

    def change_all_held(self, urls: list[str]) -> list[Rewritten | None]:
        """Return what active and suspended rules make of URLs; None as in `change_all`."""
        return self._change_all(self._active_or_suspended, urls)

    def rewrite_all_held(self, urls: list[str]) -> list[Rewritten | None]:
        """Return what `rewrite_held` returns, for each of several URLs."""
        return [
            self.rewrite_held(url) if one is None else one
            for one, url in zip(self.change_all_held(urls), urls, strict=True)
        ]

    def identity(self, url: str) -> str:
        """Return the identity of a URL, without learned rules."""
        return self._canonicalizer.identity(url)

    def concern(self, identity: str) -> bool:
        """Return True if rules are about an identity's site, or move other hosts to it."""
        rules = self._active_or_suspended
        if not rules.active:
            return False
        site = site_in(identity)
        return site in self._moving or rules.covers(site)

    def _change_all(self, rules: RuleSet, urls: list[str]) -> list[Rewritten | None]:
        plain = [form.identity for form in forms_of(self._canonicalizer, urls)]
        return rewrite_many(rules, self._canonicalizer, plain)

    def _rewrite(self, rules: RuleSet, url: str) -> Rewritten | None:
        if not self._known:
            return None
        _requested, plain, own_key = self._canonicalizer(url)
        found = followed(rules, self._canonicalizer, plain)
        if found is None and self.concern(plain):
            return Rewritten(plain, own_key, (), plain)
        return found

    def hosts_of(self, connection: Connection, rewrite: Rewrite) -> set[str]:
        """Return the known hosts whose classes a rule may change: its own, and those joined to it.

        Rules that move hosts join them. Ports are left out, because the store knows hosts without.
        """
        sites = {rewrite.host}
        if rewrite.subdomains:
            below = hosts.c.name.endswith("." + rewrite.host, autoescape=True)
            sites |= set(connection.scalars(select(hosts.c.name).where(below)))
        if FAMILIES[rewrite.family].moves_host:
            sites.add(rewrite.new)
        moving = [rule for rules in self._moving.values() for rule in rules]
        size = 0
        while size != len(sites):
            size = len(sites)
            for rule in moving:
                if not sites.isdisjoint({rule.host, rule.new}):
                    sites |= {rule.host, rule.new}
        return {without_port(site) for site in sites}


def _by_target(rules: RuleSet) -> dict[str, list[LearnedRule]]:
    """Return the active rules that move hosts, by the host to which they move URLs."""
    moving: dict[str, list[LearnedRule]] = {}
    for rule in rules.active:
        if FAMILIES[rule.family].moves_host:
            moving.setdefault(rule.new, []).append(rule)
    return moving


def _as_active(rule: LearnedRule) -> LearnedRule:
    """Return a rule in force as active; return others unchanged."""
    return replace(rule, state="active") if rule.state in IN_FORCE else rule


def _with_domains(site: str) -> set[str]:
    """Return a site and its parent domains of two labels or more."""
    labels = site.split(".")
    return {site} | {".".join(labels[start:]) for start in range(1, len(labels) - 1)}


class StoredRules:
    """The rules of a store for jobs that do not learn: rules hold URLs, and are not tested."""

    def __init__(self, canonicalizer: Canonicalizer) -> None:
        """Start without rules; the first transaction loads them.

        Args:
            canonicalizer: makes identities, without learned rules.
        """
        self._canonicalizer = canonicalizer
        self._in_force = RulesInForce((), canonicalizer)
        self._generation: int | None = None  # of the loaded rules; None: not loaded

    def refresh(self, connection: Connection) -> None:
        """Load the rules of the store, if they have changed."""
        self._load(connection)

    def _load(self, connection: Connection) -> bool:
        """Load the rules of the store; return True if they have changed."""
        generation = facts.generation(connection, facts.RULES)
        if generation == self._generation:
            return False
        if self._generation is None:
            self._in_force = RulesInForce.load(connection, self._canonicalizer)
        else:
            self._in_force = self._in_force.refreshed(
                connection, rule_rows.states_by_host(connection, IN_FORCE)
            )
        self._generation = generation
        return True

    def forget(self) -> None:
        """Let the next transaction load the rules again."""
        self._generation = None

    def rewrite(self, url: str) -> Rewritten | None:
        """Return what active rules make of a URL; None if no rule is about its site."""
        return self._in_force.rewrite(url)

    def choose_as_test(self, rewritten: Rewritten, now: float) -> bool:
        """Return False, since nothing is fetched to test rules."""
        del rewritten, now
        return False

    def is_gone(self, rewritten: Rewritten) -> bool:
        """Return False, since gone URLs are not counted here."""
        del rewritten
        return False
