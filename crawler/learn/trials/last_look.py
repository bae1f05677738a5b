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
from canonry.storage.learned.held_names import held_since
from canonry.storage.learned.tracked_rule import TrackedRule
from canonry.storage.rows.leases import queued_on

if TYPE_CHECKING:
    from canonry.storage.learned.held_names import HeldName

_MOST = 16  # URLs that a rule holds, ...
_SHARE = 16  # ... one of so many that were held since it was tested so
_FEWEST = 16  # that are held since then, ...
_GROWN = 4  # ... and of all that were held before, one for so many
_TRIED = 2  # places, for each of these URLs: there may be none


class PairReader(Protocol):
    """Reads pages for the sake of rules."""

    def read_more(self, rule: TrackedRule, pairs: int) -> None:
        """Let so many more pairs of pages be read for a rule that rests on reading."""
        ...


def last_look(
    occasion: Occasion, rules: Sequence[ToSample], watched: Watched, reader: PairReader
) -> list[int]:
    """Release some of what rules hold that rest on pages that were read, if nothing else waits.

    A host that others link to may have nothing that waits again and again. So that is done when
    rules hold a quarter more there than before, and of what they hold since then.

    Args:
        occasion: at which that may be due; its rules are not looked at.
        rules: of the site that need a sample once they are active.
        watched: where it is noted.
        reader: reads all that is released.

    Returns:
        The rows that were released, and those of what represents them.
    """
    reading = [one.rule for one in rules if one.is_by_reading and one.rule.state == "active"]
    host = without_port(occasion.site)
    if not reading or queued_on(occasion.connection, host):
        return []
    here = watched.site(occasion.site, occasion.now)
    found: dict[HeldName, TrackedRule] = {}
    for rule in reading:
        sample = watched.sample_of(rule)
        number, last = held_since(occasion.connection, host, sample.looked_until)
        if number < max(_FEWEST, sample.held // _GROWN):
            continue
        most = min(_MOST, 1 + number // _SHARE)
        places = (here.next_place() for _ in range(_TRIED * most))
        each = (held_at(place, occasion, rule, since=sample.looked_until) for place in places)
        names = islice(dict.fromkeys(one for one in each if one is not None), most)
        asked = dict.fromkeys(names, rule)
        found |= asked
        reader.read_more(rule, len(asked) // 2)  # half of what comes to agree is read anyway
        sample.asked += len(asked)
        sample.looked_until, sample.held = last, sample.held + number
    return release_in_pairs(occasion, found)
