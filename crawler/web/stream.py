"""The stream of live changes: server-sent events, each a panel's name with its new HTML."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress

from aiohttp import web
from aiohttp_sse import sse_response

from canonry.crawler.web.answers import Answers
from canonry.crawler.web.panel import BadQuestionError, Panel
from canonry.storage import StoreError

_STEP = 0.5  # seconds between checks for due panels
_RETRY = 3_000  # milliseconds until a browser connects again


class Streams:
    """The open streams; they end when the server does."""

    def __init__(self, answers: Answers, most: int) -> None:
        """Stream the answers of panels to a limited number of viewers."""
        self._answers = answers
        self._most = most
        self._open = 0
        self._ending = asyncio.Event()

    def end(self) -> None:
        """End all streams."""
        self._ending.set()

    async def serve(
        self, request: web.Request, panels: Sequence[Panel], fields: Mapping[str, str]
    ) -> web.StreamResponse:
        """Send a panel's HTML whenever it has changed, until the viewer leaves.

        Args:
            request: of the viewer.
            panels: those of its page that are updated.
            fields: the query of its page.

        Raises:
            HTTPServiceUnavailable: if there are too many viewers.
        """
        if self._open >= self._most:
            raise web.HTTPServiceUnavailable(reason="Too many viewers")
        self._open += 1
        try:
            async with sse_response(request) as response:
                await response.send("", event="hello", retry=_RETRY)
                sent: dict[str, str] = {}
                due = dict.fromkeys((panel.name for panel in panels), 0.0)
                while response.is_connected() and not self._ending.is_set():
                    now = time.monotonic()
                    for panel in panels:
                        if due[panel.name] > now:
                            continue
                        due[panel.name] = now + panel.every
                        html = await self._html(panel, fields)
                        if html is not None and sent.get(panel.name) != html:
                            sent[panel.name] = html
                            await response.send(html, event=panel.name)
                    await self._pause()
        except ConnectionResetError:  # the viewer has left
            pass
        finally:
            self._open -= 1
        return response

    async def _html(self, panel: Panel, fields: Mapping[str, str]) -> str | None:
        """Return a panel's HTML; None while the store cannot be read."""
        try:
            return (await self._answers.of(panel, fields)).html
        except (StoreError, BadQuestionError):
            return None

    async def _pause(self) -> None:
        """Wait for the next step, or for the end."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_STEP):
                await self._ending.wait()
