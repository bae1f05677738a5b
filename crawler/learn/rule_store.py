"""Rules in the store: read, written, published; for the crawl that learns and for the command."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import msgspec
from sqlalchemy import Connection, select

from canonry.canon import Canonicalizer, Policy, redact
from canonry.canon.learned.families import FAMILIES, Lesson
from canonry.canon.learned.ruleset import LearnedRule, RuleSet, follow
from canonry.crawler.admission.scope import host_of
from canonry.crawler.learn.evidence import Case
from canonry.storage import StoreError
from canonry.storage.learned import classes, rule_rows
from canonry.storage.records import Piece, Ruled, RuleRow
from canonry.storage.sql.schema import hosts

_HERE = "the rules of the store"
KEPT = ("active", "suspended")  # states in which something may have been dropped for a rule


def words(lesson: Lesson) -> str:
    """Say what a lesson says, for people."""
    where = f"{lesson.host}{lesson.below if lesson.below != '/' else ''}"
    if lesson.subdomains:
        where = f"{where} and its subdomains"
    blanks = {
        "scheme-upgrade": "http is https",
        "double-slash": "several slashes are one",
        "path-prefix": f"{lesson.old} is {lesson.new}",
        "index-file": f"{lesson.old} is its directory",
        "letter-case": "upper case is lower case in paths",
        "parameter-irrelevant": f"parameter {lesson.old} selects nothing"
        + (f" beside {', '.join(lesson.beside)}" if lesson.beside else ""),
        "parameter-order": "the order of parameters means nothing",
        "www": f"it is {lesson.new}",
        "host-alias": f"it is {lesson.new}",
    }
    slashes = {
        "slash": "a path is the same with a slash behind it",
        "bare": "a path is the same without the slash behind it",
        "file": "a file is the same without the slash behind it",
    }
    return f"{where}: {blanks.get(lesson.family) or slashes[lesson.new]}"


def lesson_of(row: RuleRow) -> Lesson:
    """Return what a kept rule says."""
    given: dict[str, Any] = msgspec.json.decode(row.lesson)
    lists = {name: tuple(given.get(name, ())) for name in ("beside", "but")}
    return Lesson(**{"host": row.host, **given, **lists})


def row_of(case: Case) -> RuleRow:
    """Return a case as it is kept."""
    plain = Lesson("", "")._asdict()
    said = {name: value for name, value in case.lesson._asdict().items() if value != plain[name]}
    said.pop("host", None)
    same = {name: getattr(case, name) for name in RuleRow._fields if hasattr(case, name)}
    return RuleRow(
        **same
        | {
            "host": case.lesson.host,
            "lesson": msgspec.json.encode(said).decode(),
            "hsts": int(case.hsts),
        }
    )


def cases_of(connection: Connection, rows: Iterable[RuleRow]) -> list[Case]:
    """Return kept rules as cases, with their evidence."""
    given = list(rows)
    seen = rule_rows.pieces(connection, [row.id for row in given])
    return [_case(row, seen.get(row.id, [])) for row in given]


def _case(row: RuleRow, pieces: Iterable[Piece]) -> Case:
    """Return a kept rule as a case."""
    same = {n: v for n, v in row._asdict().items() if n not in {"id", "host", "lesson", "hsts"}}
    case = Case(lesson_of(row), hsts=bool(row.hsts), **same)
    for agrees, url, found in pieces:
        (case.samples if agrees else case.against).append((url, found))
    return case


def write(connection: Connection, cases: Iterable[Case]) -> None:
    """Write down cases as they stand now; passwords in their samples are not kept."""
    given = list(cases)
    rule_rows.put(connection, [row_of(case) for case in given])
    rule_rows.add_pieces(
        connection,
        [
            (case.id, Piece(agrees, redact(url), redact(found)))
            for case in given
            for agrees, url, found in case.fresh
        ],
    )
    for case in given:
        case.fresh.clear()


def cases(connection: Connection, states: tuple[str, ...] = ()) -> list[Case]:
    """Return the cases in some states, in all when none is named."""
    return cases_of(connection, rule_rows.in_states(connection, states))


def rules_in(connection: Connection, states: tuple[str, ...] = ()) -> list[LearnedRule]:
    """Return the rules in some states, in all when none is named, with their evidence."""
    return [case.rule() for case in cases(connection, states)]


def find(connection: Connection, name: str) -> Case:
    """Return the rule of an id, or of the beginning of one.

    Raises:
        StoreError: when there is none, or several.
    """
    found = rule_rows.named(connection, name) if name else []
    if len(found) != 1:
        several = f"{len(found)} rules have such an id" if found else "there is no such rule"
        raise StoreError(f"rule {name!r}: {several}; 'canonry rules list' shows their ids")
    return cases_of(connection, found)[0]


class Acting:
    """The rules that act in a store: the active ones, and those kept in force for the past."""

    def __init__(self, rules: Iterable[LearnedRule], canonicalizer: Canonicalizer) -> None:
        """Bind rules; those that are suspended only keep what was dropped for them."""
        label = canonicalizer.policy.label
        known = [rule for rule in rules if rule.state in KEPT]
        self._canonicalizer = canonicalizer
        self.active = RuleSet([rule for rule in known if rule.state == "active"], label, _HERE)
        self._by_id = {rule.id: rule for rule in self.active.active}
        past = [msgspec.structs.replace(rule, state="active") for rule in known]
        self._past = RuleSet(past, label, _HERE)
        moving = {rule.new for rule in known if FAMILIES[rule.family].moves_host}
        self._concerned = frozenset({rule.host for rule in known} | moving)

    def named(self, ids: Iterable[str]) -> list[LearnedRule]:
        """Return the active rules of some ids."""
        return [self._by_id[name] for name in ids if name in self._by_id]

    @classmethod
    def read(cls, connection: Connection, canonicalizer: Canonicalizer) -> "Acting":
        """Return the rules that act in a store."""
        return cls(rules_in(connection, KEPT), canonicalizer)

    def ruled(self, url: str) -> Ruled | None:
        """Return what the active rules make of a URL; None where they do not concern its host."""
        return self._by(self.active, url)

    def kept(self, url: str) -> Ruled | None:
        """Return what active and suspended rules make of a URL; None as in `ruled`."""
        return self._by(self._past, url)

    def concern(self, identity: str) -> bool:
        """Say whether rules say something of an identity's host, or of what is moved there."""
        if not self._past.active:
            return False
        host = host_of(identity)
        return host in self._concerned or (self._past.wide and bool(self._past.on(host)))

    def _by(self, rules: RuleSet, url: str) -> Ruled | None:
        plain = self._canonicalizer(url)
        if not self.concern(plain.identity):
            return None
        followed = follow(rules, plain.identity, self._canonicalizer.identity)
        if not followed.changes:
            return Ruled(plain.identity, plain.key, ())
        key = self._canonicalizer.key_of(followed.identity)
        return Ruled(followed.identity, key, tuple(rule.id for rule in followed.rules))

    def hosts_of(self, connection: Connection, lesson: Lesson) -> set[str]:
        """Return the known hosts whose URLs a lesson may change: its own, and what leads there."""
        found = {lesson.host}
        if lesson.subdomains:
            below = hosts.c.name.endswith("." + lesson.host, autoescape=True)
            found |= set(connection.scalars(select(hosts.c.name).where(below)))
        if FAMILIES[lesson.family].moves_host:
            found.add(lesson.new)
        size = 0
        while size != len(found):
            size = len(found)
            found |= {
                rule.host
                for rule in self._past.rules
                if FAMILIES[rule.family].moves_host and rule.new in found
            }
        return found


class Judge:
    """A store's rules for one who does not learn: what they hold is held, nothing is verified."""

    def __init__(self, canonicalizer: Canonicalizer) -> None:
        """Bind what makes identities, without learned rules."""
        self._canonicalizer = canonicalizer
        self._acting = Acting((), canonicalizer)

    def refresh(self, connection: Connection) -> None:
        """Take over the rules of the store."""
        self._acting = Acting.read(connection, self._canonicalizer)

    def forget(self) -> None:
        """Nothing rests on a transaction: the next one reads the rules anew."""

    def ruled(self, url: str) -> Ruled | None:
        """Return what active rules make of a URL; None where they say nothing of its host."""
        return self._acting.ruled(url)

    def is_verified(self, ruled: Ruled, now: float) -> bool:
        """Say that nothing is."""
        del ruled, now
        return False


def active_in(connection: Connection, policy: Policy) -> RuleSet:
    """Return the active rules of a store, to be obeyed."""
    return RuleSet(rules_in(connection, ("active",)), policy.label, _HERE)


def publish(
    connection: Connection,
    changed: Iterable[Lesson],
    canonicalizer: Canonicalizer,
    now: float,
    is_verified: Callable[[Acting, Ruled], bool] = lambda _acting, _ruled: False,
) -> tuple[Acting, classes.Rekeyed]:
    """Bring the known URLs in line with rules whose state was written in this transaction.

    Args:
        connection: of that transaction.
        changed: what the rules say whose state changed.
        canonicalizer: makes identities, without learned rules.
        now: seconds since 1970.
        is_verified: says what is to be fetched although a rule could spare it.

    Returns:
        The rules that act now, and what became of the URLs.
    """
    acting = Acting.read(connection, canonicalizer)
    names: set[str] = set()
    for lesson in changed:
        names |= acting.hosts_of(connection, lesson)
    verified = partial(is_verified, acting)
    done = classes.rekey(connection, names, acting.ruled, acting.kept, now, verified)
    rule_rows.advance(connection)
    return acting, done


def revoke(
    connection: Connection, case: Case, canonicalizer: Canonicalizer, now: float
) -> classes.Rekeyed:
    """Take a rule back, for good; what was dropped for it goes back to the queue."""
    case.enter("revoked", now)
    write(connection, [case])
    return publish(connection, [case.lesson], canonicalizer, now)[1]


def bring(
    connection: Connection,
    rules: Iterable[LearnedRule],
    canonicalizer: Canonicalizer,
    now: float,
    *,
    trial: bool = False,
) -> classes.Rekeyed:
    """Bring rules into a store, in the place of what it knows of them.

    Args:
        connection: in a transaction that holds the write lock.
        rules: in any state.
        canonicalizer: makes identities, without learned rules.
        now: seconds since 1970.
        trial: put active ones on probation.

    Raises:
        RulesError: where they would lead in a circle with the rules that there are.
    """
    given = list(rules)
    brought = []
    for rule in given:
        known = {
            case.lesson: case for case in cases_of(connection, rule_rows.named(connection, rule.id))
        }
        case = known.get(rule.lesson) or Case(rule.lesson)
        seen = rule.evidence
        case.agree, case.disagree = seen.agree, seen.disagree
        case.first_seen, case.last_seen = seen.first_seen or now, seen.last_seen or now
        if not case.samples and not case.against:
            case.fresh = [(True, *pair) for pair in seen.samples]
            case.fresh += [(False, *pair) for pair in seen.against]
        case.enter("probation" if trial and rule.state == "active" else rule.state, now)
        case.verified_at = now
        brought.append(case)
    write(connection, brought)
    return publish(connection, [case.lesson for case in brought], canonicalizer, now)[1]
