"""What is remembered of the trials: how each site is watched, and how much each rule was tested."""

from collections import OrderedDict
from dataclasses import dataclass
from hashlib import blake2b

from canonry.storage.learned.tracked_rule import TrackedRule

_STRIDE = 0.6180339887498949  # multiples of the golden section spread evenly over the host, ...
_SCATTER = 1 / 16  # ... but with gaps of 8, 13, 21: what comes every seven pages may be missed
_REMEMBERED = 65_536  # sites, and rules


@dataclass(slots=True)
class WatchedSite:
    """How a site is watched."""

    since: float  # seconds since 1970, when a held URL was last asked only because of the time
    answers: int = 0  # since then
    before: int = 0  # answers until then
    unsampled: int = 0  # answers since a URL of a sample was asked
    copied: int = 0  # answers while rules were active for copies of a directory ...
    unlooked: int = 0  # ... and since it was looked at where they are likely to fail
    places: int = 0  # that were looked at

    @property
    def in_all(self) -> int:
        """How many answers there were."""
        return self.before + self.answers

    @property
    def has_turned(self) -> bool:
        """True for every second place."""
        return self.places % 2 == 0

    def next_place(self) -> float:
        """Return another place among the URLs of the host, far from the latest ones."""
        self.places += 1
        by_chance = int.from_bytes(blake2b(b"%d" % self.places, digest_size=4).digest()) / 2**32
        return (self.places * _STRIDE + by_chance * _SCATTER) % 1


@dataclass(slots=True)
class Tested:
    """How much of what a rule holds was asked."""

    agreed: int  # paths, before the first was asked
    asked: int = 0
    likely: int = 0  # URLs that were likely to contradict it
    begun: int | None = None  # answers of the site, when the first was due
    looked_until: int = 0  # the last row that rules held on its host, when nothing else waited ...
    held: int = 0  # ... and it was tested; and how many they held


class Watched:
    """The sites and the rules of a crawl, the latest ones only."""

    def __init__(self) -> None:
        """Start without any."""
        self._sites: OrderedDict[str, WatchedSite] = OrderedDict()
        self._samples: OrderedDict[str, Tested] = OrderedDict()  # by rule

    def site(self, site: str, now: float) -> WatchedSite:
        """Return how a site is watched.

        Args:
            site: the site.
            now: seconds since 1970.
        """
        found = self._sites.get(site)
        if found is None:
            found = self._sites[site] = WatchedSite(now)
        self._sites.move_to_end(site)
        if len(self._sites) > _REMEMBERED:
            self._sites.popitem(last=False)
        return found

    def sample_of(self, rule: TrackedRule) -> Tested:
        """Return how much of what a rule holds was asked."""
        if rule.id not in self._samples:
            self._samples[rule.id] = Tested(rule.agree)
            if len(self._samples) > _REMEMBERED:
                self._samples.popitem(last=False)
        return self._samples[rule.id]

    def asked(self, rule: TrackedRule) -> int:
        """Return how much of what a rule holds was asked."""
        return self.sample_of(rule).asked

    def is_due(self, rule: TrackedRule, here: WatchedSite, pace: int) -> bool:
        """Return True if no more of a rule was asked than one URL for so many answers of its site.

        Args:
            rule: it.
            here: its site.
            pace: how many answers.
        """
        sample, answers = self.sample_of(rule), here.in_all
        if sample.begun is None:
            sample.begun = answers
        return sample.asked * pace <= answers - sample.begun

    def tested(self, rule: TrackedRule) -> int:
        """Return how many paths of a rule were tested, also those that have not answered yet."""
        sample = self.sample_of(rule)
        return max(rule.agree, sample.agreed + sample.asked)
