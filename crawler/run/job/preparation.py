"""Preparation of a run: its seeds, and a store that an earlier run left under other limits."""

import time
from collections.abc import Callable, Iterable

import msgspec
from sqlalchemy import Connection, select

from canonry.canon import InvalidURL, redaction
from canonry.crawler.admission.url_filter import URLFilter
from canonry.crawler.hold_reason import HoldReason
from canonry.crawler.run.job import killed_jobs
from canonry.crawler.run.job.lease_owners import reclaim_in
from canonry.crawler.settings import Settings, SettingsError
from canonry.storage import Candidate, State, Store
from canonry.storage.rows import budgets, urls
from canonry.storage.sql import counts
from canonry.storage.sql.schema import jobs

# The limits that a run may have changed. What they hold, or should hold, is reviewed.
_LIMITS = frozenset(HoldReason) - {
    HoldReason.ROBOTS,
    HoldReason.SCHEME,
    HoldReason.OURS,
    HoldReason.LEARNED,
}
_MANY = 100_000  # URLs; to review more takes a time that users notice


def read_seeds(seeds: Iterable[str], url_filter: URLFilter) -> list[Candidate]:
    """Return seeds as candidates, and extend the scope by them.

    Raises:
        SettingsError: naming a seed that cannot be used.
    """
    candidates = [_read_seed(seed, url_filter) for seed in seeds]
    for candidate in candidates:
        url_filter.extend_scope(candidate.url)
    return candidates


def _read_seed(seed: str, url_filter: URLFilter) -> Candidate:
    """Return a seed as a candidate that no limit holds."""
    shown, _ = redaction.redact_refused(seed)
    try:
        found = url_filter.candidate(seed, None, depth=0, hops=0, source=None)
    except InvalidURL as error:
        hint = "" if "://" in seed else f"\nDid you mean https://{shown} ?"
        raise SettingsError(f"seed: {error}{hint}") from None
    if isinstance(found, HoldReason):
        raise SettingsError(f"seed {shown}: {found.value}")
    return found._replace(held=None)


def prepare(
    store: Store,
    url_filter: URLFilter,
    settings: Settings,
    job: str,
    notify: Callable[[str], None],
) -> None:
    """Prepare a store for a run: reclaim hosts, and review URLs where the limits changed.

    Args:
        store: new, or of an earlier run.
        url_filter: holds what the limits do not allow. Its scope is extended by the URLs to which
            the store's seeds redirected.
        settings: of this run.
        job: what this run is to do. Where the last run did the same, its limits are ours.
        notify: receives sentences for people.
    """
    now = time.time()
    with store.transaction() as connection:
        reclaim_in(connection, now, settings.crawl.delay)
        for url in urls.seed_targets(connection):
            url_filter.extend_scope(url)
        if settings.crawl.recrawl_seconds is not None:
            urls.requeue(connection, now - settings.crawl.recrawl_seconds)
        _release(connection, url_filter, frozenset({HoldReason.OURS}))
        last = _last_job(connection)
        killed_jobs.close_in(connection)
        if last is None or killed_jobs.unsigned(last) != msgspec.json.decode(job):
            known = sum(number for _state, _reason, number in counts.read(connection, "urls"))
            if known > _MANY:
                notify(f"The limits have changed since the last run: reviewing {known:,} URLs.")
            _release(connection, url_filter, _LIMITS)
            _hold(connection, url_filter)


def _last_job(connection: Connection) -> str | None:
    """Return what the last crawl into this store was to do; None when there was none."""
    last = select(jobs.c.settings).where(jobs.c.command == "crawl").order_by(jobs.c.id.desc())
    return connection.scalar(last.limit(1))


def _release(connection: Connection, url_filter: URLFilter, reasons: frozenset[HoldReason]) -> None:
    """Release URLs that are held for some reasons, unless a limit still holds them."""

    def judge(url: str, depth: int, hops: int) -> str | None:
        hold = url_filter.reason_to_hold(url, depth, hops)
        if hold is not None:
            return hold.label
        return budgets.spend(connection, [url_filter.budgets_of(url)])[0]

    urls.review(connection, State.HELD, judge, {reason.label for reason in reasons})


def _hold(connection: Connection, url_filter: URLFilter) -> None:
    """Hold queued URLs that the limits do not allow."""

    def judge(url: str, depth: int, hops: int) -> str | None:
        hold = url_filter.reason_to_hold(url, depth, hops)
        return None if hold is None else hold.label

    urls.review(connection, State.QUEUED, judge)
