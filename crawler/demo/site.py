"""The demo site: some hundreds of resources with many URLs each, of which all is known."""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from html import escape

SHOP, DOCS = "shop.example", "docs.shop.example"
WWW, OLD = "www.shop.example", "old.shop.example"  # both redirect to SHOP
HOSTS = (SHOP, DOCS, WWW, OLD)
SEED = f"http://{SHOP}/"


@dataclass(frozen=True, slots=True)
class Resource:
    """A page of the site, by its plain URL."""

    host: str
    path: str
    query: str = ""
    allowed: bool = True  # by robots.txt

    @property
    def url(self) -> str:
        """Return its plain URL."""
        mark = "?" if self.query else ""
        return f"http://{self.host}{self.path}{mark}{self.query}"


@dataclass(slots=True)
class Site:
    """All resources, and the links of each page: the raw text of its ``href`` attributes."""

    resources: dict[tuple[str, str, str], Resource] = field(default_factory=dict)
    links: dict[Resource, list[str]] = field(default_factory=dict)
    moved: dict[str, tuple[int, Resource]] = field(
        default_factory=dict
    )  # redirects: path on SHOP -> status, target

    def add(self, resource: Resource) -> Resource:
        """Add a resource."""
        self.resources[resource.host, resource.path, resource.query] = resource
        self.links[resource] = []
        return resource

    @property
    def expected(self) -> list[Resource]:
        """Return the resources that a crawl has to fetch exactly once."""
        return [resource for resource in self.resources.values() if resource.allowed]

    def body(self, resource: Resource) -> str:
        """Return a resource's HTML."""
        lines = "\n".join(
            f'<li><a href="{escape(link)}">link {n}</a>'
            for n, link in enumerate(self.links[resource])
        )
        n = sum(map(ord, resource.path))
        base = '<base href="/guide/">\n' if _has_base(resource) else ""
        canonical = f'<link rel="canonical" href="{escape(resource.url)}">\n' if n % 2 else ""
        broken = "<p><b>never <i>closed</b><table><tr><td><ul" if n % 5 == 0 else ""
        head = f"<title>{escape(resource.path)}</title>\n{base}{canonical}"
        return f"<!doctype html>\n<html><head>{head}</head><body>{broken}>\n<ul>\n{lines}\n</ul>"


def _has_base(resource: Resource) -> bool:
    """Return True if a page has a <base> element."""
    return resource.host == DOCS and resource.path.endswith("/3.html")


# Pairs of similar URLs for different pages: a crawl that merges them misses a page.
LOOKALIKES: tuple[tuple[str, str], ...] = (
    ("/item/Ab", ""),
    ("/item/aB", ""),
    ("/path/a%2Fb", ""),
    ("/path/a/b", ""),
    ("/flag", "a"),
    ("/flag", "a="),
    ("/list", "x=1&x=2"),
    ("/list", "x=2&x=1"),
    ("/topic", "/one/two"),
    ("/topic", "/two/one"),
    ("/file", ""),
    ("/file/", ""),
    ("/escaped/100%25", ""),
    ("/escaped/100", ""),
    ("/search", "q=a+b"),
    ("/search", "q=a%2Bb"),
    ("/show", "source=mail"),
    ("/show", "source=web"),
    ("/v", "sessionid=short"),
    ("/v", "sessionid=other"),
    ("/semi;v=1", ""),
    ("/semi;v=2", ""),
)


def build(seed: int = 1, products: int = 160, guides: int = 90) -> Site:
    """Make the site; the same seed gives the same site."""
    rng = random.Random(seed)  # noqa: S311 - reproducible, not secret
    site = Site()
    home = site.add(Resource(SHOP, "/"))
    categories = [site.add(Resource(SHOP, f"/category/{n}/")) for n in range(16)]
    goods = [site.add(Resource(SHOP, f"/product/{n}")) for n in range(products)]
    filters = [
        site.add(Resource(SHOP, "/list", f"colour={c}&size={s}")) for c in "rgb" for s in "sml"
    ]
    alike = [site.add(Resource(SHOP, path, query)) for path, query in LOOKALIKES]
    walls = [site.add(Resource(SHOP, f"/wall/{n}")) for n in range(4)]
    docs = site.add(Resource(DOCS, "/guide/"))
    pages = [site.add(Resource(DOCS, f"/guide/part{n // 10}/{n % 10}.html")) for n in range(guides)]
    private = [site.add(Resource(SHOP, f"/private/{n}", allowed=False)) for n in range(3)]
    for n, good in enumerate(goods[:40]):
        site.moved[f"/moved/{n}"] = ((301, 302, 307, 308)[n % 4], good)
    # A tree under the home page, which links every resource at least once.
    _link(site, rng, home, [*categories, *alike, *walls, *filters, docs, *private])
    for n, category in enumerate(categories):
        _link(site, rng, category, goods[n :: len(categories)])
    _link(site, rng, docs, pages[::10])
    for n, page in enumerate(pages):
        if n % 10 == 0:
            _link(site, rng, page, pages[n + 1 : n + 10])
    # Links across the tree.
    everything = site.expected
    for resource in everything:
        _link(site, rng, resource, rng.sample(everything, 8))
    site.links[home] += [f"/moved/{n}" for n in range(40)]
    site.links[home] += ["/trap/", "/calendar?month=1", "/loop/a", "/loop/self", "/missing"]
    site.links[home] += ["http://elsewhere.example/", "mailto:info@shop.example", "javascript:go()"]
    site.links[home] += ["http://[broken/", "ftp://shop.example/file", "tel:+1-201-555-0123"]
    return site


def _link(site: Site, rng: random.Random, page: Resource, targets: list[Resource]) -> None:
    """Add links from a page to others, each under a random one of their URLs."""
    for target in targets:
        urls = list(urls_of(target, rng))
        site.links[page].append(rng.choice(urls))


def urls_of(resource: Resource, rng: random.Random) -> Iterator[str]:
    """Yield URLs of a resource, as careless authors and tracking tools write them.

    They do not depend on the path of the page, so they mean the same on every page.
    """
    host, path = resource.host, resource.path
    query = f"?{resource.query}" if resource.query else ""
    joint = "&" if query else "?"
    yield resource.url
    yield f"HTTP://{host.title()}{path}{query}"
    yield f"http://{host}:80{path}{query}"
    yield f"http://{host}:{path}{query}"
    yield f"http://{host}/up/..{path}{query}"
    yield f"http://{host}/.{path}{query}"
    yield f"http://{host}{_escaped(path, rng)}{query}"
    yield f"{resource.url}#part-{rng.randrange(9)}"
    yield f"http://{host}{path}{query}{joint}utm_source=mail&utm_campaign={rng.randrange(99)}"
    yield f"http://{host}{path}{query}{joint}fbclid={rng.getrandbits(64):x}"
    yield f"\n  http://{host}{path}{query} "
    yield f"http:\\\\{host}{path}{query}"
    if not query:
        yield f"{resource.url}?"
    if host == SHOP and not path.startswith(("/path", "/escaped")):
        yield f"http://{WWW}{path}{query}"
        yield f"http://{OLD}{path}{query}"
        yield f"//{SHOP}{path}{query}"
    yield from _guessed(resource, rng)


def _guessed(resource: Resource, rng: random.Random) -> Iterator[str]:
    """Yield URLs that only heuristics (practice rules) can recognize as the same."""
    if resource.path.startswith("/category/"):
        yield f"{resource.url}index.html"
        yield resource.url.removesuffix("/")
    if resource.path.startswith("/product/"):
        yield f"{resource.url}?PHPSESSID={rng.getrandbits(128):032x}"
        yield resource.url.replace("/product/", "//product//")
    if resource.query.startswith("colour="):
        yield f"http://{resource.host}{resource.path}?{_reversed_fields(resource.query)}"


def _reversed_fields(query: str) -> str:
    """Return the fields of a query in reverse order."""
    return "&".join(reversed(query.split("&")))


def _escaped(path: str, rng: random.Random) -> str:
    """Return a path with one of its letters percent-encoded, in lower or upper case."""
    places = [n for n, c in enumerate(path) if c.isalpha() and "%" not in path[max(0, n - 2) : n]]
    if not places:
        return path
    place = rng.choice(places)
    case: Callable[[str], str] = rng.choice((str.lower, str.upper))
    return f"{path[:place]}%{case(format(ord(path[place]), '02x'))}{path[place + 1 :]}"
