"""Where pages went: what has gone and what is new, paired by content and titles. Pure.

A page has gone if a recrawl asked for it and did not get it, and is new if it was found after that
page's last answer. A directory that moved shows in the pairs, and leads to its other pages.
"""

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice, takewhile
from typing import NamedTuple

from canonry.canon.learned import without_port
from canonry.crawler.admission.scope import registrable
from canonry.crawler.relations.compared_pages import ComparedPage
from canonry.crawler.relations.pairing import FAR, NEAR, By, Directory, apart, are_alike

_LEAST = 3  # pages that moved alike, from which on their directory did
_EXCEPT = 5  # pages that moved alike, for each without a new place, or with another one
_DEPTH = 3  # directories of a path that may have moved apart from those around
_WORDS = 2  # of a title that is evidence without the name of its file
_END = re.compile(r"(?:/(?:index\.[a-z]+)?|\.[a-z][a-z0-9]{1,4})?\Z", re.IGNORECASE)

Pages = Mapping[str, ComparedPage]  # by URL without scheme


class MovePattern(NamedTuple):
    """What is alike in the moves of a directory: ``h.example/doc/*.html`` is ``h.example/docs/*``.

    Attributes:
        old: what stands before the part that stays, with the host.
        old_end: what stands behind it.
        new: what stands before it in the new URL.
        new_end: what stands behind it there.
    """

    old: str
    old_end: str
    new: str
    new_end: str

    def target(self, name: str) -> str | None:
        """Return where a URL without its scheme leads; None if it is none of the pattern."""
        stays = name.removeprefix(self.old).removesuffix(self.old_end)
        if not stays or self.old + stays + self.old_end != name:
            return None
        if self.old_end != self.new_end and (_end_of(name) != self.old_end or "?" in stays):
            return None
        return self.new + stays + self.new_end

    def __str__(self) -> str:
        """Return it for people."""
        return f"{self.old}*{self.old_end} -> {self.new}*{self.new_end}"


class MovedPage(NamedTuple):
    """A page that has gone, and the new one that it is."""

    page: ComparedPage
    to: ComparedPage
    by: By
    doubt: str  # "": none
    pattern: MovePattern | None = None


class MovedPages(NamedTuple):
    """Where pages went."""

    moved: Sequence[MovedPage]
    gone: Sequence[ComparedPage]  # without a new place


def moved_pages(went: Iterable[ComparedPage], living: Sequence[ComparedPage]) -> MovedPages:
    """Find out where pages went, within the hosts of their registrable domain.

    Args:
        went: pages that have gone, as they were.
        living: all pages of the store that answer.
    """
    lost: defaultdict[str, dict[str, ComparedPage]] = defaultdict(dict)
    for page in went:
        lost[_domain(page)][page.name] = page
    moved: list[MovedPage] = []
    gone: list[ComparedPage] = []
    for domain, pages in lost.items():
        here = {page.name: page for page in living if _domain(page) == domain}
        seen = min(page.fetched_at for page in pages.values())
        new = {name: page for name, page in here.items() if page.found_at > seen}
        old = Directory({name: page for name, page in here.items() if name not in new} | pages)
        now = Directory(here)
        found = _by_content(pages, new)
        found |= _by_title(pages, new, old, now, found)
        patterns = list(_patterns(found, pages, here, new))
        for name, one in _by_pattern(patterns, pages, new, found).items():
            is_alike = are_alike(old, now, old.titles[name], now.titles[one.to.name])
            found[name] = one if is_alike else one._replace(doubt="its title is another one")
        for name, one in found.items():
            fits = (p for p in patterns if p.target(name) == one.to.name)
            moved.append(one._replace(pattern=next(fits, None)))
        gone += (page for name, page in pages.items() if name not in found)
    return MovedPages(moved, gone)


def _domain(page: ComparedPage) -> str:
    return registrable(without_port(page.host))


def _by_content(pages: Pages, new: Pages) -> dict[str, MovedPage]:
    """Pair pages with equal bodies, of which there is one each."""
    before = Counter(page.digest for page in pages.values())
    after: defaultdict[bytes, list[ComparedPage]] = defaultdict(list)
    for page in new.values():
        after[page.digest].append(page)
    return {
        name: MovedPage(page, after[page.digest][0], By.CONTENT, "")
        for name, page in pages.items()
        if page.size and before[page.digest] == len(after[page.digest]) == 1
    }


def _by_title(
    pages: Pages, new: Pages, old: Directory, now: Directory, found: Mapping[str, MovedPage]
) -> dict[str, MovedPage]:
    """Pair pages with a title that one page of the old site and one of the new site has.

    The title of a page that stayed is no sign of a move.
    """
    taken = {one.to.name for one in found.values()}
    pairs = {}
    for title, names in old.titled.items():
        others = now.titled.get(title, ())
        name, to = names[0], (*others, "")[0]
        if len(names) != 1 or len(others) != 1 or to not in new or to in taken:
            continue
        if name not in pages or name in found or apart(pages[name], new[to]) > FAR:
            continue
        has_name, is_near = _stem(name) == _stem(to), apart(pages[name], new[to]) <= NEAR
        words = sum(any(map(str.isalpha, word)) for word in title)  # not "53.1. Overview"
        if has_name or words >= _WORDS:
            doubt = "" if has_name else "its file has another name"
            if not is_near:
                doubt += "; its size is another one" if doubt else "its size is another one"
            pairs[name] = MovedPage(pages[name], new[to], By.TITLE, doubt)
    return pairs


def _end_of(name: str) -> str:
    found = _END.search(name)
    return found[0] if found else ""


def _stem(name: str) -> str:
    """Return the last segment of a URL, without its end."""
    return name.removesuffix(_end_of(name)).rpartition("/")[2]


def _patterns_of(name: str, to: str) -> Iterator[MovePattern]:
    """Yield the patterns of a move in which the end of the path stays: first the widest one."""
    old_end, new_end = _end_of(name), _end_of(to)
    old, new = (n.removesuffix(e).split("/") for n, e in ((name, old_end), (to, new_end)))
    same = 0
    while same < min(len(old), len(new)) - 1 and old[-1 - same] == new[-1 - same]:
        same += 1
    if not old[-1]:
        return
    if old_end == new_end and "?" not in name:
        old_end = new_end = ""
    for kept in range(same, max(same - _DEPTH, 0), -1):
        before, behind = ("/".join([*parts[:-kept], ""]) for parts in (old, new))
        yield MovePattern(before, old_end, behind, new_end)


def _patterns(
    found: Mapping[str, MovedPage], pages: Pages, here: Pages, new: Pages
) -> Iterator[MovePattern]:
    """Yield the patterns of directories that moved, which little contradicts; wide ones first."""
    counts = Counter(p for name, one in found.items() for p in _patterns_of(name, one.to.name))
    counts = Counter({pattern: times for pattern, times in counts.items() if times >= _LEAST})
    left, lost, alive = set(pages), sorted(pages), sorted(here)
    for pattern, times in sorted(counts.items(), key=lambda one: (one[0].old.count("/"), one[0])):
        leads = {n: to for n in _below(lost, pattern) if (to := pattern.target(n)) is not None}
        if len(left & leads.keys()) < _LEAST:
            continue
        against = sum(name in found and found[name].to.name != to for name, to in leads.items())
        missed = sum(to not in new and name not in found for name, to in leads.items())
        stays = any(pattern.target(name) is not None for name in _below(alive, pattern))
        if not stays and times >= _EXCEPT * (against + missed):
            left -= leads.keys()
            yield pattern


def _below(names: Sequence[str], pattern: MovePattern) -> Iterator[str]:
    """Yield the sorted names that begin as those of a pattern."""
    below = islice(names, bisect_left(names, pattern.old), None)
    return takewhile(lambda name: name.startswith(pattern.old), below)


def _by_pattern(
    patterns: Collection[MovePattern], pages: Pages, new: Pages, found: Mapping[str, MovedPage]
) -> dict[str, MovedPage]:
    """Map the other pages of directories that moved, where there is a page."""
    taken = {one.to.name for one in found.values()}
    pairs = {}
    for pattern in patterns:
        for name, page in pages.items():
            to = pattern.target(name)
            if to is None or name in found or name in pairs or to not in new or to in taken:
                continue
            pairs[name] = MovedPage(page, new[to], By.PLACE, "")
            taken.add(to)
    return pairs
