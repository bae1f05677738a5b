"""Sites with their truth at each moment: which page a URL selects, and what is answered instead.

A site has pages that are made, edited and deleted, names of them that change with the years, and
accidents that last some nights. All of it follows from one seed.
"""

import asyncio
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Literal, NamedTuple, TypeAlias
from urllib.parse import parse_qsl, urlencode, urlsplit

from aiohttp import web
from support.made_pages import WORDS

_LENGTH = 90  # words of a page's own text
_CALENDAR = 100_000  # numbers of its pages begin here
_DAYS = 100  # of a calendar

Accident: TypeAlias = Literal[
    "down",  # no connection
    "unavailable",  # 503
    "slow",  # an answer takes some seconds
    "robots closed",  # for all
    "robots broken",  # 500
    "gone",  # 404 for all
    "to home",  # 302 to the home page, for all others
    "error page",  # 200, one page of an error, for all items
    "consent",  # 200, one page that asks for consent, for the whole host
    "parked",  # 200 for all, one page of links to names that are new each time
    "log-in",  # 302 to a page with a form, for all items
    "swapped",  # an item has the text of another one
    "canonical home",  # all pages name the home page as canonical
]
ACCIDENTS: tuple[Accident, ...] = Accident.__args__
# Of these, pages cannot be seen; those that were known stay known.
OUTAGES = {*ACCIDENTS} - {"slow", "swapped", "canonical home"}


class Span(NamedTuple):
    """Some nights."""

    first: int
    last: int

    def __contains__(self, night: object) -> bool:
        """Return True if a night is one of them."""
        return isinstance(night, int) and self.first <= night <= self.last


NEVER = Span(1, 0)
ALWAYS = Span(0, 10_000)


class Parameter(NamedTuple):
    """A parameter of the links to items."""

    name: str
    values: tuple[str, ...]  # of links; () for a session's: another one for each page that links
    nights: Span  # when it is in links
    selects: Span  # when its last value selects another page


class Resource(NamedTuple):
    """What a URL selects: a page, in one language."""

    number: int  # 0: the home page
    variant: str = ""


class Moved(NamedTuple):
    """A redirect."""

    url: str
    status: int = 301


@dataclass
class Site:
    """A site.

    Attributes:
        host: its name.
        seed: of its texts.
        pages: when each page lives, by its number.
        edits: nights from which a page has another text, by its number.
        merged: when a page is a part of another one, to which it redirects then, by its number.
        styles: from which night items have which directory; earlier names redirect for `kept`.
        slashes: from which night the names of items end with a slash; the others redirect.
        secure: from which night it is on https; http redirects then.
        parameters: of links to items.
        accidents: what happens, and when.
        mirror: nights on which /copy/ has the same pages; later, it has others.
        tokens: True if each answer has a text of its own, as a number of visitors.
        shown: what each answer showed; None: no page, but what stands in its place.
        night: which one it is now.
    """

    host: str
    seed: str
    pages: dict[int, Span] = field(default_factory=dict)
    edits: dict[int, list[int]] = field(default_factory=dict)
    merged: dict[int, tuple[Span, int]] = field(default_factory=dict)
    styles: list[tuple[int, str]] = field(default_factory=lambda: [(0, "item")])
    kept: int = 30
    slashes: list[tuple[int, bool]] = field(default_factory=lambda: [(0, False)])
    secure: int = 1_000
    parameters: list[Parameter] = field(default_factory=list)
    accidents: list[tuple[Accident, Span]] = field(default_factory=list)
    mirror: Span = NEVER
    calendar: Span = NEVER  # nights on which days are linked that are no page of the truth
    tokens: bool = False
    night: int = 0
    requests: list[tuple[float, str]] = field(default_factory=list)
    shown: dict[bytes, Resource | None] = field(default_factory=dict)  # by the digests of bodies

    # The truth

    def living(self) -> set[Resource]:
        """Return the resources that live tonight, and are linked."""
        night = self.night
        variants = {""}
        for one in self.parameters:
            if night in one.selects and night in one.nights:
                variants.add(one.values[-1])
        if self._is_mirrored and night not in self.mirror:
            variants.add("copy")
        numbers = self._numbers()
        return {Resource(0)} | {Resource(n, variant) for n in numbers for variant in variants}

    @property
    def _is_mirrored(self) -> bool:
        return self.mirror is not NEVER and self.mirror.first <= self.night

    def _numbers(self) -> list[int]:
        """Return the numbers of the pages that live tonight, and are none of another's parts."""
        parts = {number for number, (nights, _) in self.merged.items() if self.night in nights}
        return [n for n, span in self.pages.items() if self.night in span and n not in parts]

    def select(self, url: str) -> Resource | Moved | None:
        """Return what a URL selects tonight, were there no accidents; None: nothing."""
        parts = urlsplit(url)
        if self.night >= self.secure and parts.scheme == "http":
            return Moved(parts._replace(scheme="https").geturl())
        if parts.path == "/":
            return Resource(0)
        names = parts.path.strip("/").split("/")
        if len(names) != 2 or not names[1].isdecimal():
            return None
        number = int(names[1])
        if names[0] == "copy" and self._is_mirrored:
            variant = "" if self.night in self.mirror else "copy"
            return Resource(number, variant) if number in self._numbers() else None
        styles = [(start, style) for start, style in self.styles if start <= self.night]
        if names[0] not in {style for _, style in styles}:
            return None
        if self.night not in self.pages.get(number, NEVER):
            return None
        nights, whole = self.merged.get(number, (NEVER, number))
        now = self._path(whole if self.night in nights else number)
        if names[0] != styles[-1][1] and styles[-1][0] + self.kept <= self.night:
            return None
        if parts.path != now:
            return Moved(parts._replace(path=now).geturl())
        given = dict(parse_qsl(parts.query))
        variant = ""
        for one in self.parameters:
            chosen = self.night in one.selects and given.get(one.name) == one.values[-1]
            variant = one.values[-1] if chosen else variant
        return Resource(number, variant)

    def selectors(self, url: str) -> frozenset[tuple[str, str]]:
        """Return what a URL gives to the parameters that select something tonight; the mirror."""
        parts = urlsplit(url)
        names = {one.name for one in self.parameters if self.night in one.selects}
        mirror = ("", "copy") if parts.path.startswith("/copy/") else ("", "")
        return frozenset([mirror, *(pair for pair in parse_qsl(parts.query) if pair[0] in names)])

    def resolve(self, url: str) -> Resource | None:
        """Return what a URL leads to tonight."""
        for _hop in range(5):
            found = self.select(url)
            if not isinstance(found, Moved):
                return found
            url = found.url
        return None

    def has(self, *accidents: Accident) -> bool:
        """Return True if one of these happens tonight."""
        return any(one in accidents and self.night in span for one, span in self.accidents)

    @property
    def is_out(self) -> bool:
        """True if some of its pages cannot be seen tonight."""
        return self.has(*OUTAGES)

    @property
    def seems_gone(self) -> bool:
        """True if its pages are gone for the second night: by now, that is believed."""
        gone = {"gone", "to home", "log-in"}
        return any(one in gone and span.first < self.night in span for one, span in self.accidents)

    # What it answers

    def _path(self, number: int) -> str:
        style = [style for start, style in self.styles if start <= self.night][-1]
        slash = [slash for start, slash in self.slashes if start <= self.night][-1]
        return f"/{style}/{number}{'/' if slash else ''}"

    def links(self, here: int) -> Iterator[str]:
        """Yield the links on a page: the home page has all, an item a few others."""
        numbers = self._numbers()
        chosen = random.Random(f"{self.seed}/{here}/links")
        if here:
            numbers = chosen.sample(numbers, min(3, len(numbers)))
        for number in numbers:
            names: list[dict[str, str]] = [{}]
            for one in self.parameters:
                if self.night in one.nights:
                    values = one.values or (f"{chosen.getrandbits(40) + self.night:x}",)
                    taken = values if not here else [chosen.choice(values)]
                    names = [{**name, one.name: value} for name in names for value in taken]
            if self._is_mirrored and not here:
                yield f"/copy/{number}"
            for name in names:
                yield self._path(number) + (f"?{urlencode(name)}" if name else "")

    def _text(self, resource: Resource) -> str:
        """Return a page's own text, and that of its parts."""
        parts = [
            n
            for n, (nights, to) in self.merged.items()
            if (resource.number, True) == (to, self.night in nights)
        ]
        return " ".join(self._words(resource._replace(number=n)) for n in (resource.number, *parts))

    def _words(self, resource: Resource) -> str:
        edition = sum(start <= self.night for start in self.edits.get(resource.number, []))
        chosen = random.Random(f"{self.seed}/{resource.number}/{resource.variant}/{edition}")
        words = chosen.choices(WORDS, k=_LENGTH)
        return " ".join(f"{word}{chosen.randrange(10_000)}" for word in words)

    async def answer(self, url: str, now: float, chance: random.Random) -> web.Response:
        """Answer a request."""
        self.requests.append((now, url))
        path = urlsplit(url).path
        if path == "/robots.txt":
            return self._robots()
        if self.has("unavailable"):
            return web.Response(status=503)
        if self.has("gone"):
            return web.Response(status=404)
        if self.has("slow"):
            await asyncio.sleep(chance.uniform(2, 20))
        if self.has("consent"):
            return self._instead("Your privacy", "We and our partners need your consent " * 9)
        if self.has("parked"):
            links = "".join(f'<a href="/for/{chance.getrandbits(40):x}">cheap</a> ' for _ in "123")
            return self._instead("This domain is for sale", f"Related searches {links}" * 3)
        found = self.select(url)
        if self.has("to home") and path != "/":
            found = Moved(f"{url.split('://', maxsplit=1)[0]}://{self.host}/", 302)
        if path == "/login":
            return self._instead("Log in", "<form><input type=password></form> Please log in")
        if self.has("log-in") and path != "/":
            found = Moved(f"{url.split('://', maxsplit=1)[0]}://{self.host}/login", 302)
        if self.has("error page") and path != "/":
            return self._instead("Error", "Something went wrong, please try again later " * 9)
        if isinstance(found, Moved):
            return web.Response(status=found.status, headers={"Location": found.url})
        if found is None:
            return self._day(path) or web.Response(status=404, text="not found")
        return self._page(found, chance)

    def _robots(self) -> web.Response:
        if self.has("robots broken", "unavailable"):
            return web.Response(status=500)
        if self.has("robots closed"):
            return web.Response(text="User-agent: *\nDisallow: /\n")
        return web.Response(status=404)

    def _day(self, path: str) -> web.Response | None:
        """Return a day of the calendar, which has no end while it is open."""
        name, _, day = path.strip("/").partition("/")
        if name != "day" or not day.isdecimal() or self.night not in self.calendar:
            return None
        days = [int(day) + n for n in (1, 2, 3) if int(day) + n <= _DAYS]
        more = "".join(f'<a href="/day/{later}">later</a>' for later in days)
        body = f"<title>{day}</title><p>Day {day}: nothing</p>{more}"
        return self._send(body, Resource(_CALENDAR + int(day)))

    def _instead(self, title: str, text: str) -> web.Response:
        return self._send(f"<title>{title}</title><h1>{title}</h1><p>{text}</p>", None)

    def _page(self, found: Resource, chance: random.Random) -> web.Response:
        if self.has("swapped") and found.number:
            numbers = sorted(self._numbers())
            after = numbers[(numbers.index(found.number) + 1) % len(numbers)]
            found = found._replace(number=after)
        words = self._text(found)
        links = "".join(f'<a href="{link}">{link}</a> ' for link in self.links(found.number))
        if not found.number and self.night in self.calendar:
            links += '<a href="/day/1">calendar</a>'
        if self.has("canonical home"):
            links += '<link rel="canonical" href="/">'
        token = f"<p>{chance.random()}</p>" if self.tokens else ""
        title = f"{self.host} {found.number}{found.variant}"
        body = f"<title>{title}</title><nav>{links}</nav><p>{words}</p>{token}"
        return self._send(body, found)

    def _send(self, body: str, shown: Resource | None) -> web.Response:
        data = body.encode()
        self.shown[blake2b(data, digest_size=16).digest()] = shown
        return web.Response(body=data, content_type="text/html")


def quiet_site(pages: int, **more: Any) -> Site:  # noqa: ANN401 - as a site takes them
    """Return a site whose pages live always; all else is as given."""
    return Site("site.example", "text", dict.fromkeys(range(1, pages + 1), ALWAYS), **more)
