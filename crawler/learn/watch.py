"""The watch: now and then one of the URLs that active rules hold is asked all the same.

Most predictions are made, and verified, when a rule becomes active. A site may change afterwards.
"""

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import Connection

from canonry.canon.learned import without_port
from canonry.crawler.learn.in_force import RulesInForce
from canonry.crawler.learn.second_trial import is_held_by
from canonry.storage.learned.classes import release
from canonry.storage.learned.held_names import held_near
from canonry.storage.learned.tracked_rule import TrackedRule

_EVERY = 50  # answers of a site
_TRIED = 3  # rules, if one holds nothing at the place that is looked at
_STRIDE = 0.6180339887498949  # multiples of the golden section spread evenly over the host
_REMEMBERED = 65_536  # sites


@dataclass(slots=True)
class _Round:
    """How a site is watched."""

    since: float  # seconds since 1970, when the last round was
    answers: int = 0  # since then
    place: float = 0.0  # among the URLs of the host


class Watch:
    """Chooses held URLs to ask, at most one for so many answers of a site."""

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
        if here.answers < _EVERY:
            return []
        due = [rule for rule in active if rule.verified_at <= here.since]
        due.sort(key=lambda rule: (rule.verified_at, rule.id))
        here.answers, here.since = 0, now
        here.place = (here.place + _STRIDE) % 1
        for rule in due[:_TRIED]:
            host = without_port(site if rule.rewrite.subdomains else rule.rewrite.host)
            for one in held_near(connection, host, here.place):
                if is_held_by(one, rule, in_force):
                    return release(connection, [one.row])
        return []
