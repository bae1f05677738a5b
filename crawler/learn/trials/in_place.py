"""In place: names that are asked in place of their pages, whose own names wait in the queue.

If the answer is the page, and its canonical link is the page's own name, that name need not be
asked any more: the test of the rule has cost nothing. In any other case it is asked as well.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import Connection

from canonry.crawler.learn.news import Moved
from canonry.crawler.learn.rules.in_force import RulesInForce
from canonry.storage.http_status import OK
from canonry.storage.learned import deferral, own_names
from canonry.storage.learned.own_names import FetchedName
from canonry.storage.records import RecordedOutcome

_REMEMBERED = 65_536  # names; of one that is forgotten, both are asked


class Settled(NamedTuple):
    """What follows from the answers of such names.

    Attributes:
        moved: the canonical links that need no other confirmation, since nobody asks their targets.
        held: rows of own names that left the queue.
        to_ask: rows of own names that have to be asked as well.
    """

    moved: list[Moved]
    held: list[int]
    to_ask: list[int]


class InPlace:
    """The names that this process asks in place of their pages, until they have answered.

    Until then the own name of a page stays in the queue, as one of the last of its host. So nothing
    is lost if the process is killed, or if another one asks for the name: the page is fetched under
    both.
    """

    def __init__(self) -> None:
        """Start without any."""
        self._own: OrderedDict[int, int] = OrderedDict()  # rows of pages' own names, by name

    def clear(self) -> None:
        """Forget all, as after a transaction that was rolled back."""
        self._own.clear()

    def add(self, connection: Connection, names: Mapping[int, int]) -> list[int]:
        """Remember names that are asked, and defer the own names of their pages.

        Args:
            connection: in a writing transaction.
            names: from the row of each to that of its page's own name.

        Returns:
            The rows that were deferred.
        """
        self._own.update(names)
        while len(self._own) > _REMEMBERED:
            self._own.popitem(last=False)
        own = list(names.values())
        deferral.defer(connection, own)
        return own

    def settle(
        self,
        connection: Connection,
        recorded: Sequence[RecordedOutcome],
        in_force: RulesInForce,
        now: float,
    ) -> Settled:
        """Hold the own names of pages that were fetched under others, and that confirm them.

        Args:
            connection: in a writing transaction.
            recorded: outcomes of visits.
            in_force: the rules that are in force now.
            now: seconds since 1970.
        """
        settled = Settled([], [], [])
        for one in recorded if self._own else ():
            outcome = one.outcome
            own = self._own.pop(outcome.row, None)
            if own is None:
                continue
            name = in_force.rewrite(outcome.queued.url)
            target = _named(one, own, in_force)
            if name is None or not name.rules or name.identity != target:
                settled.to_ask.append(own)
            elif own_names.hold(connection, FetchedName(own, outcome.row, name), now):
                settled.moved.append(Moved(name.source, target, now, "canonical"))
                settled.held.append(own)
        return settled


def _named(one: RecordedOutcome, own: int, in_force: RulesInForce) -> str | None:
    """Return the identity of a page's own name, if it has a canonical link to that row."""
    page = one.outcome.page
    if one.late or page is None or page.status != OK:
        return None
    for hop, to in one.led:
        if hop.kind == "canonical" and to.row == own:
            found = in_force.rewrite(hop.target.url)
            return None if found is None else found.identity
    return None
