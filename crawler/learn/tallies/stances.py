"""Stances: what URLs say about a rule, and how many paths say what, by part of the site."""

from collections import Counter
from enum import IntEnum
from typing import Self

from canonry.crawler.learn.life.verification import first_directory
from canonry.storage.learned.tracked_rule import Counts

_ROOT = "/"  # the part of paths that lie in no directory


class Stance(IntEnum):
    """What a URL says about a rule."""

    NOTHING = 0
    MOVED = 1  # for it: a permanent redirect leads where the rule says
    SAME = 2  # for it: the same content
    OTHER = 3  # against it: it leads elsewhere, or its content is another
    ALONE = 4  # it is a page, and no other of its class is known
    REVERSED = 5  # the URL that the rule makes of it redirects back
    NAMED = 6  # for it: a confirmed canonical link, to a page that is no other
    NAMED_SAME = 7  # for it: a confirmed canonical link, and the same content
    RENUMBERED = 8  # a confirmed canonical link, to a page whose numbers are others
    REWORDED = 9  # a confirmed canonical link, to a page whose words are others, here and there
    IN_DOUBT = 10  # it is a page, and it is not known whether it is the same as another or not
    APART = 11  # that was not known; what differs stayed, when both were asked again
    TOGETHER = 12  # that was not known; all that differs has changed, when both were asked again
    MASKED = 13  # that is not known, but only since many numbers change, and some of these differ
    UNKNOWN = 14  # nobody can tell: it is not text, and its kind changes by itself


BY_LINK = frozenset({Stance.NAMED, Stance.NAMED_SAME, Stance.RENUMBERED, Stance.REWORDED})
BY_CONTENT = frozenset({Stance.SAME, Stance.TOGETHER, Stance.MASKED})
FOR = BY_LINK | {Stance.SAME, Stance.TOGETHER, Stance.MOVED}  # but for `StanceCounts.speaks_for`
# It may be the same as another or not.
OPEN = frozenset({Stance.IN_DOUBT, Stance.APART, Stance.MASKED, Stance.UNKNOWN})
ANSWERS = OPEN | {Stance.ALONE}  # against it, where the site redirects
DECIDED = FOR | {Stance.OTHER}  # a URL that says this is no question any more

_APART = 2  # paths; one may show the same by chance, twice
_ALL_UNKNOWN = 6  # paths of a part of which nothing else is known, before that is an objection
_READ = 8  # paths that are together, before what the noise may hide is no objection any more
_NONE: Counter[Stance] = Counter()


class StanceCounts:
    """How many paths say what about a rule: on the whole site, and in each part of it.

    A part is the first directory of a path; the whole site is the part "".
    """

    def __init__(self) -> None:
        """Start without paths."""
        self._by_part: dict[str, Counter[Stance]] = {}
        self._evidence: dict[str, Counts] = {}  # what follows from the counts, as it is asked for

    def add(self, path: str, stance: Stance, by: int, *, everywhere: bool = True) -> None:
        """Add to the paths that say something.

        Args:
            path: one that says it, or that says it no more.
            stance: what it says.
            by: 1 or -1.
            everywhere: False to count it for the whole site, and not for its part.
        """
        for part in ("", first_directory(path) or _ROOT) if everywhere else ("",):
            self._by_part.setdefault(part, Counter())[stance] += by
            self._evidence.pop(part, None)
        if stance in {Stance.TOGETHER, Stance.APART}:  # what is masked may count now, in all parts
            self._evidence.clear()

    def add_all(self, other: Self) -> None:
        """Take the larger one of both counts, for each part and stance."""
        for part, counted in other._by_part.items():
            own = self._by_part.setdefault(part, Counter())
            for stance, number in counted.items():
                own[stance] = max(own[stance], number)
        self._evidence.clear()

    def forget_parts(self) -> None:
        """Forget what spoke for parts of the site; what was said of the whole site stays."""
        for part in self._by_part:
            if part:
                for stance in FOR:
                    self._by_part[part].pop(stance, None)
        self._evidence.clear()

    def number(self, stance: Stance, part: str = "") -> int:
        """Return how many paths of the whole site, or of a part of it, say something."""
        return self._by_part.get(part, _NONE).get(stance, 0)

    @property
    def are_read(self) -> bool:
        """True if so many pages were read, and all turned out to be together, that others are, too.

        If it were every fourth page that is another one, nine times of ten one of them would be.
        """
        return not self.number(Stance.APART) and self.number(Stance.TOGETHER) >= _READ

    def speaks_for(self, part: str = "") -> frozenset[Stance]:
        """Return what counts for the rule, on the whole site or in a part of it."""
        return self._not_against(self.against(part))

    def _not_against(self, against: frozenset[Stance]) -> frozenset[Stance]:
        """Return what counts for the rule, if that is known what counts against it."""
        return (FOR | {Stance.MASKED} if self.are_read else FOR) - against

    def against(self, part: str = "") -> frozenset[Stance]:
        """Return what counts against the rule.

        Where the site redirects, that is a page that answers. Where several pages differ from
        others in what does not change when they are asked again, it is each of these. Where most
        pages have the words, or also the numbers, of those that they name, it is one that has
        others: if it were another frame, as of printer pages, all would differ.
        """
        count = self._by_part.get(part, _NONE).get
        found = {Stance.OTHER}
        moved = count(Stance.MOVED, 0)
        if moved > 0 and moved >= sum(count(stance, 0) for stance in FOR) - moved:
            found |= ANSWERS
        if count(Stance.APART, 0) >= _APART:
            found.add(Stance.APART)
        same, numbers = count(Stance.NAMED_SAME, 0), count(Stance.RENUMBERED, 0)
        if same > numbers:
            found.add(Stance.RENUMBERED)
        if same + numbers > count(Stance.REWORDED, 0):
            found.add(Stance.REWORDED)
        return frozenset(found)

    def evidence(self, part: str = "") -> Counts:
        """Return the evidence of the whole site, or of a part of it."""
        found = self._evidence.get(part)
        if found is None:
            found = self._evidence[part] = self._evidence_of(part)
        return found

    def _evidence_of(self, part: str) -> Counts:
        count = self._by_part.get(part, _NONE).get
        against = self.against(part)
        found = self._not_against(against)
        agree = sum(count(stance, 0) for stance in found)
        disagree = sum(count(stance, 0) for stance in against)
        own_word = agree - sum(count(stance, 0) for stance in found & BY_CONTENT)
        return Counts(agree, disagree, own_word, count(Stance.REVERSED, 0))

    def directories(self) -> list[str]:
        """Return the parts of the site in which paths say something: their first directories."""
        return [part for part in self._by_part if part not in {"", _ROOT}]

    def is_unknown(self, part: str = "") -> bool:
        """Return True if nothing speaks for the rule in a part of the site, nor can be known there.

        Args:
            part: that part; "" if it may be any.
        """
        return self.number(Stance.UNKNOWN) >= _ALL_UNKNOWN and any(
            count[Stance.UNKNOWN] >= _ALL_UNKNOWN and not self.evidence(one).agree
            for one, count in self._by_part.items()
            if one and part in {"", one}
        )

    def where_it_holds(self) -> Counts:
        """Return the evidence of the parts of the site in which no more speaks against than for.

        If any of it speaks against the rule, there are exceptions, which no part explains.
        """
        each = (self.evidence(part) for part in self._by_part if part)
        kept = [counts for counts in each if counts.disagree <= counts.agree]
        return Counts(*map(sum, zip(*kept, strict=True))) if kept else Counts()
