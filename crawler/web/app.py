"""The application: the routes of the live page, from the tables of panels and actions."""

import asyncio
import secrets
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from pathlib import Path

from aiohttp import web

from canonry import __version__
from canonry.crawler.web.answers import Answers, as_json
from canonry.crawler.web.listening import SECONDS_TO_ASK
from canonry.crawler.web.panel import Action, BadQuestionError, LiveCrawl, Panel
from canonry.crawler.web.registry import ACTIONS, PANELS, STRIP
from canonry.crawler.web.safety import FIELD, HEADERS, Safety
from canonry.crawler.web.store_reader import StoreReader
from canonry.crawler.web.stream import Streams
from canonry.storage import StoreError
from canonry.storage.sql.engine import without_password

STATIC = Path(__file__).parent / "static"
_LARGEST_FORM = 1 << 16  # bytes
_LONGEST_PATH = 200  # characters
_NOTES = 100  # sentences about actions, kept until a browser requests them
_JSON = ".json"
_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def build(
    store: str, safety: Safety, crawl: LiveCrawl | None = None, most_streams: int = 64
) -> web.Application:
    """Return the application for a store.

    Args:
        store: a SQLAlchemy URL; the store may be made later.
        safety: decides which requests are allowed.
        crawl: of this process; None if there is none.
        most_streams: how many viewers may follow live changes at once.
    """
    site = _Site(store, safety, crawl, most_streams)
    app = web.Application(
        middlewares=[site.explained, site.admitted], client_max_size=_LARGEST_FORM
    )
    app.on_response_prepare.append(_harden)
    app.on_shutdown.append(site.end)
    app.on_cleanup.append(site.close)
    app.router.add_get("/", site.front)
    app.router.add_get("/index.json", site.index)
    app.router.add_get("/events", site.events)
    app.router.add_static("/static", STATIC)
    for panel in PANELS:
        app.router.add_get(f"/{panel.name}", site.page_of(panel))
        app.router.add_get(f"/{panel.name}{_JSON}", site.json_of(panel))
    for action in ACTIONS:
        app.router.add_post(f"/actions/{action.name}", site.doing(action))
    return app


async def _harden(request: web.Request, response: web.StreamResponse) -> None:
    """Add the security headers to every response, including errors and streams."""
    response.headers.update(HEADERS)
    keep = "no-cache" if request.path.startswith("/static/") else "no-store"
    response.headers.setdefault("Cache-Control", keep)
    response.headers.popall("Server", None)


class _Site:
    """The handlers of one server."""

    def __init__(
        self, store: str, safety: Safety, crawl: LiveCrawl | None, most_streams: int
    ) -> None:
        self._store = store
        self._safety = safety
        self._reader = StoreReader(store)
        self._answers = Answers(
            self._reader,
            crawl,
            panels=PANELS,
            form_field=FIELD,
            form_token=safety.form_token,
            store=without_password(store),
            version=__version__,
        )
        self._streams = Streams(self._answers, most_streams)
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="canonry-action")
        self._notes: OrderedDict[str, str] = OrderedDict()

    async def front(self, request: web.Request) -> web.StreamResponse:
        """Respond with the front page."""
        if _wants_json(request):
            return await self.index(request)
        return await self._page(request, None, [p for p in PANELS if p.front], {})

    async def index(self, _request: web.Request) -> web.StreamResponse:
        """Respond with the list of panels and actions, for programs."""
        return _json(
            {
                "store": without_password(self._store),
                "version": __version__,
                "panels": [
                    {"name": p.name, "title": p.title, "says": p.says, "json": f"/{p.name}{_JSON}"}
                    for p in PANELS
                ],
                "actions": [f"/actions/{action.name}" for action in ACTIONS],
            }
        )

    def page_of(self, panel: Panel) -> _Handler:
        """Return the handler of a panel's own page."""

        async def page(request: web.Request) -> web.StreamResponse:
            if _wants_json(request):
                return _json((await self._answers.of(panel, request.query)).value)
            shown_panels = [] if panel is STRIP else [panel]
            return await self._page(request, panel, shown_panels, request.query)

        return page

    def json_of(self, panel: Panel) -> _Handler:
        """Return the handler of a panel's JSON."""

        async def plain(request: web.Request) -> web.StreamResponse:
            return _json((await self._answers.of(panel, request.query)).value)

        return plain

    async def events(self, request: web.Request) -> web.StreamResponse:
        """Respond with the stream of live changes of a page."""
        fields = dict(request.query)
        name = fields.pop("page", "")
        if name and not any(panel.name == name for panel in PANELS):
            raise web.HTTPNotFound
        wanted = [p for p in PANELS if (p.name == name if name else p.front)]
        moving = [p for p in (STRIP, *wanted) if p.every]
        return await self._streams.serve(request, list(dict.fromkeys(moving)), fields)

    def doing(self, action: Action) -> _Handler:
        """Return the handler of an action."""

        async def act(request: web.Request) -> web.StreamResponse:
            form = await _form(request)
            if not self._safety.may_act(
                headers=request.headers, form_token=form.pop(FIELD, ""), bearer=_bearer(request)
            ):
                raise web.HTTPForbidden(
                    text="this form is not of this server's current page: reload the page"
                )
            back = form.pop("back", "")
            sentence = await asyncio.get_running_loop().run_in_executor(
                self._writer, action.act, self._store, form, time.time()
            )
            self._answers.forget()
            if _wants_json(request):
                return _json({"done": sentence})
            raise web.HTTPSeeOther(self._back(action, back, self._noted(sentence)))

        return act

    def _noted(self, sentence: str) -> str:
        """Keep a sentence for the next page; return its id."""
        number = secrets.token_urlsafe(6)
        self._notes[number] = sentence
        while len(self._notes) > _NOTES:
            self._notes.popitem(last=False)
        return number

    def _back(self, action: Action, back: str, note: str) -> str:
        """Return the page to show after an action; it is always one of ours."""
        path, _, query = back.partition("?")
        if path not in {f"/{panel.name}" for panel in PANELS} or not query.isprintable():
            path, query = f"/{action.panel}", ""
        kept = "&".join(part for part in query.split("&") if part and not part.startswith("note="))
        return f"{path}?{kept}&note={note}" if kept else f"{path}?note={note}"

    async def _page(
        self,
        request: web.Request,
        current: Panel | None,
        panels: list[Panel],
        query: Mapping[str, str],
    ) -> web.Response:
        """Respond with a whole page: the strip, and some panels."""
        fields = {name: value for name, value in query.items() if name != "note"}
        strip = await self._answers.of(STRIP, {})
        answers = [(panel, await self._answers.of(panel, fields)) for panel in panels]
        text = self._answers.page(
            "page.html",
            current=current,
            strip=strip,
            strip_panel=STRIP,
            found=answers,
            query=request.query_string,
            note=self._notes.get(request.query.get("note", ""), ""),
        )
        return web.Response(text=text, content_type="text/html")

    @web.middleware
    async def admitted(self, request: web.Request, handler: _Handler) -> web.StreamResponse:
        """Admit requests that have one of our host names, and the token if one is needed.

        A page that is opened with ``?token=`` gets a cookie, and is opened without it again.
        """
        try:
            port = request.url.port
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
        cookie = f"canonry-{port}"
        token = request.query.get("token", "")
        if token and request.method == "GET" and self._safety.has_token([token]):
            rest = {k: v for k, v in request.query.items() if k != "token"}
            response = web.HTTPSeeOther(request.rel_url.with_query(rest))
            response.set_cookie(cookie, token, httponly=True, samesite="Strict", path="/")
            raise response
        brought = [request.cookies.get(cookie, ""), _bearer(request)]
        if not self._safety.may_read(brought):
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
        except web.HTTPException as error:
            if error.status < HTTPStatus.BAD_REQUEST:
                raise
            return self._failure(request, error.status, error.text or error.reason)

    def _failure(self, request: web.Request, status: int, sentence: str) -> web.Response:
        if _wants_json(request):
            return _json({"error": sentence}, status=status)
        text = self._answers.page(
            "failure.html",
            status=status,
            reason=HTTPStatus(status).phrase,
            sentence=sentence,
            path=request.path,
        )
        return web.Response(text=text, status=status, content_type="text/html")

    async def end(self, _app: web.Application) -> None:
        """End the streams, so that the server can end."""
        self._streams.end()

    async def close(self, _app: web.Application) -> None:
        """Wait for running actions and reads, and close the store."""
        await asyncio.to_thread(self._writer.shutdown)
        await asyncio.to_thread(self._reader.close)


async def _form(request: web.Request) -> dict[str, str]:
    """Return the fields of a form.

    Raises:
        HTTPRequestTimeout, HTTPBadRequest: if it does not arrive in time, or cannot be read.
    """
    try:
        async with asyncio.timeout(SECONDS_TO_ASK):
            sent = await request.post()
    except TimeoutError:
        raise web.HTTPRequestTimeout(text="the form did not arrive in time") from None
    except (ValueError, LookupError, web.RequestPayloadError):
        raise web.HTTPBadRequest(text="the form cannot be read") from None
    return {name: value for name, value in sent.items() if isinstance(value, str)}


def _json(value: object, status: int = 200) -> web.Response:
    return web.Response(body=as_json(value), status=status, content_type="application/json")


def _bearer(request: web.Request) -> str:
    """Return the token in ``Authorization``, or ""."""
    kind, _, token = request.headers.get("Authorization", "").partition(" ")
    return token.strip() if kind.casefold() == "bearer" else ""


def _wants_json(request: web.Request) -> bool:
    """Return True if the client wants JSON, as programs do."""
    accept = request.headers.get("Accept", "")
    return request.path.endswith(_JSON) or (
        "application/json" in accept and "text/html" not in accept
    )
