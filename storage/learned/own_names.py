"""Own names: queued URLs whose pages were fetched under other names, which say so themselves."""

from collections import Counter
from typing import NamedTuple

from sqlalchemy import Connection, bindparam, select

from canonry.storage.learned import deferral
from canonry.storage.learned.classes import HELD, Rewritten, put_edges, represent
from canonry.storage.learned.rule_rows import add_spared
from canonry.storage.records import ALIAS, ORDINARY
from canonry.storage.sql.prepared import Prepared
from canonry.storage.sql.schema import State, url_rows

_OWN = Prepared(
    select(url_rows.c.id)
    .where(url_rows.c.id == bindparam("own"), url_rows.c.state == State.QUEUED)
    .where(url_rows.c.priority.in_((ORDINARY, ALIAS)), url_rows.c.source_id.is_not(None))
)
_HOST = Prepared(select(url_rows.c.host_id).where(url_rows.c.id == bindparam("row")))


class FetchedName(NamedTuple):
    """A page that was fetched under a name that rules change."""

    own: int  # the row of its own name
    row: int  # of the name
    rewritten: Rewritten  # of the name


def hold(connection: Connection, page: FetchedName, now: float) -> bool:
    """Hold the own name of a page that was fetched under another one, which represents it now.

    If it is not queued any more, if something wants it sooner, or if it is a seed, it stays as it
    is.

    Args:
        connection: in a writing transaction.
        page: the page.
        now: seconds since 1970.

    Returns:
        True if the own name left the queue.
    """
    if not _OWN.run(connection, {"own": page.own}):
        return False
    deferral.replace(connection, [(page.own, page.row)], HELD)
    put_edges(connection, [(page.own, page.row, page.rewritten.identity)], now)
    [(host_id,)] = _HOST.run(connection, {"row": page.row})
    represent(connection, {page.rewritten.key: (page.row, host_id)})
    add_spared(connection, Counter(page.rewritten.rules))
    return True
