"""Pair the pages of two directories, and count what speaks for it and against it. Pure."""

import math
import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from statistics import mean, median

from canonry.crawler.relations.compared_pages import ComparedPage

LEAST = 5  # pages that agree; fewer say nothing about two directories
_TRUSTED = 9  # pages that agree, for each against, from which on equal paths mean equal pages
_ALIKE = 0.4  # resemblance of two titles of one page
NEAR, FAR = math.log(2), math.log(4)  # most that sizes of one page differ, by their logarithm
_CHANCE = 3.0  # standard deviations that chance hardly reaches
_FEW = 2  # pages with a word that proves nothing in a small directory
_WORD = re.compile(r"[^\s,;:()\[\]|–—-]+")  # noqa: RUF001 - dashes of titles
_NUMBERED = re.compile(r"((?:.*/)?[A-Za-z]*)([0-9]+)([^/0-9][^/]*)")
_MOST = 1 << 62
_RARE = 8  # pages with one title

Title = tuple[str, ...]


class By(Enum):
    """What a pair rests on."""

    CONTENT = "equal content"
    PATH = "path and title"
    TITLE = "title"
    PLACE = "path"
    NUMBER = "number"


class Directory:
    """Pages by the rest of their paths; what most of their titles share is left out."""

    def __init__(self, pages: Mapping[str, ComparedPage]) -> None:
        """Take the pages, by what stands behind the directory in their URLs."""
        self.pages = pages

    def __len__(self) -> int:
        """Return the number of pages."""
        return len(self.pages)

    @cached_property
    def _counts(self) -> Counter[str]:
        """Return in how many titles a word is."""
        words: Counter[str] = Counter()
        for page in self.pages.values():
            words.update(set(_words(page.title)))
        return words

    @property
    def _most(self) -> float:
        """Return in how many titles a word may be that says something about a page."""
        return max(_FEW, len(self.pages) / 2)

    @cached_property
    def subject(self) -> frozenset[str]:
        """Return the words that most titles share, but for numbers: what the pages are about."""
        common = (word for word, pages in self._counts.items() if pages > self._most)
        return frozenset(word for word in common if word.isalpha())

    @cached_property
    def titles(self) -> Mapping[str, Title]:
        """Return the title of each page, without words that most titles have."""
        return {
            rest: tuple(word for word in _words(page.title) if self._counts[word] <= self._most)
            for rest, page in self.pages.items()
        }

    @cached_property
    def titled(self) -> Mapping[Title, list[str]]:
        """Return the pages that have a title."""
        found: defaultdict[Title, list[str]] = defaultdict(list)
        for rest, title in self.titles.items():
            if title:
                found[title].append(rest)
        return found

    @cached_property
    def said(self) -> int:
        """Return how many pages have a title of their own."""
        return sum(map(bool, self.titles.values()))

    def weight(self, word: str) -> float:
        """Return how much it says that a title has a word: its information content."""
        return (
            math.log((1 + len(self.pages)) / (1 + min(self._counts[word], len(self.pages)))) + 1e-9
        )

    @cached_property
    def sizes(self) -> list[float]:
        """Return the sizes of all pages, sorted, as logarithms."""
        return sorted(map(_size, self.pages.values()))


@dataclass(slots=True)
class Pairing:
    """The pages of two directories that belong together.

    Attributes:
        fewest: pages of the smaller one that can be compared.
        pairs: the rest of the path in the second directory, and what the pair rests on, by that in
            the first.
        agree: pairs whose titles or contents agree.
        against: equal paths of pages that have other partners.
        unclear: equal paths whose titles differ, and are found nowhere else.
        deviations: by how many standard deviations sizes are nearer than by chance.
        is_one_subject: False if most titles have words that those of the other directory lack, as
            for two products with the same kinds of pages.
    """

    fewest: int
    pairs: dict[str, tuple[str, By]] = field(default_factory=dict)
    agree: int = 0
    against: int = 0
    unclear: int = 0
    deviations: float = 0.0
    is_one_subject: bool = True

    @property
    def compared(self) -> int:
        """Return how many pages were compared with success or failure."""
        return self.agree + self.against + self.unclear

    @property
    def holds(self) -> bool:
        """True if two directories have the same pages."""
        if not self.is_one_subject:
            return False
        is_most = self.agree >= max(LEAST, self.fewest / 2) and self.agree > 2 * self.unclear
        return is_most and self.deviations >= _CHANCE


def pair(one: Directory, other: Directory) -> Pairing:
    """Compare two directories."""
    found = Pairing(min(one.said, other.said))
    found.is_one_subject = len(one.subject & other.subject) * 2 >= len(one.subject | other.subject)
    weak: list[str] = []
    against: list[str] = []
    for rest in sorted(one.pages.keys() & other.pages.keys()):
        here, there = one.titles[rest], other.titles[rest]
        if by := _agreement(one, other, rest):
            found.pairs[rest] = rest, by
        elif not (here and there) or here == there:
            weak.append(rest)
        elif _is_elsewhere(here, one, other) or _is_elsewhere(there, other, one):
            against.append(rest)
        else:
            found.unclear += 1
            weak.append(rest)
    trusted = _trusted(found.pairs, against)
    placed = {rest for rest in (*weak, *against) if trusted(rest) and _are_near(one, other, rest)}
    taken = found.pairs.keys() | placed
    for title, (rest, *more) in one.titled.items():
        to, *others = other.titled.get(title, (rest, rest))
        if more or others or rest in taken or to in taken:
            continue
        if apart(one.pages[rest], other.pages[to]) <= FAR:
            found.pairs[rest] = to, By.TITLE
    taken |= {to for to, _by in found.pairs.values()}
    found.agree, found.against = sum(bool(one.titles[rest]) for rest in found.pairs), len(against)
    found.deviations = _deviations(one, other, found.pairs.items())
    placed |= {rest for rest in weak if trusted(rest) and rest not in found.pairs}
    for rest in sorted(placed - {to for to, _by in found.pairs.values()}):
        found.pairs[rest] = rest, By.PLACE
    _add_numbered(one, other, found.pairs)
    return found


def _are_near(one: Directory, other: Directory, rest: str) -> bool:
    """Return True if a path is no stub in one of two directories, left where a page has moved."""
    return apart(one.pages[rest], other.pages[rest]) <= FAR


def pair_by_path(one: Directory, other: Directory) -> Pairing:
    """Compare two directories whose words differ: equal paths are pairs, and sizes judge them."""
    found = Pairing(min(len(one), len(other)))
    found.pairs = {rest: (rest, By.PLACE) for rest in one.pages.keys() & other.pages.keys()}
    found.agree = len(found.pairs)
    found.deviations = _deviations(one, other, found.pairs.items())
    return found


def pair_by_title(one: Directory, other: Directory) -> Pairing:
    """Compare two views of the same pages, of which one may lack much: their titles judge them."""
    found = Pairing(min(one.said, other.said))
    for rest in one.pages.keys() & other.pages.keys():
        here, there = one.titles[rest], other.titles[rest]
        found.pairs[rest] = rest, By.PATH
        found.agree += bool(here) and here == there
        found.unclear += bool(here) and here != there
    return found


def _words(title: str | None) -> list[str]:
    return [word.strip(".").casefold() or word for word in _WORD.findall(title or "")]


def _size(page: ComparedPage) -> float:
    return math.log(page.size + 1)


def apart(one: ComparedPage, other: ComparedPage) -> float:
    """Return how far apart the sizes of two pages are: the logarithm of their ratio."""
    return abs(_size(one) - _size(other))


def _agreement(one: Directory, other: Directory, rest: str) -> By | None:
    """Return what says that a path is one page in two directories; None if nothing does."""
    a, b = one.pages[rest], other.pages[rest]
    if a.digest == b.digest and a.size:
        return By.CONTENT
    here, there = one.titles[rest], other.titles[rest]
    if here == there:
        is_own = bool(here) and len(one.titled[here]) == len(other.titled[there]) == 1
        return By.PATH if is_own and apart(a, b) <= FAR else None
    if here and there and apart(a, b) <= NEAR and are_alike(one, other, here, there):
        return None if _is_elsewhere(here, one, other) else By.PATH
    return None


def are_alike(one: Directory, other: Directory, here: Title, there: Title) -> bool:
    """Return True if two titles share most of their words, of which rare ones count more."""
    both = {word: min(one.weight(word), other.weight(word)) for word in {*here, *there}}
    shared = sum(both[word] for word in {*here} & {*there})
    return here == there or shared >= _ALIKE * sum(both.values()) > 0


def _is_elsewhere(title: Title, here: Directory, there: Directory) -> bool:
    """Return True if the title of a page is that of one page in the other directory."""
    return len(here.titled[title]) == 1 and len(there.titled.get(title, ())) == 1


def _trusted(pairs: Mapping[str, tuple[str, By]], against: Iterable[str]) -> Callable[[str], bool]:
    """Return a test: are equal paths equal pages, in a folder of these directories?"""
    for_it = Counter(_folder(rest) for rest, (to, _by) in pairs.items() if rest == to)
    against_it = Counter(map(_folder, against))
    whole = for_it.total() >= _TRUSTED * against_it.total()

    def test(rest: str) -> bool:
        folder = _folder(rest)
        if for_it[folder] + against_it[folder] < LEAST:
            return whole
        return for_it[folder] >= _TRUSTED * against_it[folder]

    return test


def _folder(rest: str) -> str:
    return rest.rpartition("/")[0]


def _deviations(
    one: Directory, other: Directory, pairs: Iterable[tuple[str, tuple[str, By]]]
) -> float:
    """Return by how many standard deviations partners are nearer in size than by chance.

    The rank of a partner among all pages, from 0 to 1, is uniform if its size is any page's. All
    pages of a directory may be longer, as in another language: that does not count.
    """
    known = [(_size(one.pages[rest]), _size(other.pages[to])) for rest, (to, _by) in pairs]
    if not known:
        return 0.0
    longer = median(there - here for here, there in known)
    ranks = []
    for here, there in known:
        size = here + longer
        off = abs(size - there)
        nearer = bisect_left(other.sizes, size + off) - bisect_right(other.sizes, size - off)
        as_near = bisect_right(other.sizes, size + off) - bisect_left(other.sizes, size - off)
        ranks.append((max(nearer, 0) + as_near - 1) / 2 / max(len(other) - 1, 1))
    return (0.5 - mean(ranks)) * math.sqrt(12 * len(ranks))


def _add_numbered(one: Directory, other: Directory, pairs: dict[str, tuple[str, By]]) -> None:
    """Pair files with numbered names whose numbers have shifted as those before and behind them.

    Doxygen's short names (the manual of libstdc++) are numbers, and hundreds of its pages have one
    title.
    """
    shifts: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    for rest, (to, _by) in pairs.items():
        here, there = _NUMBERED.fullmatch(rest), _NUMBERED.fullmatch(to)
        if here and there and here[1] == there[1]:
            shifts[here[1]].append((int(here[2]), int(there[2]) - int(here[2])))
    for known in shifts.values():
        known.sort()
    taken = {to for to, _by in pairs.values()}
    for rest in sorted(one.pages.keys() - pairs.keys()):
        found = _NUMBERED.fullmatch(rest)
        known = shifts[found[1]] if found else []
        if not (found and known):
            continue
        at = bisect_left(known, (int(found[2]), -_MOST))
        by = {shift for _number, shift in known[max(at - 1, 0) : at + 1]}
        title = one.titles[rest]
        if not title or (len(by) > 1 and len(one.titled[title]) > _RARE):
            continue  # neighbours have the same title, and numbers near by
        fits = []
        for shift in by:
            to = f"{found[1]}{str(int(found[2]) + shift).zfill(len(found[2]))}{found[3]}"
            is_free = to in other.pages and to not in taken and title == other.titles[to]
            if is_free and apart(one.pages[rest], other.pages[to]) <= NEAR:
                fits.append(to)
        if len(fits) == 1:
            pairs[rest] = fits[0], By.NUMBER
            taken.add(fits[0])
