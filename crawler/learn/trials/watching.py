"""The watch: now and then a URL that active rules hold is asked, since a site may change."""

from typing import TYPE_CHECKING

from canonry.crawler.learn.trials.held_urls import held_at, release_with_others
from canonry.crawler.learn.trials.occasion import Occasion
from canonry.crawler.learn.trials.watched import Watched

if TYPE_CHECKING:
    from canonry.storage.learned.held_names import HeldName
    from canonry.storage.learned.tracked_rule import TrackedRule

_EVERY = 50  # answers of a site, for each URL that is asked
_MORE = 1_000  # answers of a site, after which one more URL is asked at once ...
_AT_ONCE = 4  # ... up to so many: that takes less than to ask them one by one
_TRIED = 3  # rules, if one holds nothing at the place that is looked at


def watch(occasion: Occasion, watched: Watched) -> list[int]:
    """Release what a rule holds that was not verified for longest; return the rows.

    Args:
        occasion: at which that may be due.
        watched: where it is noted.
    """
    active, here = occasion.active, watched.site(occasion.site, occasion.now)
    if not active:
        return []
    here.answers += occasion.answers
    most = min(1 + here.before // _MORE, _AT_ONCE)
    if here.answers < most * _EVERY:
        return []
    due = [rule for rule in active if rule.verified_at <= here.since]
    due.sort(key=lambda rule: (rule.verified_at, rule.id))
    here.before += here.answers
    here.answers, here.since = 0, occasion.now
    found: dict[HeldName, TrackedRule] = {}
    for turn in range(most):
        place = here.next_place()
        for rule in due[turn % max(1, len(due)) :][:_TRIED]:
            if (one := held_at(place, occasion, rule, largest=here.has_turned)) is not None:
                found[one] = rule
                break
    return release_with_others(occasion, found)
