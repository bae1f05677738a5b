"""Ask a store about one URL. A pure function over a connection: it changes nothing."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection

from canonry.canon import Canonicalizer, Change, InvalidURL, Reason, redact, redaction
from canonry.canon.learned import describe, site_in
from canonry.canon.pipeline import merging_rules
from canonry.canon.syntax import to_text
from canonry.crawler.admission import exclusions
from canonry.crawler.admission.scope import host_of
from canonry.crawler.admission.url_filter import NO_LIMIT, URLFilter, is_fetched
from canonry.crawler.fetch.robots import origin_of
from canonry.crawler.fetch.robots_rules import deciding_line
from canonry.crawler.hold_reason import HoldReason
from canonry.crawler.inquiry import remedies, url_answer
from canonry.crawler.inquiry.last_crawl import (
    LastCrawl,
    last_crawl,
    limits_of,
    policy_of,
    settings_of,
)
from canonry.crawler.inquiry.url_answer import (
    BudgetFacts,
    RobotsFacts,
    RuleFacts,
    StepFacts,
    URLAnswer,
)
from canonry.crawler.learn.rules.in_force import RulesInForce
from canonry.crawler.plurals import counted
from canonry.storage import State
from canonry.storage.clusters.equivalences import Equivalences
from canonry.storage.clusters.one_cluster import cluster_of
from canonry.storage.learned import host_urls
from canonry.storage.reading import known_url
from canonry.storage.reading.known_url import KnownURL
from canonry.storage.reading.row_structs import struct_of
from canonry.storage.records import NOFOLLOW, Budget
from canonry.storage.recrawls import revisit_rows
from canonry.storage.rows import host_rows
from canonry.storage.rows.budgets import HostBudget, rank_of
from canonry.storage.rows.redirect_chains import ChainURL, chains
from canonry.storage.steering import steered_patterns
from canonry.storage.timestamps import iso

_NEVER_SEEN = "no page, redirect or sitemap that was read has named it"
_ENDLESS = "its redirects lead in a circle, and to no page"
_MEMBERS = 25  # URLs of one resource that are looked for
_SEEDS = 5  # seeds that are shown


class _Question(NamedTuple):
    """What a question is about: the URL, and what the store says of it and of its crawls."""

    connection: Connection
    canonicalizer: Canonicalizer
    url: str  # as it is requested
    known: KnownURL | None
    crawl: LastCrawl | None
    limits: URLFilter | None  # of that crawl
    now: float


def ask(
    connection: Connection,
    text: str | bytes,
    now: float,
    policy: str | None = None,
) -> URLAnswer:
    """Return all that a store knows of a URL; for an invalid text, why it is invalid.

    This reads by keys and indexes only, so it is as fast in a store of any size.

    Args:
        connection: to a store.
        text: the URL, however it is written.
        now: seconds since 1970.
        policy: the store's policy, as a preset's name or a TOML file; None: as its crawl named it.

    Raises:
        PolicyError, StoreError: if the store's keys cannot be made.
    """
    crawl = last_crawl(connection)
    canonicalizer = Canonicalizer(policy_of(connection, crawl, policy))
    label = canonicalizer.policy.label
    try:
        canonical = canonicalizer(text)
    except InvalidURL as error:
        shown = redaction.redact_refused(error.text)[0]
        hint = [] if "://" in shown else [f"did you mean https://{shown} ?"]
        reason, because = error.reason.name.lower(), error.reason.value
        return _invalid(shown, label, reason, because, hint)
    known = known_url.find(connection, canonical.key)
    if known is None and not is_fetched(canonical.url):
        shown, scheme = redaction.redact_refused(redact(to_text(text)))[0], HoldReason.SCHEME
        return _invalid(shown, label, scheme.label, scheme.value, [])
    limits = None if crawl is None else limits_of(connection, crawl, canonicalizer)
    url = canonical.url if known is None else known.url
    question = _Question(connection, canonicalizer, url, known, crawl, limits, now)
    robots, budgets = _robots(question), _budgets(question)
    facts: dict[str, Any]
    if known is None:
        facts = _never_seen(question, robots, budgets)
    else:
        facts = _known(question, known, robots)
        if known.url != canonical.url:
            stored = known.raw_url or known.url
            facts["known_as"] = redact(known.url)
            facts["merged_by"] = merging_rules(canonicalizer, canonical.url, stored) or None
    return URLAnswer(
        asked=redact(to_text(text)),
        url=redact(canonical.url),
        identity=redact(canonical.identity),
        key=canonical.key.hex(),
        surt=canonicalizer.surt_of(redact(canonical.identity)),
        steps=steps_of(canonicalizer.explain(text).steps),
        policy=label,
        robots=robots,
        scope=_scope(question),
        budgets=budgets,
        crawl=None if crawl is None else struct_of(url_answer.CrawlFacts, crawl),
        **facts,
    )


def _invalid(shown: str, policy: str, reason: str, because: str, helps: list[str]) -> URLAnswer:
    return URLAnswer(
        asked=shown, state="invalid", reason=reason, because=because, policy=policy, remedies=helps
    )


def steps_of(changes: Iterable[Change]) -> list[StepFacts]:
    """Return what rules of a policy did to a URL, without passwords."""
    return [struct_of(StepFacts, change) for change in changes]


def _known(question: _Question, known: KnownURL, robots: RobotsFacts | None) -> dict[str, Any]:
    """Return what the store knows of a URL that it has seen."""
    connection = question.connection
    is_queued = known.state is State.QUEUED
    waits = max(known.due, known.host_ready_at)
    representative = Equivalences(connection).representative(known.id, awaited=True)
    rules: list[RuleFacts] = []
    gone: list[str] = []
    if known.reason == HoldReason.LEARNED.label:
        rules, gone = _rules(question, representative.url, with_gone=True)
    [chain] = chains(connection, [known.id])
    page = known_url.page_of(connection, known.id)
    return {
        "state": known.state.name.lower(),
        "reason": known.reason,
        "because": _because(known, chain[-1]),
        "row": known.id,
        "found": struct_of(
            url_answer.Finding,
            known,
            raw_url=redact(known.raw_url or known.url),
            on=[redact(url) for url in known_url.way_to(connection, known)],
            named_by=[redact(url) for url in known_url.naming(connection, known.id)],
        ),
        "attempts": known.attempts + (known.state is State.FAILED),
        "settled_at": None if is_queued else iso(known.due),
        "not_before": iso(waits) if is_queued and waits > question.now else None,
        "waiting": known.host_queued,
        "page": None if page is None else struct_of(url_answer.PageFacts, page),
        "revisits": _revisits(connection, known.id),
        "redirects": [struct_of(url_answer.RedirectFacts, led) for led in chain[1:]],
        "same_as": redact(representative.url) if representative.steps else None,
        "by_way_of": [redact(step.to) for step in representative.steps[:-1]],
        "gone": gone,
        "resource": _resource(connection, known.id),
        "rules": rules,
        "remedies": _remedies(question, known, robots, rules),
    }


def _because(known: KnownURL, end: ChainURL) -> str | None:
    """Return the reason of a URL as a sentence; that of a redirect is about its target."""
    is_redirect = known.state is State.REDIRECTED
    if known.reason is None:
        is_endless = end.state is State.REDIRECTED and end.reason is None
        return _ENDLESS if is_redirect and is_endless else None
    invalid = {one.name.lower(): one.value for one in Reason}
    sentence = remedies.sentence_about(known.url, known.reason) or invalid.get(known.reason)
    if is_redirect and sentence is not None:
        return f"the target of its redirect cannot be fetched: {sentence}"
    is_wall = known.reason == HoldReason.WALL.label
    if known.state is State.FETCHED and sentence is not None and not is_wall:
        return f"the page is there, and could not be fetched again: {sentence}"
    return sentence


def _remedies(
    question: _Question, known: KnownURL, robots: RobotsFacts | None, rules: Sequence[RuleFacts]
) -> list[str]:
    """Return what changes the state of a known URL."""
    shows_wall = known.state is State.FETCHED and known.reason == HoldReason.WALL.label
    if (known.state in {State.HELD, State.FAILED} or shows_wall) and known.reason is not None:
        return _helps(question, known.reason, known.depth, known.hops, rules)
    crawl = question.crawl
    if known.state is not State.QUEUED or crawl is None or crawl.is_running:
        return []
    if robots is not None and not robots.allows:
        return [f"the next crawl will hold it: {HoldReason.ROBOTS.value}"]
    most = crawl.settings.crawl.max_pages
    if crawl.state == "finished" and most:
        return [f"--max-pages, where the last crawl stopped (it was {most:,})"]
    return ["the same crawl command again: it resumes, and requests the URL when its turn comes"]


def _helps(
    question: _Question, reason: str, depth: int, hops: int, rules: Sequence[RuleFacts]
) -> list[str]:
    """Return what lifts a reason for the URL."""
    crawl = question.crawl
    seeds = () if crawl is None else crawl.seeds
    ids = [rule.id for rule in rules]
    excluded = steered_patterns.holding(question.connection)
    case = remedies.Case(question.url, depth, hops, settings_of(crawl), seeds, ids, excluded)
    helps = remedies.remedy(reason, case)
    return [] if helps is None else [helps]


def _never_seen(
    question: _Question, robots: RobotsFacts | None, budgets: Sequence[BudgetFacts]
) -> dict[str, Any]:
    """Return what would become of a URL that the store has never seen, if a page named it."""
    rules, _gone = _rules(question, question.url)
    representative = None  # the known URL that would be fetched instead
    if rules:
        key, connection = bytes.fromhex(rules[-1].key), question.connection
        representative = known_url.find_class(connection, key) or known_url.find(connection, key)
    reason = _reason_to_hold(question, robots, budgets, representative)
    same_as = None if representative is None else redact(representative.url)
    because, helps = _NEVER_SEEN, list[str]()
    if reason is not None:
        helps = _helps(question, reason.label, 0, 0, rules)
        then = f"it would be held: {reason.value}"
        if reason is HoldReason.LEARNED:
            then = f"a learned rule would let {same_as} be fetched in its place"
        because = f"{_NEVER_SEEN}; if one did, {then}"
    elif rules:  # the first URL of a class is fetched, and represents it
        then = "it would be fetched for all that a rule makes the same"
        because = f"{_NEVER_SEEN}; if one did, {then}"
    elif unfollowed := known_url.links_refused(question.connection, NOFOLLOW):
        because = f"{_NEVER_SEEN}; {counted(unfollowed, 'link')} marked nofollow did not count"
        helps = ["--config crawl.respect_nofollow=false, if such a link names it"]
    return {
        "state": "never-seen",
        "reason": None if reason is None else reason.label,
        "because": because,
        "same_as": same_as,
        "rules": rules,
        "remedies": helps,
    }


def _reason_to_hold(
    question: _Question,
    robots: RobotsFacts | None,
    budgets: Sequence[BudgetFacts],
    representative: KnownURL | None,
) -> HoldReason | None:
    """Return the first reason for which a crawl like the last one would not fetch a URL."""
    hold = None if question.limits is None else question.limits.judge(question.url)[1].reason
    if hold is not None:
        return hold
    if exclusions.keeps(question.connection)(question.url):
        return HoldReason.PATTERN_EXCLUDED
    for budget in budgets:
        if budget.count >= budget.limit:
            return next(one for one in HoldReason if one.label == budget.reason)
    if representative is not None:
        return HoldReason.LEARNED
    return HoldReason.ROBOTS if robots is not None and not robots.allows else None


def _revisits(connection: Connection, url_id: int) -> url_answer.RevisitFacts | None:
    """Return how often a page has changed, and when it is due; None if that is not known."""
    row = revisit_rows.read(connection, [url_id]).get(url_id)
    if row is None:
        return None
    visits, changes = round(row.visits), round(row.changes)
    interval = max(row.due - row.seen_at, 0.0)
    return struct_of(
        url_answer.RevisitFacts, row, visits=visits, changes=changes, interval=interval
    )


def _robots(question: _Question) -> RobotsFacts | None:
    """Return what the stored robots.txt says about a URL; None if none was read."""
    if not is_fetched(question.url):
        return None
    origin = origin_of(question.url)
    robots_txt = host_rows.cached_robots(question.connection, origin)
    if robots_txt is None:
        return None
    agent = settings_of(question.crawl).crawl.token
    line = deciding_line(robots_txt.rules or "", agent, question.url)
    return struct_of(
        RobotsFacts,
        robots_txt,
        url=f"{origin}/robots.txt",
        agent=agent,
        line=line and line.number,
        text=line and line.text,
        allows=line is None or line.allows,
    )


def _scope(question: _Question) -> url_answer.ScopeFacts | None:
    """Return the scope of the last crawl, and the pattern that keeps the URL out."""
    crawl = question.crawl
    if crawl is None:
        return None
    pattern = None
    if question.limits is not None:
        verdict = question.limits.judge(question.url)[1]
        pattern = verdict.value if verdict.reason is HoldReason.EXCLUDED else None
    return url_answer.ScopeFacts(
        kind=crawl.settings.crawl.scope,
        seeds=[redact(seed) for seed in crawl.seeds[:_SEEDS]],
        more_seeds=max(len(crawl.seeds) - _SEEDS, 0) + crawl.listed,
        pattern=pattern,
    )


def _budgets(question: _Question) -> list[BudgetFacts]:
    """Return the budgets that a URL counts against, with what is spent of them."""
    connection, crawl, limits, url = (
        question.connection,
        question.crawl,
        question.limits,
        question.url,
    )
    if crawl is None or limits is None or not is_fetched(url):
        return []
    by_domain, host = limits.host_budget, host_of(url)
    rank = rank_of(connection, host, by_domain)
    found: list[tuple[Budget | HostBudget, str, int]] = []
    if 0 < by_domain.most <= rank:
        found.append((by_domain, f"hosts of {by_domain.domain_of(host)}", rank))
    found += [
        (budget, budget.pattern, known_url.spent(connection, budget.key))
        for budget in limits.budgets_of(url)
        if budget.most < NO_LIMIT
    ]
    return [
        BudgetFacts(
            reason=one.reason,
            setting=remedies.setting_of(one.reason, url, crawl.settings),
            common=common,
            count=count,
            limit=one.most,
        )
        for one, common, count in found
    ]


def _rules(
    question: _Question, represented_by: str, *, with_gone: bool = False
) -> tuple[list[RuleFacts], list[str]]:
    """Return the learned rules that make a URL and the one that represents it the same.

    If none changes the URL itself, these are the rules that change the other one. With
    ``with_gone``, also return the other names of its page that answered 404 or 410, the latest
    first: once enough names have answered so, the others are held without a request.
    """
    canonicalizer, connection = question.canonicalizer, question.connection
    for url in dict.fromkeys((question.url, represented_by)):
        site = site_in(canonicalizer.identity(url))
        in_force = RulesInForce.around(connection, canonicalizer, site)
        made = in_force.rewrite_held(url)
        if made is not None and made.rules:
            rules_by_id = {rule.id: rule for rule in in_force.known}
            rules = [rules_by_id[name] for name in made.rules]
            told = [
                RuleFacts(
                    id=rule.id,
                    state=rule.state,
                    says=describe(rule.rewrite),
                    predicts=redact(made.identity),
                    key=made.key.hex(),
                )
                for rule in rules
            ]
            if not with_gone or not host_urls.has_index(connection):
                return told, []
            hosts = set[str]().union(*(in_force.hosts_of(connection, r.rewrite) for r in rules))
            names = (name for host in sorted(hosts) for name in known_url.gone_of(connection, host))
            return told, [redact(name) for name in names if _key(in_force, name) == made.key]
    return [], []


def _key(in_force: RulesInForce, url: str) -> bytes | None:
    """Return the key that rules give to a URL; None if it has none."""
    made = in_force.rewrite_held(url)
    return made and made.key


def _resource(connection: Connection, url_id: int) -> url_answer.ResourceFacts:
    """Return the resource of a URL with its other URLs, as far as they are looked for."""
    cluster = cluster_of(connection, url_id, _MEMBERS)
    members = [
        struct_of(url_answer.MemberFacts, one, status=one.status * (one.kind == "redirect") or None)
        for one in cluster.members
    ]
    return url_answer.ResourceFacts(
        representative=redact(cluster.url),
        row=cluster.url_id,
        members=members,
        has_more=cluster.has_more,
    )
