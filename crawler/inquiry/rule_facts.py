"""Learned rules for people: their state and evidence, each pair of pages side by side."""

from collections.abc import Collection
from itertools import islice

import msgspec
from sqlalchemy import Connection

from canonry.canon import Canonicalizer, InvalidURL, redact
from canonry.canon.learned import FAMILIES, RULE_STATES, describe, without_port
from canonry.crawler.content.similarity import Compared
from canonry.crawler.content.sketch import Sketch
from canonry.crawler.inquiry.last_crawl import last_crawl, policy_of
from canonry.crawler.learn.life.lifecycle import IN_FORCE, WITHDRAWN
from canonry.crawler.learn.rules.in_force import RulesInForce
from canonry.crawler.learn.rules.rule_listing import STATE_ORDER
from canonry.crawler.learn.rules.held_urls import held_by
from canonry.storage import known_url
from canonry.storage.http_status import GONE
from canonry.storage.known_url import KnownContent
from canonry.storage.learned import history, rule_rows
from canonry.storage.learned.held_names import held_first, held_near
from canonry.storage.learned.tracked_rule import TrackedRule
from canonry.storage.timestamps import iso

_COUNTED = 10_000  # rules of a state; of more, it is said that there are more
_LOOKED_AT = 20_000  # URLs of the hosts of a list
_ALL = 1 << 60
_AT_ONCE = 5_000  # held URLs
_PLACES = (0.0, 0.5, 0.95)  # among the URLs of a host, where held ones are looked for
_HELD = 5  # that are shown
_DIGITS = 19  # of the largest number that a database has, about


class StateCount(msgspec.Struct, frozen=True, kw_only=True):
    """How many rules are in a state."""

    state: str
    rules: int
    or_more: bool  # they were not counted further


class RuleLine(msgspec.Struct, frozen=True, kw_only=True):
    """A rule in a list."""

    id: str
    says: str
    host: str
    family: str
    state: str
    agree: int  # distinct paths
    disagree: int
    spared: int  # URLs that are held now because of it, and so not fetched
    or_more: bool  # not all URLs of its hosts were looked at, only 20,000 for the list
    since: str | None  # when it entered its state
    verified_at: str | None


class PageSide(msgspec.Struct, frozen=True, kw_only=True):
    """One of two URLs of a piece of evidence, and what the store has of it now."""

    url: str
    row: int | None  # in the store; null: it does not have the URL, or not by this name
    state: str  # never-seen, if it does not have it
    status: int | None  # HTTP status of its page
    title: str | None
    canonical: str | None
    redirects_to: str | None
    redirect_status: int | None
    at: str | None  # when it was fetched, or held


class EvidencePair(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of evidence: a URL, what it turned out to be, and how alike the two are."""

    agrees: bool
    url: PageSide
    found: PageSide
    same_body: bool | None  # byte by byte; null: one of them has none
    similarity: float | None  # the share of four words in a row that both have, 0 to 1
    compared: int  # so many of them are in the sketches


class HeldFacts(msgspec.Struct, frozen=True, kw_only=True):
    """A URL that the rule holds, and the one that is fetched instead."""

    url: str
    row: int
    same_as: str


class RuleReport(msgspec.Struct, frozen=True, kw_only=True):
    """All that a store knows of a rule."""

    rule: RuleLine
    why: str  # what rules of its family say
    moved: int  # of the paths that agree, how many by redirects and canonical links
    reversed: int  # redirects in the opposite direction
    trial_agree: int  # since it entered its state
    trial_disagree: int
    first_seen: str | None
    last_seen: str | None
    evidence: list[EvidencePair]
    holds: list[HeldFacts]  # some of the URLs
    can_be_revoked: bool
    can_be_reinstated: bool


class RuleListing(msgspec.Struct, frozen=True, kw_only=True):
    """The rules of a store: those of a state or of a host; or one with its evidence."""

    states: list[StateCount]
    state: str  # the one that is listed; "" for a host's rules
    host: str  # "": all
    rules: list[RuleLine]
    more: str | None  # "after" of the next part of the list; null: this is the end
    chosen: RuleReport | None  # the rule that was asked for


def in_state(connection: Connection, state: str, most: int, after: str = "") -> RuleListing:
    """Return the rules of a state, those first that spare most.

    Args:
        connection: to a store.
        state: of the rules.
        most: how many.
        after: `RuleListing.more` of the part before; "" for the first part.

    Raises:
        LookupError: if ``after`` is none.
    """
    spared, _, last = after.partition("-")
    if after and not (spared.isdecimal() and spared.isascii() and len(spared) < _DIGITS):
        raise LookupError(after)
    found = rule_rows.most_useful(
        connection, state, most + 1, (int(spared), last) if after else None
    )
    shown = found[:most]
    more = f"{shown[-1].spared}-{shown[-1].id}" if len(found) > most else None
    return _listing(connection, shown, state=state, more=more)


def of_host(connection: Connection, host: str, most: int) -> RuleListing:
    """Return the rules of a site, in all states, those first that spare most."""
    found = rule_rows.of_hosts(connection, [host], RULE_STATES)
    found.sort(key=lambda rule: (STATE_ORDER.index(rule.state), -rule.spared, rule.id))
    return _listing(connection, found[:most], host=host)


def _listing(
    connection: Connection,
    rules: list[TrackedRule],
    *,
    state: str = "",
    host: str = "",
    more: str | None = None,
) -> RuleListing:
    cut = count_spared(connection, rules, _LOOKED_AT)
    return RuleListing(
        states=state_counts(connection),
        state=state,
        host=host,
        rules=[_line(rule, or_more=rule.id in cut) for rule in rules],
        more=more,
        chosen=None,
    )


def count_spared(
    connection: Connection, rules: Collection[TrackedRule], most: int = _ALL
) -> set[str]:
    """Count the URLs that are held now because of rules, and so not fetched: each rule's `spared`.

    Args:
        connection: to a store.
        rules: in any state.
        most: how many of the URLs of their hosts are looked at, each host's first ones.

    Returns:
        The ids of the rules that may hold more.
    """
    for rule in rules:
        rule.spared = 0
    acting = {rule.id: rule for rule in rules if rule.state in IN_FORCE}
    if not acting:
        return set()
    canonicalizer = Canonicalizer(policy_of(connection, last_crawl(connection)))
    sites = {rule.rewrite.host for rule in acting.values()}
    in_force = RulesInForce.around(connection, canonicalizer, *sites)
    covered = {rule.id: in_force.hosts_of(connection, rule.rewrite) for rule in acting.values()}
    hosts = set[str]().union(*covered.values())
    share = most // len(hosts) + 1
    cut = set()
    for host in hosts:
        looked_at, held = held_first(connection, host, share)
        if looked_at == share:
            cut.add(host)
        while part := list(islice(held, _AT_ONCE)):
            made = in_force.rewrite_all_held([one.url for one in part])
            for one, own in zip(part, made, strict=True):
                # If no rule changes it, those hold it that change what represents it.
                found = own if own and own.rules else in_force.rewrite_held(one.represented_by)
                for name in found.rules if found else ():
                    if name in acting:
                        acting[name].spared += 1
    return {name for name, own in covered.items() if own & cut}


def state_counts(connection: Connection) -> list[StateCount]:
    """Return how many rules are in each state."""
    counted = {one: rule_rows.number_in(connection, one, _COUNTED + 1) for one in STATE_ORDER}
    return [
        StateCount(state=state, rules=min(number, _COUNTED), or_more=number > _COUNTED)
        for state, number in counted.items()
    ]


def report_on(connection: Connection, rule: TrackedRule) -> RuleReport:
    """Return all that a store knows of a rule, its evidence with both pages side by side."""
    canonicalizer = Canonicalizer(policy_of(connection, last_crawl(connection)))
    cut = count_spared(connection, [rule], _LOOKED_AT)
    return RuleReport(
        rule=_line(rule, or_more=rule.id in cut),
        why=FAMILIES[rule.rewrite.family].why,
        moved=rule.moved,
        reversed=rule.reversed,
        trial_agree=rule.trial_agree,
        trial_disagree=rule.trial_disagree,
        first_seen=iso(rule.first_seen),
        last_seen=iso(rule.last_seen),
        evidence=[
            _pair(connection, canonicalizer, *pair, agrees=agrees)
            for agrees, pairs in ((True, rule.samples), (False, rule.against))
            for pair in pairs
        ],
        holds=_held_by(connection, canonicalizer, rule),
        can_be_revoked=rule.state not in WITHDRAWN,
        can_be_reinstated=rule.state in WITHDRAWN,
    )


def said_against(
    connection: Connection, canonicalizer: Canonicalizer, rule: TrackedRule
) -> list[tuple[str, str]]:
    """Return the URLs that speak against a rule, each with what it is instead, for people."""
    pairs = [
        [_side(connection, canonicalizer, identity)[0] for identity in pair]
        for pair in rule.against
    ]
    return [(one.url, _instead(one, other)) for one, other in pairs]


def _instead(one: PageSide, other: PageSide) -> str:
    """Return in words what a URL is, in place of what a rule has predicted."""
    if one.redirects_to is not None:
        return f"redirects to {one.redirects_to}"
    if one.url == other.url:
        return "answers by itself, or names itself in its canonical link"
    if one.row is None:  # as where it was learned from a log of redirects
        return f"leads to {other.url}"
    if one.status in GONE:
        return f"is gone (HTTP {one.status}); {other.url} is not"
    if other.status in GONE:
        return f"is there; {other.url} is gone (HTTP {other.status})"
    return f"is another page than {other.url}"


def _line(rule: TrackedRule, *, or_more: bool) -> RuleLine:
    return RuleLine(
        id=rule.id,
        says=describe(rule.rewrite),
        host=rule.rewrite.host,
        family=rule.rewrite.family,
        state=rule.state,
        agree=rule.agree,
        disagree=rule.disagree,
        spared=rule.spared,
        or_more=or_more,
        since=iso(rule.entered_at),
        verified_at=iso(rule.verified_at),
    )


def _pair(
    connection: Connection, canonicalizer: Canonicalizer, url: str, found: str, *, agrees: bool
) -> EvidencePair:
    """Return a piece of evidence, with what the store has of both URLs now."""
    one, here = _side(connection, canonicalizer, url)
    other, there = _side(connection, canonicalizer, found)
    same_body = share = None
    compared = 0
    if here is not None and there is not None:
        same_body = here.digest == there.digest
        if here.sketch is not None and there.sketch is not None:
            alike = Compared.of(Sketch.decode(here.sketch), Sketch.decode(there.sketch))
            share, compared = alike.share, alike.comparable
    return EvidencePair(
        agrees=agrees,
        url=one,
        found=other,
        same_body=same_body,
        similarity=share,
        compared=compared,
    )


def _side(
    connection: Connection, canonicalizer: Canonicalizer, identity: str
) -> tuple[PageSide, KnownContent | None]:
    """Return what a store has of an identity now, and what its page says."""
    try:
        known = known_url.find(connection, canonicalizer.key_of(canonicalizer.identity(identity)))
    except InvalidURL:
        known = None
    page = None if known is None else known_url.page_of(connection, known.row)
    leads = [] if known is None else known_url.redirects_from(connection, known.row)[:1]
    side = PageSide(
        url=redact(identity),
        row=None if known is None else known.row,
        state="never-seen" if known is None else known.state.name.lower(),
        status=None if page is None else page.status,
        title=None if page is None else page.title,
        canonical=None if page is None or page.canonical is None else redact(page.canonical),
        redirects_to=redact(leads[0].url) if leads else None,
        redirect_status=leads[0].status if leads else None,
        at=None if known is None or known.state.name == "QUEUED" else iso(known.due),
    )
    content = None if known is None else known_url.content_of(connection, known.row)
    return side, content


def _held_by(
    connection: Connection, canonicalizer: Canonicalizer, rule: TrackedRule
) -> list[HeldFacts]:
    """Return some URLs that a rule holds, from a few places among the URLs of its host."""
    if rule.state in WITHDRAWN or not history.has_index(connection):
        return []
    in_force = RulesInForce.around(connection, canonicalizer, rule.rewrite.host)
    found: dict[int, HeldFacts] = {}
    for place in _PLACES:
        names = held_near(connection, without_port(rule.rewrite.host), place)
        for one in islice(held_by(rule, names, in_force), _HELD - len(found)):
            found[one.row] = HeldFacts(
                url=redact(one.url), row=one.row, same_as=redact(one.represented_by)
            )
    return list(found.values())
