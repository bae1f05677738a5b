"""The pages of a site that were asked again, and read: whether two of them are others."""

from dataclasses import dataclass, field
from typing import NamedTuple

from canonry.crawler.content.host_text import HostText
from canonry.crawler.content.page_reading import PageReading

MOST_ANSWERS = 6  # of a page that are read; then it is known whether it is another one
_UNCHANGED = 3  # further answers of two pages, until what differs in all of them is no chance
_CHANGING = 1 << 14  # hashes of what changes by itself


class _Differing(NamedTuple):
    """What differs in all answers of two pages.

    The links of a list that is shuffled stand one behind the other by chance, and in another answer
    they do not. So what differs has to be the same in several answers.
    """

    hashes: frozenset[int]
    since: int  # of how many answers it is the same
    is_settled: bool  # True if further answers need not be read


@dataclass(slots=True)
class ReadPages:
    """What pages said that were asked to see whether they are others."""

    _readings: dict[str, PageReading] = field(default_factory=dict)  # by identity
    _differing: dict[tuple[str, str], _Differing] = field(default_factory=dict)  # of two pages
    _changing: set[int] = field(default_factory=set)  # what changes by itself on any of them
    _replaced: set[str] = field(default_factory=set)  # pages in whose place another one answered

    def times(self, url: str) -> int:
        """Return how often a page was read; if that makes no sense any more, often enough."""
        if url in self._replaced:
            return MOST_ANSWERS
        known = self._readings.get(url)
        return 0 if known is None else known.answers

    def add(self, url: str, reading: PageReading) -> None:
        """Remember what a page says."""
        known = self._readings.get(url)
        if known is not None:
            reading = known.and_then(reading)
            if len(self._changing) < _CHANGING:
                self._changing |= reading.changing
        self._readings[url] = reading

    def give_up(self, url: str) -> None:
        """Remember that another page has answered in place of one: then nothing can be said."""
        self._replaced.add(url)

    def are_others(self, one: str, other: str, text: HostText) -> bool | None:
        """Return whether two pages are others; None if that is not known yet.

        Args:
            one: the identity of a page.
            other: that of another one.
            text: what the pages of their site say.
        """
        its, theirs = self._readings.get(one), self._readings.get(other)
        if its is None or theirs is None:  # hardly any page is read
            return None
        if not self._replaced.isdisjoint((one, other)):
            return None
        pair = min(one, other), max(one, other)
        known = self._differing.get(pair)
        if known is not None and known.is_settled:
            return not known.hashes <= self._changing
        answers = min(its.answers, theirs.answers)
        if answers == 1:
            return None
        hashes = frozenset(its.differences(theirs) - self._changing)
        since = known.since if known is not None and known.hashes == hashes else answers
        least = min(text.answers_to_be_sure, MOST_ANSWERS - 1)
        is_enough = answers - since >= _UNCHANGED and answers > least
        is_settled = is_enough or not hashes
        self._differing[pair] = _Differing(hashes, since, is_settled)
        if is_settled:  # then they are not needed any more
            self._readings[one], self._readings[other] = its.forgotten, theirs.forgotten
        return bool(hashes) if is_settled else None
