"""The learning session: joins what is known of sites to the store, inside its own transactions.

What a crawl fetches goes to the sites. What is decided is published: saved, and applied to the
known URLs of the hosts, in the transaction in which it was learned.
"""

import time
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import NamedTuple

from sqlalchemy import Connection

from canonry.canon import Canonicalizer
from canonry.canon.learned import FAMILIES, Rewrite, describe, find_circle, site_in
from canonry.crawler.learn.life.gone_names import GoneNames
from canonry.crawler.learn.questions.probes import Probe, again
from canonry.crawler.learn.rules.in_force import RulesInForce
from canonry.crawler.learn.rules.rule_store import publish
from canonry.crawler.learn.session import Learned
from canonry.crawler.learning.comparison import PageAnswer
from canonry.crawler.learning.decision import decide
from canonry.crawler.learning.evidence import RuleEvidence, State
from canonry.crawler.learning.learned_site import LearnedSite
from canonry.crawler.learning.request_policy import RequestPolicy
from canonry.crawler.plurals import agreement, counted
from canonry.storage.http_status import GONE, OK, PERMANENT_REDIRECTS
from canonry.storage.learned import rule_rows
from canonry.storage.learned.classes import Rewritten
from canonry.storage.learned.tracked_rule import TrackedRule
from canonry.storage.records import QUESTION, Outcome, RecordedOutcome
from canonry.storage.rows import urls

_UNKNOWN = -1  # generation of rules


class _Learning(NamedTuple):
    """A site, and what is asked of it."""

    site: LearnedSite
    policy: RequestPolicy


class BlockLearning:
    """Learns for one crawl, and gives the store its rules. Only the writer thread may call it."""

    def __init__(
        self,
        canonicalizer: Canonicalizer,
        _thresholds: object,
        notify: Callable[[str], None],
    ) -> None:
        """Start without rules; the first transaction loads those of the store.

        Args:
            canonicalizer: makes identities, without learned rules.
            notify: receives sentences for people.
        """
        self._canonicalizer = canonicalizer
        self._notify = notify
        self._generation = _UNKNOWN
        self._in_force = RulesInForce((), canonicalizer)
        self._sites: dict[str, _Learning] = {}  # without "www."
        self._gone = GoneNames()
        self._answers: list[tuple[Probe, Outcome]] = []  # to what was asked again
        self.seconds = 0.0  # of CPU time, spent on learning

    def refresh(self, connection: Connection) -> None:
        """Load rules that another process, or the command, has changed in the store."""
        generation = rule_rows.generation(connection)
        if generation != self._generation:
            self._in_force = RulesInForce.load(connection, self._canonicalizer)
            self._generation = generation

    def forget(self) -> None:
        """Forget what came from a transaction that was rolled back."""
        self._sites.clear()
        self._gone.clear()
        self._generation = _UNKNOWN

    def forget_hosts(self, hosts: Collection[str]) -> None:
        """Forget hosts that go to another worker or come from one."""
        for host in hosts:
            self._sites.pop(_without_www(host), None)

    @property
    def has_news(self) -> bool:
        """True if what was asked again has answered since `learn` was called."""
        return bool(self._answers)

    def observe_probe(self, probe: Probe, found: Outcome) -> None:
        """Keep what was answered with 200, until `learn` is called."""
        self._answers.append((probe, found))

    def rewrite(self, url: str) -> Rewritten | None:
        """Return what active rules make of a URL; None if no rule is about its host."""
        return self._in_force.rewrite(url)

    def is_gone(self, rewritten: Rewritten) -> bool:
        """Return True if names enough of a page have answered 404 or 410, and none with it."""
        return self._gone.are_enough(rewritten.key)

    def is_verified(self, rewritten: Rewritten, now: float) -> bool:  # noqa: ARG002 - the store's protocol
        """Return True if a URL is to be fetched although rules could spare it, to test them."""
        return self._is_test(self._in_force, rewritten)

    def _is_test(self, in_force: RulesInForce, rewritten: Rewritten) -> bool:
        rewrites = [rule.rewrite for rule in in_force.behind(rewritten)]
        return self._of(rewritten.source).policy.is_test(rewritten.source, rewrites)

    def _of(self, identity: str) -> _Learning:
        """Return what is known of an identity's site."""
        name = _without_www(site_in(identity))
        found = self._sites.get(name)
        if found is None:
            site = LearnedSite()
            found = self._sites[name] = _Learning(site, RequestPolicy(site))
        return found

    def learn(
        self, connection: Connection, recorded: Sequence[RecordedOutcome], now: float
    ) -> Learned:
        """Learn from outcomes, and from what was asked again, and publish what is decided.

        Args:
            connection: of the transaction that recorded the outcomes.
            recorded: outcomes of visits; none to learn from what was asked again alone.
            now: seconds since 1970.

        Returns:
            The rows that rules hold or defer, and what to request next.
        """
        start = time.thread_time()
        sites = {id(one.site): one for one in self._observe_all(recorded)}
        later = [a.replaces for r in recorded for a in r.admissions if a.replaces is not None]
        changed: list[tuple[RuleEvidence, State]] = []
        probes: list[Probe] = []
        sooner: list[int] = []
        for site, policy in sites.values():
            site.judge_again()
            changed += decide(site)
            sooner += policy.to_ask_first()
            probes += map(again, policy.questions())
        later += self._publish(connection, changed, now)
        urls.promote(connection, sooner, QUESTION)
        self.seconds += time.thread_time() - start
        return Learned(tuple(later), tuple(probes), tuple(sooner))

    def _observe_all(self, recorded: Iterable[RecordedOutcome]) -> Iterable[_Learning]:
        """Give answers to their sites; yield these."""
        identity_of = self._canonicalizer.identity
        answers, self._answers = self._answers, []
        for probe, found in answers:
            identity = identity_of(probe.url)
            known = self._of(identity)
            if found.page is not None and found.page.status == OK:
                known.site.page(identity, 0, PageAnswer.of(found.page.digest, found.hashes), None)
            yield known
        for one in recorded:
            if not one.late:
                identity = identity_of(one.outcome.queued.url)
                known = self._of(identity)
                self._observe(known.site, identity, one)
                yield known

    def _observe(self, site: LearnedSite, identity: str, recorded: RecordedOutcome) -> None:
        """Give an answer, and the links that are new, to a site."""
        outcome, identity_of = recorded.outcome, self._canonicalizer.identity
        page, canonical = outcome.page, None
        for hop, _admitted in recorded.led:
            target = identity_of(hop.target.url)
            if hop.kind == "canonical":
                canonical = target
            elif hop.status in PERMANENT_REDIRECTS and target != identity:
                site.moved(identity, outcome.row, target)
        if page is not None and page.status == OK:
            answer = PageAnswer.of(page.digest, outcome.hashes)
            site.page(identity, outcome.row, answer, canonical)
        elif page is not None and page.status in GONE:
            site.gone(identity, outcome.row)
        if page is not None and (page.status == OK or page.status in GONE):
            missing = page.status != OK
            if missing or self._gone:
                self._count_gone(outcome.queued.url, missing=missing)
        admitted = recorded.admissions[len(outcome.hops) :]
        for link, admission in zip(outcome.links, admitted, strict=False):
            if admission.new and admission.replaces is None:
                found = identity_of(link.url)
                self._of(found).site.found(found, admission.row)

    def _count_gone(self, url: str, *, missing: bool) -> None:
        """Remember that a name of a page is gone, or that one leads to it."""
        if (rewritten := self._in_force.rewrite(url)) is not None:
            (self._gone.add if missing else self._gone.found)(rewritten.key)

    def _publish(
        self, connection: Connection, changed: Sequence[tuple[RuleEvidence, State]], now: float
    ) -> list[int]:
        """Save rules whose state has changed, and apply them; return what is asked later."""
        in_force = self._in_force
        saved: list[TrackedRule] = []
        for rule, before in changed:
            said = rule.rewrite
            others = [other.rewrite for other in in_force.known]
            may_circle = rule.state == "active" and FAMILIES[said.family].can_chain
            if may_circle and find_circle([*others, said]):
                rule.state = before
                continue
            stored = _stored(rule, now)
            in_force = in_force.with_changes([stored.as_learned()])
            saved.append(stored)
            self._notify(
                f"rule {stored.id} is {rule.state} (was {before}): "
                f"{describe(said)}; {agreement(stored.agree, stored.disagree)}"
            )
        if not saved:
            return []
        rule_rows.put(connection, saved)
        rewrites: list[Rewrite] = [stored.rewrite for stored in saved]
        self._in_force, done = publish(
            connection, rewrites, self._canonicalizer, now, self._is_test, in_force
        )
        self._generation = rule_rows.generation(connection)
        if done.held or done.released:
            self._notify(
                f"learned rules: {counted(len(done.held), 'queued URL')} held as duplicates, "
                f"{counted(len(done.released), 'held URL')} released"
            )
        return [*done.held, *done.deferred]


def _stored(rule: RuleEvidence, now: float) -> TrackedRule:
    """Return a rule as the store keeps it."""
    found = rule.tally
    return TrackedRule(
        rule.rewrite,
        state=rule.state,
        agree=found.same,
        disagree=found.different,
        moved=found.own_word,
        first_seen=now,
        last_seen=now,
        entered_at=now,
    )


def _without_www(site: str) -> str:
    while site.startswith("www."):
        site = site[4:]
    return site
