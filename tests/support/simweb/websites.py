"""A site of a simulated web: its pages, what a URL means there, and the honest ones."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import reduce
from typing import NamedTuple, Protocol

from support.simweb.webhabits import FOLDER, PLAIN, QUERY, Habit, habits
from support.simweb.webtexts import Frame, Page, number_of, own_text, rare_words

SECTIONS = ("docs", "news", "shop", "people", "help", "archive")
_LINKS = 10  # of a page, where the home page does not link everything
_CHAIN = 6  # pages with links to each other, where every link is fresh


class Found(NamedTuple):
    """What a site does with a URL: the resource that it truly means, and the answer."""

    resource: str | None  # None: there is nothing
    page: Page | None = None
    location: str | None = None  # of a redirect
    status: int = 200


class When(NamedTuple):
    """When a URL is requested, in numbers of requests, this one included; 0 if it is not."""

    turn: int = 0  # to the site
    asked: int = 0  # for this URL


NOTHING = Found(None, status=404)
Resolve = Callable[[str, When], Found]


class Framing(Protocol):
    """What the pages of a site have in common."""

    dynamic: bool

    def html(self, page: Page, rng: random.Random) -> bytes:
        """Return a page as HTML; chance makes what changes by itself."""
        ...


@dataclass
class Site:
    """A site: where it begins, what it links, and what its URLs mean.

    Attributes:
        kind: the habit, or the kind of adversary.
        home: the URL of its home page, from which all others can be reached.
        resolve: from a URL and when it is requested to what the site does. The resource does not
            depend on chance; the answer may. Chance depends on the URL and on how often it was
            requested, never on the order of other requests.
        names: URLs that the site links, without fresh ones.
        frame: what its pages have in common.
        spell: turns a link into a fresh one, where each link of each answer is.
        must: resources that have to be fetched; all that `names` mean, by default.
    """

    kind: str
    home: str
    resolve: Resolve
    names: list[str]
    frame: Framing
    honest: bool = True
    spell: Callable[[str, random.Random], str] | None = None
    must: frozenset[str] = frozenset()
    hosts: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        """Compute what follows from the rest."""
        self.hosts = frozenset(url.split("/")[2] for url in (self.home, *self.names))
        if not self.must:
            found = (self.truth(url) for url in self.names)
            self.must = frozenset(resource for resource in found if resource is not None)

    def truth(self, url: str, turn: int = 0) -> str | None:
        """Return the resource that a URL means; None if there is nothing."""
        return self.resolve(url, When(turn)).resource


def by_home(names: list[str], home: str) -> dict[str, list[str]]:
    """Return the links of each page, where the home page links everything."""
    return {home: names}


def by_tree(names: dict[str, list[str]], home: str, rng: random.Random) -> dict[str, list[str]]:
    """Return the links of each page of a deep site: each page links about ten others.

    The first name of each page makes the tree by which everything is reached.
    """
    links: dict[str, list[str]] = {home: []}
    parents = [home]
    pages = list(names)
    for n, page in enumerate(pages):
        links[parents[n // _LINKS]].append(rng.choice(names[page]))
        parents.append(page)
        links[page] = []
    for page, others in names.items():
        for url in (page, *others):
            links[rng.choice(pages)].append(url)
    return links


class Manner(NamedTuple):
    """How an honest site answers the other names of its pages."""

    redirects: bool  # else with the same content
    dynamic: bool
    canonical: bool  # True: pages name themselves by rel=canonical
    deep: bool = False  # True: pages link each other; else the home page links everything


class Doubt(NamedTuple):
    """What is not quite honest about a site."""

    exceptions: float = 0.0  # share of names that are pages of their own
    mixed: bool = False  # True: the habit only holds in half of the sections
    turns_at: int | None = None  # from this request on, every name is a page of its own


def honest(
    kind: str,
    name: str,
    chosen: tuple[str, ...],
    manner: Manner,
    size: int,
    doubt: Doubt = Doubt(),  # noqa: B008 - immutable
) -> Site:
    """Return a site with some habits.

    Args:
        kind: how the judge's table calls it.
        name: its registrable domain.
        chosen: names of habits that go together.
        manner: how it answers.
        size: the number of its resources.
        doubt: what is not quite honest about it.
    """
    rng = random.Random(number_of(kind, name))
    host = f"www.{name}"
    used = [habit for habit in habits(host, rng) if habit.name in chosen]
    shape = rng.choice([s for s in (PLAIN, FOLDER, QUERY) if all(s in h.shapes for h in used)])
    scheme = "https" if "scheme" in chosen else "http"
    home = f"{scheme}://{host}/"
    pages = [home + _path_of(shape, n, rng) for n in range(size)]
    fresh = next((habit for habit in used if habit.is_fresh), None)
    names = {page: _names_of(page, [h for h in used if not h.is_fresh], rng) for page in pages}
    if manner.deep:
        links = by_tree(names, home, rng)
    elif fresh is not None:
        links = _in_chains(pages, home)
    else:
        everything = [url for page, others in names.items() for url in (page, *others)]
        rng.shuffle(everything)
        links = by_home(everything, home)
    return Site(
        kind,
        home,
        _Resolver(home, frozenset(pages), used, links, manner, doubt),
        [url for page, others in names.items() for url in (page, *others)],
        Frame(name, dynamic=manner.dynamic),
        spell=None if fresh is None else fresh.spell,
        must=frozenset(pages) if doubt.turns_at is not None else frozenset(),
    )


def _path_of(shape: str, n: int, rng: random.Random) -> str:
    """Return the path of a page, without the first slash."""
    if shape == QUERY:
        return f"view?cat={rng.randrange(1, 9)}&id={n}"
    first, second = rare_words(rng, 2)
    path = f"{rng.choice(SECTIONS)}/{first}-{second}-{n}"
    return f"{path}/" if shape == FOLDER else path


def _names_of(page: str, used: list[Habit], rng: random.Random) -> list[str]:
    """Return two other names of a page: by one habit each, or sometimes by two at once."""
    found: dict[str, None] = {}
    for _ in range(2 if used else 0):
        first = rng.choice(used)
        url = first.spell(page, rng)
        if len(used) > 1 and rng.random() < 0.3:
            second = rng.choice(used)
            url = second.spell(url, rng) if second is not first else url
        found[url] = None
    found.pop(page, None)
    return list(found)


def _in_chains(pages: list[str], home: str) -> dict[str, list[str]]:
    """Return links without circles: each page links the next two of its chain.

    With a fresh name for each link, circles would have no end: every answer shows new URLs. As it
    is, a crawler that sees nothing fetches the n-th page of a chain 1, 2, 4, 7, 12, 20 times.
    """
    links = {
        page: pages[n + 1 : min(n + 3, n - n % _CHAIN + _CHAIN)] for n, page in enumerate(pages)
    }
    return {home: pages, **links}


class _Resolver:
    """What an honest site does with a URL."""

    def __init__(
        self,
        home: str,
        pages: frozenset[str],
        used: list[Habit],
        links: dict[str, list[str]],
        manner: Manner,
        doubt: Doubt,
    ) -> None:
        self._home = home
        self._pages = pages | {home}
        self._used = used
        self._links = links
        self._manner = manner
        self._doubt = doubt

    def __call__(self, url: str, when: When) -> Found:
        """Return what the site does with a URL."""
        page = reduce(lambda found, habit: habit.clean(found), self._used, url)
        if page not in self._pages:
            return NOTHING
        if page not in {url, self._home} and self._is_own(url, when.turn):
            page = url
        if page != url and self._manner.redirects:
            return Found(page, location=page, status=301)
        text = own_text(self._home, page)
        links = tuple(self._links.get(page, ()))
        canonical = page if self._manner.canonical else None
        return Found(page, text._replace(links=links, canonical=canonical))

    def _is_own(self, url: str, turn: int) -> bool:
        """Return True if another name of a page is a page of its own."""
        doubt = self._doubt
        if doubt.turns_at is not None:
            return turn > doubt.turns_at
        if doubt.mixed:
            return any(f"/{section}/" in url for section in SECTIONS[:3])
        return number_of("own", url) < doubt.exceptions * 2**32
