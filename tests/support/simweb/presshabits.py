"""Habits of the hosts of the press web: which URLs a page has, and what each of them truly is."""

import random
import re
import string
from collections.abc import Callable
from typing import NamedTuple

from support.simweb.presstexts import SECTIONS, Item, slug, title

FORMS = ("folder", "html", "flat", "php")  # of the URLs of pages
_SLASHY = ("folder", "flat")  # forms that may have a slash behind them
_HEX = "0123456789abcdef"
_CAMEL = re.compile(r"(?<=[-/])[a-z]")


class Named(NamedTuple):
    """A URL that the site links, and what it is."""

    url: str
    version: str | None = (
        None  # kind of another page that resembles the first; None: it is the first
    )
    moved: int = 0  # status, if it redirects to the page


class Ground(NamedTuple):
    """Where the pages of a site are."""

    home: str
    form: str
    items: list[Item]
    rng: random.Random

    def url(self, n: int) -> str:
        """Return the URL of the n-th page, without a slash at its end."""
        item = self.items[n]
        name = slug(item.title) or "untitled"
        return (
            self.home
            + {
                "folder": f"{item.section}/{name}-{n}",
                "html": f"{item.section}/{name}-{n}.html",
                "flat": f"{name}-{n}",
                "php": f"{item.section}/view.php?id={1000 + 7 * n}",
            }[self.form]
        )

    def chance(self, one_in: int) -> bool:
        """Return True for one page of so many."""
        return self.rng.randrange(one_in) == 0


Names = Callable[[Ground, int], list[Named]]


class Fresh(NamedTuple):
    """A name that is another one in each link of each answer."""

    spell: Callable[[str, random.Random], str]
    clean: Callable[[str], str]
    links: int = 1  # on the home page, of each page
    moved: int = 0  # status, if it redirects to the page


class Row(NamedTuple):
    """A habit, or a kind of adversary."""

    kind: str
    names: Names  # the first one is the page
    forms: tuple[str, ...] = FORMS
    fresh: Fresh | None = None


def _with(url: str, field: str) -> str:
    return f"{url}{'&' if '?' in url else '?'}{field}"


def _ends(first: str, second: str, moved: int = 0) -> Names:
    """Return names that differ in what is behind the path."""
    return lambda site, n: [Named(site.url(n) + first), Named(site.url(n) + second, moved=moved)]


def _beside(*fields: Callable[[random.Random], str]) -> Names:
    """Return a page's URL, and others with parameters."""

    def names(site: Ground, n: int) -> list[Named]:
        url = site.url(n)
        found = dict.fromkeys(_with(url, field(site.rng)) for field in fields)
        return [Named(url), *map(Named, found)]

    return names


def _versions(name: str, values: tuple[str, ...], kind: str, one_in: int = 1) -> Names:
    """Return a page's URL, and two with a parameter that makes other pages, on one page of some."""

    def names(site: Ground, n: int) -> list[Named]:
        url = site.url(n)
        version = kind if site.chance(one_in) else None
        chosen = site.rng.sample(values, 2)
        return [Named(url), *(Named(_with(url, f"{name}={v}"), version) for v in chosen)]

    return names


def _some(change: Callable[[str], str], kind: str, one_in: int, first: str = "") -> Names:
    """Return a page's URL, and one that is another page on one page of some."""

    def names(site: Ground, n: int) -> list[Named]:
        url = site.url(n)
        return [Named(url + first), Named(change(url), kind if site.chance(one_in) else None)]

    return names


def _changed(change: Callable[[str], str]) -> Names:
    """Return a page's URL, and another one of it."""
    return lambda site, n: [Named(site.url(n)), Named(change(site.url(n)))]


def _on(host: str) -> Callable[[str], str]:
    return lambda url: url.replace("://", f"://{host}.", 1)


def _below(folder: str) -> Callable[[str], str]:
    """Return what puts a folder before a path; it may be empty, for a second slash."""
    return lambda url: re.sub(r"(?<=[^:/])/", f"/{folder}/", url, count=1)


def _in_camel_case(url: str) -> str:
    start = url.index("/", len("http://"))
    bare, mark, query = url[start:].partition("?")
    return url[:start] + _CAMEL.sub(lambda found: found[0].upper(), bare) + mark + query


def _ordered(count: int) -> Names:
    """Return a page's URL with three parameters in several orders."""

    def names(site: Ground, n: int) -> list[Named]:
        section = site.items[n].section
        fields = [f"cat={section}", f"id={n}", "fmt=std"][:count]
        found: dict[str, None] = {}
        while len(found) < 2:
            site.rng.shuffle(fields)
            found[f"{site.home}{section}/item.php?{'&'.join(fields)}"] = None
        return list(map(Named, found))

    return names


def _slugs(moved: int) -> Names:
    """Return a URL of which only the number counts."""

    def names(site: Ground, n: int) -> list[Named]:
        start = f"{site.home}{site.items[n].section}/{5000 + n}-"
        right, other = slug(site.items[n].title) or "untitled", slug(title(site.rng, 3))
        return [Named(start + right), Named(start + other, moved=moved)]

    return names


def _default_page(site: Ground, n: int) -> list[Named]:
    """Let `page=1` be the page itself; lists have a second and a third page."""
    url = site.url(n)
    found = [Named(url), Named(_with(url, "page=1"))]
    if site.items[n].kind == "list":
        found += [Named(_with(url, f"page={part}"), "part") for part in (2, 3)]
    return found


def _in_some_sections(site: Ground, n: int) -> list[Named]:
    """Redirect to the slash in some sections; in the others both answer."""
    url = site.url(n)
    return [Named(f"{url}/"), Named(url, moved=301 * (site.items[n].section in {"news", "shop"}))]


def _several(site: Ground, n: int) -> list[Named]:
    url = site.url(n)
    ref = f"{url}/?ref={site.rng.choice('abc')}"
    return [
        Named(f"{url}/"),
        Named(url, moved=301),
        Named(ref),
        Named(_on("www")(f"{url}/"), moved=301),
    ]


def _session(name: str, letters: str, size: int, links: int = 1, moved: int = 0) -> Fresh:
    """Return a fresh parameter."""
    pattern = re.compile(rf"([?&]){name}=[{letters}]{{{size}}}$")
    return Fresh(
        lambda url, rng: _with(url, f"{name}={_token(rng, letters, size)}"),
        lambda url: pattern.sub("", url),
        links,
        moved,
    )


def _token(rng: random.Random, letters: str, size: int) -> str:
    return "".join(rng.choices(letters, k=size))


_BEHIND_PATH = re.compile(r";jsessionid=[0-9A-F]{32}")
_BEFORE_PATH = re.compile(r"/\(S\([a-z0-5]{24}\)\)")
_LETTERS = string.ascii_lowercase + "012345"


def _behind_path(url: str, rng: random.Random) -> str:
    path, mark, query = url.partition("?")
    return f"{path};jsessionid={_token(rng, _HEX.upper(), 32)}{mark}{query}"


_IN_PATH = Fresh(_behind_path, lambda url: _BEHIND_PATH.sub("", url))
_IN_FRONT = Fresh(
    lambda url, rng: _below(f"(S({_token(rng, _LETTERS, 24)}))")(url),
    lambda url: _BEFORE_PATH.sub("", url),
)


def _only(site: Ground, n: int) -> list[Named]:
    return [Named(site.url(n))]


HONEST = (
    Row("slash", _ends("/", ""), _SLASHY),
    Row("slash, redirect", _ends("/", "", 301), _SLASHY),
    Row("slash, redirect for a time", _ends("/", "", 302), _SLASHY),
    Row("no slash, redirect", _ends("", "/", 308), _SLASHY),
    Row("index", _ends("/", "/index.html"), _SLASHY),
    Row("index, redirect", _ends("/", "/default.asp", 301), _SLASHY),
    Row("slash in some sections", _in_some_sections, _SLASHY),
    Row(
        "campaign",
        _beside(
            lambda rng: f"from={rng.choice(('fb', 'x', 'mail'))}&run={rng.randrange(99)}",
            lambda rng: f"click=Iw{_token(rng, _HEX, 20)}",
        ),
    ),
    Row("ref", _beside(lambda rng: f"ref={rng.choice(('home', 'nav', 'foot', 'mail'))}")),
    Row(
        "src",
        _beside(
            lambda rng: f"src=nav{rng.randrange(1, 9)}", lambda rng: f"src=foot{rng.randrange(4)}"
        ),
    ),
    Row("pos", _beside(lambda rng: f"pos={rng.randrange(1, 60)}")),
    Row(
        "src and pos",
        _beside(
            lambda rng: f"src=nav{rng.randrange(1, 5)}&pos={rng.randrange(1, 40)}",
            lambda rng: f"pos={rng.randrange(1, 40)}",
        ),
    ),
    Row("pos, seven links", _beside(*[lambda rng: f"pos={rng.randrange(1, 60)}"] * 7)),
    Row("lang", _beside(lambda _rng: "lang=en")),
    Row("print", _beside(lambda _rng: "print=1")),
    Row("page=1", _beside(lambda _rng: "page=1")),
    Row("page=1 beside page=2", _default_page),
    Row("session", _only, fresh=_session("sid", _HEX, 32)),
    Row("session, two links", _only, fresh=_session("PHPSESSID", _LETTERS, 26, links=2)),
    Row("session, redirect", _only, fresh=_session("s", _HEX, 26, moved=301)),
    Row("session behind path", _only, fresh=_IN_PATH),
    Row("session before path", _only, fresh=_IN_FRONT),
    Row("order", _ordered(2)),
    Row("order of three", _ordered(3)),
    Row("slug", _slugs(0)),
    Row("slug, redirect", _slugs(301)),
    Row("case", _changed(_in_camel_case), _SLASHY),
    Row("www", _changed(_on("www"))),
    Row("mobile host", _changed(_on("m"))),
    Row("double slash", _changed(_below(""))),
    Row("print folder", _changed(_below("print")), _SLASHY),
    Row(
        "canonical",
        _beside(lambda rng: f"from={rng.choice(('rss', 'top', 'x'))}{rng.randrange(9)}"),
    ),
    Row("several", _several, _SLASHY),
    Row("teaser", _beside(lambda rng: f"ref={rng.choice(('home', 'nav', 'foot', 'mail'))}")),
    Row("quote", _ends("/", ""), _SLASHY),
    Row("offer", _beside(lambda rng: f"ref={rng.choice(('home', 'nav', 'foot', 'mail'))}")),
)


def _in_one_section(site: Ground, n: int) -> list[Named]:
    url = site.url(n)
    version = "filtered" if site.items[n].section == SECTIONS[3] else None
    return [Named(url), Named(_with(url, "view=list"), version)]


def _odd(site: Ground, n: int) -> list[Named]:
    url = site.url(n)
    other = Named(url, moved=301) if n % 2 else Named(url, "other")
    return [Named(f"{url}/"), other]


def _swapped(site: Ground, n: int) -> list[Named]:
    """Return two pages whose names differ by letter case only."""
    code = f"{_token(site.rng, string.ascii_letters, 5)}{n}"
    return [Named(f"{site.home}c/{code}"), Named(f"{site.home}c/{code.swapcase()}", "other")]


def _documents(kind: str, *, named: bool) -> Names:
    """Return two pages that only a long random value tells apart."""

    def names(site: Ground, n: int) -> list[Named]:
        section = site.items[n].section
        start = (
            f"{site.home}{section}/{slug(site.items[n].title) + '-' + str(n) if named else 'show'}"
        )
        return [
            Named(f"{start}?doc={_token(site.rng, _HEX, 32)}", version) for version in (None, kind)
        ]

    return names


def _route(site: Ground, n: int) -> list[Named]:
    """Return two pages for which the order of parameters counts."""
    start = f"{site.home}{site.items[n].section}/item.php"
    return [
        Named(f"{start}?first={n}&then={n + 1}"),
        Named(f"{start}?then={n + 1}&first={n}", "sorted"),
    ]


def _path_parameters(site: Ground, n: int) -> list[Named]:
    url = site.url(n)
    return [Named(url), Named(f"{url};v=1", "other"), Named(f"{url};v=2", "part")]


def _rates(site: Ground, n: int) -> list[Named]:
    """Return a page, and the same one of other days: one number differs."""
    url = site.url(n)
    days = site.rng.sample(range(1, 29), 2)
    return [Named(url), *(Named(_with(url, f"day={day}"), "rate") for day in days)]


def _home_for_all(site: Ground, n: int) -> list[Named]:
    url = site.url(n)
    return [Named(url), Named(_below("old")(url), "home", 301)]


ADVERSARIES = (
    Row("variants", _versions("color", ("red", "blue", "green", "black"), "variant")),
    Row("pager", _versions("page", ("2", "3", "4", "5"), "part")),
    Row("pager, canonical first", _versions("page", ("2", "3", "4", "5"), "part")),
    Row("sort", _versions("sort", ("price", "name", "date"), "sorted")),
    Row("filter", _versions("brand", ("acme", "foo", "bar"), "filtered")),
    Row("country", _versions("country", ("de", "us", "fr", "jp"), "variant")),
    Row("one of five", _versions("view", ("a", "b", "c"), "filtered", 5)),
    Row("one of fifteen", _versions("ref", ("a", "b", "c"), "other", 15)),
    Row("offers", _versions("v", ("a", "b"), "offer")),
    Row("one section", _in_one_section),
    Row("odd and even", _odd, _SLASHY),
    Row("slash, one of fifteen", _some(str, "other", 15, "/"), _SLASHY),
    Row("slash, one number", _some(str, "rate", 15, "/"), _SLASHY),
    Row("www, one of fifteen", _some(_on("www"), "other", 15)),
    Row("turning", _ends("/", ""), _SLASHY),
    Row("soft 404", _some(lambda url: f"{url}/", "soft", 1), _SLASHY),
    Row("letter case", _swapped),
    Row("printer", _some(_below("print"), "printed", 1), _SLASHY),
    Row("printer parameter", _versions("print", ("1", "2"), "printed")),
    Row("old index", _some(lambda url: f"{url}/index.html", "other", 10, "/"), _SLASHY),
    Row("documents", _documents("other", named=False)),
    Row("documents, variants", _documents("variant", named=True)),
    Row("route", _route),
    Row("path parameter", _path_parameters, _SLASHY),
    Row("home for all", _home_for_all),
    Row("mobile summary", _some(_on("m"), "printed", 1)),
    Row("rates", _rates),
    Row("double slash, one of eight", _some(_below(""), "other", 8)),
    Row("canonical home", _beside(lambda rng: f"from={rng.randrange(9)}")),
    Row("canonical wrong", _beside(lambda rng: f"from={rng.randrange(9)}")),
    Row("wall", _beside(lambda _rng: "ref=nav")),
)
