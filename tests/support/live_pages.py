"""The live page of a store, served in a thread, and a viewer who asks it."""

import asyncio
import html
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import aiohttp
import msgspec
from yarl import URL

from canonry.crawler.observe.progress import LiveCrawl
from canonry.crawler.web import serving


class Reply(NamedTuple):
    """What the server answered; redirects are not followed."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def data(self) -> Any:  # noqa: ANN401 - JSON
        return msgspec.json.decode(self.text)


class Viewer:
    """Asks a server over HTTP."""

    def __init__(self, address: str) -> None:
        self.address = URL(address)  # as the server printed it, with its token

    @property
    def origin(self) -> str:
        return str(self.address.origin())

    def get(self, path: str, **headers: str) -> Reply:
        """Ask for a path; ``Sec_Fetch_Site`` is the header ``Sec-Fetch-Site``."""
        return asyncio.run(self._ask("GET", path, headers, None))

    def json(self, path: str, **headers: str) -> Any:  # noqa: ANN401 - JSON
        """Ask for the JSON of a panel, by the path of its page."""
        name, mark, query = path.partition("?")
        reply = self.get(f"{name}.json{mark}{query}", **headers)
        assert reply.status == 200, reply.text
        assert reply.headers["Content-Type"].startswith("application/json")
        return reply.data

    def post(self, path: str, form: Mapping[str, str], **headers: str) -> Reply:
        """Send a form."""
        return asyncio.run(self._ask("POST", path, headers, form))

    async def _ask(
        self, method: str, path: str, headers: Mapping[str, str], form: Mapping[str, str] | None
    ) -> Reply:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        url = URL(f"{self.origin}{path}", encoded=True)
        async with (
            aiohttp.ClientSession() as session,
            session.request(
                method, url, headers=named, data=form, allow_redirects=False
            ) as response,
        ):
            return Reply(response.status, response.headers, await response.text())


def shown(page: str) -> str:
    """Return the text of a page, without its tags."""
    return html.unescape(re.sub("<[^>]*>", "", page))


@contextmanager
def live_page(
    store: str, crawl: LiveCrawl | None = None, place: serving.Place | None = None
) -> Iterator[Viewer]:
    """Serve the page of a store on a free port while a block runs."""
    said: list[str] = []
    where = (place or serving.Place())._replace(port=0)
    with serving.served(store, where, crawl, said.append):
        yield Viewer(said[0].partition(": ")[2])
