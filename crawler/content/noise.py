"""Noise: what changes by itself, from one answer of a URL to the next. Pure."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import ceil, log, sqrt
from types import MappingProxyType
from typing import NamedTuple

from canonry.crawler.content.differences import (
    Differences,
    chance_of_so_few,
    chance_of_so_many,
    spread_of,
)
from canonry.crawler.content.plain_scan import NUMBERS
from canonry.crawler.content.sketch import Sketch

_MOST_MASKED = NUMBERS // 3  # buckets of numbers: where more change at once, they prove nothing
_PAIRS_TO_MASK = 10  # answers of one URL, before more may change from time to time
_PAIRS_FOR_NUMBERS = 4  # answers of one URL, before numbers say that pages differ
_PAIRS_FOR_RARE = 8  # for each bucket that was seen to change only twice
_DEVIATIONS = 3  # standard deviations that noise stays within
_TOO_MANY = 3  # shingles beyond that
_RARE = 0.05  # how often pairs that say the same are thought to differ too much
_RARE_IF_READ = 0.001  # the same, if several were read
_RARE_IN_NUMBERS = 0.01  # the same, for each bucket of numbers
_FAR_MORE = 0.25  # of all pairs
_BY_CHANCE = 0.005  # how often a page may answer as before, and change by itself all the same
_NUMBERS_OF_ANOTHER = 2  # buckets that differ
_PAIRS_OF_WORDS = 10  # answers of one URL without a word that changed, before one other does


class Noise(NamedTuple):
    """What changes from one answer of a URL to the next."""

    pairs: int = 0  # that it was measured on
    numbers: Mapping[int, int] = MappingProxyType({})  # by bucket, in how many pairs it differs
    settled: bool = True  # True if nearly all buckets that change have been seen to change
    alone: int = 0  # pairs with several buckets that changed in no other pair
    heading: bool = False
    same_text: int = 0  # pairs without a word that differs
    passages: frozenset[int] = frozenset()  # buckets that differ in any
    links: bool = False

    @classmethod
    def of(cls, pairs: Iterable[tuple[Sketch, Sketch]]) -> "Noise":
        """Return what differs between the answers of one URL, of several URLs."""
        found = list(pairs)
        each = [[at for at, _ in differing_numbers(one, other)] for one, other in found]
        changed = Counter(at for buckets in each for at in buckets)
        times = Counter(changed.values())
        return cls(
            len(found),
            changed,
            not times[1] and times[2] * _PAIRS_FOR_RARE <= len(found),
            sum(sum(changed[at] == 1 for at in buckets) >= _NUMBERS_OF_ANOTHER for buckets in each),
            any(one.heading != other.heading for one, other in found),
            sum(one.text == other.text for one, other in found),
            frozenset(at for one, other in found for at in differing_passages(one, other)),
            any(have_other_links(one, other) for one, other in found),
        )

    @property
    def text(self) -> bool:
        """Return True if words change."""
        return self.same_text < self.pairs

    @property
    def answers_to_be_sure(self) -> int:
        """How often a page has to answer once more as before, until that is hardly chance.

        Of seven teasers, an answer shows the one of the answer before in one of seven cases.
        """
        if not self.text:
            return 1 if self.pairs >= _PAIRS_TO_MASK else 2
        same = (self.same_text + 2) / (self.pairs + 4)  # with Agresti and Coull's correction
        return ceil(log(_BY_CHANCE) / log(same))

    def headings_differ(self, one: Sketch, other: Sketch) -> bool:
        """Return True if two pages have other headings, and these do not change by themselves."""
        return one.heading != other.heading and not self.heading

    def words_differ(self, one: Sketch, other: Sketch) -> bool:
        """Return True if words of two pages differ, where in many answers of one URL none did.

        There a line more or less is no noise, however short it is.
        """
        never = self.pairs >= _PAIRS_OF_WORDS and not self.text
        return never and one.text != other.text

    def links_differ(self, one: Sketch, other: Sketch) -> bool:
        """Return True if two pages link to other names, and links do not change by themselves."""
        return not self.links and have_other_links(one, other)

    def other_numbers(self, changes: Mapping[int, int]) -> dict[int, int]:
        """Return the numbers that differ, of these, and do not change by themselves; by bucket."""
        return {at: change for at, change in changes.items() if at not in self.numbers}

    def other_passages(self, one: Sketch, other: Sketch) -> set[int]:
        """Return the buckets of passages whose words differ, and do not change by themselves.

        The words of a teaser change; those of a price do not, which stand under another tag. One
        word is enough. It proves nothing, but such pages are asked again. If all words are the
        same, some only stand elsewhere, as where a menu marks the current place with a class.
        """
        if one.text == other.text:
            return set()
        return differing_passages(one, other) - self.passages

    @property
    def masks_many(self) -> bool:
        """True if so many buckets of numbers change from time to time that one alone says little.

        Where the related products of a shop change, a price may stand in any of them. What always
        differs is seen all the same, if those change seldom (`is_exceeded_by`).
        """
        return len(self.numbers) > _MOST_MASKED

    def are_of_another(self, differing: Mapping[int, int]) -> bool:
        """Return True if the numbers that differ are those of another page, not noise.

        A clock that shows minutes does not differ between two answers of a second: so one bucket
        of numbers is not enough, except that of the headings. Nor is a number that stands after
        another word, as the first one after a teaser: it only went to another bucket.

        Args:
            differing: by bucket how much more one page has there, modulo 256.
        """
        known = self.pairs >= _PAIRS_FOR_NUMBERS and self.settled
        if not known or 0 in differing:
            return known
        changes = Counter(differing.values())
        moved = sum(min(count, changes[-change % 256]) for change, count in changes.items())
        return len(differing) - moved >= _NUMBERS_OF_ANOTHER

    def is_exceeded_by(self, found: Differences) -> bool:
        """Return True if the numbers of any bucket differ in far more of some pairs, not by chance.

        So it is with a price, where many other numbers change from time to time: it differs in
        each pair. Where there are many pairs, of the same pages again and again, a little more is
        no proof.
        """
        if self._hides_others(found):
            return True
        return self.masks_many and any(
            number / found.pages > self.numbers.get(bucket, 0) / self.pairs + _FAR_MORE
            and chance_of_so_many(number, found.pages, self.numbers.get(bucket, 0), self.pairs)
            < _RARE_IN_NUMBERS
            for bucket, number in found.numbers.items()
        )

    def _hides_others(self, found: Differences) -> bool:
        """Return True if far more pairs differ in numbers that were never seen to change.

        As long as it is not known which ones change, one pair says nothing (`are_of_another`).
        """
        if self.settled or self.pairs < _PAIRS_FOR_NUMBERS:
            return False
        changing = sum(1 << bucket for bucket in self.numbers)
        others = found.with_numbers(_NUMBERS_OF_ANOTHER, changing)
        if not others:
            return False
        chance = chance_of_so_many(others, found.pages, self.alone, self.pairs)
        return chance < _RARE_IN_NUMBERS


class Changing(NamedTuple):
    """How many shingles change by themselves: in a part of a page as many as its share."""

    changed: int = 0  # in all answers that were compared
    watched: int = 0  # the sum of the hashes up to which they could be compared
    spread: float = 1.0  # how much more their number varies than Poisson's: they come in groups

    @classmethod
    def of(cls, each: Sequence[tuple[int, int]]) -> "Changing":
        """Return how many change.

        Args:
            each: of two answers of a URL, how many shingles differ, and the hash up to which they
                were compared.
        """
        return cls(sum(n for n, _end in each), sum(end for _n, end in each), spread_of(each))

    def expected(self, end: int) -> float:
        """Return how many are expected to differ between two answers, up to a hash."""
        return self.changed / self.watched * end if self.watched else 0.0

    def most(self, end: int) -> float:
        """Return how many may differ, by the rate that is hardly exceeded (Poisson)."""
        mean = (self.changed + sqrt(self.changed) + 1) / self.watched * end
        return mean + _DEVIATIONS * sqrt(mean * self.spread) + _TOO_MANY

    def is_exceeded_by(self, found: Differences, pairs: int, *, are_read: bool = False) -> bool:
        """Return True if pairs of pages differ in more shingles than answers of one URL.

        If the pairs were answers of one URL, then as many of all differing shingles as expected
        would be those that were measured, but for one case in twenty (the test of two Poisson rates
        by their sum; Przyborowski and Wilenski 1940; of groups, where they vary more).

        Args:
            found: how much they differ.
            pairs: how many of them are independent of each other.
            are_read: True if several were read, word by word, and none turned out to be others:
                then it has to be clearer.
        """
        share = min(1.0, pairs / found.pages)
        shingles, watched = share * found.shingles, share * found.watched
        both = (self.changed + shingles) * self.watched / (self.watched + watched)
        groups = round(self.changed / self.spread)
        rare = _RARE_IF_READ if are_read else _RARE
        return self.changed < both and chance_of_so_few(groups, both / self.spread) < rare


def differing_numbers(one: Sketch, other: Sketch) -> Iterator[tuple[int, int]]:
    """Yield the buckets of numbers that differ, and by how much, modulo 256."""
    if one.numbers != other.numbers:
        for at, (here, there) in enumerate(zip(one.numbers, other.numbers, strict=True)):
            if here != there:
                yield at, (here - there) % 256


def differing_passages(one: Sketch, other: Sketch) -> set[int]:
    """Return the buckets of passages that differ; none if either sketch has no passages."""
    if one.passages == other.passages:
        return set()
    both = enumerate(zip(one.passages, other.passages, strict=False))
    return {at for at, (here, there) in both if here != there}


def have_other_links(one: Sketch, other: Sketch) -> bool:
    """Return True if two pages link to other names; False if that is not known of either."""
    return one.links != other.links and b"" not in {one.links, other.links}
