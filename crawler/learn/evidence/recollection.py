"""Recollection: what all that the archive knows of a site says about its rules.

Before a rule acts, it is held against all facts; on a large site most of them are not at hand.
"""

from collections.abc import Iterable, Iterator, Sequence
from zlib import crc32

from canonry.canon.syntax import Parts
from canonry.crawler.content.host_text import Comparison
from canonry.crawler.learn.evidence.verdicts import counted_path, verdict
from canonry.crawler.learn.knowledge.site_facts import ChangedText, Fact, SiteFacts, reference_of
from canonry.crawler.learn.memory.archive import Archive
from canonry.crawler.learn.tallies.stances import Stance
from canonry.crawler.learn.tallies.tally import RuleTally

_MOST = 5_000  # URLs that a rule changes; of more, a sample of its classes by their hashes


def recollect(
    archive: Archive, known: SiteFacts, tallies: Sequence[RuleTally]
) -> Iterator[RuleTally]:
    """Yield tallies of what an archive knows, for rules of one site.

    Args:
        archive: knows all facts, also those that are at hand.
        known: what is at hand, to compare content.
        tallies: of the rules, at least one.
    """
    samples = [_Classes(tally) for tally in tallies]
    for url in archive.answered_on(tallies[0].rewrite.host):
        for sample in samples:
            sample.add(url)
    for tally, sample in zip(tallies, samples, strict=True):
        found = tally.emptied(())
        for result, urls in sample.by_result.items():
            for url in urls:
                found.enter(url, result)
        past = _Past(known, archive, [*found.results, *found.members])
        for url, result in found.results.items():
            said = verdict(past, found, url)
            if said.stance is not Stance.NOTHING:
                found.set(url, counted_path(tally.rewrite, Parts.of(url), result), said.stance)
        yield found


class _Classes:
    """The URLs that a rule changes, by what it makes of them: all, or a sample of these classes."""

    def __init__(self, tally: RuleTally) -> None:
        """Start without URLs."""
        self.by_result: dict[str, list[str]] = {}
        self._result_of = tally.result_of
        self._number = 0
        self._share = 1  # one class of so many

    def add(self, url: str) -> None:
        """Add a URL, if the rule changes it, and its class is in the sample."""
        result = self._result_of(url)
        if result is None or crc32(result.encode()) % self._share:
            return
        self.by_result.setdefault(result, []).append(url)
        self._number += 1
        if self._number > _MOST:
            self._share *= 2
            for other in [it for it in self.by_result if crc32(it.encode()) % self._share]:
                self._number -= len(self.by_result.pop(other))


class _Past:
    """The facts about some URLs, as the archive has them."""

    def __init__(self, known: SiteFacts, archive: Archive, urls: Iterable[str]) -> None:
        """Look URLs up, and what they lead to."""
        self._known = known
        self._facts: dict[str, Fact] = {}
        self._canonicals: dict[str, str] = {}
        self._look_up(archive, set(urls))
        targets = {fact.target for fact in self._facts.values() if fact.target is not None}
        self._look_up(archive, targets - self._facts.keys())

    def _look_up(self, archive: Archive, urls: Iterable[str]) -> None:
        for found in archive.known_about(urls):
            if isinstance(found, Fact):
                self._facts[found.url] = found
            elif found.kind == "redirect":
                self._facts[found.url] = Fact(found.url, found.at, target=found.target)
            else:
                self._canonicals[found.url] = found.target

    def fact(self, identity: str) -> Fact | None:
        """Return what became of a URL; None if that is not known."""
        return self._facts.get(identity)

    def reference(self, members: Sequence[str]) -> Fact | None:
        """Return the page with which the others of a class are compared, or None."""
        return reference_of(map(self.fact, members))

    def canonical(self, identity: str) -> str | None:
        """Return the confirmed target of a page's canonical link."""
        named, fact = self._canonicals.get(identity), self._facts.get(identity)
        if named is None and fact is not None and fact.names is not None:
            return fact.names if self._known.canonicals.are_confirmed(fact.names) else None
        return named

    def compare(self, one: Fact, other: Fact) -> Comparison:
        """Compare the content of two pages."""
        return self._known.compare(one, other)

    @property
    def links_are_meant(self) -> bool:
        """Return True if the site chooses which parameters its canonical links have."""
        return self._known.canonicals.are_meant

    def are_others(self, one: Fact, other: Fact) -> bool:
        """Return True if the content of two pages clearly differs."""
        return self._known.are_others(one, other)

    def changed(self, one: Fact, other: Fact) -> ChangedText:
        """Return what differs between two pages of a site on which nothing changes by itself."""
        return self._known.changed(one, other)
