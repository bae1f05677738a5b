"""The report of a recrawl: what has become of the known pages, and what was found. Kept in `meta`.

All workers of a run close it, one after the other; what they find adds up.
"""

import msgspec
from sqlalchemy import Connection, func, select

from canonry.storage.facts import fact, put_fact
from canonry.storage.http_status import OK
from canonry.storage.learned import ledger
from canonry.storage.records import WALL
from canonry.storage.recrawls import absences
from canonry.storage.recrawls.absences import LostPages, Outage
from canonry.storage.sql import counts
from canonry.storage.sql.schema import pages, rules, url_rows
from canonry.storage.timestamps import iso

# Of the row in meta. It has the numbers of a report in their order; the first is a time in seconds.
_NAME = "recrawl"


class RecrawlRow(msgspec.Struct, frozen=True):
    """What the last recrawl has found, in pages unless it says otherwise."""

    began: str | None  # null: no run had ended before
    new: int  # of URLs that were found in it
    changed: int
    unchanged: int
    gone: int  # answered with an error
    moved: int  # redirect now
    unseen: int  # could not be fetched again, and are kept
    rules_begun: int  # rules that act since then
    rules_ended: int  # rules that it has revoked, or suspended


def close(connection: Connection, since: float) -> list[Outage]:
    """Decide what was an outage, and write the report; return the sites that were out.

    Args:
        connection: in a writing transaction, in a store in which a recrawl has begun.
        since: when the run began; seconds since 1970. What it goes on with counts as its own.
    """
    began = ledger.end_of_last_run(connection, since)
    earlier = read(connection)
    lost, outages = absences.settle(connection, began, since)
    began_at = iso(began or None)
    if earlier is not None and earlier.began == began_at:  # of another worker
        before = (earlier.changed, earlier.gone, earlier.moved)
        lost = LostPages(*map(sum, zip(lost, before, strict=True)))
    good = (pages.c.status == OK, pages.c.fetched_at >= began)
    seen = select(func.count()).select_from(pages).join(url_rows, url_rows.c.id == pages.c.url_id)
    new = connection.scalar(seen.where(*good, url_rows.c.found_at >= began)) or 0
    every = connection.scalar(select(func.count()).select_from(pages).where(*good)) or 0
    unseen = sum(
        number
        for state, reason, number in counts.read(connection, "urls")
        if state == "fetched" and reason not in {"", None, WALL}
    )
    entered = select(rules.c.state, func.count()).where(rules.c.entered_at >= began)
    states: dict[str, int] = dict(map(tuple, connection.execute(entered.group_by(rules.c.state))))
    report = RecrawlRow(
        began=began_at,
        new=new,
        changed=lost.changed,
        unchanged=max(0, every - new - lost.changed),
        gone=lost.gone,
        moved=lost.moved,
        unseen=unseen,
        rules_begun=states.get("active", 0),
        rules_ended=states.get("revoked", 0) + states.get("suspended", 0),
    )
    _began, *numbers = msgspec.structs.astuple(report)
    put_fact(connection, _NAME, msgspec.json.encode([began, *numbers]).decode())
    return outages


def read(connection: Connection) -> RecrawlRow | None:
    """Return the report of the last recrawl; None if none has ended."""
    value = fact(connection, _NAME)
    if value is None:
        return None
    began, *numbers = msgspec.json.decode(value)
    return RecrawlRow(iso(began or None), *numbers)
