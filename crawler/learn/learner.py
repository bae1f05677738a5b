"""The learner: compares what servers answer with what rules predict. Pure: no clock, no store.

It counts what redirects say for and against the rules of hosts, has bodies compared, and decides on
the state of each rule.
"""

from collections.abc import Callable, Collection, Iterable
from math import inf
from typing import NamedTuple, Protocol

from msgspec.structs import replace

from canonry.canon.learned import FAMILIES, LearnedRule, Rewrite, is_host_name, site_of
from canonry.canon.syntax import Parts
from canonry.crawler.learn.evidence.body_comparison import Answered, BodyArchive, BodyComparison
from canonry.crawler.learn.evidence.host_memory import Memory, RuleArchive
from canonry.crawler.learn.evidence.infer import rewrites_from, scopes
from canonry.crawler.learn.life.lifecycle import next_state
from canonry.crawler.learn.life.thresholds import Thresholds
from canonry.crawler.learn.life.verification import Sampler
from canonry.storage.learned.tracked_rule import TrackedRule

_AGREEING_HOSTS = 3


class Moved(NamedTuple):
    """A permanent redirect, or a ``rel=canonical``, whose end answered with 200."""

    source: str  # identities under the policy, without learned rules
    target: str
    at: float  # seconds since 1970
    kind: str = "redirect"


class StateChange(NamedTuple):
    """A rule that went from one state to another."""

    rule: TrackedRule
    before: str


class Decisions(NamedTuple):
    """What follows from new evidence."""

    changed: list[TrackedRule]  # rules with new evidence
    state_changes: list[StateChange]  # those of them with a new state
    removed: list[TrackedRule]  # candidates that were given up


class Archive(RuleArchive, BodyArchive, Protocol):
    """What is remembered elsewhere, for longer than here."""


class _Nothing:
    """An archive that remembers nothing."""

    def rules_of(self, host: str) -> Iterable[TrackedRule]:
        del host
        return ()

    def body_of(self, identity: str) -> tuple[str, bytes] | None:
        del identity
        return None

    body_by_rules = body_of


class Learner:
    """Learns the rules of hosts from evidence. One thread at a time may call it.

    Attributes:
        priors: what is expected of each family before a host has said anything.
    """

    def __init__(
        self,
        thresholds: Thresholds,
        registrable: Callable[[str], str],
        archive: Archive | None = None,
    ) -> None:
        """Start with what an archive remembers.

        Args:
            thresholds: how much evidence makes a rule.
            registrable: from a host to its registrable domain, private suffixes respected.
            archive: knows earlier rules, and bodies that were fetched.
        """
        self._thresholds = thresholds
        self._registrable = registrable
        archive = archive or _Nothing()
        self._memory = Memory(registrable, archive)
        self._comparison = BodyComparison(self._memory, archive)
        self._sampler = Sampler(thresholds.verification)
        self.priors = {name: limits.prior for name, limits in thresholds.family.items()}

    def rules(self, host: str) -> Collection[TrackedRule]:
        """Return the rules of a host."""
        return self._memory.host(host).rules.values()

    def forget(self, wide_domains: Iterable[str] = ()) -> None:
        """Forget all rules and evidence, as after a transaction that was rolled back.

        Args:
            wide_domains: the domains for which the archive has rules for their subdomains, too.
        """
        self._memory.forget(wide_domains)

    def observe(self, news: Moved | Answered) -> None:
        """Compare an answer with what the rules of its host predict."""
        self._sampler.fetched(news.source if isinstance(news, Moved) else news.url)
        if isinstance(news, Moved):
            self._observe_moved(news)
        else:
            if news.hsts:
                site = site_of(Parts.of(news.url))
                if is_host_name(site):
                    self._memory.rule(Rewrite(site, "scheme-upgrade")).hsts = True
            self._comparison.observe(news)

    def observe_missing(self, host: str, digest: bytes) -> None:
        """Remember the body with which a host answers 200 for what does not exist."""
        self._memory.host(host).missing = digest

    def decide(self, now: float) -> Decisions:
        """Decide on the state of every rule that has new evidence.

        A rule changes its state once in a call, from one state to the next.
        """
        changed = self._memory.take_changed()
        changes = []
        for rule in changed:
            family = rule.rewrite.family
            state = next_state(rule, self._thresholds.family[family], self.priors[family])
            if state == "active" and self._is_covered(rule):
                state = rule.state
            if state != rule.state:
                changes.append(StateChange(rule, rule.state))
                rule.enter(state, now)
        for change in changes:
            if change.rule.state == "active":
                self._extend_to_domain(change.rule, now)
            elif change.before == "active":
                self._verify_all(change.rule)
        removed = self._memory.take_removed()
        return Decisions([*changed, *self._memory.changed], changes, removed)

    def is_verified(
        self, rules: Iterable[LearnedRule], identity: str, now: float, source: str = ""
    ) -> bool:
        """Return True if a prediction of active rules is to be fetched, to verify them.

        Args:
            rules: the rules that made the identity.
            identity: what they made of a URL.
            now: seconds since 1970.
            source: the URL's identity without rules, if it is known.
        """
        for rule in rules:
            tracked = self._memory.host(rule.host).rules.get(rule.rewrite)
            since = None if tracked is None else now - tracked.verified_at
            limits = self._thresholds.family[rule.family]
            if self._sampler.is_chosen(rule.id, source or identity, identity, since, limits):
                return True
        return False

    def wants_probe(self, host: str) -> bool:
        """Return True, once for each host, if it should be asked for what does not exist.

        Equal bodies are evidence only if the host does not answer everything with one body.
        """
        known = self._memory.host(host)
        if known.probed or not any(
            rule.agree > rule.moved and rule.state == "candidate" for rule in known.rules.values()
        ):
            return False
        known.probed = True
        return True

    def _observe_moved(self, news: Moved) -> None:
        """Compare the target of a redirect with what rules make of its source."""
        source, target = Parts.of(news.source), Parts.of(news.target)
        shown = rewrites_from(source, target)
        pair = (news.source, news.target)
        # A redirect to another host says nothing about the other differences on this one.
        to_host = [rewrite for rewrite in shown if rewrite.family == "host-alias"]
        for rewrite in to_host or shown:
            for scoped in scopes(rewrite, source.path):
                rule = self._memory.rule(scoped)
                rule.moved += news.kind == "redirect"
                self._memory.count(rule, source, pair, news.at, agrees=True)
        if news.kind != "redirect":
            return  # a canonical link says nothing about other rules
        for rewrite in rewrites_from(target, source):
            self._count_reversed(rewrite, target.path)
        for rule, _after in list(self._memory.predictions(source)):
            plain = replace(rule.rewrite, below="/", host=site_of(source), subdomains=False, but=())
            if plain not in shown:
                self._memory.count(rule, source, pair, news.at, agrees=False)
            elif rule.rewrite.subdomains:
                self._memory.count(rule, source, pair, news.at, agrees=True)

    def _count_reversed(self, rewrite: Rewrite, path: str) -> None:
        """Count a redirect against the rules of the opposite direction."""
        rules = self._memory.host(rewrite.host).rules
        for scoped in scopes(rewrite, path):
            rule = rules.get(scoped)
            if rule is not None:
                rule.reversed += 1
                self._memory.mark_changed(rule)

    def _is_covered(self, rule: TrackedRule) -> bool:
        """Return True if an active rule for the whole host says the same as one for a part."""
        whole = self._memory.host(rule.rewrite.host).rules.get(replace(rule.rewrite, below="/"))
        return rule.rewrite.below != "/" and whole is not None and whole.state == "active"

    def _verify_all(self, failed: TrackedRule) -> None:
        """Verify the next prediction of every rule of a host, after one of them has failed.

        The host may have changed altogether. If the rule was for the whole host, what its parts
        rest on was counted for it, too: those that were never active start again.
        """
        rules = self._memory.host(failed.rewrite.host).rules
        for other in rules.values():
            other.verified_at = -inf
        for rewrite in [said for said in rules if replace(said, below="/") == failed.rewrite]:
            if rewrite != failed.rewrite and rules[rewrite].state in {"candidate", "probation"}:
                self._memory.remove(rules[rewrite])

    def _extend_to_domain(self, rule: TrackedRule, now: float) -> None:
        """Add a rule for the whole domain, if several of its hosts have learned the same."""
        said = rule.rewrite
        if FAMILIES[said.family].moves_host or said.subdomains or not is_host_name(said.host):
            return
        domain = self._registrable(said.host)
        if said.host == domain:
            return
        agreeing = 0
        for name, host in self._memory.hosts_of(domain):
            own = host.rules.get(replace(said, host=name))
            if own is not None and own.state in {"revoked", "frozen"}:
                return
            agreeing += own is not None and own.state == "active"
        self._memory.wide_domains.add(domain)
        wide = self._memory.rule(replace(said, host=domain, subdomains=True))
        wide.agree += rule.agree
        if agreeing >= _AGREEING_HOSTS and wide.state == "candidate":
            wide.enter("probation", now)
            self._memory.mark_changed(wide)
