"""Preparation of a run: its seeds are read, and the store is adapted to its limits."""

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Connection, select

from canonry.canon import Canonical, InvalidURL, redaction
from canonry.crawler.admission import exclusions
from canonry.crawler.admission.scope import host_of
from canonry.crawler.admission.url_filter import URLFilter
from canonry.crawler.fetch.faults import WITH_RETRY_AFTER, longest_retry
from canonry.crawler.fetch.robots import DAY
from canonry.crawler.files.inputs import ListedSeed
from canonry.crawler.hold_reason import HoldReason
from canonry.crawler.learn.session import LearningSession
from canonry.crawler.run.job import lease_owners
from canonry.crawler.run.job.lease_owners import LEASE_SECONDS, reclaim_in
from canonry.crawler.settings import Settings, SettingsError, load
from canonry.crawler.settings.header_lines import without_secrets
from canonry.crawler.settings.host_tables import HostTables
from canonry.crawler.settings.proxies import Proxies
from canonry.crawler.settings.sections import CrawlSettings
from canonry.crawler.settings.url_patterns import MediaTypes
from canonry.storage import Candidate, State, Store
from canonry.storage.records import LONGEST_WAIT
from canonry.storage.recrawls import absences, forgetting, revisit_rows
from canonry.storage.rows import budgets, clock_ahead, requeueing, urls
from canonry.storage.rows.requeueing import Requeue
from canonry.storage.sql import counts
from canonry.storage.sql.bulk import chunks
from canonry.storage.sql.schema import jobs
from canonry.storage.sql.schema import urls as url_table
from canonry.storage.sql.stored_json import stored_json
from canonry.storage.steering import blocked_hosts, walled

# Reasons that follow from the limits of a run. When these change, URLs are reviewed for them.
_LIMITS = frozenset(HoldReason) - {
    HoldReason.ROBOTS,
    HoldReason.SCHEME,
    HoldReason.OURS,
    HoldReason.LEARNED,
    HoldReason.OTHER_TYPE,
    HoldReason.WALL,
    HoldReason.HOST_BLOCKED,
    HoldReason.PATTERN_EXCLUDED,
    HoldReason.UNDISCOVERED,
    HoldReason.DELETED,
    HoldReason.LONG_GONE,
}
_BUDGETS = frozenset({HoldReason.PATTERN_BUDGET, HoldReason.HOST_BUDGET})
_MOST_TOLD = 10  # unusable lines of lists, which are reported one by one
_MANY = 100_000  # URLs; a review of more takes so long that users are told


def read_seeds(
    seeds: Iterable[str],
    listed: Iterable[ListedSeed],
    url_filter: URLFilter,
    notify: Callable[[str], None],
) -> list[Candidate]:
    """Return seeds as candidates, and extend the scope by them.

    Args:
        seeds: each has to be a URL that can be fetched.
        listed: further seeds; those that cannot be used are reported and left out.
        url_filter: makes the candidates.
        notify: receives sentences for people.

    Raises:
        SettingsError: if a seed cannot be used, or there is none at all.
    """
    candidates = [_read_seed(seed, url_filter) for seed in seeds]
    unusable = 0
    for listed_seed in listed:
        try:
            candidates.append(_read_seed(listed_seed.text, url_filter))
        except SettingsError as error:
            unusable += 1
            if unusable <= _MOST_TOLD:
                notify(f"canonry: {listed_seed.place}: {error}")
    if unusable > _MOST_TOLD:
        notify(f"canonry: {unusable - _MOST_TOLD:,} more lines of --seeds cannot be used either")
    if not candidates:
        raise SettingsError("there is no seed: give the URL of a page, or a list with --seeds FILE")
    url_filter.extend_scope(*(candidate.url for candidate in candidates))
    return candidates


def _read_seed(seed: str, url_filter: URLFilter) -> Candidate:
    """Return a seed as a candidate that no limit holds.

    Raises:
        SettingsError: the seed cannot be used.
    """
    try:
        candidate = url_filter.candidate(seed, None, depth=0, hops=0, source=None)
    except InvalidURL as error:
        redacted, _ = redaction.redact_refused(seed)
        [meant] = url_filter.canonicalizer.many([f"https://{seed.strip()}"])
        near = "://" not in seed and isinstance(meant, Canonical)
        hint = f"\nDid you mean https://{redacted} ?" if near else ""
        raise SettingsError(f"seed: {error}{hint}") from None
    if isinstance(candidate, HoldReason):
        redacted, _ = redaction.redact_refused(seed)
        raise SettingsError(f"seed {redacted}: {candidate.value}")
    return candidate._replace(held=None)


def as_job(seeds: Sequence[str], listed: Sequence[ListedSeed], settings: Settings) -> str:
    """Return what a crawl is to do as JSON, without passwords. Lists become a digest."""
    plan: dict[str, object] = {"seeds": sorted(seeds), "settings": settings}
    if listed:
        lines = "\n".join(sorted(one.text for one in listed))
        digest = hashlib.blake2b(lines.encode(), digest_size=16).hexdigest()
        plan["listed"] = {"count": len(listed), "digest": digest}
    shown = redaction.redact_all(without_secrets(msgspec.to_builtins(plan)))
    return msgspec.json.encode(shown).decode()


def prepare(
    store: Store,
    url_filter: URLFilter,
    settings: Settings,
    job: str,
    notify: Callable[[str], None],
) -> Requeue | None:
    """Prepare a store for a run: reclaim hosts, and review URLs where the limits changed.

    Args:
        store: new, or of an earlier run.
        url_filter: holds what the limits do not allow. Its scope is extended by the URLs to which
            the store's seeds redirected.
        settings: of this run.
        job: what this run is to do. If the last run did the same, no limit has changed.
        notify: receives sentences for people.

    Returns:
        What puts the rest into the queue once that is empty; None if there is no rest.
    """
    now = time.time()
    with store.transaction() as connection:
        _correct_clock(connection, settings, now, notify)
        reclaim_in(connection, settings.longest_delay)
        for url in urls.seed_targets(connection):
            url_filter.extend_scope(url)
        if settings.crawl.is_recrawl and isinstance(store.rules, LearningSession):
            store.rules.hold_further_names(connection, now)
        rest = _recrawl(connection, settings.crawl, now)
        _release(connection, url_filter, frozenset({HoldReason.OURS}))
        walled.ask_all_again(connection, now)
        blocked_hosts.unblock_those_for_now(connection)
        last = _last_job(connection)
        lease_owners.close_in(connection, now)
        _forget(connection, settings.crawl, now)
        this = msgspec.json.decode(job)
        if last is None or lease_owners.unsigned(last) != this:
            known = sum(number for _state, _reason, number in counts.read(connection, "urls"))
            if known > _MANY:
                notify(f"The limits have changed since the last run: reviewing {known:,} URLs.")
            others = {HoldReason.OTHER_TYPE} if _types_in(last) != _types_in(this) else set()
            _release(connection, url_filter, _LIMITS | others)
            _hold(connection, url_filter)
            exclusions.finish(connection, every=True)
        else:
            if settings.crawl.is_recrawl:  # what has gone left room
                _release(connection, url_filter, _BUDGETS)
            exclusions.finish(connection, every=settings.crawl.is_recrawl)
    return rest


def _recrawl(connection: Connection, crawl: CrawlSettings, now: float) -> Requeue | None:
    """Put known URLs that are due back in the queue; return what puts the rest there.

    The rest are pages that could not be fetched again, of hosts that have answered in this run.
    """

    def queue(connection: Connection, *which: ColumnElement[bool]) -> int:
        if crawl.recrawl:
            _least, first, most = crawl.intervals
            return revisit_rows.requeue(connection, now, first, most, absences.is_due(now), *which)
        before = now - (crawl.recrawl_seconds or 0.0)
        return requeueing.requeue(connection, before, absences.is_due(now), *which)

    if not crawl.is_recrawl:
        return None
    absences.begin(connection)
    if not absences.are_unseen(connection):
        queue(connection)
        return None
    queue(connection, absences.is_first())
    unseen = absences.unseen(connection)

    def queue_rest(connection: Connection) -> int:
        hosts = absences.hosts_answered_since(connection, now).intersection(unseen)
        url_ids = [url_id for host_id in sorted(hosts) for url_id in unseen[host_id]]
        return sum(queue(connection, url_table.c.id.in_(part)) for part in chunks(url_ids))

    return queue_rest


def _forget(connection: Connection, crawl: CrawlSettings, now: float) -> None:
    """Forget what has long been gone, unless another worker remembers it."""
    after = crawl.forget_seconds
    if crawl.is_recrawl and after is not None and not lease_owners.are_running(connection):
        forgetting.forget(connection, now, after)


def _correct_clock(
    connection: Connection, settings: Settings, now: float, notify: Callable[[str], None]
) -> None:
    """Correct the times of a store that was written while the clock was ahead; report that."""
    retry = longest_retry(settings.fetch.retry_wait, settings.fetch.retries)
    waits = clock_ahead.Waits(
        delay=settings.longest_delay,
        lease=LEASE_SECONDS,
        retry=retry,
        pause=max(retry, settings.longest_delay, settings.crawl.max_crawl_delay),
        asked=LONGEST_WAIT,
        robots=DAY,
        asked_suffix=WITH_RETRY_AFTER,
    )
    ahead = clock_ahead.correct(connection, now, waits)
    if ahead:
        notify(
            f"The clock was ahead by {timedelta(seconds=round(ahead))} when this store was written "
            "(or it is behind now); waits in the store are shortened by that much."
        )


def _last_job(connection: Connection) -> dict[str, Any] | None:
    """Return what the last crawl into this store was to do; None when there was none."""
    last = select(jobs.c.settings, jobs.c.id).where(jobs.c.command == "crawl")
    found = connection.execute(last.order_by(jobs.c.id.desc()).limit(1)).one_or_none()
    return None if found is None else stored_json(found.settings, "jobs", found.id)


def _types_in(job: Mapping[str, Any] | None) -> list[str]:
    """Return the media types to which a job is limited."""
    settings = {} if job is None else job.get("settings", {})
    found: list[str] = settings.get("fetch", {}).get("only_types", [])
    return found


def _release(connection: Connection, url_filter: URLFilter, reasons: frozenset[HoldReason]) -> None:
    """Release URLs that are held for some reasons, unless a limit still holds them."""
    beyond = budgets.beyond(connection, url_filter.host_budget)

    def judge(url: str, depth: int, hops: int) -> str | None:
        hold = url_filter.reason_to_hold(url, depth, hops)
        if hold is not None:
            return hold.label
        if host_of(url) in beyond:
            return HoldReason.DOMAIN_BUDGET.label
        return budgets.spend(connection, [url_filter.budgets_of(url)])[0]

    requeueing.review(connection, State.HELD, judge, {reason.label for reason in reasons})


def _hold(connection: Connection, url_filter: URLFilter) -> None:
    """Hold queued URLs that the limits do not allow."""

    def judge(url: str, depth: int, hops: int) -> str | None:
        hold = url_filter.reason_to_hold(url, depth, hops)
        return None if hold is None else hold.label

    requeueing.review(connection, State.QUEUED, judge)


def of(settings: Settings, seeds: Sequence[str]) -> Iterator[str]:
    """Yield sentences about settings that are missing or have no effect.

    Args:
        settings: of the run.
        seeds: as they are requested.
    """
    crawl, fetch = settings.crawl, settings.fetch
    if not (crawl.contact or fetch.connect_to or fetch.allow_private):
        yield (
            "site owners cannot tell who crawls: give --contact, or set contact in [crawl], to a "
            "page or a mail address of yours"
        )
    if crawl.sitemaps and "application/xml" not in MediaTypes(fetch.only_types):
        yield "--only-types leaves out the sitemaps that robots.txt files name: add sitemap"
    all_mapped = any(rule.startswith("::") for rule in fetch.connect_to)
    yield from Proxies(fetch.proxy).notices(all_mapped=all_mapped)
    hosts = {host_of(seed) for seed in seeds}
    if len(hosts) != 1 or crawl.scope not in {"host", "prefix"}:
        return
    own = HostTables(settings.hosts).of(hosts.pop())
    at_once = crawl.requests_per_host if own.requests_per_host is None else own.requests_per_host
    delay = crawl.delay if own.delay is None else own.delay
    if crawl.concurrency > at_once and crawl.concurrency != _usual():
        pause = f" and one every {delay:g} s (--delay)" if delay else ""
        yield (
            f"--concurrency {crawl.concurrency} can do nothing here: all seeds are on one host, "
            f"which gets at most {at_once} requests at once (--requests-per-host){pause}"
        )


def _usual() -> int:
    """Return the default concurrency."""
    return load(None, {}).crawl.concurrency
