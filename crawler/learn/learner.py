"""The learner: hears what came of URLs, and keeps the cases of each host. Pure: no clock, no store.

What servers say is compared with what each lesson of the host predicts. Memory is bounded: so many
hosts, so many cases and bodies of each; what is forgotten only costs evidence.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from math import inf
from typing import Any, NamedTuple

from canonry.canon.learned.families import FAMILIES, ORDER, Lesson, act
from canonry.canon.learned.ruleset import LearnedRule
from canonry.canon.syntax import Parts
from canonry.crawler.learn.evidence import Case, next_state
from canonry.crawler.learn.infer import lessons_between, lessons_from
from canonry.crawler.learn.thresholds import Thresholds

_HOSTS = 4_000
_CASES = 48
_BODIES = 256
_MEMBERS = 64
_BOILERPLATE = 3  # resources with one body: more are an error page or a form
_AGREEING_HOSTS = 3
_ACTED = frozenset({"active", "suspended"})  # the states in which something was dropped


# From an identity to a URL of its resource and the digest of its body, where that was fetched; or
# only to one that stands for it because rules say so.
Recall = Callable[[str, bool], tuple[str, bytes] | None]


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


class Transition(NamedTuple):
    """A case that went from one state to another."""

    case: Case
    before: str


@dataclass(slots=True)
class _Host:
    """What is remembered of a host."""

    cases: dict[Lesson, Case] = field(default_factory=dict)
    bodies: OrderedDict[str, bytes] = field(default_factory=OrderedDict)
    alike: OrderedDict[bytes, list[str]] = field(default_factory=OrderedDict)
    members: dict[Lesson, OrderedDict[str, tuple[str, bytes]]] = field(default_factory=dict)
    missing: bytes | None = None  # the body that answers for what is not there
    probed: bool = False


def _no_cases(_host: str) -> Iterable[Case]:
    return ()


def _no_body(_identity: str, _by_rules: bool) -> tuple[str, bytes] | None:  # noqa: FBT001 - see Recall
    return None


class Learner:
    """Keeps the cases of hosts. One thread at a time may call it."""

    def __init__(
        self,
        thresholds: Thresholds,
        registrable: Callable[[str], str],
        load: Callable[[str], Iterable[Case]] = _no_cases,
        recall: Recall = _no_body,
    ) -> None:
        """Begin with what is kept elsewhere.

        Args:
            thresholds: how much evidence makes a rule.
            registrable: from a host to its registrable domain, private suffixes respected.
            load: returns the cases that are kept of a host; asked when it is heard of again.
            recall: knows bodies that were fetched; asked to verify active rules, when the memory
                here is too short.
        """
        self.thresholds = thresholds
        self._registrable = registrable
        self._load = load
        self._recall = recall
        self._hosts: OrderedDict[str, _Host] = OrderedDict()
        self._touched: dict[tuple[str, Lesson], Case] = {}
        self.wide: set[str] = set()  # domains with lessons for their subdomains, too
        self.dropped: list[Case] = []  # candidates that made room, for who keeps them elsewhere
        self._first: OrderedDict[tuple[str, str], int] = OrderedDict()

    def cases(self, host: str) -> Collection[Case]:
        """Return the cases of a host."""
        return self._host(host).cases.values()

    def forget(self) -> None:
        """Forget everything, as when what was heard last was not kept."""
        self._hosts.clear()
        self._touched.clear()
        self.dropped.clear()

    def hear(self, news: Moved | Answered) -> None:
        """Take in what came of a URL."""
        if isinstance(news, Moved):
            self._hear_moved(news)
        else:
            self._hear_answered(news)

    def settle(self, now: float) -> tuple[list[Case], list[Transition]]:
        """Decide on all that was heard since the last time.

        Returns:
            The cases whose evidence changed, and those of them that went to another state. A case
            goes one state at a time.
        """
        touched, self._touched = list(self._touched.values()), {}
        moved = []
        for case in touched:
            state = next_state(case, self.thresholds.family[case.lesson.family])
            if state == "active" and self._is_covered(case):
                state = case.state
            if state != case.state:
                moved.append(Transition(case, case.state))
                case.enter(state, now)
        for transition in moved:
            if transition.case.state == "active":
                self._widen(transition.case, now)
            elif transition.before == "active":
                self._doubt(transition.case)
        return [*touched, *self._touched.values()], moved

    def is_verified(self, rules: Iterable[LearnedRule], identity: str, now: float) -> bool:
        """Say whether a prediction of active rules is to be fetched all the same.

        A share is, chosen by a hash, so that it is the same on every machine and every time; so are
        the first in each part of a host, and those of a rule that was not verified for long.
        """
        chance = int.from_bytes(hashlib.blake2b(identity.encode(), digest_size=4).digest()) / 2**32
        path = Parts.of(identity).path
        place = _below(path) or path
        for rule in rules:
            threshold = self.thresholds.family[rule.family]
            if chance < threshold.verified:
                return True
            seen = self._first.pop((rule.id, place), 0)
            self._first[rule.id, place] = seen + 1
            if len(self._first) > 65_536:  # noqa: PLR2004 - a bound, no more
                self._first.popitem(last=False)
            if seen < threshold.first and place.endswith("/"):
                return True
            case = self._host(rule.host).cases.get(rule.lesson)
            if case is not None and now - case.verified_at > threshold.verify_again:
                return True
        return False

    def wants_probe(self, host: str) -> bool:
        """Say whether to ask a host for a page that cannot be there; true once for each host.

        Equal bodies are evidence only where the host does not answer everything alike.
        """
        known = self._host(host)
        if known.probed or not any(
            case.agree > case.moved and case.state == "candidate" for case in known.cases.values()
        ):
            return False
        known.probed = True
        return True

    def hear_missing(self, host: str, digest: bytes) -> None:
        """Take in the body with which a host answers 200 for what is not there."""
        self._host(host).missing = digest

    def _host(self, name: str) -> _Host:
        """Return what is remembered of a host, and forget the one heard of longest ago."""
        host = self._hosts.pop(name, None)
        if host is None:
            host = _Host({case.lesson: case for case in self._load(name)})
            if len(self._hosts) >= _HOSTS:
                self._hosts.popitem(last=False)
        self._hosts[name] = host
        return host

    def _concerned(self, parts: Parts) -> Iterator[tuple[Case, Parts]]:
        """Yield the cases that act on a URL, and what each makes of it."""
        name = parts.host or ""
        own = self._host(name).cases
        domain = self._registrable(name)
        wide = []
        if domain in self.wide:
            wide = [c for c in self._host(domain).cases.values() if c.lesson.subdomains]
        settled = [case for case in own.values() if case.state not in {"candidate", "probation"}]
        taught = {case.lesson._replace(host=domain) for case in settled} if wide else set()
        for case in (*own.values(), *wide):
            if case.lesson.subdomains and case.lesson._replace(subdomains=False, but=()) in taught:
                continue  # the host speaks for itself
            after = act(case.lesson, parts)
            if after is not parts:
                yield case, after

    def _hear_moved(self, news: Moved) -> None:
        """Compare where a URL led with where lessons say that it does."""
        source, target = Parts.of(news.source), Parts.of(news.target)
        told = lessons_from(source, target)
        pair = (news.source, news.target)
        # What leads to another host says nothing of what this one does with the rest.
        moved = [lesson for lesson in told if lesson.family == "host-alias"]
        for lesson in moved or told:
            for scoped in _scopes(lesson, source.path):
                case = self._case(scoped)
                case.moved += news.kind == "redirect"
                self._take(case, source, pair, news.at, agrees=True)
        for lesson in lessons_from(target, source):
            self._contest(lesson, target.path, news.kind)
        if news.kind != "redirect":
            return  # who names another as canonical says nothing of the rest
        for case, _after in list(self._concerned(source)):
            plain = case.lesson._replace(
                below="/", host=source.host or "", subdomains=False, but=()
            )
            if plain in told:
                if case.lesson.subdomains:
                    self._take(case, source, pair, news.at, agrees=True)
            else:
                self._take(case, source, pair, news.at, agrees=False)

    def _contest(self, lesson: Lesson, path: str, kind: str) -> None:
        """Count a redirect against the lessons of the opposite direction."""
        cases = self._host(lesson.host).cases
        for scoped in _scopes(lesson, path):
            case = cases.get(scoped)
            if case is not None and kind == "redirect":
                case.reversed += 1
                self._touched[scoped.host, scoped] = case

    def _hear_answered(self, news: Answered) -> None:
        """Compare a body with those of the URLs that lessons say are the same."""
        parts = Parts.of(news.url)
        host = self._host(parts.host or "")
        if news.hsts:
            upgrade = self._case(Lesson(parts.host or "", "scheme-upgrade"))
            upgrade.hsts = True
        alike = host.alike.pop(news.digest, [])
        host.alike[news.digest] = alike
        if news.url not in alike and len(alike) <= _BOILERPLATE:
            alike.append(news.url)
        _trim(host.alike, _BODIES)
        says_something = len(alike) <= _BOILERPLATE and news.digest != host.missing
        concerned = list(self._concerned(parts))
        for case, after in concerned:
            folded = str(after)
            helping: list[Case] = []
            if len(host.cases) > 1 and folded not in host.bodies:
                folded, helping = _fold(host, case, after)
            self._compare(case, parts, folded, news, equal_counts=says_something, also=helping)
        self._compare_members(host, parts, news, equal_counts=says_something)
        if any(case.state in _ACTED for case in host.cases.values()):
            self._compare_kept(parts, news, equal_counts=says_something)
        host.bodies[news.url] = news.digest
        _trim(host.bodies, _BODIES)
        if says_something:
            for other in alike:
                self._propose(Parts.of(other), parts, news)

    def _compare(
        self,
        case: Case,
        parts: Parts,
        after: str,
        news: Answered,
        *,
        equal_counts: bool,
        also: Iterable[Case],
    ) -> None:
        """Compare a body with that of the URL that a lesson makes of its URL, with others."""
        members = self._host(parts.host or "").members.setdefault(case.lesson, OrderedDict())
        other = self._host(Parts.of(after).host or "").bodies.get(after)
        named = after
        if other is None and after in members:
            named, other = members[after]
        if other is None and case.state in _ACTED:
            named, other = self._recall(after, False) or (after, None)  # noqa: FBT003 - see Recall
        if other is None:
            members[after] = (news.url, news.digest)
            _trim(members, _MEMBERS)
            if case.moved:  # it should have led on, and answered by itself
                self._take(case, parts, (news.url, news.url), news.at, agrees=False)
        elif equal_counts or other != news.digest:
            for concerned in (case, *also):
                agrees = other == news.digest
                self._take(concerned, parts, (news.url, named), news.at, agrees=agrees)

    def _compare_members(
        self, host: _Host, parts: Parts, news: Answered, *, equal_counts: bool
    ) -> None:
        """Compare a body with those of earlier URLs of which lessons make its URL."""
        for lesson, members in host.members.items():
            case = host.cases.get(lesson)
            found = members.pop(news.url, None)
            if case is None or found is None or (found[1] == news.digest and not equal_counts):
                continue
            agrees = found[1] == news.digest
            self._take(case, parts, (found[0], news.url), news.at, agrees=agrees)

    def _compare_kept(self, parts: Parts, news: Answered, *, equal_counts: bool) -> None:
        """Compare a body with that of the URL that was fetched in its stead, by active rules."""
        named, digest = self._recall(news.url, True) or (  # noqa: FBT003 - see Recall
            news.url,
            news.digest,
        )
        agrees = digest == news.digest
        if named != news.url and (equal_counts or not agrees):
            for case, _after in list(self._concerned(Parts.of(named))):
                if case.state in _ACTED:
                    self._take(case, parts, (named, news.url), news.at, agrees=agrees)

    def _propose(self, one: Parts, other: Parts, news: Answered) -> None:
        """Open cases for what would explain that two URLs answer alike."""
        for lesson in lessons_between(one, other):
            for scoped in _scopes(lesson, one.path):
                if scoped not in self._host(lesson.host).cases:
                    case = self._case(scoped)
                    self._take(case, other, (str(one), str(other)), news.at, agrees=True)

    def _case(self, lesson: Lesson) -> Case:
        """Return the case of a lesson; where a host has too many, the weakest makes room."""
        cases = self._host(lesson.host).cases
        case = cases.get(lesson)
        if case is None:
            candidates = [c for c in cases.values() if c.state == "candidate"]
            if len(cases) >= _CASES and candidates:
                weakest = min(candidates, key=lambda c: (c.agree, c.last_seen)).lesson
                self.dropped.append(cases.pop(weakest))
                self._touched.pop((weakest.host, weakest), None)
                self._host(lesson.host).members.pop(weakest, None)
            case = cases[lesson] = Case(lesson)
        return case

    def _take(
        self, case: Case, parts: Parts, pair: tuple[str, str], at: float, *, agrees: bool
    ) -> None:
        """Give a case a piece of evidence."""
        path = parts.path
        if case.lesson.family.startswith("parameter"):
            path = f"{path}?{parts.query}"
        if case.lesson.subdomains:
            path = f"{parts.host}{path}"
        if case.hear(path, pair, at, agrees=agrees):
            self._touched[case.lesson.host, case.lesson] = case

    def _is_covered(self, case: Case) -> bool:
        """Say whether an active rule for the whole host says what a part's would."""
        whole = self._host(case.lesson.host).cases.get(case.lesson._replace(below="/"))
        return case.lesson.below != "/" and whole is not None and whole.state == "active"

    def _doubt(self, case: Case) -> None:
        """Take away what a lesson's parts rest on, where the whole of it has failed.

        The host may have changed altogether: the next prediction of each of its rules is verified.
        """
        cases = self._host(case.lesson.host).cases
        for other in cases.values():
            other.verified_at = -inf
        for lesson in [key for key in cases if key._replace(below="/") == case.lesson]:
            if lesson != case.lesson and cases[lesson].state in {"candidate", "probation"}:
                self.dropped.append(cases.pop(lesson))

    def _widen(self, case: Case, now: float) -> None:
        """Open a case for a whole domain, where several of its hosts have learned the same."""
        lesson = case.lesson
        domain = self._registrable(lesson.host)
        if FAMILIES[lesson.family].moves_host or lesson.subdomains or lesson.host == domain:
            return
        agreeing = 0
        for name, host in self._hosts.items():
            if name == domain or name.endswith("." + domain):
                own = host.cases.get(lesson._replace(host=name))
                if own is not None and own.state in {"revoked", "frozen"}:
                    return
                agreeing += own is not None and own.state == "active"
        self.wide.add(domain)
        wide = self._case(lesson._replace(host=domain, subdomains=True))
        wide.agree += case.agree
        if agreeing >= _AGREEING_HOSTS and wide.state == "candidate":
            wide.enter("probation", now)
            self._touched[domain, wide.lesson] = wide


def _fold(host: _Host, case: Case, parts: Parts) -> tuple[str, list[Case]]:
    """Apply the other lessons of a host to what one made, where that leads to a known body."""
    folded, helping = parts, []
    for other in sorted(host.cases.values(), key=lambda c: ORDER[c.lesson.family]):
        if other is not case and other.agree > other.disagree:
            before, folded = folded, act(other.lesson, folded)
            helping += [other] * (folded is not before)
    if str(folded) in host.bodies:
        return str(folded), helping
    return str(parts), []


def _scopes(lesson: Lesson, path: str) -> Iterator[Lesson]:
    """Yield a lesson for the whole host, and for the part of it that a path lies in."""
    yield lesson
    below = _below(path)
    if below and lesson.family != "path-prefix":
        yield lesson._replace(below=below)


def _below(path: str) -> str:
    """Return the first segment of a path as a directory; "" for what lies at the root."""
    end = path.find("/", 1)
    return path[: end + 1] if end > 1 else ""


def _trim(memory: OrderedDict[Any, Any], size: int) -> None:
    """Forget what was taken in longest ago, beyond a size."""
    while len(memory) > size:
        memory.popitem(last=False)
