"""An occasion: URLs of a site have answered, so some of what is held there may be asked."""

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Connection

from canonry.crawler.learn.rules.in_force import RulesInForce
from canonry.storage.learned.tracked_rule import TrackedRule


class Occasion(NamedTuple):
    """What is known when URLs of a site have answered.

    Attributes:
        connection: in a writing transaction.
        site: the site.
        answers: how many of its URLs have answered.
        rules: that cover the site, or move others to it.
        in_force: the rules that are in force now.
        now: seconds since 1970.
    """

    connection: Connection
    site: str
    answers: int
    rules: Sequence[TrackedRule]
    in_force: RulesInForce
    now: float

    @property
    def active(self) -> list[TrackedRule]:
        """The rules of the site that are active."""
        return [rule for rule in self.rules if rule.state == "active"]
