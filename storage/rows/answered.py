"""Answers: what an outcome writes besides its URL's state, and which held URLs it releases."""

from collections.abc import Iterable, Sequence

from sqlalchemy import Connection

from canonry.storage.http_status import FIRST_ERROR, GONE
from canonry.storage.learned import classes
from canonry.storage.records import (
    TARGET,
    Candidate,
    Hop,
    Outcome,
    RecordedOutcome,
    is_temporary_target,
    redirect_targets,
)
from canonry.storage.rows import pages, urls
from canonry.storage.rows.acknowledgement import known_answers
from canonry.storage.sql.schema import State

_TRIED = 3  # other names tried for a page that is gone


def write_answers(
    connection: Connection,
    recorded: Sequence[RecordedOutcome],
    now: float,
    *,
    has_rules: bool,
) -> None:
    """Write pages and aliases; the targets of redirects are requested next.

    Args:
        connection: in a writing transaction.
        recorded: outcomes of visits; what came late is left out.
        now: seconds since 1970.
        has_rules: True if learned rules may hold URLs that these outcomes show are needed.
    """
    counted = [one for one in recorded if not one.late]
    led = [(one.outcome.url_id, hop, to.url_id) for one in counted for hop, to in one.led]
    pages.put_aliases(connection, led, now)
    outcomes = [one.outcome for one in counted]
    answered = [(o.url_id, page) for o in outcomes if (page := o.page or o.unread) is not None]
    pages.put_pages(connection, answered, now)
    pages.confirm(connection, [o.url_id for o in outcomes if o.unchanged], now)
    redirected = [o.url_id for o in outcomes if o.state is State.REDIRECTED]
    pages.remove(connection, redirected)  # their pages of an earlier crawl
    targets = list(redirect_targets(counted))
    if has_rules:
        temporary = [
            to.url_id for o in counted for hop, to in o.led if is_temporary_target(hop, o.outcome)
        ]
        needless = classes.represented_by_pages(connection, temporary)
        _release(connection, outcomes, {to.url_id for to in targets} - needless)
    urls.promote(connection, [to.url_id for to in targets if not to.new], TARGET)


def target_of(hop: Hop, outcome: Outcome) -> Candidate:
    """Return the target of a hop; the target of a redirect gets a better priority."""
    target = hop.target
    if hop.kind != "redirect":
        return target
    is_temporary = is_temporary_target(hop, outcome)
    return target._replace(priority=target.priority + TARGET, is_temporary=is_temporary)


def _release(connection: Connection, outcomes: Sequence[Outcome], targets: Iterable[int]) -> None:
    """Release URLs that learned rules hold, if these outcomes show that they are needed.

    These are the targets of redirects, and URLs that were held for a page that is not there. If the
    page is gone (404, 410), only a few of its other names are tried: session ids make thousands.
    """
    classes.release(connection, targets)
    gone = {o.url_id for o in outcomes if o.page is not None and o.page.status in GONE}
    classes.release_for(connection, gone, most=_TRIED)
    failed = [
        o.url_id
        for o in outcomes
        if o.state in {State.FAILED, State.HELD}
        or (o.page is not None and o.page.status >= FIRST_ERROR)
    ]
    silent = [o.url_id for o in outcomes if o.state is State.FAILED]
    classes.release_for(connection, set(failed) - gone - known_answers(connection, silent))
