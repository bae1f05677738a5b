"""The tally of a rule: which URLs speak for it, and which against it.

It is a function of a set of facts: each URL has one verdict, and each path counts once. So it does
not matter in which order facts arrive, and a verdict that changes is taken back.
"""

from collections import Counter
from collections.abc import Callable, Collection, Container, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Self

from canonry.canon.learned import FAMILIES, Rewrite
from canonry.canon.syntax import Parts
from canonry.crawler.content.differences import NO_DIFFERENCE, Difference, Differences
from canonry.crawler.content.host_text import HostText
from canonry.crawler.learn.tallies.compact_set import CompactSet
from canonry.crawler.learn.tallies.selecting_fields import selecting_fields
from canonry.crawler.learn.tallies.stances import (
    ANSWERS,
    BY_CONTENT,
    BY_LINK,
    FOR,
    OPEN,
    Stance,
    StanceCounts,
)
from canonry.storage.learned.tracked_rule import Counts

DOUBTS = 4  # paths in doubt, before it is worth a request to see what changes by itself
_FIELDS = 16  # different ones, of a rule; where so many agree, any other value does, too
_CLASS = 16  # URLs of which a rewrite makes the same; more are not compared
_STANCE = 15  # the bits that hold one
_STANCES = tuple(Stance)
_SMALL_INT = 2**60 - 1  # up to here an integer takes 32 bytes; above, 48


def _said(path: str, stance: Stance) -> int:
    """Return what a URL says and the hash of its path as one number: a tuple takes four times more.

    Of a million paths, two have the same number in one host of 300,000.
    """
    return ((hash(path) << _STANCE.bit_length()) & _SMALL_INT) | stance


class Judgement(NamedTuple):
    """What a URL says about a rule, and the URL that it was compared with.

    Attributes:
        stance: what it says.
        found: the URL that it was compared with.
        difference: how much they differ, if their texts were compared, and may be the same.
        is_final: True if no other fact can change it: the URL's own answer says all.
    """

    stance: Stance
    found: str = ""
    difference: Difference = NO_DIFFERENCE
    is_final: bool = False


@dataclass(slots=True)
class RuleTally:
    """The verdicts of a site's URLs on a rule for the whole site.

    Attributes:
        rewrite: what the rule says, of the whole site.
        results: from each URL that the rewrite changes to what it makes of it.
        members: the reverse, bounded.
        final: the URLs whose verdict no other fact can change.
        doubts: paths of pages that could not be compared; a few of them.
        suspected: True if the rule is worth questions before any evidence.
        fields: what was dropped from URLs that speak for the rule; a few of them.
        look_at: after how many answers it is worth to look for values of its parameter that agree,
            or for names of a mix.
        pairs: how many pairs of pages were asked again, to see whether they are others.
        acting: how many pairs there were, and how many paths agreed, when it was first seen to act,
            if it rests on pages that were read.
        heard_at: how many paths spoke against it, or were in doubt, when it was looked for pages to
            ask twice before it is refuted.
        is_supported: True if the rule is about a mix of parameters, and each of them is proven.
        compared: how much pages differ from those that they were compared with.
        beside: how much the pages differ of which the rewrite makes the same, from each other.
        marks: tells quickly of most URLs that the rewrite does not change them.
    """

    rewrite: Rewrite
    results: dict[str, str] = field(default_factory=dict)
    members: dict[str, tuple[str, ...]] = field(default_factory=dict)
    final: set[str] = field(default_factory=set)
    doubts: set[str] = field(default_factory=set)
    suspected: bool = False
    fields: set[str] = field(default_factory=set)
    look_at: int = 0
    pairs: int = 0
    acting: tuple[int, int] | None = None
    heard_at: int = 0
    is_supported: bool = False
    compared: Differences = field(default_factory=Differences)
    beside: Differences = field(default_factory=Differences)
    marks: Callable[[str], object] = field(init=False)
    _verdicts: dict[str, int] = field(default_factory=dict)  # with the path, as `_said` joins them
    _paths: Counter[int] = field(default_factory=Counter)  # URLs of a path that say the same
    _counts: StanceCounts = field(default_factory=StanceCounts)  # of paths
    _earlier: CompactSet = field(default_factory=CompactSet)  # of paths whose URLs are forgotten
    _old: frozenset[str] = frozenset()  # URLs that speak for no part any more

    def __post_init__(self) -> None:
        """Prepare to tell quickly which URLs the rewrite does not change."""
        self.marks = FAMILIES[self.rewrite.family].mark(self.rewrite)

    def result_of(self, url: str, parts: Parts | None = None) -> str | None:
        """Return what the rewrite makes of a URL of its site; None if it does not change it.

        Args:
            url: its identity.
            parts: of it, if they are at hand: most URLs need not be split.
        """
        if not self.marks(url):
            return None
        if parts is None:
            parts = Parts.of(url)
        after = FAMILIES[self.rewrite.family].apply(parts, self.rewrite)
        return None if after is parts else str(after)

    def enter(self, url: str, result: str) -> None:
        """Remember what the rewrite makes of a URL, unless its class has too many.

        If all that the rewrite changes is one page, the further URLs are compared with the first.
        """
        members = self.members.get(result, ())
        is_full = len(members) >= _CLASS
        if url in self.results or (is_full and not FAMILIES[self.rewrite.family].one_page):
            return
        self.results[url] = self.results[members[0]] if members else result  # one text for all
        if not is_full:
            self.members[result] = (*members, url)  # mostly of one: half the room of a list

    def names_of(self, result: str) -> Sequence[str]:
        """Return the known URLs that the rewrite turns into one."""
        if FAMILIES[self.rewrite.family].one_page:
            return [url for url, made in self.results.items() if made == result]
        return self.members[result]

    def set(self, url: str, path: str, stance: Stance) -> None:
        """Set the verdict of a URL.

        Args:
            url: its identity.
            path: what counts once: its path, or what its family counts instead.
            stance: what it says.
        """
        before = self.stance(url)
        if before is stance:
            return
        if before is not Stance.NOTHING:
            said = self._verdicts.pop(url)  # it will be the latest one
            self._paths[said] -= 1
            if not self._paths[said]:
                del self._paths[said]
                if said not in self._earlier:
                    self._count(url, path, before, -1)
        if stance is Stance.NOTHING:
            return
        if stance in FOR and len(self.fields) < _FIELDS:
            self.fields.update(selecting_fields(self.rewrite, url))
        self._verdicts[url] = said = _said(path, stance)
        self._paths[said] += 1
        if self._paths[said] == 1 and said not in self._earlier:
            self._count(url, path, stance, 1)

    def remember(self, url: str, said: Judgement, beside: Difference) -> None:
        """Remember how much a URL's page differs from others.

        Args:
            url: its identity.
            said: how it compares with the page that the rewrite makes of it, if that is known.
            beside: how much it differs from another page of which the rewrite makes the same.
        """
        if said.is_final:
            self.final.add(url)
        else:
            self.final.discard(url)
        self.compared.set(url, said.difference)
        self.beside.set(url, beside)

    def differ_more(self, text: HostText) -> bool:
        """Return True if the pages that the rule merges differ more than one from itself.

        Where the page that the rule makes of them shows one of two versions by chance, half of the
        others are like it. The others show what they select: they differ from each other.
        """
        with_one = FAMILIES[self.rewrite.family].one_page
        return any(
            text.differ_more(found, with_one=with_one, are_read=self._counts.are_read)
            for found in (self.compared, self.beside)
        )

    def unproven(self, url: str) -> list[str]:
        """Return what the rule drops from a URL, but not from any that speaks for it."""
        if len(self.fields) >= _FIELDS or self.suspected:
            return []
        return [field for field in selecting_fields(self.rewrite, url) if field not in self.fields]

    def emptied(self, urls: Container[str]) -> Self:
        """Return a tally of the same rule without verdicts.

        Args:
            urls: that are still known; it remembers which of them speak for no part any more.
        """
        old = frozenset(url for url in self._old if url in urls)
        return type(self)(
            self.rewrite,
            suspected=self.suspected,
            pairs=self.pairs,
            acting=self.acting,
            heard_at=self.heard_at,
            doubts=self.doubts,
            fields=self.fields,
            _old=old,
        )

    def remember_all(self, other: Self) -> None:
        """Count what another tally of the same rule does, which knows other URLs, or more.

        What both know is counted once; a path that comes back is known, too.
        """
        self._counts.add_all(other._counts)
        new = other._paths.keys() - self._paths.keys()
        self._earlier = self._earlier.with_more([*other._earlier, *new])

    def _count(self, url: str, path: str, stance: Stance, by: int) -> None:
        is_forgotten = stance in FOR and url in self._old
        self._counts.add(path, stance, by, everywhere=not is_forgotten)

    def stance(self, url: str) -> Stance:
        """Return what a URL says."""
        return _STANCES[self._verdicts.get(url, 0) & _STANCE]

    def against(self, part: str = "") -> frozenset[Stance]:
        """Return what counts against the rule, on the whole site or in a part of it."""
        return self._counts.against(part)

    def contrary(self) -> list[str]:
        """Return the URLs that speak against the rule by where they lead, or by their content."""
        return self._that_say(self.against() - ANSWERS)

    def that_are_the_same(self) -> list[str]:
        """Return the URLs that seem to be the same page as another, and were not read."""
        return self._that_say({Stance.SAME, Stance.MASKED} & self._counts.speaks_for())

    def that_may_be_read(self) -> list[str]:
        """Return the URLs that seem to be the same page as another, or may be one."""
        return self._that_say(OPEN | {Stance.SAME})

    @property
    def apart(self) -> int:
        """How many paths have a page that was read again, and is another one."""
        return self._counts.number(Stance.APART)

    @property
    def masked(self) -> int:
        """How many paths are in doubt only for their numbers; if others were read, they count."""
        return self._counts.number(Stance.MASKED)

    @property
    def is_by_reading(self) -> bool:
        """True if a quarter of what speaks for the rule only counts if other pages were read.

        After a restart it is not known any more which were.
        """
        return 4 * self.masked > self.totals().agree

    def that_are_open(self) -> list[str]:
        """Return the URLs of which it is not known whether they are the same page as another."""
        return self._that_say(OPEN - self._counts.speaks_for())

    def that_count(self, part: str = "", *, agrees: bool) -> list[str]:
        """Return the URLs that count for the rule, or against it; those first that contradict it.

        Args:
            part: of the site, or "" for all of it, by which is decided what counts.
            agrees: True for those that count for it.
        """
        against = self.against(part)
        if agrees:
            return self._that_say(self._counts.speaks_for(part))
        return self._that_say(against - ANSWERS) + self._that_say(against & ANSWERS)

    def counts(self, url: str, part: str, *, agrees: bool) -> bool:
        """Return True if a URL counts for the rule, or against it; as `that_count` says."""
        counted = self._counts.speaks_for(part) if agrees else self.against(part)
        return self.stance(url) in counted

    def _that_say(self, stances: Collection[Stance]) -> list[str]:
        """Return the URLs with one of some verdicts; the latest of these are the last ones."""
        if not any(map(self._counts.number, stances)):
            return []
        return [url for url, said in self._verdicts.items() if said & _STANCE in stances]

    def totals(self, part: str = "") -> Counts:
        """Return the evidence of the whole site, or of one first segment of its paths."""
        return self._counts.evidence(part)

    @property
    def named(self) -> int:
        """How many paths a confirmed canonical link speaks for."""
        if not any(map(self._counts.number, BY_LINK)):  # on most sites none does
            return 0
        return sum(map(self._counts.number, BY_LINK - self.against()))

    @property
    def worded_alike(self) -> int:
        """How many paths speak for the rule by the same words."""
        each = ((BY_CONTENT & FOR) | {Stance.NAMED_SAME, Stance.RENUMBERED}) - self.against()
        return sum(map(self._counts.number, each))

    @property
    def undecided(self) -> int:
        """How many paths have a page that was compared, and may be the same as the other or not."""
        return sum(map(self._counts.number, OPEN - self._counts.speaks_for()))

    @property
    def told_together(self) -> int:
        """How many paths agree after they were asked again; 0 if a page is another one."""
        return 0 if self.apart else self._counts.number(Stance.TOGETHER)

    def parts(self) -> list[str]:
        """Return the parts of the site that have verdicts: the first directories of paths."""
        return self._counts.directories()

    def undecided_for(self, part: str) -> int:
        """Return how many paths are open, but for what nobody can know in other parts."""
        number = self._counts.number
        return self.undecided - number(Stance.UNKNOWN) + number(Stance.UNKNOWN, part)

    def is_unknown(self, part: str = "") -> bool:
        """Return True if nothing can be known of the rule in a part of the site, or in any part."""
        return self._counts.is_unknown(part)

    def where_it_holds(self) -> Counts:
        """Return the evidence of the parts of the site in which no more speaks against than for."""
        return self._counts.where_it_holds()

    def forget_parts(self) -> None:
        """Forget what spoke for parts of the site; what was said of the whole site stays."""
        self._counts.forget_parts()
        self._old = frozenset(self._verdicts)
