"""Adversaries: sites from which something seems to be learnable, and what they do with a URL."""

import re
from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import urlsplit

from support.simweb.webground import Ground
from support.simweb.webhabits import raised, slashed, unslashed, without
from support.simweb.websites import NOTHING, SECTIONS, Found, Site, When
from support.simweb.webtexts import Frame, number_of

_PERMANENT, _TEMPORARY, _GONE = 301, 302, 410

Answer = Callable[[Ground, str, When], Found]


def _moved(url: str, target: str, status: int = _PERMANENT) -> Found:
    """Return a redirect that makes nothing equal."""
    return Found(url, location=target, status=status)


def _if_http(target: Callable[[str], str], status: int = _PERMANENT) -> Answer:
    """Answer http with a redirect, and https with a page."""

    def answer(ground: Ground, url: str, _when: When) -> Found:
        is_http = url.startswith("http:")
        return _moved(url, target(url), status) if is_http else ground.own(url)

    return answer


def _https(url: str) -> str:
    return url.replace("http:", "https:", 1)


def _flapping(ground: Ground, url: str, when: When) -> Found:
    other = unslashed(url) if url.endswith("/") else slashed(url)
    return _moved(url, other) if ground.chance(url, when).random() < 0.5 else ground.own(url)


def _burst(ground: Ground, url: str, when: When) -> Found:
    """Redirect to another host during an outage."""
    away = 50 < when.turn < 150 and url.startswith("http:")
    return _moved(url, _spare(url)) if away else ground.own(url)


def _spare(url: str) -> str:
    return url.replace("http://", "https://spare-", 1)


def _soft404(ground: Ground, url: str, _when: When) -> Found:
    """Answer 200 for what does not exist, such as names with a slash."""
    if url in ground.pages:
        return ground.own(url)
    sorry = ground.text("sorry")
    said = f"<p>Nothing was found for {url.rstrip('/').rpartition('/')[2]}.</p>"
    blocks = (said, sorry.blocks[0]) if ground.dynamic else sorry.blocks
    return Found("sorry", sorry._replace(blocks=blocks))


def _locale(ground: Ground, url: str, _when: When) -> Found:
    """Redirect to the language of the visitor."""
    here = re.sub(r"(\.org)/(?:fr/)?", r"\1/de/", url, count=1)
    return ground.own(url) if "/de/" in url else _moved(url, here)


def _bounce(_ground: Ground, url: str, _when: When) -> Found:
    """Redirect for ever whoever keeps no cookies."""
    return _moved(url, url.removesuffix("?c=1") if url.endswith("?c=1") else f"{url}?c=1")


def _forms(ground: Ground, url: str, _when: When) -> Found:
    """Answer with one form everywhere in a section; elsewhere a step is a page of its own."""
    return Found("form", ground.text("form")) if "/help/" in url else ground.own(url)


def _gone(_ground: Ground, url: str, _when: When) -> Found:
    """Redirect to pages that are gone."""
    return _moved(url, _https(url)) if url.startswith("http:") else Found(url, status=_GONE)


def _selects(ground: Ground, url: str, _when: When) -> Found:
    """Show by a parameter, on one of five pages, another page; elsewhere it means nothing."""
    core = ground.core(url)
    return ground.own(url if number_of(core) % 5 == 0 else core)


def _variants(ground: Ground, url: str, _when: When) -> Found:
    """Show a product's variants: the text is one, its code, price and stock are not."""
    page = ground.text(ground.core(url))
    n = number_of("code", url)
    said = (
        f"<p>Article {n % 9973}-{url[-1]}, price {n % 20000 / 100:.2f} EUR, {n % 83} in stock</p>"
    )
    return Found(url, page._replace(blocks=(said, *page.blocks)))


def _pager(ground: Ground, url: str, _when: When) -> Found:
    """Show a list in parts."""
    return ground.list_of(url, ground.items(url, number_of(url)))


def _sorted(ground: Ground, url: str, _when: When) -> Found:
    """Show the same list in another order: another page, as its reader sees others first."""
    return ground.list_of(url, sorted(ground.items(url), key=lambda item: number_of(url, item)))


def _filtered(ground: Ground, url: str, _when: When) -> Found:
    """Show a part of a list."""
    colour = url.partition("colour=")[2]
    return ground.list_of(url, (item for item in ground.items(url) if colour in item))


def _printer(ground: Ground, url: str, _when: When) -> Found:
    """Show a page without its frame.

    A printer page is another page: it has no links, and what a reader wants to keep of it is its
    own URL. So it may not be merged, unless a canonical link says so; here none does.
    """
    page = ground.text(ground.core(url))
    return Found(url, page._replace(framed="print=" not in url))


def _ab_test(ground: Ground, url: str, when: When) -> Found:
    """Show one of two versions by chance, or the one that a parameter names."""
    page = ground.text(ground.core(url))
    other = ground.text(f"{ground.core(url)} b")
    is_b = url.endswith("v=b") or ("v=" not in url and ground.chance(url, when).random() < 0.5)
    return Found(url, page._replace(blocks=(*page.blocks, other.blocks[0])) if is_b else page)


def _geography(ground: Ground, url: str, when: When) -> Found:
    """Redirect to one of two countries, by chance; they have different prices."""
    if not ("/us/" in url or "/gb/" in url):
        return _moved(url, _abroad(url, ground.chance(url, when).choice(("us", "gb"))))
    return _variants(ground, url, when)


def _abroad(url: str, country: str) -> str:
    return url.replace(".org/", f".org/{country}/", 1)


def _consent(ground: Ground, url: str, _when: When) -> Found:
    """Redirect half of the sections to a question; elsewhere a view is a page of its own."""
    if "/consent?" in url:
        return Found("consent", ground.text("consent"))
    walled = any(f"/{section}/" in url for section in SECTIONS[:3])
    return (
        _moved(url, f"{ground.home}consent?return={ground.core(url)}")
        if walled
        else ground.own(url)
    )


def _login(ground: Ground, url: str, _when: When) -> Found:
    """Answer with a form to log in, in half of the sections; elsewhere a tab is a page."""
    walled = any(f"/{section}/" in url for section in SECTIONS[:3])
    return Found("login", ground.text("login")) if walled else ground.own(url)


def _wall(ground: Ground, url: str, _when: When) -> Found:
    """Redirect from http to a form to log in."""
    if "/login?" in url:
        return Found("login", ground.text("login"))
    target = f"https://{url.split('/')[2]}/login?next={url}"
    return _moved(url, target) if url.startswith("http:") else ground.own(url)


def _mixed_slashes(ground: Ground, url: str, _when: When) -> Found:
    """Redirect odd pages to the slash; even pages are two, with the slash and without."""
    if number_of(ground.core(url)) % 2 and not url.endswith("/"):
        return Found(slashed(url), location=slashed(url), status=_PERMANENT)
    return ground.own(url)


def _cases(ground: Ground, url: str, _when: When) -> Found:
    """Tell upper from lower case, but on a third of the pages."""
    core = ground.core(url)
    if number_of(core) % 3 == 0 and url != core:
        return Found(core, location=core, status=_PERMANENT)
    return ground.own(url)


def _canonical_home(ground: Ground, url: str, _when: When) -> Found:
    """Name the home page as canonical on every page."""
    return Found(url, ground.text(url)._replace(canonical=ground.home))


def _canonical_wrong(ground: Ground, url: str, _when: When) -> Found:
    """Name pages as canonical, one in twenty wrongly. ``ref`` means nothing, ``alt`` does."""
    resource = without(url, "ref")
    n = number_of("wrong", resource)
    wrong = ground.pages[n % len(ground.pages)] if n % 40 else ground.core(url)
    canonical = wrong if n % 20 == 0 else resource
    return Found(resource, ground.text(resource)._replace(canonical=canonical))


def _parts(ground: Ground, url: str, _when: When) -> Found:
    """Show the parts of a page under one heading."""
    page = ground.text(ground.core(url))
    return Found(url, page._replace(blocks=ground.text(url).blocks))


def _strict(ground: Ground, url: str, _when: When) -> Found:
    return ground.own(url)


def _comments(ground: Ground, url: str, _when: When) -> Found:
    """Show the comments on a page under one heading: one page of twenty has some."""
    if "/comments?" not in url:
        return ground.own(url)
    resource = url if number_of("comments", url) % 20 == 0 else f"{ground.home}comments"
    page = ground.text(f"{ground.home}comments")
    return Found(resource, page._replace(blocks=ground.text(resource).blocks))


def _printed(ground: Ground, url: str, _when: When) -> Found:
    """Show pages without their frame, by a link that names them."""
    text = ground.text(ground.home + url.partition("?of=")[2]) if "?of=" in url else None
    return ground.own(url) if text is None else Found(url, text._replace(framed=False))


def _naming(start: str) -> Callable[[str], list[str]]:
    """Return a URL that names a page at its end."""

    def names(url: str) -> list[str]:
        home, path = url[: url.index("/", len("http://")) + 1], urlsplit(url).path[1:]
        return [f"{home}{start}{path}"]

    return names


class _Adversary(NamedTuple):
    kind: str
    answer: Answer
    names: Callable[[str], list[str]]  # of a page, besides its own
    on_pages: bool = False  # True: each page links its own; else the home page links all


def _ends(*ends: str) -> Callable[[str], list[str]]:
    return lambda url: [f"{url}{end}" for end in ends]


def _secure(url: str) -> list[str]:
    return [_https(url)]


_TABLE = (
    _Adversary("sink", _if_http(lambda url: f"https://{url.split('/')[2]}/"), _secure),
    _Adversary("wall", _wall, _secure),
    _Adversary("temporary", _if_http(_https, _TEMPORARY), _secure),
    _Adversary("gone", _gone, _secure),
    _Adversary("soft 404", _soft404, _ends("/")),
    _Adversary("locale", _locale, lambda url: [_abroad(url, "fr")]),
    _Adversary("burst", _burst, lambda url: [_spare(url)]),
    _Adversary("flapping", _flapping, _ends("/")),
    _Adversary("bounce", _bounce, _ends("?c=1")),
    _Adversary("forms", _forms, _ends("?step=1", "?step=2")),
    _Adversary(
        "strict",
        _strict,
        lambda url: [slashed(url), raised(url), f"{url}?v=1", f"{url}?v=2", _https(url)],
    ),
    _Adversary("selects", _selects, _ends("?v=1", "?v=2")),
    _Adversary("variants", _variants, _ends("?size=S", "?size=M", "?size=L")),
    _Adversary("pager", _pager, _ends("?page=2", "?page=3")),
    _Adversary("sort orders", _sorted, _ends("?sort=price", "?sort=name")),
    _Adversary("filters", _filtered, _ends("?colour=red", "?colour=blue")),
    _Adversary("printer", _printer, _ends("?print=1")),
    _Adversary("A/B test", _ab_test, _ends("?v=a", "?v=b")),
    _Adversary("geography", _geography, lambda url: [_abroad(url, "us"), _abroad(url, "gb")]),
    _Adversary("consent", _consent, _ends("?view=1", "?view=2")),
    _Adversary("login", _login, _ends("/", "?tab=1")),
    _Adversary("mixed slashes", _mixed_slashes, _ends("/")),
    _Adversary("letter case", _cases, lambda url: [raised(url)]),
    _Adversary("canonical home", _canonical_home, _ends("/", "?view=1")),
    _Adversary("canonical wrong", _canonical_wrong, _ends("?ref=1", "?alt=1")),
    _Adversary("parts", _parts, _ends("?part=1", "?part=2", "?part=3")),
    _Adversary("comments", _comments, _naming("comments?page="), on_pages=True),
    _Adversary("printed", _printed, _naming("print?of="), on_pages=True),
)
KINDS = tuple(row.kind for row in _TABLE)


def adversary(kind: str, number: int, size: int, *, dynamic: bool) -> Site:
    """Return an adversary.

    Args:
        kind: one of `KINDS`.
        number: makes another host of the kind.
        size: its pages, without their other names.
        dynamic: True if no two answers are alike.
    """
    row = _TABLE[KINDS.index(kind)]
    word = re.sub("[^a-z0-9]", "", kind.lower())
    ground = Ground(kind, f"{word}{number}{'d' * dynamic}.org", size, dynamic=dynamic)
    names = [url for page in ground.pages for url in (page, *row.names(page))]
    ground.rng.shuffle(names)
    pages = frozenset(ground.pages)
    home = {ground.home, _https(ground.home)}

    def resolve(url: str, when: When) -> Found:
        if url in home:
            linked = ground.pages if row.on_pages else names
            return Found(ground.home, ground.text(ground.home)._replace(links=tuple(linked)))
        is_script = any(mark in url for mark in ("/login?", "/consent?", "/comments?", "?of="))
        if not (ground.core(url) in pages or is_script or kind == "soft 404"):
            return NOTHING
        found = row.answer(ground, url, when)
        if row.on_pages and url in pages and found.page is not None:
            return found._replace(page=found.page._replace(links=tuple(row.names(url))))
        return found

    frame = Frame(ground.home, dynamic=dynamic)
    return Site(kind, ground.home, resolve, names, frame, honest=False)
