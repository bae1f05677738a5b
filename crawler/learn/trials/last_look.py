"""The last look: when nothing of a site waits any more, rules that rest on reading are tested.

Where only pages that were read can prove a rule, it begins to act late, and the pages that proved
it were the first ones. What is met after that is held, and the sample of it has hardly begun.
"""

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, Protocol

from canonry.canon.learned import without_port
from canonry.crawler.learn.questions.to_sample import ToSample
from canonry.crawler.learn.trials.held_urls import held_at, release_in_pairs
from canonry.crawler.learn.trials.occasion import Occasion
from canonry.crawler.learn.trials.watched import Watched
from canonry.storage.learned.tracked_rule import TrackedRule
from canonry.storage.rows.leases import queued_on

if TYPE_CHECKING:
    from canonry.storage.learned.held_names import HeldName

_OF_ONE = 16  # URLs that a rule holds ...
_TRIED = 32  # ... and places where they are looked for: there may be none


class PairReader(Protocol):
    """Reads pages for the sake of rules."""

    def read_more(self, rule: TrackedRule, pairs: int) -> None:
        """Let so many more pairs of pages be read for a rule that rests on reading."""
        ...


def last_look(
    occasion: Occasion, rules: Sequence[ToSample], watched: Watched, reader: PairReader
) -> list[int]:
    """Release some of what rules hold that rest on pages that were read, if nothing else waits.

    That is done again if the site has become half as large again meanwhile.

    Args:
        occasion: at which that may be due; its rules are not looked at.
        rules: of the site that need a sample once they are active.
        watched: where it is noted.
        reader: reads all that is released.

    Returns:
        The rows that were released, and those of what represents them.
    """
    here = watched.site(occasion.site, occasion.now)
    due = [
        one.rule
        for one in rules
        if one.is_by_reading and one.rule.state == "active" and watched.is_last_due(one.rule, here)
    ]
    if not due or queued_on(occasion.connection, without_port(occasion.site)):
        return []
    found: dict[HeldName, TrackedRule] = {}
    for rule in due:
        reader.read_more(rule, _OF_ONE // 2)  # half of what comes to agree is read anyway
        sample = watched.sample_of(rule)
        sample.looked_at = here.in_all
        sample.asked += _OF_ONE
        each = (held_at(here.next_place(), occasion, rule) for _ in range(_TRIED))
        names = dict.fromkeys(one for one in each if one is not None)
        found |= dict.fromkeys(islice(names, _OF_ONE), rule)
    return release_in_pairs(occasion, found)
