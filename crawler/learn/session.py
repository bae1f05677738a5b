"""The learning session: joins the learner to the store, inside the store's own transactions.

What a crawl fetches goes to the learner. What the learner decides is published: saved, and applied
to the known URLs of the hosts, in the transaction in which it was learned. If the process is
killed on the way, the store stays as it was before.
"""

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from typing import NamedTuple

from sqlalchemy import Connection

from canonry.canon import Canonicalizer
from canonry.canon.learned import describe, site_in
from canonry.crawler.admission.scope import registrable
from canonry.crawler.learn.asking import Asking
from canonry.crawler.learn.decider import StateChange
from canonry.crawler.learn.learner import Learner
from canonry.crawler.learn.life.experience import priors_for
from canonry.crawler.learn.life.gone_names import GoneNames
from canonry.crawler.learn.life.in_words import IN_STATE
from canonry.crawler.learn.life.lifecycle import IN_FORCE
from canonry.crawler.learn.life.thresholds import Thresholds
from canonry.crawler.learn.memory.site_memory import FACTS
from canonry.crawler.learn.news import Answered, Moved
from canonry.crawler.learn.questions.probes import Probe
from canonry.crawler.learn.rules.gate import reason_to_block
from canonry.crawler.learn.rules.in_force import RulesInForce
from canonry.crawler.learn.rules.rule_store import publish
from canonry.crawler.learn.store_archive import StoreArchive
from canonry.crawler.learn.trials.occasion import Occasion
from canonry.crawler.learn.trials.site_trials import SiteTrials
from canonry.crawler.learn.waiting_hops import WaitingHops
from canonry.crawler.plurals import agreement, counted
from canonry.storage.http_status import GONE, OK, PERMANENT_REDIRECTS
from canonry.storage.learned import rule_rows
from canonry.storage.learned.classes import Rewritten
from canonry.storage.learned.tracked_rule import TrackedRule
from canonry.storage.records import QUESTION, TARGET, Outcome, RecordedOutcome
from canonry.storage.rows import leases, urls

_UNKNOWN = -1  # generation of rules
_REFIT = 16  # experience is read again when there were so much more changes: a sixteenth
_DECIDED = (*IN_FORCE, "revoked", "frozen")


class Learned(NamedTuple):
    """What a crawl has to do after learning from some outcomes."""

    later: tuple[int, ...] = ()  # rows that rules took out of the queue, or deferred
    probes: tuple[Probe, ...] = ()  # to be fetched once
    sooner: tuple[int, ...] = ()  # queued rows whose answers would decide on a rule


class LearningSession:
    """Learns for one crawl, and gives the store its rules. Only the writer thread may call it."""

    def __init__(
        self,
        canonicalizer: Canonicalizer,
        thresholds: Thresholds,
        notify: Callable[[str], None],
        most_facts: int = FACTS,
    ) -> None:
        """Start without rules; the first transaction loads those of the store.

        Args:
            canonicalizer: makes identities, without learned rules.
            thresholds: how much evidence makes a rule.
            notify: receives sentences for people.
            most_facts: that are remembered; one host has at most half of them.
        """
        self._canonicalizer = canonicalizer
        self._thresholds = thresholds
        self._notify = notify
        self._archive = StoreArchive(canonicalizer)
        self._learner = Learner(thresholds, registrable, self._archive, most_facts)
        self._asking = Asking(self._learner, canonicalizer)
        self._generation = _UNKNOWN
        self._fitted_until = _UNKNOWN  # the generation up to which experience is not read again
        self._in_force = RulesInForce((), canonicalizer)
        self._waiting = WaitingHops()
        self._trials = SiteTrials(thresholds.verification, self._learner)
        self._gone = GoneNames()
        self._blocked: set[str] = set()  # ids of rules that the gate blocked
        self.seconds = 0.0  # of CPU time, spent on learning

    def refresh(self, connection: Connection) -> None:
        """Load rules that another process, or the command, has changed in the store."""
        start = time.thread_time()
        self._archive.bind(connection)
        generation = rule_rows.generation(connection)
        if generation != self._generation:
            self._reload(connection, generation)
        self.seconds += time.thread_time() - start

    def _reload(self, connection: Connection, generation: int) -> None:
        """Load the rules of a generation."""
        wide = rule_rows.wide_hosts(connection)
        is_first = self._generation == _UNKNOWN
        self._archive.has_history |= not is_first or leases.fetched(connection) > 0
        if generation > self._fitted_until or is_first:  # experience changes slowly
            self._learner.expect(priors_for(connection, self._thresholds))
            self._fitted_until = generation + generation // _REFIT
        if is_first:
            self._learner.forget(wide)
            self._in_force = RulesInForce.load(connection, self._canonicalizer)
        else:  # another worker has decided on rules of its hosts, or somebody on those of any
            decided = rule_rows.states_by_host(connection, _DECIDED)
            if wide != self._learner.wide_domains:
                self._learner.forget(wide)
            self._learner.forget_hosts(self._learner.hosts_with_other_rules(decided))
            self._in_force = self._in_force.refreshed(connection, decided)
        self._generation = generation

    def forget(self) -> None:
        """Forget what came from a transaction that was rolled back."""
        self._learner.forget()
        self._trials.clear()
        self._waiting.clear()
        self._gone.clear()
        self._asking.clear()
        self._generation = _UNKNOWN

    def forget_hosts(self, hosts: Collection[str]) -> None:
        """Forget hosts that go to another worker or come from one: the store knows more of them."""
        self._archive.has_history = True
        self._learner.forget_hosts(hosts)

    @property
    def has_news(self) -> bool:
        """True if probes have answered since `learn` was called."""
        return self._asking.has_answers

    def observe_probe(self, probe: Probe, found: Outcome) -> None:
        """Keep what a probe answered with 200, until `learn` is called."""
        self._asking.answered(probe, found)

    def rewrite(self, url: str) -> Rewritten | None:
        """Return what active rules make of a URL; None if no rule is about its host."""
        return self._in_force.rewrite(url)

    def is_verified(self, rewritten: Rewritten, now: float) -> bool:
        """Return True if a URL is to be fetched although rules could spare it, to verify them."""
        return self._is_verified(now, self._in_force, rewritten)

    def is_gone(self, rewritten: Rewritten) -> bool:
        """Return True if names enough of a page have answered 404 or 410, and none with it."""
        return self._gone.are_enough(rewritten.key)

    def _is_verified(self, now: float, in_force: RulesInForce, rewritten: Rewritten) -> bool:
        """Do what `is_verified` says, for some rules."""
        rules = in_force.behind(rewritten)
        return self._learner.is_verified(rules, rewritten.identity, now, rewritten.source)

    def learn(
        self,
        connection: Connection,
        recorded: Sequence[RecordedOutcome],
        now: float,
    ) -> Learned:
        """Learn from outcomes, and from probes, and publish new rules, in the caller's transaction.

        Nothing is learned from what came late: evidence is what the store has, too.

        Args:
            connection: of the transaction that recorded the outcomes.
            recorded: outcomes of visits; none to learn from probes alone.
            now: seconds since 1970.

        Returns:
            The rows that rules hold or defer, and what to request next.
        """
        start = time.thread_time()
        ends: set[int] = set()
        sooner: list[int] = []
        sites: dict[str, str | None] = dict.fromkeys(self._asking.observe())  # with one page each
        answers: Counter[str] = Counter()  # by site
        for one in recorded:
            if one.late:
                continue
            outcome = one.outcome
            ends.add(outcome.row)
            identity = self._canonicalizer.identity(outcome.queued.url)
            for moved, row in self._observe(identity, one, now):
                ends.add(row)
                if moved.kind == "canonical" and self._learner.is_worth_asking(moved):
                    sooner.append(row)
            site = site_in(identity)
            answers[site] += 1
            if outcome.page is not None and outcome.page.status == OK:
                sites[site] = outcome.queued.url
            else:
                sites.setdefault(site, None)
        sites.pop("", None)
        for moved in self._waiting.answered(connection, ends, now):
            self._learner.observe(moved)
        later = [a.replaces for r in recorded for a in r.admissions if a.replaces is not None]
        settled = self._trials.in_place.settle(connection, recorded, self._in_force, now)
        for moved in settled.moved:
            self._learner.observe(moved)
        later += settled.held
        sooner += settled.to_ask
        published = self._publish(connection, sites, now)
        later += published.later
        probes = [
            probe
            for site, page in sites.items()
            for probe in self._asking.probes(connection, site, page, now)
        ]
        sooner += [row for site in sites for row in self._asking.questions(connection, site)]
        tests = list(published.sooner)
        for site in sites:
            rules = self._rules_about([site])
            found = self._trials.release(
                Occasion(connection, site, answers[site], rules, self._in_force, now)
            )
            sooner += found.sooner
            later += found.later
            tests += found.tests
        urls.promote(connection, sooner, QUESTION)
        urls.promote(connection, tests, TARGET)
        self.seconds += time.thread_time() - start
        return Learned(tuple(later), tuple(probes), (*tests, *sooner))

    def _observe(
        self, identity: str, recorded: RecordedOutcome, now: float
    ) -> list[tuple[Moved, int]]:
        """Pass an answer to the learner; keep redirects until their targets have answered.

        Args:
            identity: of the URL that was visited.
            recorded: the outcome of the visit.
            now: seconds since 1970.

        Returns:
            The redirects and canonical links, with the rows of their targets.
        """
        outcome = recorded.outcome
        page = outcome.page
        identity_of = self._canonicalizer.identity
        hops = recorded.led if outcome.hops else ()  # most pages lead nowhere
        led = [(hop, identity_of(hop.target.url), admitted.row) for hop, admitted in hops]
        if page is not None and (page.status == OK or page.status in GONE):
            missing = page.status != OK
            names = next((to for hop, to, _row in led if hop.kind == "canonical"), None)
            self._learner.observe(
                Answered(identity, page.digest, now, outcome.hsts, page.sketch, missing, names)
            )
            self._count_gone(outcome.queued.url, missing=missing)
        found = []
        for hop, target, row in led:
            if target == identity or (
                hop.kind == "redirect" and hop.status not in PERMANENT_REDIRECTS
            ):
                continue
            moved = Moved(identity, target, now, hop.kind)
            self._waiting.add(moved, row)
            found.append((moved, row))
        return found

    def _count_gone(self, url: str, *, missing: bool) -> None:
        """Remember that a name of a page is gone, or that one leads to it."""
        if (missing or self._gone) and (rewritten := self._in_force.rewrite(url)) is not None:
            (self._gone.add if missing else self._gone.found)(rewritten.key)

    def _rules_about(self, sites: Iterable[str]) -> list[TrackedRule]:
        """Return the active and suspended rules that cover sites, or move others to them."""
        rules = {rule.id: rule for site in sites for rule in self._in_force.about(site)}
        known = (self._learner.tracked(rule) for rule in rules.values())
        return [rule for rule in known if rule is not None]

    def _publish(self, connection: Connection, sites: Iterable[str], now: float) -> Learned:
        """Save what was learned, and apply rules whose state changed to the known URLs.

        Args:
            connection: in a writing transaction.
            sites: that have answered.
            now: seconds since 1970.
        """
        decisions = self._learner.decide(now)
        about = self._rules_about(sites)
        undecided = [
            rule
            for rule in self._trials.second.undecided(connection, about)
            if not (self._learner.may_be_noise(rule) and self._trials.second.extend(rule))
        ]
        for rule in undecided:
            rule.enter("revoked" if rule.disagree else "probation", now)
        changed = []
        in_force = self._in_force
        ended = [StateChange(rule, "suspended") for rule in undecided]
        for change in (*decisions.state_changes, *ended):
            rule = change.rule
            if rule.state == "active" and not self._passes_gate(connection, rule, in_force, now):
                rule.enter("probation", now)
            elif rule.state == "active" or change.before in IN_FORCE:
                in_force = in_force.with_changes([rule.as_learned()])  # the gate of the next one
                changed.append(rule.rewrite)
                self._notify_of(change)
        saved = {rule.rewrite: rule for rule in (*decisions.changed, *undecided)}
        rule_rows.put(connection, saved.values())
        rule_rows.delete_candidates(connection, [rule.id for rule in decisions.removed])
        later: list[int] = []
        if changed:
            verified = partial(self._is_verified, now)
            self._in_force, done = publish(
                connection, changed, self._canonicalizer, now, verified, in_force
            )
            self._generation = rule_rows.generation(connection)
            later = [*done.held, *done.deferred]
            if done.held or done.released:
                self._notify(
                    f"learned rules: {counted(len(done.held), 'queued URL')} held as duplicates, "
                    f"{counted(len(done.released), 'held URL')} released"
                )
        known = self._rules_about(sites) if changed else about
        rules = {rule.rewrite: rule for rule in (*decisions.changed, *known)}
        tried = self._trials.second.release(connection, rules.values(), self._in_force)
        return Learned(tuple(later), (), tuple(tried))

    def _notify_of(self, change: StateChange) -> None:
        """Notify people of a rule that became active, or is no longer."""
        rule = change.rule
        self._notify(
            f"rule {rule.id} is {IN_STATE[rule.state]} (was {IN_STATE[change.before]}): "
            f"{describe(rule.rewrite)}; {agreement(rule.agree, rule.disagree)}"
        )

    def _passes_gate(
        self, connection: Connection, rule: TrackedRule, in_force: RulesInForce, now: float
    ) -> bool:
        """Return True if a rule may become active; if not, notify people of the reason, once."""
        reason = reason_to_block(
            connection,
            rule,
            in_force,
            self._canonicalizer,
            self._thresholds.gate,
            now,
        )
        if reason is not None and rule.id not in self._blocked:
            self._blocked.add(rule.id)
            self._notify(f"rule {rule.id} is held back: {describe(rule.rewrite)}; {reason}")
        return reason is None
