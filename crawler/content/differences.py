"""Differences: how much pages differ that may be the same, and whether that can be chance. Pure."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from math import exp, lgamma, log, sqrt
from typing import NamedTuple

_NEGLIGIBLE = 1e-12  # of a sum
_FEW = 4  # counts; of fewer, nobody knows how they vary
_SCREEN = 2.0  # standard deviations; below, a difference of two shares is not looked at


class Difference(NamedTuple):
    """How much two pages differ that may be the same.

    Attributes:
        shingles: how many of their own shingles only one of them has.
        watched: the hash up to which they could be compared; 0 if they were not.
        numbers: a bit for each bucket of numbers in which they differ.
    """

    shingles: int = 0
    watched: int = 0
    numbers: int = 0


NO_DIFFERENCE = Difference()


@dataclass(slots=True)
class Differences:
    """How much several pages differ: sums over URLs, of which each counts once.

    Attributes:
        shingles: in which they differ, in all.
        watched: the sum of the hashes up to which they were compared.
        numbers: by bucket how many of them differ in its numbers.
    """

    shingles: int = 0
    watched: int = 0
    numbers: Counter[int] = field(default_factory=Counter)
    _patterns: Counter[int] = field(default_factory=Counter)  # pages with these `numbers`, if any
    _by_url: dict[str, Difference] = field(default_factory=dict)

    @property
    def pages(self) -> int:
        """How many pages were compared."""
        return len(self._by_url)

    def set(self, url: str, found: Difference) -> None:
        """Set how much a URL's page differs from another; nothing counts if nothing was watched."""
        before = self._by_url.pop(url, NO_DIFFERENCE)
        if not found.watched:
            found = NO_DIFFERENCE
        else:
            self._by_url[url] = found
        self.shingles += found.shingles - before.shingles
        self.watched += found.watched - before.watched
        if found.numbers != before.numbers:
            self._patterns[before.numbers] -= 1
            self._patterns[found.numbers] += 1
            self.numbers.update(_bits(found.numbers))
            self.numbers.subtract(_bits(before.numbers))

    def of(self, url: str) -> Difference:
        """Return how much a URL's page differs."""
        return self._by_url.get(url, NO_DIFFERENCE)

    def parted(self, is_here: Callable[[str], bool]) -> tuple["Differences", "Differences"]:
        """Return how much the pages of some URLs differ, and the others.

        Args:
            is_here: tells of a URL whether it is one of these.
        """
        here, there = Differences(), Differences()
        for url, found in self._by_url.items():
            (here if is_here(url) else there).set(url, found)
        return here, there

    def with_numbers(self, least: int, but: int) -> int:
        """Return how many pages differ in the numbers of so many buckets, or more.

        Args:
            least: how many buckets.
            but: a bit for each bucket that does not count.
        """
        return sum(
            count
            for pattern, count in self._patterns.items()
            if (pattern & ~but).bit_count() >= least
        )


def _bits(numbers: int) -> Iterator[int]:
    """Yield the places of the bits that are set."""
    while numbers:
        lowest = numbers & -numbers
        yield lowest.bit_length() - 1
        numbers ^= lowest


def chance_of_so_few(most: int, mean: float) -> float:
    """Return the probability of at most so many events, where a mean is expected.

    The distribution is Poisson's.
    """
    term = whole = 1.0
    for fewer in range(most, 0, -1):
        term *= fewer / mean
        whole += term
    return exp(most * log(mean) - mean - lgamma(most + 1)) * whole


def spread_of(each: Sequence[tuple[int, int]]) -> float:
    """Return how many times more than Poisson's some counts vary; 1 at least.

    What changes in a page comes in groups: one other title of a related page is five shingles. So
    counts vary more than those of single things do (Pearson's estimate of the dispersion;
    McCullagh and Nelder, Generalized Linear Models, 1989, section 4.5).

    Args:
        each: counts, and the exposures that they are expected to be proportional to.
    """
    counted, exposed = sum(count for count, _exposure in each), sum(some for _, some in each)
    if len(each) < _FEW or not counted:
        return 1.0
    rate = counted / exposed
    squares = sum((count - rate * some) ** 2 / (rate * some) for count, some in each if some)
    return max(1.0, squares / (len(each) - 1))


def chance_of_so_many(here: int, of_these: int, there: int, of_those: int) -> float:
    """Return the probability that these have at least so many, if they are like those.

    That is Fisher's exact test, of one side (The Design of Experiments, 1935). Where the shares
    are nearly the same, it is 1 without being computed.

    Args:
        here: how many of these have something.
        of_these: how many these are.
        there: how many of those have it.
        of_those: how many those are.
    """
    both, everything = here + there, of_these + of_those
    share = both / everything
    spread = sqrt(share * (1 - share) * (1 / of_these + 1 / of_those))
    if here / of_these - there / of_those <= _SCREEN * spread:
        return 1.0
    ways = _log_ways(of_these, here) + _log_ways(of_those, there) - _log_ways(everything, both)
    term = chance = exp(ways)
    for n in range(here, min(of_these, both)):
        term *= (of_these - n) * (both - n) / ((n + 1) * (of_those - both + n + 1))
        chance += term
        if term < chance * _NEGLIGIBLE:
            break
    return chance


def _log_ways(of_all: int, some: int) -> float:
    """Return the logarithm of the number of ways in which some of all are chosen."""
    return lgamma(of_all + 1) - lgamma(some + 1) - lgamma(of_all - some + 1)
