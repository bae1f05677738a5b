"""The one HTTP client: one hop at a time, each URL sent to the byte as it was resolved."""

import asyncio
import ssl
import time
from collections.abc import Awaitable, Callable, Mapping
from types import TracebackType
from typing import NamedTuple, Self

import aiohttp
from aiohttp.connector import Connection
from multidict import CIMultiDict
from yarl import URL

from canonry.canon.syntax.percent import to_text
from canonry.canon.syntax.uri import split
from canonry.crawler.fetch import addresses
from canonry.crawler.fetch.addresses import AddressRefusedError, ConnectTo, GuardedResolver
from canonry.crawler.fetch.faults import Fault, FetchError
from canonry.crawler.fetch.ports import is_web_port
from canonry.crawler.settings import Settings

REDIRECTS = frozenset({301, 302, 303, 307, 308})  # RFC 9110 section 15.4
_CHUNK = 1 << 16


class Exchange(NamedTuple):
    """What went over the wire beside the answer itself."""

    reason: str = ""
    address: str = ""  # that answered
    request: Mapping[str, str] = CIMultiDict()  # headers that were sent


class Response(NamedTuple):
    """An answer: one hop, its body decoded from its content-encoding."""

    url: str
    status: int
    headers: Mapping[str, str]
    cookies: Mapping[str, str]
    body: bytes
    elapsed: float
    exchange: Exchange = Exchange()


Get = Callable[..., Awaitable[Response]]  # `Client.get`, or what stands in for it


class Client:
    """Asks for URLs; follows nothing, remembers no cookies, re-quotes nothing."""

    def __init__(self, settings: Settings) -> None:
        """Prepare; connections are made once it is entered.

        Raises:
            ValueError: for a ``connect_to`` that cannot be read.
            OSError: for a ``ca_file`` that cannot be read.
        """
        fetch, crawl = settings.fetch, settings.crawl
        self._fetch = fetch
        self._limit = crawl.concurrency
        self._rules = [ConnectTo.parse(text) for text in fetch.connect_to]
        self._tls = ssl.create_default_context()
        if fetch.ca_file:
            self._tls.load_verify_locations(fetch.ca_file)
        contact = f" (+{crawl.contact})" if crawl.contact else ""
        self._headers = {
            "User-Agent": crawl.user_agent + contact,
            "Accept": "text/html,application/xhtml+xml,*/*;q=0.8",
        }

    async def __aenter__(self) -> Self:
        """Open the session."""
        self._resolver = GuardedResolver(
            aiohttp.ThreadedResolver(), self._rules, allow_private=self._fetch.allow_private
        )
        connector = aiohttp.TCPConnector(
            limit=self._limit, resolver=self._resolver, use_dns_cache=False, ssl=self._tls
        )
        self._session = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(
                total=self._fetch.timeout, sock_connect=self._fetch.connect_timeout
            ),
            headers=self._headers,
            response_class=_Answer,
        )
        return self

    async def __aexit__(
        self,
        _type: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        """Close all connections."""
        await self._session.close()

    async def get(
        self,
        url: str,
        cookies: Mapping[str, str] | None = None,
        more: Mapping[str, str] | None = None,
    ) -> Response:
        """Ask for one URL and read the whole answer.

        Args:
            url: as `canon.Canonical.url` gives it.
            cookies: to send along.
            more: further headers.

        Raises:
            FetchError: when no complete answer came.
        """
        start = time.monotonic()
        headers = dict(more or {})
        if cookies:
            headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in cookies.items())
        target = self._pin(_exact(url), headers)
        try:
            async with self._session.get(target, allow_redirects=False, headers=headers) as answer:
                exchange = _exchange(answer)
                body = await self._read(answer)
                return Response(
                    url,
                    answer.status,
                    _clean(answer.headers),
                    {name: morsel.value for name, morsel in answer.cookies.items()},
                    body,
                    time.monotonic() - start,
                    exchange,
                )
        except (TimeoutError, aiohttp.ClientError, OSError, ValueError) as error:
            raise FetchError(fault_of(error), type(error).__name__) from error

    async def address_of(self, host: str) -> str | None:
        """Return the address of a host; None for one that ``--connect-to`` maps elsewhere.

        Raises:
            OSError: when it has none that may be asked.
        """
        return await self._resolver.address_of(host)

    def _pin(self, url: URL, headers: dict[str, str]) -> URL:
        """Refuse ports; apply guard and ``--connect-to`` where the host is an address already.

        No resolver is asked for these.
        """
        host = url.host or ""
        if not is_web_port(str(url.port or "")):
            raise FetchError(Fault.ADDRESS, f"port {url.port}")
        if not addresses.is_literal(host):
            return url
        mapped = addresses.find(self._rules, host, url.port or 0)
        if mapped is not None:
            headers["Host"] = url.authority
            return url.with_host(mapped[0]).with_port(mapped[1])
        if not self._fetch.allow_private and not addresses.is_public(host):
            raise FetchError(Fault.ADDRESS, host)
        return url

    async def _read(self, answer: aiohttp.ClientResponse) -> bytes:
        """Read the body, and count what comes out of the decompressor."""
        body = bytearray()
        async for chunk in answer.content.iter_chunked(_CHUNK):
            body += chunk
            if len(body) > self._fetch.max_body:
                answer.close()
                raise FetchError(Fault.TOO_LARGE, f"over {self._fetch.max_body:,} bytes")
        return bytes(body)


class _Answer(aiohttp.ClientResponse):
    """An answer that knows whose it is: its connection may be another's once the body is there."""

    address = ""

    async def start(self, connection: Connection) -> Self:
        """Read the head."""
        peer = connection.transport and connection.transport.get_extra_info("peername")
        self.address = peer[0] if peer else ""
        await super().start(connection)
        return self


def _exchange(answer: aiohttp.ClientResponse) -> Exchange:
    """Return what went over the wire beside the answer."""
    address = answer.address if isinstance(answer, _Answer) else ""
    return Exchange(to_text(answer.reason or ""), address, answer.request_info.headers)


def _clean(headers: Mapping[str, str]) -> Mapping[str, str]:
    """Return headers as text: a byte that is not UTF-8, which no store takes, becomes an escape.

    In a Location that is what a URL makes of it anyway. Names stay case-insensitive.
    """
    return CIMultiDict((name, to_text(value)) for name, value in headers.items())


def _exact(url: str) -> URL:
    """Return a URL that goes into the request line byte for byte.

    The library drops the "?" of an empty query, so path and query are given to it as one path.
    """
    scheme, authority, path, query, _fragment = split(url)
    target = path if query is None else f"{path}?{query}"
    return URL.build(scheme=scheme or "", authority=authority or "", path=target, encoded=True)


def fault_of(error: BaseException) -> Fault:
    """Return what an error of the HTTP library amounts to."""
    cause = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
    if isinstance(cause, AddressRefusedError):
        return Fault.ADDRESS
    for kinds, fault in _FAULTS:
        if isinstance(error, kinds):
            return fault
    return Fault.PROTOCOL


# In this order: many of the library's errors are of several of these kinds.
_FAULTS: tuple[tuple[tuple[type[BaseException], ...], Fault], ...] = (
    ((asyncio.TimeoutError,), Fault.TIMEOUT),
    ((aiohttp.ClientConnectorDNSError,), Fault.DNS),
    ((aiohttp.ClientSSLError,), Fault.TLS),
    ((aiohttp.ClientPayloadError,), Fault.BODY),
    ((aiohttp.ServerDisconnectedError, aiohttp.ClientResponseError), Fault.PROTOCOL),
    ((aiohttp.ClientConnectionError, OSError), Fault.CONNECT),
)
