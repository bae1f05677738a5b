"""Serve the demo site on loopback, and count the requests."""

import asyncio
import re
from collections import Counter, defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import unquote

from aiohttp import web

from canonry.crawler.demo.site import OLD, SHOP, WWW, Resource, Site

# Of a client that takes us for a proxy; servers accept it, too (RFC 9112 section 3.2.2).
_ABSOLUTE = re.compile(r"\Ahttp://[^/?#]*")
ROBOTS = "User-agent: *\nDisallow: /private/\n"


class Served:
    """The demo site as a web server, which records the resource that each request means."""

    def __init__(self, site: Site, pause: float = 0.0) -> None:
        """Serve a site; each response comes after a pause in seconds."""
        self.site = site
        self.pause = pause
        self.port = 0
        self.requests = 0
        self.endless = 0  # requests for pages of crawler traps
        self.refused = 0  # requests that robots.txt disallows
        self.pages: dict[Resource, list[str]] = defaultdict(list)  # the targets of its requests
        self.targets: Counter[str] = Counter()  # requests, by host and target

    async def answer(self, request: web.BaseRequest) -> web.Response:
        """Respond to a request."""
        await asyncio.sleep(self.pause)
        target = _ABSOLUTE.sub("", request.raw_path) or "/"
        host = request.host.partition(":")[0]
        self.requests += 1
        self.targets[f"{host}{target}"] += 1
        raw_path, _, query = target.partition("?")
        if raw_path == "/robots.txt":
            return web.Response(text=ROBOTS)
        if host in {WWW, OLD}:
            return _moved(301 if host == WWW else 308, f"http://{SHOP}{target}")
        special = self._special(request, host, raw_path, query)
        return special or self._page(host, target, raw_path, query)

    def _special(
        self, request: web.BaseRequest, host: str, path: str, query: str
    ) -> web.Response | None:
        """Respond to URLs that are not resources: redirects, loops, cookie walls and traps."""
        if host != SHOP:
            return None
        if path in self.site.moved:
            status, target = self.site.moved[path]
            return _moved(status, target.url)
        if path.startswith("/loop/"):
            return _moved(302, {"/loop/a": "/loop/b", "/loop/b": "/loop/a"}.get(path, path))
        if path.startswith("/wall/") and request.cookies.get("seen") != "1":
            return _moved(302, path, {"Set-Cookie": "seen=1; Path=/"})
        if path.startswith("/category/") and not path.endswith(("/", "/index.html")):
            return _moved(301, f"{path}/")
        return self._endless(path, query)

    def _endless(self, path: str, query: str) -> web.Response | None:
        """Return a page of a crawler trap: an endless path, or an endless calendar."""
        if path.startswith("/trap/"):
            link = "deeper/"
        elif path == "/calendar":
            link = f"?month={int(query.removeprefix('month=')) + 1}"
        else:
            return None
        self.endless += 1
        return _html(f'<a href="{link}">next</a>')

    def _page(self, host: str, target: str, raw_path: str, query: str) -> web.Response:
        """Return a resource; the look-up is lenient, as on many servers."""
        resource = self._find(host, raw_path, query)
        if resource is None:
            return web.Response(status=404, text="no such page")
        if not resource.allowed:
            self.refused += 1
        self.pages[resource].append(target)
        return _html(self.site.body(resource))

    def _find(self, host: str, raw_path: str, query: str) -> Resource | None:
        """Return the resource that a request means, or None."""
        known = self.site.resources
        path = _decoded(raw_path)
        for candidate in (path, path.removesuffix("index.html"), path.replace("//", "/")):
            for asked in (query, "&".join(_content_fields(query)), _sorted(query)):
                if found := known.get((host, candidate, asked)):
                    return found
        return None


def _decoded(raw_path: str) -> str:
    """Decode percent-escapes except ``%2F`` and ``%25``."""
    kept = raw_path.replace("%2F", "%252F").replace("%25", "%2525")
    return unquote(kept).replace("%252F", "%2F")


def _content_fields(query: str) -> list[str]:
    """Return the fields that select content."""
    ignored = ("utm_", "fbclid=", "PHPSESSID=")
    return [field for field in query.split("&") if not field.startswith(ignored)]


def _sorted(query: str) -> str:
    """Return the fields that select content, sorted by name."""
    return "&".join(sorted(_content_fields(query), key=lambda field: field.partition("=")[0]))


def _moved(status: int, location: str, headers: dict[str, str] | None = None) -> web.Response:
    """Return a redirect response."""
    return web.Response(status=status, headers={"Location": location, **(headers or {})})


def _html(body: str) -> web.Response:
    """Return an HTML response."""
    return web.Response(text=body, content_type="text/html")


@asynccontextmanager
async def serving(site: Site, pause: float = 0.0) -> AsyncIterator[Served]:
    """Serve a site on a free port of 127.0.0.1 while the context is open."""
    served = Served(site, pause)
    runner = web.ServerRunner(web.Server(served.answer, access_log=None))
    await runner.setup()
    try:
        tcp = web.TCPSite(runner, "127.0.0.1", 0)
        await tcp.start()
        served.port = runner.addresses[0][1]
        yield served
    finally:
        await runner.cleanup()
