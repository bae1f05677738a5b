"""Learned rules for people: their state and evidence, each pair of pages side by side."""

from collections import Counter
from collections.abc import Collection
from contextlib import suppress
from itertools import islice
from typing import Annotated

import msgspec
from msgspec import structs
from sqlalchemy import Connection

from canonry.canon import Canonicalizer, InvalidURL, redact
from canonry.canon.learned import FAMILIES, RULE_STATES, RuleState, describe, without_port
from canonry.crawler.inquiry.last_crawl import last_crawl, policy_of
from canonry.crawler.inquiry.rule_names import STATE_ORDER, by_state, held_by
from canonry.crawler.learn.rules.in_force import RulesInForce
from canonry.crawler.learn.rules.infer import opposite
from canonry.crawler.learn.site_records import VERDICTS, evidence_of
from canonry.crawler.learn.standing import Standing, oriented, standing_of
from canonry.storage import State
from canonry.storage.http_status import GONE
from canonry.storage.learned import host_urls, ledger, rule_rows
from canonry.storage.learned.host_urls import held_first, held_near
from canonry.storage.learned.rule_rows import IN_FORCE, SAMPLES, TrackedRule
from canonry.storage.reading import known_url
from canonry.storage.reading.row_structs import StoredAs, URLText, struct_of
from canonry.storage.rows.redirect_chains import chains
from canonry.storage.shown import Shown
from canonry.storage.steering import host_list
from canonry.storage.timestamps import Moment, iso

_COUNTED = 10_000  # rules of a state; beyond that, the answer is "or more"
_LOOKED_AT = 5_000  # URLs on all hosts of a list together
_HOST_COSTS = 10  # to look at a host takes as long as to look at so many URLs
ALL = 1 << 60
_AT_ONCE = 5_000  # held URLs that rules are applied to in one call
_PLACES = (0.0, 0.5, 0.95)  # among the URLs of a host, where held ones are looked for
_HELD = 5  # held URLs that are shown
_SOURCES = ("content", "own-word", "mined")  # as the ledger numbers them


class StateCount(msgspec.Struct, frozen=True, kw_only=True):
    """How many rules are in a state."""

    state: str
    rules: int
    or_more: bool  # they were not counted further


class RuleCounts(msgspec.Struct, frozen=True, kw_only=True):
    """What a rule rests on, in pages, each with all of its names."""

    agree: int
    disagree: int
    first_seen: Moment | None
    last_seen: Moment | None
    samples: list[tuple[str, str]]  # a URL, and another name of its page
    against: list[tuple[str, str]]  # a URL, and one that is another page


def _suppressed(rule: "RuleAnswer") -> str:
    return f"{'about ' * rule.or_more}{rule.suppressed:,}"


class RuleAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A learned rule."""

    id: Annotated[str, Shown("id")]
    says: Annotated[str, Shown("says")]  # for people
    host: str  # with its port, if its URLs have one
    family: str
    below: str  # the part of the host that it covers
    old: str  # what the family replaces or removes
    new: str  # what the family puts there
    beside: tuple[str, ...]  # names of the other parameters in the query
    subdomains: bool
    but: tuple[str, ...]  # hosts below the host that it does not cover
    state: Annotated[RuleState, Shown("state")]
    evidence: Annotated[
        RuleCounts,
        Shown("for", lambda rule: f"{rule.evidence.agree:,}"),
        Shown("against", lambda rule: f"{rule.evidence.disagree:,}"),
    ]
    tests: Annotated[int, Shown("tests")]  # URLs that were fetched although it could hold them
    suppressed: Annotated[int, Shown("held", _suppressed)]  # URLs that it holds now: not fetched
    or_more: bool  # its hosts have more URLs than are looked at: `suppressed` is about right
    entered_at: Moment | None  # when it entered its state


class RulePages(msgspec.Struct, frozen=True, kw_only=True):
    """The pages of a rule's evidence, each with all of its names, and how many a rule needs."""

    same: int
    own_word: int  # of these, by redirects and canonical links
    names: int  # further ones of these; they count a little
    mined: int  # of these, from a log or an import: no crawl has seen that
    different: int
    refuted: int  # of these, by all the answers that are asked for
    unknown: int
    needed: int  # that are the same, before it acts ...
    needed_by_own_word: int  # ... or by redirects and canonical links alone
    may_be_unknown: int


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


class PairFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Two URLs that a rule makes one, and what they turned out to be."""

    url: str  # that the rule changes
    found: str  # the other one
    verdict: str  # same, different or unknown
    source: str  # content, own-word or mined
    answers: int  # of the one of the two that was asked less often
    at: Moment | None


class EvidencePair(msgspec.Struct, frozen=True, kw_only=True):
    """Two URLs of the evidence side by side."""

    agrees: bool
    pair: PairFacts
    url: PageSide
    found: PageSide
    same_body: bool | None  # byte by byte; null: one of them has none
    instead: str | None  # what the first one is, if the pair speaks against the rule


class HeldFacts(msgspec.Struct, frozen=True, kw_only=True):
    """A URL that the rule holds, and the one that is fetched instead."""

    url: URLText
    row: Annotated[int, StoredAs(name="url_id")]
    same_as: Annotated[str, StoredAs(redact, "represented_by")]


class RuleReport(RuleAnswer, frozen=True, kw_only=True):
    """All that a store knows of a rule."""

    why: str  # what rules of its family say
    standing: str  # what is missing until it acts, or what would end it; for people
    held_back: str | None  # the same, if it is a candidate or suspended
    pages: RulePages
    pairs: list[PairFacts]  # its evidence: all, or the first of each verdict
    side_by_side: list[EvidencePair]  # the first of each verdict
    holds: list[HeldFacts]  # some of the URLs


class RuleListing(msgspec.Struct, frozen=True, kw_only=True):
    """The rules of a store: those of a state or of a host; or one with its evidence."""

    states: list[StateCount]
    state: str  # the one that is listed; "" for a host's rules
    host: str  # "": all
    rules: list[RuleAnswer]
    has_more: bool
    chosen: RuleReport | None  # the rule that was asked for


def in_state(connection: Connection, state: str, most: int) -> RuleListing:
    """Return the first rules of a state; those that suppress the most fetches come first."""
    rules = rule_rows.most_useful(connection, state, most + 1)
    return _listing(connection, rules, most, state=state)


def of_host(connection: Connection, host: str, most: int) -> RuleListing:
    """Return the rules of a host by state; in each, those that suppress the most come first."""
    rules = rule_rows.of_hosts(connection, [host], RULE_STATES)
    rules.sort(key=lambda rule: (by_state(rule), -rule.suppressed, rule.id))
    return _listing(connection, rules, most, host=host)


def _listing(
    connection: Connection, found: list[TrackedRule], most: int, *, state: str = "", host: str = ""
) -> RuleListing:
    rules = found[:most]
    cut = count_suppressed(connection, rules, _LOOKED_AT)
    for rule in rules:  # a rule by itself has its pairs
        rule.samples, rule.against = [], []
    return RuleListing(
        states=state_counts(connection),
        state=state,
        host=host,
        rules=[answer_of(rule, or_more=rule.id in cut) for rule in rules],
        has_more=len(found) > most,
        chosen=None,
    )


def count_suppressed(
    connection: Connection, rules: Collection[TrackedRule], most: int = ALL
) -> set[str]:
    """Set the `suppressed` of each rule: the number of URLs that are held now because of it.

    Args:
        connection: to a store.
        rules: in any state.
        most: how many URLs are looked at, of hosts that have fewer.

    Returns:
        The ids of the rules whose hosts have more; they keep the number that the crawl counted.
    """
    acting = {rule.id: rule for rule in rules if rule.state in IN_FORCE}
    for rule in rules:
        if rule.id not in acting:
            rule.suppressed = 0
    if not acting:
        return set()
    if most < ALL and not host_urls.has_index(connection):  # each look would read all URLs
        return set(acting)
    canonicalizer = Canonicalizer(policy_of(connection, last_crawl(connection)))
    sites = {rule.rewrite.host for rule in acting.values()}
    in_force = RulesInForce.around(connection, canonicalizer, *sites)
    has_many_hosts = host_list.number_of(connection) > most
    wide = {rule.id for rule in acting.values() if rule.rewrite.subdomains and has_many_hosts}
    covered = {
        rule_id: in_force.hosts_of(connection, acting[rule_id].rewrite)
        for rule_id in acting.keys() - wide
    }
    hosts = sorted(set[str]().union(*covered.values()))
    cut = set(hosts[most // _HOST_COSTS :])
    suppressed = Counter[str]()
    for host in hosts[: most // _HOST_COSTS]:
        looked_at, held = held_first(connection, host, most)
        if looked_at == most:
            cut.add(host)
            continue
        most = max(most - looked_at - _HOST_COSTS, 1)
        while part := list(islice(held, _AT_ONCE)):
            rewritten_urls = in_force.rewrite_all_held([held_url.url for held_url in part])
            for held_url, rewritten in zip(part, rewritten_urls, strict=True):
                # If no rule changes the URL, those that change its representative hold it.
                has_rules = rewritten and rewritten.rules
                change = rewritten if has_rules else in_force.rewrite_held(held_url.represented_by)
                suppressed.update(change.rules if change else ())
    unknown = wide | {name for name, its_hosts in covered.items() if its_hosts & cut}
    for rule_id in acting.keys() - unknown:
        acting[rule_id].suppressed = suppressed[rule_id]
    return unknown


def state_counts(connection: Connection) -> list[StateCount]:
    """Return how many rules are in each state."""
    counted = {one: rule_rows.number_in(connection, one, _COUNTED + 1) for one in STATE_ORDER}
    return [
        StateCount(state=state, rules=min(number, _COUNTED), or_more=number > _COUNTED)
        for state, number in counted.items()
    ]


def report_on(
    connection: Connection, rule: TrackedRule, *, most: int = _LOOKED_AT, shown: int = SAMPLES
) -> RuleReport:
    """Return all that a store knows of a rule, its evidence with both pages side by side.

    Args:
        connection: to a store.
        rule: with what it suppresses, as the crawl counted it.
        most: how many URLs are looked at, to count what it suppresses.
        shown: how many pairs of each verdict are side by side.
    """
    canonicalizer = Canonicalizer(policy_of(connection, last_crawl(connection)))
    cut = count_suppressed(connection, [rule], most)
    pairs = pairs_of(connection, rule)
    first = [
        one
        for verdict in VERDICTS
        for one in [pair for pair in pairs if pair.verdict == verdict.value][:shown]
    ]
    standing = standing_in(connection, rule)
    is_waiting = rule.state in {"candidate", "suspended"}
    return RuleReport(
        **structs.asdict(answer_of(rule, or_more=rule.id in cut)),
        why=FAMILIES[rule.rewrite.family].why,
        standing=standing.sentence,
        held_back=standing.sentence if is_waiting else None,
        pages=struct_of(RulePages, standing.found, standing),
        pairs=pairs if most == ALL else first,
        side_by_side=[_side_by_side(connection, canonicalizer, pair) for pair in first],
        holds=_held_by(connection, canonicalizer, rule),
    )


def standing_in(connection: Connection, rule: TrackedRule) -> Standing:
    """Return what a stored rule lacks until it acts, or what would end it."""
    turned = opposite(rule.rewrite)
    stored = [rule, *(r for r in rule_rows.with_ids(connection, [turned.id]) if r.id != rule.id)]
    one, *against = evidence_of(connection, stored)
    return standing_of(one, next(iter(against), None))


def pairs_of(connection: Connection, rule: TrackedRule) -> list[PairFacts]:
    """Return the evidence of a rule, in the order in which it came."""
    pairs = []
    for pair in ledger.pairs_of(connection, [rule.id]):
        url, found = oriented(rule.rewrite, (pair.first, pair.second))
        verdict, source = VERDICTS[pair.verdict].value, _SOURCES[pair.source]
        about = {"url": url, "found": found, "verdict": verdict, "source": source}
        pairs.append(struct_of(PairFacts, pair, **about))
    return pairs


def _instead(side: PageSide, other: PageSide) -> str:
    """Return in words what a URL is, instead of what a rule has predicted."""
    if side.redirects_to is not None:
        return f"redirects to {side.redirects_to}"
    if side.url == other.url:
        return "answers by itself, or names itself in its canonical link"
    if side.row is None:  # as where it was learned from a log of redirects
        return f"leads to {other.url}"
    if side.status in GONE:
        return f"is gone (HTTP {side.status}); {other.url} is not"
    if other.status in GONE:
        return f"is there; {other.url} is gone (HTTP {other.status})"
    return f"is another page than {other.url}"


def answer_of(rule: TrackedRule, *, or_more: bool = False, folded: int = 0) -> RuleAnswer:
    """Return a rule as people are told of it, and how many rules for folders say the same."""
    rewrite = rule.rewrite
    samples, against = (
        [oriented(rewrite, pair) for pair in pairs] for pairs in (rule.samples, rule.against)
    )
    return struct_of(
        RuleAnswer,
        *(rule, rewrite),
        says=describe(rewrite) + f", and {folded:,} more for its folders" * bool(folded),
        evidence=struct_of(RuleCounts, rule, samples=samples, against=against),
        or_more=or_more,
    )


def _side_by_side(
    connection: Connection, canonicalizer: Canonicalizer, pair: PairFacts
) -> EvidencePair:
    """Return a piece of evidence, with what the store has of both URLs now."""
    (first, body), (second, other_body) = (
        _side(connection, canonicalizer, url) for url in (pair.url, pair.found)
    )
    return EvidencePair(
        agrees=pair.verdict == "same",
        pair=pair,
        url=first,
        found=second,
        same_body=None if body is None or other_body is None else body == other_body,
        instead=_instead(first, second) if pair.verdict == "different" else None,
    )


def _side(
    connection: Connection, canonicalizer: Canonicalizer, identity: str
) -> tuple[PageSide, bytes | None]:
    """Return what a store has of an identity now, and the digest of its page's body."""
    known = None
    with suppress(InvalidURL):
        known = known_url.find(connection, canonicalizer.key_of(canonicalizer.identity(identity)))
    page = known and known_url.page_of(connection, known.id)
    target = next(iter(chains(connection, [known.id])[0][1:]), None) if known else None
    side = PageSide(
        url=redact(identity),
        row=known and known.id,
        state=known.state.name.lower() if known else "never-seen",
        status=page and page.status,
        title=page and page.title,
        canonical=page and page.canonical and redact(page.canonical),
        redirects_to=target and redact(target.url),
        redirect_status=target and target.status,
        at=iso(known.due) if known and known.state is not State.QUEUED else None,
    )
    return side, page.digest if page and page.size else None


def _held_by(
    connection: Connection, canonicalizer: Canonicalizer, rule: TrackedRule
) -> list[HeldFacts]:
    """Return some URLs that a rule holds, from a few places among the URLs of its host."""
    if rule.state not in IN_FORCE or not host_urls.has_index(connection):
        return []
    in_force = RulesInForce.around(connection, canonicalizer, rule.rewrite.host)
    facts_by_id: dict[int, HeldFacts] = {}
    for place in _PLACES:
        names = held_near(connection, without_port(rule.rewrite.host), place)
        for one in islice(held_by(rule, names, in_force), _HELD - len(facts_by_id)):
            facts_by_id[one.url_id] = struct_of(HeldFacts, one)
    return list(facts_by_id.values())
