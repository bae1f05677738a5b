"""The learning session of a crawl: connect the learned sites to the store's transactions.

Outcomes go to their sites. Evidence is written to the ledger, and decided rules are published:
saved and applied to the known URLs of their hosts, in the same transaction. If the process is
killed before the end, the store stays as it was.
"""

import math
import time
import traceback
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from sqlalchemy import Connection

from canonry.canon import Canonicalizer
from canonry.canon.learned import FAMILIES, Rewrite, RuleState, act, describe, find_circle, site_in
from canonry.canon.pipeline import Rewritten
from canonry.canon.syntax import Parts
from canonry.crawler.learn import site_records, wall_effects
from canonry.crawler.learn.decision import decide
from canonry.crawler.learn.evidence import RuleEvidence
from canonry.crawler.learn.learned_site import LearnedSite
from canonry.crawler.learn.loaded_sites import LoadedSites
from canonry.crawler.learn.request_policy import NAMES_BESIDE, NAMES_IN_DOUBT, Probe
from canonry.crawler.learn.rules.in_force import StoredRules
from canonry.crawler.learn.rules.infer import as_read
from canonry.crawler.learn.rules.loose_forms import without_www
from canonry.crawler.learn.rules.rule_store import publish
from canonry.crawler.learn.suspects import AnsweredPage
from canonry.crawler.learn.text.comparison import PageAnswer
from canonry.crawler.learn.wall_effects import WallEffects
from canonry.crawler.learn.walls import WallPauses
from canonry.crawler.plurals import agreement, counted
from canonry.storage import StoreError, facts
from canonry.storage.clusters.equivalences import held_with_needless_pages
from canonry.storage.http_status import GONE, OK, PERMANENT_REDIRECTS
from canonry.storage.learned import applied_rules, classes, rule_rows
from canonry.storage.learned.rule_rows import TrackedRule
from canonry.storage.records import QUESTION, Admission, Candidate, Outcome, RecordedOutcome
from canonry.storage.rows import leases, pages, urls
from canonry.storage.sql.bulk import rows_of

_ENOUGH = 3  # gone URLs of a page, after which its other URLs count as gone, too
_REMEMBERED = 65_536  # pages


class GoneNames:
    """Counts the URLs of a page that answered 404 or 410, until one answers with the page.

    One gone URL proves nothing about the others, which may still lead to the page. But where each
    link has a fresh session id, a missing page has a new URL in every link.

    Each process counts for itself, and starts at zero with each crawl, so several workers may
    request a missing page more often. That costs requests, never a page.
    """

    def __init__(self) -> None:
        """Start with no counts."""
        self._names: OrderedDict[bytes, int] = OrderedDict()  # by the key of the page

    def __bool__(self) -> bool:
        """Return True if any URL is counted as gone."""
        return bool(self._names)

    def add(self, key: bytes) -> None:
        """Count one more gone URL of a page."""
        self._names[key] = self._names.pop(key, 0) + 1
        if len(self._names) > _REMEMBERED:
            self._names.popitem(last=False)

    def found(self, key: bytes) -> None:
        """Reset the count of a page that one of its URLs has led to."""
        self._names.pop(key, None)

    def are_enough(self, key: bytes) -> bool:
        """Return True if so many URLs of a page are gone that its others need no request."""
        return self._names.get(key, 0) >= _ENOUGH

    def clear(self) -> None:
        """Forget all counts."""
        self._names.clear()


_AGAIN = "again"  # it was reported that a rule has a state once more


class RuleReports:
    """What is reported of rules in a run: each state once, and once that a rule comes and goes."""

    def __init__(self) -> None:
        """Start with nothing reported."""
        self._states: dict[str, set[str]] = {}  # by the ids of rules

    def sentence(self, rule: TrackedRule, before: RuleState) -> str | None:
        """Return what to report of a rule whose state has changed; None if it was reported."""
        states = self._states.setdefault(rule.id, set())
        is_again, is_known = rule.state in states, _AGAIN in states
        states |= {rule.state, _AGAIN} if is_again else {rule.state}
        if not is_again:
            return (
                f"rule {rule.id} is {rule.state} (was {before}): "
                f"{describe(rule.rewrite)}; {agreement(rule.agree, rule.disagree)}"
            )
        if is_known:
            return None
        return (
            f"rule {rule.id} is {rule.state} again (was {before}); further changes of it are not "
            f"reported in this run ('canonry rules show {rule.id}')"
        )


_R = TypeVar("_R")


class Learned(NamedTuple):
    """What a crawl has to do after learning from some outcomes."""

    later: tuple[int, ...] = ()  # ids of URLs that rules took out of the queue, or deferred
    probes: tuple[Probe, ...] = ()  # to be fetched once
    sooner: tuple[int, ...] = ()  # of queued URLs whose answers would decide a rule
    held: tuple[int, ...] = ()  # of `later`: those that changed rules hold now
    released: int = 0  # held URLs that are queued again
    walls: WallEffects = WallEffects()

    def in_words(self, held: int) -> str | None:
        """Return what changed rules did to known URLs, for people; None if nothing.

        Args:
            held: how many URLs they hold, without those already being fetched.
        """
        if not (held or self.released):
            return None
        return (
            f"learned rules: {counted(held, 'queued URL')} held as duplicates, "
            f"{counted(self.released, 'held URL')} released"
        )


def surviving_learning(
    record: Callable[[], _R],
    switch_off: Callable[[], bool],
    notify: Callable[[str], None],
    told: str = "learning failed and is switched off",
) -> _R:
    """Record, and once more without learning if that fails: its faults only switch it off.

    Args:
        record: records in one transaction; any error but a `StoreError` is blamed on learning.
        switch_off: switches it off; returns False if it was off, and then the error is raised.
        notify: receives a sentence for people, with the trace.
        told: the sentence.
    """
    try:
        return record()
    except StoreError:
        raise
    except Exception as error:
        if not switch_off():
            raise
        trace = "".join(traceback.format_exception(error)).rstrip()
        notify(f"{told}; please report this:\n{trace}")
        return record()


class LearningSession(StoredRules):
    """Learns rules in one crawl and applies them. Only the writer thread may call it."""

    def __init__(
        self,
        canonicalizer: Canonicalizer,
        notify: Callable[[str], None],
        pauses: WallPauses | None = None,
        began: float = math.inf,
    ) -> None:
        """Start without rules; the first transaction loads those of the store.

        Args:
            canonicalizer: makes identities, without learned rules.
            notify: receives sentences for people.
            pauses: of hosts that a wall hides; None looks for no walls.
            began: when this run did, in all of its processes; seconds since 1970.
        """
        super().__init__(canonicalizer)
        self._notify = notify
        self._sites = LoadedSites(canonicalizer, pauses, began)
        self._gone = GoneNames()
        self._reports = RuleReports()
        self._answers: list[tuple[Probe, Outcome | None]] = []  # to the probes
        self.seconds = 0.0  # of CPU time, spent on learning

    def refresh(self, connection: Connection) -> None:
        """Load rules that another process or ``canonry rules`` has changed in the store."""
        self._sites.connection = connection
        is_first = self._generation is None
        if not self._load(connection):
            return
        if is_first:
            self._sites.is_known |= leases.fetched(connection) > 0 or rule_rows.has_any(connection)
            return
        decided = rule_rows.states_by_host(connection, ("active", "suspended", "revoked"))
        for name, site in self._sites.items():
            stored = {**decided.get(name, {}), **decided.get(f"www.{name}", {})}
            known = {r.rewrite.id: r.state for r in site.rules.values() if r.state != "candidate"}
            if stored != known:
                self._sites.forget([name])

    def forget(self) -> None:
        """Forget what came from a transaction that was rolled back."""
        super().forget()
        self._sites.forget_all()
        self._gone.clear()
        self._reports = RuleReports()

    def forget_hosts(self, hosts: Collection[str]) -> None:
        """Drop hosts that another worker takes over or hands over; the store has their evidence."""
        self._sites.forget({without_www(host) for host in hosts})

    @property
    def has_news(self) -> bool:
        """True if a probe has answered since the last call of `learn`."""
        return bool(self._answers)

    def observe_probe(self, probe: Probe, found: Outcome | None) -> None:
        """Keep the answer to a probe until `learn` is called; None: it was no page."""
        self._answers.append((probe, found))

    def is_gone(self, rewritten: Rewritten) -> bool:
        """Return True if enough URLs of a page have answered 404 or 410, and none with the page."""
        return self._gone.are_enough(rewritten.key)

    def choose_as_test(self, rewritten: Rewritten, now: float) -> bool:  # noqa: ARG002 - protocol
        """Return True if a URL is to be fetched to test the rules that could hold it."""
        rewrites = [rule.rewrite for rule in self._in_force.behind(rewritten)]
        name = without_www(site_in(rewritten.source))
        policy = self._sites[name].policy
        return policy.choose_as_test(rewritten.source, rewritten.identity, rewrites)

    def learn(
        self, connection: Connection, recorded: Sequence[RecordedOutcome], now: float
    ) -> Learned:
        """Learn from outcomes and from answers to probes, and publish the decided rules.

        Late outcomes are ignored, because the store does not keep them.

        Args:
            connection: of the transaction that recorded the outcomes.
            recorded: outcomes of visits; empty to learn from probes alone.
            now: seconds since 1970.

        Returns:
            The ids of URLs that rules hold or defer, and what to request next.
        """
        start = time.thread_time()
        self._sites.connection = connection
        names = dict.fromkeys(self._observe_all(recorded))
        later = [a.replaces for r in recorded for a in r.admissions if a.replaces is not None]
        changed: list[tuple[RuleEvidence, RuleState]] = []
        probed_ids: list[int] = []
        sooner: list[int] = []
        learnings = [self._sites[name] for name in names]
        for site, policy, _walls in learnings:
            site.judge_again()
            changed += decide(site)
            sooner += policy.to_ask_first()
            probed_ids += policy.tests_of_run()
            probed_ids += classes.further_names(connection, policy.in_doubt(), NAMES_IN_DOUBT)
            for url_id, rewrite in policy.found_wrong():
                beside = classes.held_beside(connection, url_id)
                probed_ids += list(self._changed_by(rewrite, beside))[:NAMES_BESIDE]
            probed_ids += [site.pages[identity].url_id for identity in policy.questions()]
        held, released, deferred = self._publish(connection, changed, now)
        later += [*held, *deferred]
        for name in names:
            site_records.save(connection, self._sites[name].site, now)
        self._sites.fit(names)
        urls.promote(connection, sooner, QUESTION)
        watched = [one.walls for one in learnings if one.walls is not None]
        effects = wall_effects.apply(connection, watched, now, self._notify)
        found = rows_of(connection, "SELECT url, id FROM urls WHERE id", probed_ids)
        probes = (*(Probe(url, url_id=n) for url, n in found), *map(Probe, effects.questions))
        self.seconds += time.thread_time() - start
        return Learned(tuple(later), probes, tuple(sooner), tuple(held), len(released), effects)

    def _changed_by(self, rewrite: Rewrite, urls: Iterable[tuple[int, str]]) -> Iterator[int]:
        """Yield the ids of those URLs of a rule's site that it changes."""
        for url_id, url in urls:
            identity = self._canonicalizer.identity(url)
            parts = as_read(Parts.of(identity))
            if site_in(identity) == rewrite.host and act(rewrite, parts) is not parts:
                yield url_id

    def hold_further_names(self, connection: Connection, now: float) -> None:
        """Hold fetched URLs whose page is there under the name that rules want.

        They were fetched before the rules acted, or to test them. A recrawl begins and ends so.
        What rules hold keeps no page of its own, which would be shown once the other one is gone.

        Args:
            connection: in a writing transaction.
            now: seconds since 1970.
        """
        self._load(connection)
        names = {
            name
            for rule in self._in_force.known
            if rule.state == "active"
            for name in self._in_force.hosts_of(connection, rule.rewrite)
        }
        if names:  # else the index of a host's URLs would be made for nothing
            applied_rules.hold_fetched(connection, names, self._in_force.change_all, now)
        pages.remove(connection, list(held_with_needless_pages(connection)))

    def _observe_all(self, recorded: Iterable[RecordedOutcome]) -> Iterable[str]:
        """Pass answers to their sites; yield the names of these sites."""
        identity_of = self._canonicalizer.identity
        answers, self._answers = self._answers, []
        for probe, found in answers:
            identity = identity_of(probe.url)
            name = without_www(site_in(identity))
            page, blocks = (None, None) if found is None else (found.page, found.blocks)
            site, _policy, walls = self._sites[name]
            answer = AnsweredPage(probe.url, 0, blocks, page.size) if page and blocks else None
            is_made_up = walls is not None and walls.answered_question(probe.url, answer)
            if page is not None and page.status == OK and not is_made_up:
                site.page(identity, probe.url_id, PageAnswer(page.digest, blocks), None)
            yield name
        for one in recorded:
            if not one.late:
                identity = identity_of(one.outcome.queued.url)
                name = without_www(site_in(identity))
                site, _policy, walls = self._sites[name]
                self._observe(site, identity, one)
                page, blocks = one.outcome.page, one.outcome.blocks
                if walls is not None and page is not None and blocks:
                    queued = one.outcome.queued
                    walls.answered(AnsweredPage(queued.url, queued.url_id, blocks, page.size))
                yield name

    def _observe(self, site: LearnedSite, identity: str, recorded: RecordedOutcome) -> None:
        """Pass an answer and its new links to a site."""
        outcome, identity_of = recorded.outcome, self._canonicalizer.identity
        canonical = None
        for hop, _admitted in recorded.led:
            target = identity_of(hop.target.url)
            if hop.kind == "canonical":
                canonical = target
            elif hop.status in PERMANENT_REDIRECTS and target != identity:
                site.moved(identity, outcome.url_id, target)
        status = None if outcome.page is None else outcome.page.status
        if outcome.page is not None and status == OK:
            answer = PageAnswer(outcome.page.digest, outcome.blocks)
            site.page(identity, outcome.url_id, answer, canonical)
            if self._gone:
                self._count_gone(outcome.queued.url, missing=False)
        elif status in GONE:
            site.gone(identity, outcome.url_id)
            self._count_gone(outcome.queued.url, missing=True)
        self.find(outcome.links, recorded.admissions[len(outcome.leads) :])

    def find(self, links: Iterable[Candidate], admitted: Iterable[Admission]) -> None:
        """Note the new links, which wait in the queue.

        Args:
            links: of a page.
            admitted: the admission of each link, which says whether it is new.
        """
        for link, admission in zip(links, admitted, strict=False):
            if admission.new and admission.replaces is None:
                identity = self._canonicalizer.identity(link.url)
                name = without_www(site_in(identity))
                self._sites.found(name, identity, admission.url_id)

    def _count_gone(self, url: str, *, missing: bool) -> None:
        """Count that a URL of a page is gone, or reset the count because one leads to it."""
        if (rewritten := self._in_force.rewrite(url)) is not None:
            (self._gone.add if missing else self._gone.found)(rewritten.key)

    def _publish(
        self, connection: Connection, changed: Sequence[tuple[RuleEvidence, RuleState]], now: float
    ) -> tuple[list[int], list[int], list[int]]:
        """Save rules whose state has changed, and apply them.

        Returns:
            The ids of the URLs that are held now, released and deferred.
        """
        rules = [rule for rule, before in changed if self._enters(rule, before, now)]
        if not rules:
            return [], [], []
        rule_rows.put(connection, [site_records.as_stored(rule, now) for rule in rules])
        self._in_force, applied = publish(
            connection,
            [rule.rewrite for rule in rules],
            self._canonicalizer,
            now,
            lambda _in_force, rewritten: self.choose_as_test(rewritten, now),
            self._in_force,
        )
        self._generation = facts.generation(connection, facts.RULES)
        return applied.held, applied.released, applied.deferred

    def _enters(self, rule: RuleEvidence, before: RuleState, now: float) -> bool:
        """Apply a rule's new state and notify people; return False if rules form a circle."""
        rewrite = rule.rewrite
        if rule.state == "active" and FAMILIES[rewrite.family].can_chain:
            others = [other.rewrite for other in self._in_force.known]
            if find_circle([*others, rewrite]):
                rule.state = before
                return False
        rule.entered_at = now
        stored = site_records.as_stored(rule, now)
        self._in_force = self._in_force.with_changes([stored.as_learned()])
        sentence = self._reports.sentence(stored, before)
        if sentence is not None:
            self._notify(sentence)
        return True
