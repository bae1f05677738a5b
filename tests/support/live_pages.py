"""The live page of a store, served in a thread, and a viewer who asks it."""

import asyncio
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import aiohttp
import msgspec
from yarl import URL

from canonry.crawler.web import serving
from canonry.crawler.web.panel import LiveCrawl
from canonry.crawler.web.safety import FIELD

_FORM_TOKEN = re.compile(f'name="{FIELD}" value="([^"]+)"')


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
        """Ask for the JSON of a panel."""
        reply = self.get(path, Accept="application/json", **headers)
        assert reply.status == 200, reply.text
        assert reply.headers["Content-Type"].startswith("application/json")
        return reply.data

    def post(self, path: str, form: Mapping[str, str], **headers: str) -> Reply:
        """Send a form."""
        return asyncio.run(self._ask("POST", path, headers, form))

    def act(self, page: str, action: str, **fields: str) -> Reply:
        """Send the form of an action as a browser does: with the token of a page, and the origin.

        The page has to have a form.
        """
        found = _FORM_TOKEN.search(self.get(page).text)
        assert found is not None
        return self.post(
            f"/actions/{action}", {FIELD: found[1], "back": page, **fields}, Origin=self.origin
        )

    def events(self, path: str, number: int) -> list[tuple[str, str]]:
        """Return the first events of a stream: the name of each, and its data."""
        return asyncio.run(self._events(path, number))

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

    async def _events(self, path: str, number: int) -> list[tuple[str, str]]:
        found: list[tuple[str, str]] = []
        name, data = "", []
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"{self.origin}{path}") as response,
        ):
            assert response.headers["Content-Type"] == "text/event-stream"
            async for line in response.content:
                field, _, value = line.decode().rstrip("\r\n").partition(": ")
                if field == "event":
                    name = value
                elif field == "data":
                    data.append(value)
                elif not field and name:
                    found.append((name, "\n".join(data)))
                    name, data = "", []
                    if len(found) == number:
                        break
        return found


@contextmanager
def live_page(
    store: str, crawl: LiveCrawl | None = None, place: serving.Place | None = None
) -> Iterator[Viewer]:
    """Serve the page of a store on a free port while a block runs."""
    said: list[str] = []
    where = (place or serving.Place())._replace(port=0)
    with serving.served(store, where, crawl, said.append):
        yield Viewer(said[0].partition(": ")[2])
