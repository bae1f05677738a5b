"""Held rows: a row is invisible until a time; until then, it may belong to a worker.

Hosts of a crawl, queues of a frontier and requests of other crawlers are held in this way. Their
tables have the columns of `table_parts.held_columns`.
"""

from collections.abc import Collection, Iterable
from typing import Any

from sqlalchemy import ColumnElement, Connection, Table, bindparam, or_, select, update

from canonry.storage.sql.prepared import Prepared


class HeldRows:
    """The rows of such a table.

    Attributes:
        visible: a condition with two parameters, "now" and "longest". Times after "longest" are
            ignored: only a clock that was set back since holds rows that long.
    """

    def __init__(self, table: Table) -> None:
        """Bind the table."""
        its = table.c
        self._table = table
        self.visible = or_(
            its.held_until <= bindparam("now"), its.held_until > bindparam("longest")
        )
        # Built once: building a statement takes longer than running it.
        self._keep = Prepared(
            update(table)
            .where(its.id == bindparam("row_id"))
            .values(holder=bindparam("by"), held_until=bindparam("until"))
        )

    def keep(
        self, connection: Connection, ids: Iterable[int], until: float, holder: str | None = None
    ) -> None:
        """Hold rows until a time, in seconds since 1970; without a holder, they are nobody's."""
        kept = [{"row_id": row_id, "by": holder, "until": until} for row_id in ids]
        self._keep.run_many(connection, kept)

    def give_back(
        self,
        connection: Connection,
        holders: Collection[str],
        *which: ColumnElement[bool],
        **changed: Any,  # noqa: ANN401 - values of columns
    ) -> int:
        """Let everybody have the rows of some workers at once; return how many.

        Args:
            connection: in a writing transaction.
            holders: the workers.
            which: conditions on the rows.
            changed: further columns of them.
        """
        theirs = update(self._table).where(self._table.c.holder.in_(holders), *which)
        free = {"holder": None, "held_until": 0.0}
        return connection.execute(theirs.values({**free, **changed})).rowcount

    def holders(self, connection: Connection) -> set[str]:
        """Return the workers that hold rows, or did when their time was over."""
        holder = self._table.c.holder
        return set(connection.scalars(select(holder).where(holder.is_not(None)).distinct()))
