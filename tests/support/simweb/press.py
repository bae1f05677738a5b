"""The press web: sites of newspapers with shops, whose texts and habits are not those of the first.

It was made from a description of what sites do, without a look at the first web or at the code that
is tried on it, so it shows what the first one happens not to have.
"""

import random
import re
from collections.abc import Iterator

from support.simweb.presshabits import ADVERSARIES, HONEST, Ground, Named, Row
from support.simweb.presstexts import OFFERS, PressFrame, items, prose, version
from support.simweb.websites import NOTHING, Found, Site, When
from support.simweb.webtexts import Page, number_of

_RELATED = 5  # links of a page
_WALLED = 60  # requests that a wall answers
_TURNS_AT = 445  # the request from which on a host answers otherwise
_WRONG = 20  # one page in so many has a wrong canonical link


def press_sites(seed: int, size: int, *, adversaries: bool) -> Iterator[Site]:
    """Yield the sites, each habit static and dynamic.

    Args:
        seed: the same one always makes the same web, with one version of Python.
        size: pages of each site, without their other names.
        adversaries: False for honest sites only.
    """
    rows = [(row, True) for row in HONEST]
    rows += [(row, False) for row in ADVERSARIES if adversaries]
    for n, (row, honest) in enumerate(rows):
        for dynamic in (False, True):
            name = f"{'press' if honest else 'trick'}{n}{'d' if dynamic else 's'}{seed}.example"
            resolver = _Resolver(row, name, size, dynamic=dynamic)
            frame = PressFrame(name, row.kind, resolver.anchor, dynamic=dynamic)
            fresh = row.fresh
            yield Site(
                row.kind,
                resolver.ground.home,
                resolver,
                resolver.linked,
                frame,
                honest=honest,
                spell=None if fresh is None else resolver.spelled,
            )


class _Resolver:
    """What a site does with a URL."""

    def __init__(self, row: Row, name: str, size: int, *, dynamic: bool) -> None:
        """Make the pages, their names and their links."""
        rng = random.Random(number_of(row.kind, name))
        home = f"http://{name}/"
        self.ground = Ground(home, rng.choice(row.forms), list(items(name, size)), rng)
        self._row = row
        self._dynamic = dynamic
        self._pages = [row.names(self.ground, n) for n in range(size)]
        self._named = {
            named.url: (n, named) for n, page in enumerate(self._pages) for named in page
        }
        self.linked = list(self._named)
        first = [page[0].url for page in self._pages]
        rest = [named.url for page in self._pages for named in page[1:]]
        rng.shuffle(first)
        rng.shuffle(rest)
        marked = [f"{url}#" for url in first] * (row.fresh.links if row.fresh else 0)
        self._front = (*first, *rest, *marked)
        self._related = [rng.sample(range(size), _RELATED) for _ in range(size)]

    def spelled(self, url: str, rng: random.Random) -> str:
        """Return a link as an answer shows it: one with a mark is fresh."""
        fresh = self._row.fresh
        return fresh.spell(url[:-1], rng) if fresh and url.endswith("#") else url

    def anchor(self, url: str) -> str:
        """Return the title of the page that a link leads to."""
        place = self._named.get(self._clean(url))
        return self.ground.items[place[0]].title if place else ""

    def _clean(self, url: str) -> str:
        fresh = self._row.fresh
        return url if fresh is None else fresh.clean(url)

    def __call__(self, url: str, when: When) -> Found:
        """Return what the site does with a URL."""
        home = self.ground.home
        if url == home:
            words = re.split(r"[.:/]", home)[3]
            return Found(home, Page(words, words, (), links=self._front))
        if self._row.kind == "wall" and 1 < when.turn <= _WALLED:
            said = "<p>Please accept our cookies to go on.</p>"
            return Found(None, Page("Cookies", "We value your privacy", (said,)))
        place = self._named.get(self._clean(url))
        if place is None:
            return NOTHING
        n, named = place
        fresh = self._row.fresh
        moved = fresh.moved if fresh is not None and url != named.url else named.moved
        if named.version == "soft":
            chance = random.Random(number_of("soft", url, when.asked))
            said = f"<p>We could not find this page. {prose(chance, 5)}</p>"
            return Found(None, Page("Oops", "Oops", (said,)))
        page = home if named.version == "home" else self._pages[n][0].url
        if moved:
            return Found(page, location=page, status=moved)
        turned = self._row.kind == "turning" and when.turn > _TURNS_AT and url != page
        kind = "other" if turned else named.version
        return Found(page if kind is None else url, self._text(n, named, kind, when))

    def _text(self, n: int, named: Named, kind: str | None, when: When) -> Page:
        """Return the text of a page, with its links."""
        item = self.ground.items[n]
        chance = random.Random(number_of("chance", named.url, when.asked))
        text = Page(item.title, item.title, item.blocks)
        if kind is not None:
            text = version(item, kind, named.url)
        elif self._row.kind in {"offer", "offers"}:
            text = text._replace(blocks=(*text.blocks, f"<p>{chance.choice(OFFERS)}</p>"))
        links = [self._link(other, n + at, chance) for at, other in enumerate(self._related[n])]
        if self._dynamic:
            chance.shuffle(links)
        return text._replace(links=tuple(links), canonical=self._canonical(n))

    def _link(self, other: int, at: int, chance: random.Random) -> str:
        """Return a link to a page by one of its names: the same ones each time on static sites."""
        names = [named.url for named in self._pages[other]]
        names += [f"{names[0]}#"] * (self._row.fresh.links if self._row.fresh else 0)
        return chance.choice(names) if self._dynamic else names[at % len(names)]

    def _canonical(self, n: int) -> str | None:
        """Return the canonical link of a page and of all its versions."""
        kind = self._row.kind
        if kind == "canonical home":
            return self.ground.home
        if kind == "canonical wrong" and n % _WRONG == 3:
            return self._pages[(n + 1) % len(self._pages)][0].url
        is_right = kind in {"canonical", "canonical wrong", "pager, canonical first"}
        return self._pages[n][0].url if is_right else None
