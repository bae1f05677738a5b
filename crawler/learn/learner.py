"""The learner: compares what servers answer with what rules predict. Pure: no clock, no store.

It keeps the rules of each host and counts evidence for and against them. Its memory is bounded: so
many hosts, so many rules and bodies of each; forgetting costs only evidence.
"""

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator
from math import inf
from typing import NamedTuple, Protocol

from msgspec.structs import replace

from canonry.canon.learned import FAMILIES, LearnedRule, Rewrite, act
from canonry.canon.syntax import Parts
from canonry.crawler.learn.host_memory import HostMemory
from canonry.crawler.learn.infer import rewrites_between, rewrites_from
from canonry.crawler.learn.lifecycle import IN_FORCE, next_state
from canonry.crawler.learn.thresholds import Thresholds
from canonry.crawler.learn.verification import Sampler, first_directory
from canonry.storage.learned.tracked_rule import TrackedRule

_HOSTS = 4_000
_AGREEING_HOSTS = 3


class Moved(NamedTuple):
    """A permanent redirect, or a ``rel=canonical``, whose end answered with 200."""

    source: str  # identities under the policy, without learned rules
    target: str
    at: float  # seconds since 1970
    kind: str = "redirect"


class Answered(NamedTuple):
    """An answer of status 200."""

    url: str  # its identity
    digest: bytes  # of the decoded body
    at: float
    hsts: bool = False  # it came with Strict-Transport-Security over https


class StateChange(NamedTuple):
    """A rule that went from one state to another."""

    rule: TrackedRule
    before: str


class Decisions(NamedTuple):
    """What follows from new evidence."""

    changed: list[TrackedRule]  # rules with new evidence
    state_changes: list[StateChange]  # those of them with a new state
    removed: list[TrackedRule]  # candidates that were given up


class RuleArchive(Protocol):
    """What is remembered elsewhere, for longer than here."""

    def rules_of(self, host: str) -> Iterable[TrackedRule]:
        """Return the rules of a host; called when the learner meets the host (again)."""
        ...

    def body_of(self, identity: str) -> tuple[str, bytes] | None:
        """Return the identity of the URL fetched for an identity, and its body's digest."""
        ...

    def body_by_rules(self, identity: str) -> tuple[str, bytes] | None:
        """Return the same for the URL that was fetched instead, because rules said so."""
        ...


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
    """The rules of hosts, and their evidence. One thread at a time may call it."""

    def __init__(
        self,
        thresholds: Thresholds,
        registrable: Callable[[str], str],
        archive: RuleArchive | None = None,
    ) -> None:
        """Start with what an archive remembers.

        Args:
            thresholds: how much evidence makes a rule.
            registrable: from a host to its registrable domain, private suffixes respected.
            archive: knows earlier rules, and bodies that were fetched.
        """
        self._thresholds = thresholds
        self._registrable = registrable
        self._archive = archive or _Nothing()
        self._hosts: OrderedDict[str, HostMemory] = OrderedDict()
        self._changed: dict[Rewrite, TrackedRule] = {}
        self._removed: list[TrackedRule] = []
        self._sampler = Sampler()
        self.wide_domains: set[str] = set()  # domains with rules for their subdomains, too

    def rules(self, host: str) -> Collection[TrackedRule]:
        """Return the rules of a host."""
        return self._host(host).rules.values()

    def forget(self) -> None:
        """Forget all rules and evidence, as after a transaction that was rolled back."""
        self._hosts.clear()
        self._changed.clear()
        self._removed.clear()

    def observe(self, news: Moved | Answered) -> None:
        """Compare an answer with what the rules of its host predict."""
        if isinstance(news, Moved):
            self._observe_moved(news)
        else:
            self._observe_answered(news)

    def observe_missing(self, host: str, digest: bytes) -> None:
        """Remember the body with which a host answers 200 for what does not exist."""
        self._host(host).missing = digest

    def decide(self, now: float) -> Decisions:
        """Decide on the state of every rule that has new evidence.

        A rule changes its state once in a call, from one state to the next.
        """
        changed, self._changed = list(self._changed.values()), {}
        changes = []
        for rule in changed:
            state = next_state(rule, self._thresholds.family[rule.rewrite.family])
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
        removed, self._removed = self._removed, []
        return Decisions([*changed, *self._changed.values()], changes, removed)

    def is_verified(self, rules: Iterable[LearnedRule], identity: str, now: float) -> bool:
        """Return True if a prediction of active rules is to be fetched, to verify them.

        Args:
            rules: the rules that made the identity.
            identity: what they made of a URL.
            now: seconds since 1970.
        """
        for rule in rules:
            tracked = self._host(rule.host).rules.get(rule.rewrite)
            since = None if tracked is None else now - tracked.verified_at
            if self._sampler.is_chosen(
                rule.id, identity, since, self._thresholds.family[rule.family]
            ):
                return True
        return False

    def wants_probe(self, host: str) -> bool:
        """Return True, once for each host, if it should be asked for what does not exist.

        Equal bodies are evidence only if the host does not answer everything with one body.
        """
        known = self._host(host)
        if known.probed or not any(
            rule.agree > rule.moved and rule.state == "candidate" for rule in known.rules.values()
        ):
            return False
        known.probed = True
        return True

    def _host(self, name: str) -> HostMemory:
        """Return the memory of a host; forget the host that was not used for longest."""
        host = self._hosts.pop(name, None)
        if host is None:
            host = HostMemory.of(self._archive.rules_of(name))
            if len(self._hosts) >= _HOSTS:
                self._hosts.popitem(last=False)
        self._hosts[name] = host
        return host

    def _predictions(self, parts: Parts) -> Iterator[tuple[TrackedRule, Parts]]:
        """Yield the rules that change a URL, and what each makes of it."""
        name = parts.host or ""
        own = self._host(name).rules
        domain = self._registrable(name)
        wide = []
        if domain in self.wide_domains:
            wide = [r for r in self._host(domain).rules.values() if r.rewrite.subdomains]
        decided = [rule for rule in own.values() if rule.state not in {"candidate", "probation"}]
        own_ones = {replace(rule.rewrite, host=domain) for rule in decided} if wide else set()
        for rule in (*own.values(), *wide):
            said = rule.rewrite
            if said.subdomains and replace(said, subdomains=False, but=()) in own_ones:
                continue  # the host has decided for itself
            after = act(said, parts)
            if after is not parts:
                yield rule, after

    def _observe_moved(self, news: Moved) -> None:
        """Compare the target of a redirect with what rules make of its source."""
        source, target = Parts.of(news.source), Parts.of(news.target)
        shown = rewrites_from(source, target)
        pair = (news.source, news.target)
        # A redirect to another host says nothing about the other differences on this one.
        to_host = [rewrite for rewrite in shown if rewrite.family == "host-alias"]
        for rewrite in to_host or shown:
            for scoped in _scopes(rewrite, source.path):
                rule = self._rule(scoped)
                rule.moved += news.kind == "redirect"
                self._count(rule, source, pair, news.at, agrees=True)
        if news.kind != "redirect":
            return  # a canonical link says nothing about other rules
        for rewrite in rewrites_from(target, source):
            self._count_reversed(rewrite, target.path)
        for rule, _after in list(self._predictions(source)):
            plain = replace(
                rule.rewrite, below="/", host=source.host or "", subdomains=False, but=()
            )
            if plain not in shown:
                self._count(rule, source, pair, news.at, agrees=False)
            elif rule.rewrite.subdomains:
                self._count(rule, source, pair, news.at, agrees=True)

    def _count_reversed(self, rewrite: Rewrite, path: str) -> None:
        """Count a redirect against the rules of the opposite direction."""
        rules = self._host(rewrite.host).rules
        for scoped in _scopes(rewrite, path):
            rule = rules.get(scoped)
            if rule is not None:
                rule.reversed += 1
                self._changed[scoped] = rule

    def _observe_answered(self, news: Answered) -> None:
        """Compare a body with those of the URLs that rules say are the same."""
        parts = Parts.of(news.url)
        host = self._host(parts.host or "")
        if news.hsts:
            upgrade = self._rule(Rewrite(parts.host or "", "scheme-upgrade"))
            upgrade.hsts = True
        equal = host.add_equal(news.url, news.digest)
        telling = host.is_telling(news.digest, equal)
        for rule, after in list(self._predictions(parts)):
            result = str(after)
            helping: list[TrackedRule] = []
            if len(host.rules) > 1 and result not in host.bodies:
                result, helping = host.combine(rule, after)
            self._compare(rule, parts, result, news, telling=telling, helping=helping)
        self._compare_sources(host, parts, news, telling=telling)
        if host.has_rules_in_force():
            self._compare_fetched_instead(parts, news, telling=telling)
        host.add_body(news.url, news.digest)
        if telling:
            for other in equal:
                self._propose(Parts.of(other), parts, news)

    def _compare(
        self,
        rule: TrackedRule,
        parts: Parts,
        result: str,
        news: Answered,
        *,
        telling: bool,
        helping: Iterable[TrackedRule],
    ) -> None:
        """Compare a body with that of the URL that a rule, with others, makes of its URL."""
        host = self._host(parts.host or "")
        other = self._host(Parts.of(result).host or "").bodies.get(result)
        named = result
        if other is None:
            named, other = host.source(rule.rewrite, result) or (result, None)
        if other is None and rule.state in IN_FORCE:
            named, other = self._archive.body_of(result) or (result, None)
        if other is None:
            host.add_source(rule.rewrite, result, news.url, news.digest)
            if rule.moved:  # a redirect was predicted, and the URL answered by itself
                self._count(rule, parts, (news.url, news.url), news.at, agrees=False)
        elif telling or other != news.digest:
            for counted in (rule, *helping):
                agrees = other == news.digest
                self._count(counted, parts, (news.url, named), news.at, agrees=agrees)

    def _compare_sources(
        self, host: HostMemory, parts: Parts, news: Answered, *, telling: bool
    ) -> None:
        """Compare a body with those of earlier URLs of which rules make its URL."""
        for rewrite, sources in host.sources.items():
            rule = host.rules.get(rewrite)
            found = sources.pop(news.url, None)
            if rule is None or found is None or (found[1] == news.digest and not telling):
                continue
            agrees = found[1] == news.digest
            self._count(rule, parts, (found[0], news.url), news.at, agrees=agrees)

    def _compare_fetched_instead(self, parts: Parts, news: Answered, *, telling: bool) -> None:
        """Compare a body with that of the URL that was fetched instead, because of rules."""
        named, digest = self._archive.body_by_rules(news.url) or (news.url, news.digest)
        agrees = digest == news.digest
        if named != news.url and (telling or not agrees):
            for rule, _after in list(self._predictions(Parts.of(named))):
                if rule.state in IN_FORCE:
                    self._count(rule, parts, (named, news.url), news.at, agrees=agrees)

    def _propose(self, one: Parts, other: Parts, news: Answered) -> None:
        """Add candidates that would explain why two URLs answer with the same body."""
        for rewrite in rewrites_between(one, other):
            for scoped in _scopes(rewrite, one.path):
                if scoped not in self._host(rewrite.host).rules:
                    rule = self._rule(scoped)
                    self._count(rule, other, (str(one), str(other)), news.at, agrees=True)

    def _rule(self, rewrite: Rewrite) -> TrackedRule:
        """Return the rule that says something; add it as a candidate if there is none."""
        host = self._host(rewrite.host)
        rule = host.rules.get(rewrite)
        if rule is None:
            rule, removed = host.add_rule(rewrite)
            if removed is not None:
                self._removed.append(removed)
                self._changed.pop(removed.rewrite, None)
        return rule

    def _count(
        self, rule: TrackedRule, parts: Parts, pair: tuple[str, str], at: float, *, agrees: bool
    ) -> None:
        """Count a piece of evidence for a rule, or against it."""
        path = parts.path
        if FAMILIES[rule.rewrite.family].by_query:
            path = f"{path}?{parts.query}"
        if rule.rewrite.subdomains:
            path = f"{parts.host}{path}"
        if rule.count(path, pair, at, agrees=agrees):
            self._changed[rule.rewrite] = rule

    def _is_covered(self, rule: TrackedRule) -> bool:
        """Return True if an active rule for the whole host says the same as one for a part."""
        whole = self._host(rule.rewrite.host).rules.get(replace(rule.rewrite, below="/"))
        return rule.rewrite.below != "/" and whole is not None and whole.state == "active"

    def _verify_all(self, failed: TrackedRule) -> None:
        """Verify the next prediction of every rule of a host, after one of them has failed.

        The host may have changed altogether. If the rule was for the whole host, what its parts
        rest on was counted for it, too: those that were never active start again.
        """
        rules = self._host(failed.rewrite.host).rules
        for other in rules.values():
            other.verified_at = -inf
        for rewrite in [said for said in rules if replace(said, below="/") == failed.rewrite]:
            if rewrite != failed.rewrite and rules[rewrite].state in {"candidate", "probation"}:
                self._removed.append(rules.pop(rewrite))

    def _extend_to_domain(self, rule: TrackedRule, now: float) -> None:
        """Add a rule for the whole domain, if several of its hosts have learned the same."""
        said = rule.rewrite
        domain = self._registrable(said.host)
        if FAMILIES[said.family].moves_host or said.subdomains or said.host == domain:
            return
        agreeing = 0
        for name, host in self._hosts.items():
            if name == domain or name.endswith("." + domain):
                own = host.rules.get(replace(said, host=name))
                if own is not None and own.state in {"revoked", "frozen"}:
                    return
                agreeing += own is not None and own.state == "active"
        self.wide_domains.add(domain)
        wide = self._rule(replace(said, host=domain, subdomains=True))
        wide.agree += rule.agree
        if agreeing >= _AGREEING_HOSTS and wide.state == "candidate":
            wide.enter("probation", now)
            self._changed[wide.rewrite] = wide


def _scopes(rewrite: Rewrite, path: str) -> Iterator[Rewrite]:
    """Yield a rewrite for the whole host, and for the part of it that a path lies in."""
    yield rewrite
    below = first_directory(path)
    if below and rewrite.family != "path-prefix":
        yield replace(rewrite, below=below)
