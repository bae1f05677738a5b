"""What a request returns, and the type of every function that sends one."""

from collections.abc import Awaitable, Mapping
from typing import NamedTuple, Protocol

from multidict import CIMultiDict


class Exchange(NamedTuple):
    """What went over the wire besides the response itself."""

    reason: str = ""
    address: str = ""  # of the server
    request: Mapping[str, str] = CIMultiDict()  # the headers that were sent


class Unread(NamedTuple):
    """Why the body of a response was not read, or not to its end."""

    reason: str  # the label of a `Fault` or of a `HoldReason`
    detail: str  # for people


class Response(NamedTuple):
    """The response to one request (one hop); the body is decoded from its content encoding."""

    url: str
    status: int
    headers: Mapping[str, str]
    cookies: Mapping[str, str]
    body: bytes
    elapsed: float  # seconds
    exchange: Exchange = Exchange()
    unread: Unread | None = None  # None: the body is whole


class Get(Protocol):
    """A function that fetches a URL: `Client.get`, or a wrapper of it."""

    def __call__(
        self,
        url: str,
        cookies: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        /,
    ) -> Awaitable[Response]:
        """Send one request; cookies and headers are sent along.

        Raises:
            FetchError: if no complete response came. An unwanted body need not be complete.
        """
        ...
