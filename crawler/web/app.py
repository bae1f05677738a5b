"""The application: the routes of the live page, from the table of panels; all of them only read."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from http import HTTPStatus
from pathlib import Path

from aiohttp import web

from canonry import __title__, __version__
from canonry.crawler.observe.progress import LiveCrawl
from canonry.crawler.web.answers import Answers, as_json
from canonry.crawler.web.panel import BadQuestionError, Panel
from canonry.crawler.web.safety import HEADERS, Safety
from canonry.crawler.web.store_reader import StoreReader
from canonry.crawler.web.views import growth_view, now_view, store_views, todo_view
from canonry.storage import StoreError
from canonry.storage.sql.engine import without_password

NOW = Panel(  # on every page
    "now",
    "Now",
    "Is it done, and is it well?",
    now_view.view,
    live=True,
    listed=False,
)

PANELS: tuple[Panel, ...] = (
    NOW,
    Panel(
        "to-do",
        "To do",
        "What needs a person, and the command that helps.",
        todo_view.view,
        live=True,
        front=True,
    ),
    Panel(
        "growth",
        "Growth",
        "URLs over time: known, fetched, merged, held and queued.",
        growth_view.view,
        live=True,
        front=True,
    ),
    Panel(
        "not-fetched",
        "Not fetched",
        "Why a URL was not fetched: ask for one, or look at the reasons.",
        store_views.not_fetched,
    ),
    Panel(
        "made-one",
        "Made one",
        "Which rules made URLs one, and what the crawl has learned, with the evidence.",
        store_views.made_one,
    ),
)
STATIC = Path(__file__).parent / "static"
_LONGEST_PATH = 200  # characters
_JSON = ".json"
_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def build(store: str, safety: Safety, crawl: LiveCrawl | None = None) -> web.Application:
    """Return the application for a store.

    Args:
        store: a SQLAlchemy URL; the store may be made later.
        safety: decides which requests are allowed.
        crawl: of this process; None if there is none.
    """
    site = _Site(without_password(store), safety, StoreReader(store), crawl)
    app = web.Application(middlewares=[site.explained, site.admitted])
    app.on_response_prepare.append(_harden)
    app.on_cleanup.append(site.close)
    app.router.add_get("/", site.front)
    app.router.add_static("/static", STATIC)
    for panel in PANELS:
        app.router.add_get(f"/{panel.name}", partial(site.page, panel))
        app.router.add_get(f"/{panel.name}{_JSON}", partial(site.json, panel))
    return app


async def _harden(request: web.Request, response: web.StreamResponse) -> None:
    """Add the security headers to every response, including errors."""
    response.headers.update(HEADERS)
    keep = "no-cache" if request.path.startswith("/static/") else "no-store"
    response.headers.setdefault("Cache-Control", keep)
    response.headers.popall("Server", None)


class _Site:
    """The handlers of one server."""

    def __init__(
        self, store: str, safety: Safety, reader: StoreReader, crawl: LiveCrawl | None
    ) -> None:
        self._safety = safety
        self._reader = reader
        self._answers = Answers(reader, crawl, panels=PANELS, store=store, version=__version__)

    async def front(self, request: web.Request) -> web.StreamResponse:
        """Respond with the front page."""
        return await self._page(request, None, [panel for panel in PANELS if panel.front])

    async def page(self, panel: Panel, request: web.Request) -> web.StreamResponse:
        """Respond with a panel's own page."""
        return await self._page(request, panel, [] if panel is NOW else [panel])

    async def json(self, panel: Panel, request: web.Request) -> web.StreamResponse:
        """Respond with a panel's JSON."""
        return _json((await self._answers.of(panel, request.query)).value)

    async def _page(
        self, request: web.Request, current: Panel | None, panels: list[Panel]
    ) -> web.Response:
        """Respond with a whole page: where the crawl stands, and some panels."""
        fields = request.query if current else {}
        text = self._answers.page(
            "page.html",
            current=current,
            now=await self._answers.of(NOW, {}),
            found=[(panel, await self._answers.of(panel, fields)) for panel in panels],
            query=request.query_string,
        )
        return web.Response(text=text, content_type="text/html")

    @web.middleware
    async def admitted(self, request: web.Request, handler: _Handler) -> web.StreamResponse:
        """Admit requests that have one of our host names, and the token if one is needed.

        A page that is opened with ``?token=`` gets a cookie, and is opened without it again.
        """
        try:
            cookie = f"{__title__}-{request.url.port}"
        except ValueError:
            raise web.HTTPBadRequest(text="the Host header is not valid") from None
        if len(request.path) > _LONGEST_PATH:
            raise web.HTTPRequestURITooLong(text="no page has such a long name")
        if not self._safety.knows_host(request.headers.get("Host", "")):
            raise web.HTTPMisdirectedRequest(
                text="this server has another name; --allow-host NAME adds one"
            )
        if request.path.startswith("/static/"):
            return await handler(request)
        token = request.query.get("token", "")
        if token and self._safety.token and self._safety.may_read([token]):
            rest = {k: v for k, v in request.query.items() if k != "token"}
            response = web.HTTPSeeOther(request.rel_url.with_query(rest))
            response.set_cookie(cookie, token, httponly=True, samesite="Strict", path="/")
            raise response
        if not self._safety.may_read([request.cookies.get(cookie, ""), _bearer(request)]):
            raise web.HTTPUnauthorized(text="this page needs the token that the server printed")
        return await handler(request)

    @web.middleware
    async def explained(self, request: web.Request, handler: _Handler) -> web.StreamResponse:
        """Respond to errors with a sentence: as a page, or as JSON for programs."""
        try:
            return await handler(request)
        except BadQuestionError as error:
            return self._failure(request, 400, str(error))
        except StoreError as error:
            return self._failure(request, 503, str(error))
        except web.HTTPMethodNotAllowed as error:
            return self._failure(
                request, error.status, "this page only shows: canonry's commands change a store"
            )
        except web.HTTPException as error:
            if error.status < HTTPStatus.BAD_REQUEST:
                raise
            return self._failure(request, error.status, error.text or error.reason)

    def _failure(self, request: web.Request, status: int, sentence: str) -> web.Response:
        if request.path.endswith(_JSON):
            return _json({"error": sentence}, status=status)
        text = self._answers.page(
            "failure.html",
            status=status,
            reason=HTTPStatus(status).phrase,
            sentence=sentence,
            path=request.path,
        )
        return web.Response(text=text, status=status, content_type="text/html")

    async def close(self, _app: web.Application) -> None:
        """Wait for running reads, and close the store."""
        await asyncio.to_thread(self._reader.close)


def _json(value: object, status: int = 200) -> web.Response:
    return web.Response(body=as_json(value), status=status, content_type="application/json")


def _bearer(request: web.Request) -> str:
    """Return the token in ``Authorization``, or ""."""
    kind, _, token = request.headers.get("Authorization", "").partition(" ")
    return token.strip() if kind.casefold() == "bearer" else ""
