"""Find directories and hosts that have the same pages: releases, translations and views. Pure."""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from canonry.crawler.admission.scope import registrable
from canonry.crawler.relations.compared_pages import ComparedPage
from canonry.crawler.relations.pairing import (
    LEAST,
    By,
    Directory,
    Pairing,
    pair,
    pair_by_path,
    pair_by_title,
)
from canonry.crawler.relations.version_order import place_of, says_release

_MOST_NAMES = 200  # of one place
_MOST_SETS = 8  # groups that one directory is compared with
_MANY = 9  # views with the title of their page, for each with another one
# ISO 639-1; a path has others of two letters, as /js/ and /go/.
_CODES = (
    "aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy "
    "da de dv dz ee el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu "
    "hy hz ia id ie ig ii ik io is it iu ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb "
    "lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl nn no nr nv ny oc oj om "
    "or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st su sv sw "
    "ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu"
)
_LANGUAGES = frozenset(_CODES.split())
_VIEWS = frozenset({"m", "mobile", "touch", "amp", "print", "printable", "printer"})


class Related(NamedTuple):
    """A page in a family of pages that belong together."""

    name: str  # of its directory or host; "" if it is in none
    page: ComparedPage
    evidence: str


@dataclass(slots=True)
class RelatedSet:
    """Directories that have the same pages, and the families of these."""

    kind: str  # release, translation or view
    families: list[list[Related]] = field(default_factory=list)
    sizes: dict[str, int] = field(default_factory=dict)  # pages, by name
    canonical: str | None = None  # the directory that the pages of others name as canonical
    _latest: dict[str, ComparedPage] = field(default_factory=dict)  # by path
    _here: Directory | None = None  # the same; None: it has changed
    _family_of: dict[int, int] = field(default_factory=dict)  # by URL id

    def compare(self, there: Directory) -> Pairing | None:
        """Compare a directory with what the set has; None if it does not belong to it."""
        judge = pair if self.kind == "release" else pair_by_path
        if self._here is None:
            self._here = Directory(self._latest)
        found = judge(self._here, there)
        return found if found.holds else None

    def add(self, name: str, pages: Mapping[str, ComparedPage], found: Pairing | None) -> None:
        """Add a directory; its pages join the families of those that they belong to."""
        self.sizes[name] = len(pages)
        came = {to: (rest, by) for rest, (to, by) in found.pairs.items()} if found else {}
        for to, page in pages.items():
            rest, by = came.get(to, (to, None))
            if by is None:
                number = self._family_of[page.url_id] = len(self.families)
                self.families.append([])
            else:
                number = self._family_of[page.url_id] = self._family_of[self._latest[rest].url_id]
            evidence = said(found, by) if found and by else ""
            self.families[number].append(Related(name, page, evidence))
        for rest, (to, _by) in found.pairs.items() if found else ():
            if rest != to:
                del self._latest[rest]
        self._latest.update(pages)
        self._here = None

    def note_canonical(self) -> None:
        """Note the directory that most pages outside of it name as canonical."""
        name_of = {one.page.url: one.name for family in self.families for one in family}
        named: Counter[str] = Counter()
        for family in self.families:
            for one in family:
                name = name_of.get(one.page.canonical or "", one.name)
                if name != one.name:
                    named[name] += 1
        for name, times in named.most_common(1):
            if times * 2 >= sum(self.sizes.values()) - self.sizes[name]:
                self.canonical = name


def said(found: Pairing, by: By) -> str:
    """Return the evidence for a pair in words."""
    against = f", {found.against:,} have other partners" if found.against else ""
    unclear = f", {found.unclear:,} are unclear" if found.unclear else ""
    return f"{found.agree:,} of {found.compared:,} pages agree{against}{unclear}; by {by.value}"


def related_sets(pages: Sequence[ComparedPage]) -> Iterator[RelatedSet]:
    """Yield the sets of directories and hosts that have the same pages, the largest first."""
    found = [*_releases_and_translations(pages), *_views(pages)]
    for one in found:
        one.note_canonical()
    yield from sorted(found, key=lambda one: -sum(one.sizes.values()))


def _releases_and_translations(pages: Sequence[ComparedPage]) -> Iterator[RelatedSet]:
    """Yield sets of directories, and of hosts of one domain, whose names differ."""
    places: defaultdict[tuple[str, str], defaultdict[str, dict[str, ComparedPage]]]
    places = defaultdict(lambda: defaultdict(dict))
    for page in pages:
        for before, name, rest in _names_in(page):
            if kind := _kind_of(name):
                places[kind, before][name][rest] = page
    below = _Below(pages)
    for (kind, before), directories in sorted(places.items()):
        large = {name: found for name, found in directories.items() if len(found) >= LEAST}
        most = min(_MOST_NAMES, max(map(len, large.values()), default=0))
        if large and len(large) <= most:  # more directories than pages in one are a catalogue
            around = below.pages(before, large) if before.endswith("/") else {}
            yield from _sets(kind, large, around)


def _names_in(page: ComparedPage) -> Iterator[tuple[str, str, str]]:
    """Yield what may name a release or a language in a URL: a part of its host, a directory."""
    host, _, port = page.host.partition(":")
    domain = registrable(host)
    if host != domain:
        name = host.removesuffix(f".{domain}")
        yield f"{domain}:{port}", name, page.path
    yield from page.directories()


def _kind_of(name: str) -> str:
    language, _, region = name.lower().replace("_", "-").partition("-")
    if language in _LANGUAGES and len(region) <= len("hant"):
        return "translation"
    return "release" if name and says_release(name) else ""


class _Below:
    """The pages below a directory, apart from some of its directories."""

    def __init__(self, pages: Iterable[ComparedPage]) -> None:
        self._pages = sorted((f"{page.host}/{page.path}", page) for page in pages)

    def pages(self, before: str, names: Iterable[str]) -> dict[str, ComparedPage]:
        """Return the pages by the rest of their paths."""
        apart = tuple(f"{name}/" for name in names)
        found = {}
        for at in range(bisect_left(self._pages, (before,)), len(self._pages)):
            where, page = self._pages[at]
            if not where.startswith(before):
                break
            rest = where[len(before) :]
            if not rest.startswith(apart):
                found[rest] = page
        return found


def _sets(
    kind: str, directories: Mapping[str, dict[str, ComparedPage]], around: dict[str, ComparedPage]
) -> Iterator[RelatedSet]:
    """Yield the sets of directories of one place that belong together."""
    order = sorted(directories, key=lambda name: place_of(name, directories))
    sets: list[RelatedSet] = []
    named = [(name, directories[name]) for name in order]
    if len(around) >= LEAST:
        named.append(("", around))
    for name, pages in named:
        there = Directory(pages)
        for one in reversed(sets[-_MOST_SETS:]):
            if (found := one.compare(there)) is not None:
                one.add(name, pages, found)
                break
        else:
            if name:
                sets.append(RelatedSet(kind))
                sets[-1].add(name, pages, None)
    yield from (one for one in sets if len(one.sizes) > 1)


def _views(pages: Sequence[ComparedPage]) -> Iterator[RelatedSet]:
    """Yield the pages that a host or a directory for phones or printers has once more."""
    by_url = {page.url.partition("://")[2]: page for page in pages}
    views: defaultdict[tuple[str, str], dict[str, ComparedPage]] = defaultdict(dict)
    for page in pages:
        for view, where, url in _without_view(page):
            plain = next((u for u in (url, f"www.{url}") if u in by_url), None)
            if plain is not None and by_url[plain] is not page:
                views[view, where][plain] = page
    for (view, _where), found in views.items():
        plain_pages = {url: by_url[url] for url in found}
        pairing = pair_by_title(Directory(plain_pages), Directory(found))
        if pairing.agree >= LEAST and pairing.agree >= _MANY * pairing.unclear:
            one = RelatedSet("view")
            one.add("", plain_pages, None)
            one.add(view, found, pairing)
            yield one


def _without_view(page: ComparedPage) -> Iterator[tuple[str, str, str]]:
    """Yield the views in a URL, each with its place, and the URL without it."""
    first, _, domain = page.host.partition(".")
    if first in _VIEWS:
        yield first, page.host, f"{domain}/{page.path}"
    for before, name, rest in page.directories():
        if name in _VIEWS:
            yield name, before, f"{before}{rest}"
