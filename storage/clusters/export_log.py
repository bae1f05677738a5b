"""The export log: what was exported of each cluster, and the cursors of its readers.

It holds a row for each pair of a representative and a URL that was ever exported, with the number
of the export that last found it changed. A removed pair stays as a tombstone.
"""

import re
import secrets
from array import array
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice
from typing import NamedTuple

from sqlalchemy import Connection, bindparam, func, insert, select, update

from canonry.storage.sql.bulk import insert_rows
from canonry.storage.sql.database_faults import explaining
from canonry.storage.sql.engine import open_engine
from canonry.storage.sql.store_errors import StoreError
from canonry.storage.sql.tables.figure_tables import exports, members

START = "start"  # the cursor of a reader that has nothing
_ANEW = f"export everything again, into an empty index: --since {START}"
_CURSOR = re.compile(r"([1-9][0-9]{0,17})-([0-9a-f]{12})")
_SAID = 16  # bytes of a hash
_WRITTEN = 50_000  # rows in one statement
_CHANGE = (
    update(members)
    .where(members.c.cluster_id == bindparam("root"), members.c.url_id == bindparam("member"))
    .values(content_hash=bindparam("now"), changed=bindparam("number"), gone=bindparam("is_gone"))
)


class LoggedPair(NamedTuple):
    """The log's data about a pair."""

    said: bytes
    changed: int
    gone: bool


class PairChanges:
    """Pairs to write to the log, 34 bytes each."""

    def __init__(self) -> None:
        """Start with none."""
        self._ids = array("q")
        self._said = bytearray()
        self._flags = array("b")

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self._flags)

    def add(self, root: int, url_id: int, said: bytes, *, gone: bool, known: bool) -> None:
        """Add a pair; ``known`` says that the log has it already."""
        self._ids.extend((root, url_id))
        self._said += said
        self._flags.append(gone + 2 * known)

    def of(self, *, known: bool) -> Iterator[tuple[int, int, bytes, int]]:
        """Yield the pairs that the log has already, or those that are new to it."""
        for n, flags in enumerate(self._flags):
            if (flags >= 2) == known:  # noqa: PLR2004 - the second bit
                said = bytes(self._said[_SAID * n : _SAID * (n + 1)])
                yield self._ids[2 * n], self._ids[2 * n + 1], said, flags & 1


def last_number(connection: Connection) -> int:
    """Return the number of the last export that found changes; 0 before the first."""
    return connection.scalar(select(func.max(exports.c.id))) or 0


def cursor_of(connection: Connection, number: int) -> str:
    """Return the cursor of a reader that has everything up to an export."""
    if not number:
        return START
    token = connection.scalar(select(exports.c.token).where(exports.c.id == number))
    return f"{number}-{token}"


def number_of(connection: Connection, since: str) -> int:
    """Return the number of the last export that a reader has.

    Args:
        connection: to the store.
        since: a cursor that an export returned, ``start``, or a moment (ISO 8601; UTC, unless it
            has an offset): the reader has all exports up to then.

    Raises:
        StoreError: if it is none of these, a cursor that this store did not make, or one from
            before something was forgotten.
    """
    if since == START:
        return 0
    found = _CURSOR.fullmatch(since)
    if found is None:
        made = exports.c.made_at <= _moment(since)
        last = connection.scalar(select(func.max(exports.c.id)).where(made))
        first = connection.scalar(select(func.min(exports.c.id))) or 1
        if last is None and first > 1:
            raise StoreError(f"what was exported by {since} is forgotten; {_ANEW}")
        return last or 0
    number = int(found[1])
    if cursor_of(connection, number) != since:
        raise StoreError(
            f"the cursor {since} is not of this store, of a later state of it, or too old; {_ANEW}"
        )
    return number


def _moment(text: str) -> float:
    """Return a moment as seconds since 1970."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise StoreError(
            f"--since {text!r}: give the cursor that an export printed, a time such as "
            f"2026-11-22T04:08, or {START!r}"
        ) from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def pairs_of(
    connection: Connection, after: int, last: int | None
) -> dict[int, dict[int, LoggedPair]]:
    """Return the logged pairs of some clusters: by representative, then by member.

    Args:
        connection: to the store.
        after: only clusters with greater ids.
        last: the id of the last cluster; None sets no limit.
    """
    columns = members.c.cluster_id, members.c.url_id, members.c.content_hash, members.c.changed
    query = select(*columns, members.c.gone).where(members.c.cluster_id > after)
    if last is not None:
        query = query.where(members.c.cluster_id <= last)
    found: dict[int, dict[int, LoggedPair]] = {}
    for root, url_id, said, changed, gone in connection.execute(query):
        found.setdefault(root, {})[url_id] = LoggedPair(bytes(said), changed, bool(gone))
    return found


def write(store_url: str, read_number: int, changes: PairChanges, now: float) -> str:
    """Log the changes that an export found; return the new cursor of its reader.

    Args:
        store_url: a SQLAlchemy URL, or a path.
        read_number: the number of the last export when this one read the store.
        changes: since then.
        now: seconds since 1970.

    Raises:
        StoreError: if the store cannot be written, or another export has written first.
    """
    engine = open_engine(store_url, create=False)
    try:
        with explaining(engine), engine.begin() as connection:
            if last_number(connection) != read_number:
                raise StoreError("another export has written to the store; run this one again")
            if not len(changes):
                return cursor_of(connection, read_number)
            number = read_number + 1
            row = {"id": number, "token": secrets.token_hex(6), "made_at": now}
            connection.execute(insert(exports), row)
            _write_pairs(connection, number, changes)
            return cursor_of(connection, number)
    finally:
        engine.dispose()


def _write_pairs(connection: Connection, number: int, changes: PairChanges) -> None:
    """Write pairs, some at a time."""
    names = ("cluster_id", "url_id", "content_hash", "changed", "gone")
    new = (
        (root, url_id, exported, number, gone)
        for root, url_id, exported, gone in changes.of(known=False)
    )
    while some := list(islice(new, _WRITTEN)):
        insert_rows(connection, members, names, some)
    old = (
        {"root": root, "member": url_id, "now": exported, "number": number, "is_gone": gone}
        for root, url_id, exported, gone in changes.of(known=True)
    )
    while rows := list(islice(old, _WRITTEN)):
        connection.execute(_CHANGE, rows)
