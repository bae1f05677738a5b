"""Results of seeds: which of them gave no page, and why; what the next run asks for again."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Connection, and_, select, update

from canonry.canon import redact
from canonry.crawler.fetch.faults import Fault
from canonry.crawler.hold_reason import HoldReason
from canonry.storage import State
from canonry.storage.http_status import FIRST_ERROR
from canonry.storage.rows.redirect_chains import ChainURL, chains
from canonry.storage.rows.requeueing import ANSWERED, queue_again, queue_ids_again
from canonry.storage.sql import counts
from canonry.storage.sql.bulk import chunks
from canonry.storage.sql.schema import jobs, url_rows, urls

# Faults for which no server was reached: the URLs themselves may be good.
_UNREACHED = frozenset(
    fault.label for fault in (Fault.DNS, Fault.CONNECT, Fault.PROXY, Fault.ROBOTS_UNREACHABLE)
)
# A URL that is held for one of these has its page under another name, or has none.
_BY_ROBOTS = frozenset({HoldReason.ROBOTS.label, HoldReason.USE_RESERVED.label})
_KEPT = frozenset({HoldReason.LEARNED.label, HoldReason.SCHEME.label})


class FailedSeed(NamedTuple):
    """A seed that led to no page. Its URLs have no passwords."""

    url: str
    reason: str  # as in the store, or "status 404"
    leads_to: str | None = None  # where it redirects to: the URL that the reason is about


def failures(connection: Connection, url_ids: Sequence[int]) -> tuple[FailedSeed, ...]:
    """Return the seeds that gave no page, each once, without those that are still queued.

    Args:
        connection: in a transaction.
        url_ids: of the seeds.
    """
    failed_seeds = []
    for chain in chains(connection, list(dict.fromkeys(url_ids))):
        first, last = chain[0], chain[-1]
        reason = _failure(last)
        if reason is not None:
            leads_to = None if last.url_id == first.url_id else redact(last.url)
            failed_seeds.append(FailedSeed(redact(first.url), reason, leads_to))
    return tuple(failed_seeds)


def try_again(connection: Connection, url_ids: Sequence[int], *, is_recrawl: bool) -> None:
    """Queue URLs again that an earlier run gave up: seeds, and all whose server was not reached.

    Seeds are tried again only if that run came to its end: an interrupted one has just tried them.
    A URL that a limit held as a link, and that is a seed now, is queued as a seed.

    Args:
        connection: in a writing transaction, before the job of this run begins.
        url_ids: of this run's seeds.
        is_recrawl: queue all seeds again that have answered, with what they redirect to: they lead
            to new pages. One that was interrupted goes on without those that it has read.
    """
    crawls = select(jobs.c.state, jobs.c.started_at).where(jobs.c.command == "crawl")
    last = connection.execute(crawls.order_by(jobs.c.id.desc()).limit(1)).one_or_none()
    state, began = ("", math.inf) if last is None else last
    if state == "running":  # another worker of this run has done it
        return
    has_ended = state in {"finished", "failed"}
    again: set[int] = set()
    held: set[int] = set()
    seed_chains = chains(connection, url_ids)
    for chain in seed_chains:
        first, end = chain[0], chain[-1]
        if first.state is State.HELD and first.reason not in _KEPT:
            held.add(first.url_id)
        elif end.state is State.HELD and end.reason not in _BY_ROBOTS:
            continue  # `prepare` has reviewed it
        elif has_ended and _failure(end) is not None:
            again.add(end.url_id)
    for part in chunks(sorted(held)):
        connection.execute(update(url_rows).where(url_rows.c.id.in_(part)).values(depth=0, hops=0))
    queue_ids_again(connection, again | held)
    if is_recrawl:
        unread = urls.c.due < (math.inf if has_ended else began)
        known = {url.url_id for chain in seed_chains for url in chain}
        for part in chunks(sorted(known)):
            queue_again(connection, and_(urls.c.id.in_(part), ANSWERED, unread))
    reasons = [reason for _state, reason, _count in counts.read(connection, "urls")]
    unreached = [reason for reason in reasons if is_unreached(reason)]
    if unreached:
        # Pages that a recrawl did not reach, too; but not what is queued for a retry.
        failed = urls.c.state.in_((State.FAILED, State.FETCHED))
        queue_again(connection, and_(failed, urls.c.reason.in_(unreached)))


def is_unreached(reason: str) -> bool:
    """Return True if a reason to fail means that the server was not reached."""
    return reason.partition(":")[0] in _UNREACHED


def _failure(end: ChainURL) -> str | None:
    """Return why the end of a seed's redirects is no page; None if it is one, or may become one."""
    if end.state is State.FETCHED and end.reason in {None, HoldReason.WALL.label}:
        failed = end.answer is not None and end.answer >= FIRST_ERROR
        return f"status {end.answer}" if failed else None
    is_kept = end.state is State.HELD and end.reason in _KEPT
    if is_kept or end.state is State.QUEUED:
        return None
    return end.reason or Fault.LOOP.label
