"""A simulated web: its sites, its answers, and the log of all requests."""

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple
from urllib.parse import urlsplit

from support.simweb.press import press_sites
from support.simweb.webadversaries import KINDS, adversary
from support.simweb.webmatter import MATTERS, matter_of
from support.simweb.webreturns import returning
from support.simweb.websites import Doubt, Manner, Site, When, honest
from support.simweb.webtexts import number_of

HABITS = (
    "scheme", "www", "prefix", "slashes", "session in path", "session in query", "parameter",
    "parameter beside", "order", "index", "slash off", "slash on", "case",
)  # fmt: skip
_TOGETHER = (
    ("scheme", "www", "slash off"),
    ("www", "parameter", "case"),
    ("scheme", "index", "slash on"),
    ("prefix", "slashes"),
    ("parameter beside", "order"),
    ("www", "slash off", "parameter"),
)
_SIMPLE = ("scheme", "www", "prefix", "parameter", "slash off", "slash on", "case", "index")
_MANNERS = tuple(  # what a static or dynamic site with one habit may do
    (redirects, canonical, deep)
    for redirects, canonical in ((True, True), (False, True), (False, False), (True, False))
    for deep in (False, True)
)
_EXCEPTIONS = (0.002, 0.01, 0.03, 0.1)
_PART = 4  # an adversary has this part of the pages of an honest site
ROBOTS = "/robots.txt"


class Spec(NamedTuple):
    """What a web is made of; the same numbers always make the same web."""

    seed: int = 0
    hosts: int = 44  # honest ones, and not quite honest ones
    resources: int = 400  # of each of them
    big: int = 0  # one more host, with so many resources
    adversaries: bool = True
    press: bool = False  # True: the press web, whose hosts are always the same number
    matter: int = 0  # what pages are made of: the place in `webmatter.MATTERS`, or `EVERY`


class Reply(NamedTuple):
    """An answer to a request."""

    status: int
    body: bytes = b""
    location: str | None = None


class Line(NamedTuple):
    """A line of the log: what was requested, and what it was."""

    time: float
    scheme: str
    host: str
    target: str
    status: int
    resource: str  # "-": there is nothing; "robots": a request for robots.txt
    listed: int  # 1: the URL was linked in an answer before
    shown: int  # URLs that this answer was the first to link, and that were not requested before

    @property
    def url(self) -> str:
        """Return the URL."""
        return f"{self.scheme}://{self.host}{self.target}"


def sites(spec: Spec) -> Iterator[Site]:
    """Yield the sites of a web.

    Each habit has a static and a dynamic host, whose manner of answering changes with the seed;
    the others have several habits, or are not quite honest: one of eleven has exceptions, and one
    of twenty-two each has its habit in some sections only, or changes its mind half-way. A whole
    web has two more: on these, one page has as many names as there are pages.
    """
    if spec.press:
        yield from press_sites(spec.seed, spec.resources, adversaries=spec.adversaries)
        return
    plan = [(habit, (habit,)) for habit in HABITS for _ in "sd"]
    doubts: dict[str, int] = {"exceptions": 4, "mixed": 2, "turning": 2}
    several = max(4, spec.hosts - len(plan) - sum(doubts.values()))
    plan += [("several", _TOGETHER[(spec.seed + n // 2) % len(_TOGETHER)]) for n in range(several)]
    simple = len(_SIMPLE)
    for kind, count in doubts.items():
        chosen = (_SIMPLE[(spec.seed * 3 + n) % simple] for n in range(count))
        plan += [(kind, (habit,)) for habit in chosen]
    rng = random.Random(spec.seed)
    for n, (kind, chosen) in enumerate(plan[: spec.hosts]):
        yield _honest(spec, rng, n, kind, chosen)
    for dynamic in (False, True) if spec.hosts >= len(plan) else ():
        name = f"return{'d' * dynamic}w{spec.seed}.com"
        yield returning(name, spec.resources, dynamic=dynamic)
    if spec.big:
        manner = Manner(redirects=False, dynamic=bool(spec.seed % 2), canonical=True, deep=True)
        yield honest("big", f"big{spec.seed}.com", ("parameter", "slash off"), manner, spec.big)
    if spec.adversaries:
        size = max(40, spec.resources // _PART)
        for kind in KINDS:
            for dynamic in (False, True):
                yield adversary(kind, spec.seed, size, dynamic=dynamic)


def _honest(spec: Spec, rng: random.Random, n: int, kind: str, chosen: tuple[str, ...]) -> Site:
    """Return the n-th honest site of a web, or one that is not quite honest."""
    place = number_of(kind, chosen) + spec.seed + n % 2 * 3
    redirects, canonical, deep = _MANNERS[place % len(_MANNERS)]
    doubt = Doubt()
    if kind == "exceptions":
        doubt = Doubt(exceptions=_EXCEPTIONS[(spec.seed + n) % len(_EXCEPTIONS)])
    elif kind == "mixed":
        doubt = Doubt(mixed=True)
    elif kind == "turning":
        doubt = Doubt(turns_at=rng.randrange(spec.resources, 2 * spec.resources))
    deep = deep and doubt == Doubt() and not any("session" in habit for habit in chosen)
    manner = Manner(redirects, bool(n % 2), canonical, deep)
    return honest(kind, f"site{n}w{spec.seed}.com", chosen, manner, spec.resources, doubt)


class Web:
    """Sites that answer requests, and note them."""

    def __init__(
        self,
        given: list[Site],
        log: Callable[[Line], object],
        seed: int = 0,
        matter: int = 0,
    ) -> None:
        """Start without requests.

        Args:
            given: the sites.
            log: receives a line for each request.
            seed: of tokens, clocks, teasers and fresh links. They also depend on the URL and on how
                often it was requested, but not on the order of other requests.
            matter: what pages are made of, as `Spec.matter`.
        """
        self._matter = {site.home: MATTERS[matter_of(matter, site.home)] for site in given}
        self.sites = given
        self.by_host = {host: site for site in given for host in site.hosts}
        self._log = log
        self._seed = seed
        self._turns: Counter[str] = Counter()  # requests by site
        self._times: Counter[str] = Counter()  # and by URL
        self._shown: dict[str, set[str]] = {site.home: {site.home} for site in given}
        self._requested: dict[str, set[str]] = {site.home: set() for site in given}

    @property
    def seeds(self) -> list[str]:
        """Return the home pages."""
        return [site.home for site in self.sites]

    def answer(self, scheme: str, host: str, target: str) -> Reply:
        """Answer a request, and note it."""
        now = time.time()
        site = self.by_host.get(host)
        if site is None or target == ROBOTS:
            resource = "-" if site is None else "robots"
            self._log(Line(now, scheme, host, target, 404, resource, 0, 0))
            return Reply(404)
        url = f"{scheme}://{host}{target}"
        shown = self._shown[site.home]
        listed = url in shown
        requested = self._requested[site.home]
        requested.add(url)
        self._turns[site.home] += 1
        self._times[url] += 1
        turn, asked = self._turns[site.home], self._times[url]
        found = site.resolve(url, When(turn, asked))
        rng = random.Random(number_of(self._seed, url, asked))
        body, before = b"", len(shown)
        if found.page is not None:
            page = found.page
            if site.spell is not None:
                fresh = tuple(site.spell(link, rng) for link in page.links)
                page = page._replace(links=fresh)
            shown.update(link for link in page.links if link not in requested)
            html = site.frame.html(page, rng).decode()
            body = self._matter[site.home](html).encode()
        more = len(shown) - before
        resource = found.resource or "-"
        self._log(Line(now, scheme, host, target, found.status, resource, int(listed), more))
        return Reply(found.status, body, found.location)

    def answer_url(self, url: str) -> Reply:
        """Answer a request for a URL."""
        parts = urlsplit(url)
        target = parts.path + (f"?{parts.query}" if parts.query else "")
        return self.answer(parts.scheme, parts.netloc, target)
