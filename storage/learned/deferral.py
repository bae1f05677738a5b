"""Deferral: URLs that active rules change are requested after the other URLs of their host.

Such a URL is probably another name of a page. If the page's own name is found in time, that is
fetched instead, and the deferred URL is held.
"""

from collections.abc import Collection, Iterable, Sequence

from sqlalchemy import Connection, bindparam, update

from canonry.storage.records import ALIAS, ORDINARY
from canonry.storage.sql import transitions
from canonry.storage.sql.bulk import change_rows, rows_of
from canonry.storage.sql.prepared import Prepared
from canonry.storage.sql.schema import State, aliases
from canonry.storage.sql.transitions import QUEUED, StateReason, Transition

_CHANGE = "UPDATE url_rows SET priority = {1} WHERE priority = {0} AND id"
_DEFER = _CHANGE.format(ORDINARY, ALIAS)
_RESTORE = _CHANGE.format(ALIAS, ORDINARY)
_QUEUED_OF = f"SELECT id, host_id, depth FROM url_rows WHERE state = {State.QUEUED:d} AND id"  # noqa: S608 - ours
_LEAD = Prepared(
    update(aliases)
    .where(aliases.c.to_id == bindparam("old"), aliases.c.kind == "rule")
    .values(to_id=bindparam("new"))
)


def only(connection: Connection, before: Collection[int], url_ids: Collection[int]) -> list[int]:
    """Defer some URLs, and no others of their hosts; return those that were not deferred yet.

    Args:
        connection: in a writing transaction.
        before: the ids of all URLs of these hosts that are deferred.
        url_ids: of URLs with ordinary priority, or deferred already.
    """
    new = sorted(set(url_ids).difference(before))
    restore(connection, set(before).difference(url_ids))
    defer(connection, new)
    return new


def defer(connection: Connection, url_ids: Iterable[int]) -> None:
    """Let URLs of ordinary priority be requested after the others of their hosts."""
    change_rows(connection, _DEFER, list(url_ids))


def restore(connection: Connection, url_ids: Iterable[int]) -> None:
    """Give deferred URLs their ordinary priority back."""
    change_rows(connection, _RESTORE, list(url_ids))


def replace(connection: Connection, by: Sequence[tuple[int, int]], after: StateReason) -> None:
    """Replace queued representatives: take them out of the queue.

    The new representatives also represent the URLs that the old ones did.

    Args:
        connection: in a transaction that holds the write lock.
        by: the ids of queued URLs, each with that of the URL that represents its class now.
        after: the new state and reason of the replaced URLs.
    """
    found = rows_of(connection, _QUEUED_OF, [old for old, _new in by])
    moved = {url_id: Transition(host, depth, QUEUED, after) for url_id, host, depth in found}
    transitions.move(connection, moved)
    _LEAD.run_many(connection, [{"old": old, "new": new} for old, new in by])
