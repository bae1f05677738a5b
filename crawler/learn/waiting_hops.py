"""Redirects and canonical links that wait until the URL at their end has answered."""

from collections import OrderedDict
from collections.abc import Iterator

from sqlalchemy import Connection

from canonry.crawler.learn.news import Moved
from canonry.storage import State
from canonry.storage.learned import history

_MOST = 20_000  # URLs at the end of redirects that have not answered yet
_MAX_HOPS = 5  # of a chain that are followed to its end
_SWEEP = 15.0  # seconds


class WaitingHops:
    """What led to URLs that have not answered yet; of the oldest it may forget some."""

    def __init__(self) -> None:
        """Start with none."""
        self._by_end: OrderedDict[int, list[Moved]] = OrderedDict()  # by row
        self._swept_at = 0.0

    def clear(self) -> None:
        """Forget all."""
        self._by_end.clear()

    def add(self, moved: Moved, end: int) -> None:
        """Let a redirect or a canonical link wait for the answer of a row."""
        self._by_end.setdefault(end, []).append(moved)
        if len(self._by_end) > _MOST:
            self._by_end.popitem(last=False)

    def answered(self, connection: Connection, rows: set[int], now: float) -> Iterator[Moved]:
        """Yield those that are evidence, since what they lead to has answered; forget the others.

        Args:
            connection: of the store.
            rows: that have answered, or that something new leads to.
            now: seconds since 1970. Now and then all are looked at: other workers fetch, too.
        """
        if now - self._swept_at > _SWEEP:
            self._swept_at = now
            rows = set(self._by_end)
        for _ in range(_MAX_HOPS):
            if rows := rows & self._by_end.keys():
                further: set[int] = set()
                yield from self._at(connection, rows, further)
                rows = further

    def _at(self, connection: Connection, rows: set[int], further: set[int]) -> Iterator[Moved]:
        """Yield those at whose end is a page now; pass the redirects on that lead further.

        Args:
            connection: of the store.
            rows: at the end of some.
            further: receives the rows that the others lead to.
        """
        ends = history.reached(connection, rows)
        ends = {row: end for row, end in ends.items() if end.state != State.QUEUED}
        led = [row for row, end in ends.items() if end.state == State.REDIRECTED]
        targets = history.redirect_targets(connection, led)
        further.update(targets.values())
        for row, end in ends.items():
            waiting = self._by_end.pop(row)
            redirects = [moved for moved in waiting if moved.kind == "redirect"]
            if end.is_page:
                yield from waiting if end.names_itself else redirects
            if row in targets:
                self._by_end.setdefault(targets[row], []).extend(redirects)
