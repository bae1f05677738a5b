"""The facts about one URL, each read from a store by a key or an index."""

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Connection

from canonry.canon import Canonical, Canonicalizer, redact
from canonry.canon.learned import describe, site_in
from canonry.crawler.admission.scope import host_of
from canonry.crawler.admission.url_filter import NO_LIMIT, URLFilter, is_fetched
from canonry.crawler.fetch.robots import origin_of
from canonry.crawler.fetch.robots_rules import deciding_line
from canonry.crawler.hold_reason import HoldReason
from canonry.crawler.inquiry import remedies
from canonry.crawler.inquiry.last_crawl import LastCrawl, settings_of
from canonry.crawler.inquiry.url_answer import (
    BudgetFacts,
    Finding,
    MemberFacts,
    ResourceFacts,
    RevisitFacts,
    RobotsFacts,
    RuleFacts,
    ScopeFacts,
)
from canonry.crawler.learn.rules.in_force import RulesInForce
from canonry.storage.clusters.one_cluster import cluster_of
from canonry.storage.learned import host_urls
from canonry.storage.reading import known_url
from canonry.storage.reading.known_url import KnownURL
from canonry.storage.recrawls import revisit_rows
from canonry.storage.rows import host_rows
from canonry.storage.rows.budgets import rank_of
from canonry.storage.timestamps import iso

_SEEDS = 5  # seeds that are shown


class Question(NamedTuple):
    """What a question is about: the URL, and what the store says of it and of its crawls."""

    connection: Connection
    canonicalizer: Canonicalizer
    canonical: Canonical
    known: KnownURL | None
    crawl: LastCrawl | None
    limits: URLFilter | None  # of that crawl
    now: float

    @property
    def url(self) -> str:
        """The URL that is requested."""
        return self.canonical.url if self.known is None else self.known.url


def found(connection: Connection, stored_url: KnownURL) -> Finding:
    """Return where a URL was found."""
    return Finding(
        at=iso(stored_url.found_at) or "",
        raw_url=redact(stored_url.raw_url or stored_url.url),
        on=[redact(url) for url in known_url.way_to(connection, stored_url)],
        depth=stored_url.depth,
        hops=stored_url.hops,
        named_by=[redact(url) for url, _kind in known_url.naming(connection, stored_url.url_id)],
    )


def revisits(connection: Connection, url_id: int) -> RevisitFacts | None:
    """Return how often a page has changed, and when it is due; None if that is not known."""
    row = revisit_rows.read(connection, [url_id]).get(url_id)
    return row and RevisitFacts(
        visits=round(row.visits),
        changes=round(row.changes),
        interval=max(row.due - row.seen_at, 0.0),
        due=iso(row.due),
        listed=iso(row.listed),
    )


def robots(question: Question) -> RobotsFacts | None:
    """Return what the stored robots.txt says about a URL; None if none was read."""
    if not is_fetched(question.url):
        return None
    origin = origin_of(question.url)
    robots_txt = host_rows.cached_robots(question.connection, origin)
    if robots_txt is None:
        return None
    crawl = question.crawl
    agent = settings_of(crawl).crawl.token
    line = deciding_line(robots_txt.rules or "", agent, question.url)
    return RobotsFacts(
        url=f"{origin}/robots.txt",
        agent=agent,
        line=None if line is None else line.number,
        text=None if line is None else line.text,
        allows=line is None or line.allows,
        expires_at=iso(robots_txt.expires_at),
        unreachable_since=iso(robots_txt.unreachable_since),
    )


def scope(question: Question) -> ScopeFacts | None:
    """Return the scope of the last crawl, and the pattern that keeps the URL out."""
    crawl = question.crawl
    if crawl is None:
        return None
    pattern = None
    if question.limits is not None:
        verdict = question.limits.judge(question.url)[1]
        pattern = verdict.value if verdict.reason is HoldReason.EXCLUDED else None
    return ScopeFacts(
        kind=crawl.settings.crawl.scope,
        seeds=[redact(seed) for seed in crawl.seeds[:_SEEDS]],
        more_seeds=max(len(crawl.seeds) - _SEEDS, 0) + crawl.listed,
        pattern=pattern,
    )


def budgets(question: Question) -> list[BudgetFacts]:
    """Return the budgets that a URL counts against, with what is spent of them."""
    if question.crawl is None or question.limits is None or not is_fetched(question.url):
        return []
    by_domain = question.limits.host_budget
    host = host_of(question.url)
    rank = rank_of(question.connection, host, by_domain)
    too_many = BudgetFacts(
        reason=by_domain.reason,
        setting=remedies.setting_of(by_domain.reason, question.url, question.crawl.settings),
        common=f"hosts of {by_domain.domain_of(host)}",
        count=rank,
        limit=by_domain.most,
    )
    return [too_many] * (0 < by_domain.most <= rank) + [
        BudgetFacts(
            reason=budget.reason,
            setting=remedies.setting_of(budget.reason, question.url, question.crawl.settings),
            common=budget.pattern,
            count=known_url.spent(question.connection, budget.key),
            limit=budget.most,
        )
        for budget in question.limits.budgets_of(question.url)
        if budget.most < NO_LIMIT
    ]


def rules(question: Question, represented_by: str) -> list[RuleFacts]:
    """Return the learned rules that make a URL and the one that represents it the same.

    If none changes the URL itself, these are the rules that change the other one.
    """
    canonicalizer = question.canonicalizer
    for url in dict.fromkeys((question.url, represented_by)):
        site = site_in(canonicalizer.identity(url))
        in_force = RulesInForce.around(question.connection, canonicalizer, site)
        rewritten = in_force.rewrite_held(url)
        if rewritten is not None and rewritten.rules:
            rules_by_id = {rule.id: rule for rule in in_force.known}
            return [
                RuleFacts(
                    id=name,
                    state=rules_by_id[name].state,
                    says=describe(rules_by_id[name].rewrite),
                    predicts=redact(rewritten.identity),
                    key=rewritten.key.hex(),
                )
                for name in rewritten.rules
            ]
    return []


def gone_names(question: Question, holding_rules: Sequence[RuleFacts]) -> list[str]:
    """Return the other names of a held URL's page that answered 404 or 410, the latest first.

    Once enough names have answered so, the others are held without a request.

    Args:
        question: about the URL.
        holding_rules: the rules that hold it.
    """
    connection = question.connection
    if not holding_rules or not host_urls.has_index(connection):
        return []
    site = site_in(question.canonicalizer.identity(question.url))
    in_force = RulesInForce.around(connection, question.canonicalizer, site)
    used = {rule.id for rule in holding_rules}
    hosts = {
        host
        for rule in in_force.known
        if rule.id in used
        for host in in_force.hosts_of(connection, rule.rewrite)
    }
    key = bytes.fromhex(holding_rules[-1].key)
    gone = []
    for host in sorted(hosts):
        for url in known_url.gone_of(connection, host):
            rewritten = in_force.rewrite_held(url)
            if rewritten is not None and rewritten.key == key:
                gone.append(redact(url))
    return gone


def resource(connection: Connection, url_id: int, most: int) -> ResourceFacts:
    """Return the resource of a URL with its other URLs, as far as they are looked for."""
    cluster = cluster_of(connection, url_id, most)
    return ResourceFacts(
        representative=redact(cluster.url),
        row=cluster.url_id,
        members=[
            MemberFacts(
                url=redact(member.url),
                row=member.url_id,
                reason=member.kind,
                via=redact(member.via),
                status=member.status if member.kind == "redirect" else None,
                last_seen=iso(member.last_seen),
            )
            for member in cluster.members
        ],
        has_more=cluster.has_more,
    )
