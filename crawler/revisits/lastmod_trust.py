"""What the dates in a host's sitemaps and feeds are worth: they are believed where they were right.

Pure. Some sites write the time of the request into every line, others never change a date.
"""

from typing import NamedTuple

_ENOUGH = 3  # changes that were told
_SURE = 4  # times as many have to be right as wrong
_MOST = 200.0
PATIENCE = 4.0  # times the interval, for pages whose date would tell


class LastmodTrust(NamedTuple):
    """How often dates were right on a host; older visits count less."""

    moved_changed: float = 0.0  # visits of pages with a new date, which had changed
    moved_same: float = 0.0  # ... and had not
    rested_changed: float = 0.0  # the same, of pages with the old date
    rested_same: float = 0.0

    def after(self, *, moved: bool, changed: bool) -> "LastmodTrust":
        """Return it with one more visit."""
        kept = self if sum(self) < _MOST else LastmodTrust(*(number / 2 for number in self))
        at = 2 * (not moved) + (not changed)
        return LastmodTrust(*(number + (place == at) for place, number in enumerate(kept)))

    @property
    def is_believed(self) -> bool:
        """True if pages with a new date have changed, and those that have changed have a new date.

        Where all dates are new, they tell no page from another, however often pages change.
        """
        wrong = _SURE * max(self.moved_same, self.rested_changed)
        return self.moved_changed >= max(_ENOUGH, wrong) and self.rested_same >= _ENOUGH


def is_moved(listed: float, listed_then: float | None, seen_at: float) -> bool:
    """Return True if a date says that a page has changed since the last visit.

    Args:
        listed: the date; it may be a day without a time.
        listed_then: as of the last visit; None: there was none.
        seen_at: when that was.
    """
    return listed > (seen_at if listed_then is None else listed_then)
