"""Pacing: the bytes of a request leave when their host may get them, and not before."""

from typing import TYPE_CHECKING, Protocol

import aiohttp
from aiohttp import ClientHandlerType, ClientRequest, ClientResponse

if TYPE_CHECKING:
    from aiohttp.connector import Connection


class Pacer(Protocol):
    """Knows when a request for a URL may go to its host. Its methods are called in this order."""

    async def turn(self, url: str) -> None:
        """Wait for the host's turn, however long that takes."""
        ...

    async def clearance(self, url: str) -> None:
        """Wait until the request may be sent, once it is connected."""
        ...

    def sent(self, url: str) -> None:
        """Note that the request was sent just now."""
        ...

    def arrived(self, url: str) -> None:
        """Note that the head of its answer was read."""
        ...


class Unpaced:
    """A pacer that never lets anybody wait."""

    async def turn(self, url: str) -> None:
        """Return at once."""

    async def clearance(self, url: str) -> None:
        """Return at once."""

    def sent(self, url: str) -> None:
        """Do nothing."""

    def arrived(self, url: str) -> None:
        """Do nothing."""


class PacedRequest(ClientRequest):
    """A request that waits for its pacer once it is connected.

    Between the decision to send a request and its bytes lie a look-up, a connection, a handshake
    and whatever else the event loop does meanwhile; aiohttp itself repeats a request on a new
    connection. So the time of the decision says little about what the server sees.
    """

    pacer: Pacer = Unpaced()
    asked = ""  # the URL as the crawl knows it

    async def send(self, conn: "Connection") -> ClientResponse:
        """Send the request. Its bytes are with the system when this returns."""
        await self.pacer.clearance(self.asked)
        try:
            return await super().send(conn)
        finally:
            self.pacer.sent(self.asked)


def paced(pacer: Pacer, url: str) -> aiohttp.ClientMiddlewareType:
    """Return a middleware that gives a `PacedRequest` its pacer and its URL."""

    async def middleware(request: ClientRequest, handler: ClientHandlerType) -> ClientResponse:
        if isinstance(request, PacedRequest):
            request.pacer, request.asked = pacer, url
        return await handler(request)

    return middleware
