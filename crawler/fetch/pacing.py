"""Pacing: the bytes of a request leave when their host may get them, and not before."""

from contextvars import ContextVar
from typing import TYPE_CHECKING, Protocol

from aiohttp import ClientRequest, ClientResponse

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
    """A pacer that lets every request go at once."""

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

    async def send(self, conn: "Connection") -> ClientResponse:
        """Send the request. Its bytes are with the system when this returns."""
        pacer, asked = _PACED.get()
        await pacer.clearance(asked)
        try:
            return await super().send(conn)
        finally:
            pacer.sent(asked)


# The pacer and the URL of a task's next request. A middleware would be made for each request.
_PACED: ContextVar[tuple[Pacer, str]] = ContextVar("_PACED", default=(Unpaced(), ""))


def pace(pacer: Pacer, url: str) -> None:
    """Let the next request of this task wait for a pacer; the URL is as the crawl knows it."""
    _PACED.set((pacer, url))
