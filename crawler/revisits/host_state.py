"""What a host's pages have shown in recrawls, as the store keeps it."""

import struct
from dataclasses import dataclass

from canonry.crawler.revisits.change_rates import RATES, HostHistory, IntervalLimits, interval
from canonry.crawler.revisits.lastmod_trust import LastmodTrust
from canonry.crawler.revisits.page_changes import HostPlaces
from canonry.storage.recrawls.revisit_rows import RevisitedHost

_SECONDS = struct.Struct(f"<{len(RATES)}d")


@dataclass(slots=True)
class HostState:
    """A host: how its pages change, where by themselves, and what its dates are worth."""

    history: HostHistory
    trust: LastmodTrust
    places: HostPlaces
    has_new_dates: bool = False  # a sitemap or feed of it was read in this run

    @classmethod
    def of(cls, row: RevisitedHost | None) -> "HostState":
        """Return what a row says; None is a host of which nothing is known."""
        if row is None:
            return cls(HostHistory(), LastmodTrust(), HostPlaces())
        trust = LastmodTrust(row.moved_changed, row.moved_same, row.rested_changed, row.rested_same)
        return cls(HostHistory(_SECONDS.unpack(row.rates)), trust, HostPlaces(row.places))

    def as_row(self, host_id: int, limits: IntervalLimits) -> RevisitedHost:
        """Return the row that says this."""
        rates, places = _SECONDS.pack(*self.history.watched), self.places.encoded()
        first = self.first_interval(limits) if self.history.is_known(limits) else None
        return RevisitedHost(host_id, first, *self.trust, rates, places)

    def first_interval(self, limits: IntervalLimits) -> float:
        """Return the seconds until a page is visited again for the first time."""
        if not self.history.is_known(limits):
            return limits.first
        return interval(self.history.shares(limits), limits)
