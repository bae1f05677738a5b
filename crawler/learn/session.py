"""The keeper: joins the learner to the store, inside the store's own transactions.

What comes of URLs goes to the learner; what it decides is published: written down, and the known
URLs of the hosts brought in line, all in the transaction in which it was learned. A process that
dies on the way leaves the store as it was before.
"""

import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import NamedTuple

from sqlalchemy import Connection, select

from canonry.canon import Canonicalizer
from canonry.canon.learned.families import act
from canonry.canon.learned.validate import find_circle
from canonry.canon.syntax import Parts
from canonry.crawler.admission.scope import host_of, registrable
from canonry.crawler.fetch.status import OK, PERMANENT_REDIRECTS
from canonry.crawler.learn.evidence import Case
from canonry.crawler.learn.learner import Answered, Learner, Moved, Transition
from canonry.crawler.learn.probes import Probe, beside
from canonry.crawler.learn.rule_store import (
    KEPT,
    Acting,
    cases_of,
    lesson_of,
    publish,
    words,
    write,
)
from canonry.crawler.learn.thresholds import Thresholds
from canonry.storage import Admission, Outcome, State
from canonry.storage.learned import classes, rule_rows
from canonry.storage.records import Ruled
from canonry.storage.sql.bulk import rows_of
from canonry.storage.sql.schema import aliases

_PENDING = 20_000  # redirects whose ends are awaited
_MOVES = 5  # hops of a chain that are followed to its end
_SWEEP = 15.0  # seconds
_DAY = 86_400.0
_ANY_SHARE = frozenset({"scheme-upgrade", "www", "host-alias"})


class Learned(NamedTuple):
    """What learning from some outcomes asks of the crawl."""

    held: tuple[int, ...] = ()  # rows that a new rule took out of the queue
    probes: tuple[Probe, ...] = ()  # to be fetched once


class LearningSession:
    """Learns for one crawl, and is its store's judge. Only the writer thread may call it."""

    def __init__(
        self, canonicalizer: Canonicalizer, thresholds: Thresholds, notify: Callable[[str], None]
    ) -> None:
        """Begin with nothing; the first transaction loads what the store knows.

        Args:
            canonicalizer: makes identities, without learned rules.
            thresholds: how much evidence makes a rule.
            notify: receives sentences for people.
        """
        self._canonicalizer = canonicalizer
        self._thresholds = thresholds
        self._notify = notify
        self._connection: Connection | None = None  # of the transaction that is open
        self._learner = Learner(thresholds, registrable, self._load, self._recall)
        self._generation = -1
        self._acting = Acting((), canonicalizer)
        self._pending: OrderedDict[int, list[Moved]] = OrderedDict()
        self._stood: dict[str, tuple[str, bytes]] = {}  # of the answers that are taken in
        self._swept_at = 0.0
        self._held_back: set[str] = set()
        self.seconds = 0.0  # of CPU time, spent on learning

    def refresh(self, connection: Connection) -> None:
        """Take over rules that another process, or the command, has changed in the store."""
        self._connection = connection
        generation = rule_rows.generation(connection)
        if generation != self._generation:
            self._learner.forget()
            self._learner.wide = rule_rows.wide_hosts(connection)
            self._acting = Acting.read(connection, self._canonicalizer)
            self._generation = generation

    def forget(self) -> None:
        """Forget what rests on a transaction that was rolled back."""
        self._learner.forget()
        self._pending.clear()
        self._generation = -1

    def hear_missing(self, url: str, digest: bytes) -> None:
        """Take in the body with which a host answers 200 for what is not there."""
        self._learner.hear_missing(host_of(url), digest)

    def ruled(self, url: str) -> Ruled | None:
        """Return what active rules make of a URL; None where they say nothing of its host."""
        return self._acting.ruled(url)

    def is_verified(self, ruled: Ruled, now: float) -> bool:
        """Say whether to fetch what could be dropped, to see whether the rules hold."""
        return self._verifies(now, self._acting, ruled)

    def _verifies(self, now: float, acting: Acting, ruled: Ruled) -> bool:
        """Say whether to fetch what rules could spare."""
        rules = acting.named(ruled.rules) or acting.active.on(host_of(ruled.identity))[:1]
        return self._learner.is_verified(rules, ruled.identity, now)

    def learn(
        self,
        connection: Connection,
        outcomes: Sequence[Outcome],
        admissions: Sequence[Sequence[Admission]],
        now: float,
    ) -> Learned:
        """Learn from recorded outcomes and publish new rules, in the caller's transaction.

        Args:
            connection: of the transaction that recorded the outcomes.
            outcomes: of visits.
            admissions: for each outcome, as `Store.record` returns them.
            now: seconds since 1970.

        Returns:
            The rows that new rules hold, and the probes to send.
        """
        start = time.thread_time()
        due: set[int] = set()
        probes: list[Probe] = []
        self._stood = self._standing(connection, outcomes)
        for outcome, admitted in zip(outcomes, admissions, strict=True):
            due.add(outcome.row)
            due |= self._take_in(outcome, admitted, now)
            probes += self._probes(outcome, now)
        if now - self._swept_at > _SWEEP:  # other workers fetch, too
            self._swept_at = now
            due = set(self._pending)
        for _ in range(_MOVES):
            if due := due & self._pending.keys():
                due = self._settle(connection, due)
        held = self._publish(connection, now)
        self.seconds += time.thread_time() - start
        return Learned(tuple(held), tuple(probes))

    def _standing(
        self, connection: Connection, outcomes: Iterable[Outcome]
    ) -> dict[str, tuple[str, bytes]]:
        """Return, by identity, what was fetched in the stead of answers' URLs because of rules."""
        asked = (self._canonicalizer(one.queued.url) for one in outcomes if one.page)
        keys = {one.key: one.identity for one in asked if self._acting.concern(one.identity)}
        found = classes.bodies(connection, list(keys), by_rules=True)
        return {keys[key]: body for key, body in found.items()}

    def _take_in(self, outcome: Outcome, admissions: Sequence[Admission], now: float) -> set[int]:
        """Give an answer to the learner; keep redirects until their targets have answered.

        Returns:
            The rows of the targets.
        """
        identity = self._canonicalizer.identity(outcome.queued.url)
        if outcome.page is not None and outcome.page.status == OK:
            self._learner.hear(Answered(identity, outcome.page.digest, now, outcome.hsts))
        rows = set()
        for hop, admitted in zip(outcome.hops, admissions, strict=False):
            target = self._canonicalizer.identity(hop.target.url)
            if target == identity or (
                hop.kind == "redirect" and hop.status not in PERMANENT_REDIRECTS
            ):
                continue
            moved = Moved(identity, target, now, hop.kind)
            self._pending.setdefault(admitted.row, []).append(moved)
            rows.add(admitted.row)
        while len(self._pending) > _PENDING:
            self._pending.popitem(last=False)
        return rows

    def _probes(self, outcome: Outcome, now: float) -> list[Probe]:
        """Return a probe beside a page where the learner wants one of its host."""
        if outcome.page is None or outcome.page.status != OK:
            return []
        host = host_of(self._canonicalizer.identity(outcome.queued.url))
        return [beside(outcome.queued.url, now)] if self._learner.wants_probe(host) else []

    def _settle(self, connection: Connection, due: set[int]) -> set[int]:
        """Tell the learner of redirects whose ends have answered; return where others lead on."""
        question = (
            "SELECT urls.id, urls.state, urls.url, pages.status, pages.canonical FROM urls "
            "LEFT JOIN pages ON pages.url_id = urls.id WHERE urls.id"
        )
        further: set[int] = set()
        for row, state, url, status, canonical in list(rows_of(connection, question, list(due))):
            if state == State.QUEUED:
                continue
            waiting = self._pending.pop(row)
            if state == State.FETCHED and status == OK:
                for moved in waiting:
                    if moved.kind == "redirect" or canonical in {None, url}:
                        self._learner.hear(moved)
            end = _leads_to(connection, row) if state == State.REDIRECTED else None
            if end is not None:
                on = [moved for moved in waiting if moved.kind == "redirect"]
                self._pending.setdefault(end, []).extend(on)
                further.add(end)
        return further

    def _load(self, host: str) -> list[Case]:
        """Return what the store keeps of a host's cases."""
        if self._connection is None:
            return []
        return cases_of(self._connection, rule_rows.of_host(self._connection, host))

    def _recall(self, identity: str, by_rules: bool) -> tuple[str, bytes] | None:  # noqa: FBT001 - as the learner asks
        """Return the URL that is fetched for an identity, and the digest of its body."""
        if self._connection is None:
            return None
        if by_rules:
            found = self._stood.get(identity)
        else:
            key = self._canonicalizer.key_of(identity)
            found = classes.bodies(self._connection, [key]).get(key)
        return None if found is None else (self._canonicalizer.identity(found[0]), found[1])

    def _publish(self, connection: Connection, now: float) -> list[int]:
        """Write what was learned, and apply new rules to the known URLs.

        Returns:
            The rows that these took out of the queue.
        """
        touched, transitions = self._learner.settle(now)
        changed = []
        for transition in transitions:
            case = transition.case
            if case.state == "active" and not self._passes(connection, case, now):
                case.enter("probation", now)
            elif case.state == "active" or transition.before in KEPT:
                changed.append(case.lesson)
                self._tell(transition)
        write(connection, touched)
        rule_rows.forget(connection, [case.id for case in self._learner.dropped])
        self._learner.dropped.clear()
        if not changed:
            return []
        self._acting, done = publish(
            connection, changed, self._canonicalizer, now, partial(self._verifies, now)
        )
        self._generation = rule_rows.generation(connection)
        if done.held or done.released:
            self._notify(
                f"{len(done.held):,} queued URLs are known by another name, "
                f"{len(done.released):,} went back to the queue"
            )
        return done.held

    def _tell(self, transition: Transition) -> None:
        """Tell people of a rule that became active, or ceased to be."""
        case = transition.case
        self._notify(
            f"rule {case.id} is {case.state} (was {transition.before}): {words(case.lesson)}; "
            f"{case.agree} paths agree, {case.disagree} disagree"
        )

    def _passes(self, connection: Connection, case: Case, now: float) -> bool:
        """Say whether a rule may be published; tell people once why it is held back."""
        why = self._too_much(connection, case, now)
        if why and case.id not in self._held_back:
            self._held_back.add(case.id)
            self._notify(f"rule {case.id} is held back: {words(case.lesson)}; {why}")
        return not why

    def _too_much(self, connection: Connection, case: Case, now: float) -> str:
        """Return why a rule may not be published, "" when it may."""
        lesson, gate = case.lesson, self._thresholds.gate
        others = [rule.lesson for rule in self._acting.active.active]
        if find_circle([*others, lesson]) is not None:
            return "with the rules that there are it would lead in a circle"
        recent = rule_rows.entered_since(connection, now - _DAY)
        same = sum(lesson_of(row).family == lesson.family for row in recent)
        if same >= gate.hosts_a_day:
            return f"{same:,} hosts have learned such a rule within a day"
        known = 0
        sizes: Counter[Parts] = Counter()
        for url in classes.urls_of(connection, self._acting.hosts_of(connection, lesson)):
            known += 1
            parts = Parts.of(self._canonicalizer.identity(url))
            after = act(lesson, parts)
            if after is not parts:
                sizes[after] += 1
        folded = sizes.total()
        if lesson.family not in _ANY_SHARE and gate.from_ < known and folded > gate.share * known:
            return f"it would change {folded:,} of {known:,} known URLs"
        largest = max(sizes.values(), default=0)
        if largest > gate.class_size and not lesson.family.startswith("parameter"):
            return f"it would make one URL of {largest:,}"
        return ""


def _leads_to(connection: Connection, row: int) -> int | None:
    """Return the row that a URL redirects to for good, if it does."""
    edges = select(aliases.c.to_id, aliases.c.status).where(
        aliases.c.from_id == row, aliases.c.kind == "redirect"
    )
    last = connection.execute(edges.order_by(aliases.c.last_seen.desc()).limit(1)).first()
    return int(last.to_id) if last is not None and last.status in PERMANENT_REDIRECTS else None
