"""The watch: now and then one of the URLs that active rules hold is asked all the same.

Most predictions are made, and verified, when a rule becomes active. A site may change afterwards.
"""

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from canonry.canon.learned import without_port
from canonry.crawler.learn.in_force import RulesInForce
from canonry.crawler.learn.second_trial import is_held_by
from canonry.storage.learned.classes import release
from canonry.storage.learned.held_names import held_near
from canonry.storage.learned.tracked_rule import TrackedRule

_EVERY = 50  # answers of a site, for each URL that is asked
_MORE = 1_000  # answers of a site, after which one more URL is asked at once ...
_AT_ONCE = 4  # ... up to so many: that takes less than to ask them one by one
_TRIED = 3  # rules, if one holds nothing at the place that is looked at
_STRIDE = 0.6180339887498949  # multiples of the golden section spread evenly over the host
_REMEMBERED = 65_536  # sites


@dataclass(slots=True)
class _Round:
    """How a site is watched."""

    since: float  # seconds since 1970, when the last round was
    answers: int = 0  # since then
    before: int = 0  # answers until then
    place: float = 0.0  # among the URLs of the host


class Watch:
    """Chooses held URLs to ask: one for so many answers of a site, or a few for as many more."""

    def __init__(self) -> None:
        """Start with no site."""
        self._rounds: OrderedDict[str, _Round] = OrderedDict()

    def release(
        self,
        connection: Connection,
        site: str,
        answers: int,
        rules: Iterable[TrackedRule],
        in_force: RulesInForce,
        now: float,
    ) -> list[int]:
        """Release what a rule holds that was not verified for longest; return the rows.

        Args:
            connection: in a writing transaction.
            site: the site.
            answers: how many of its URLs have answered.
            rules: that cover the site, or move others to it.
            in_force: the rules that are in force now.
            now: seconds since 1970.
        """
        active = [rule for rule in rules if rule.state == "active"]
        if not active:
            return []
        here = self._rounds.setdefault(site, _Round(now))
        self._rounds.move_to_end(site)
        if len(self._rounds) > _REMEMBERED:
            self._rounds.popitem(last=False)
        here.answers += answers
        most = min(1 + here.before // _MORE, _AT_ONCE)
        if here.answers < most * _EVERY:
            return []
        due = [rule for rule in active if rule.verified_at <= here.since]
        due.sort(key=lambda rule: (rule.verified_at, rule.id))
        here.before += here.answers
        here.answers, here.since = 0, now
        rows: dict[int, None] = {}
        for turn in range(most):
            here.place = (here.place + _STRIDE) % 1
            first = turn % max(1, len(due))
            if (row := _held(connection, site, due[first:], in_force, here.place)) is not None:
                rows[row] = None
        return release(connection, rows) if rows else []


def _held(
    connection: Connection,
    site: str,
    rules: Sequence[TrackedRule],
    in_force: RulesInForce,
    place: float,
) -> int | None:
    """Return the row of a URL that one of the first of some rules holds, near a place."""
    for rule in rules[:_TRIED]:
        host = without_port(site if rule.rewrite.subdomains else rule.rewrite.host)
        for one in held_near(connection, host, place):
            if is_held_by(one, rule, in_force):
                return one.row
    return None
