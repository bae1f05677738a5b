"""The only HTTP client: one hop per request; each URL is sent byte for byte as resolved."""

import asyncio
import errno
import os
import re
import socket
import ssl
from collections.abc import Callable, Mapping, MutableMapping
from functools import partial
from itertools import chain, count
from types import TracebackType
from typing import Self

import aiohttp
from aiohttp.abc import AbstractResolver
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection
from multidict import CIMultiDict
from yarl import URL

from canonry.canon import parse
from canonry.canon.syntax import to_text
from canonry.crawler.fetch import addresses, open_files
from canonry.crawler.fetch.addresses import AddressRefusedError, ConnectTo, GuardedResolver
from canonry.crawler.fetch.body_reader import BodyReader, RequestTime
from canonry.crawler.fetch.faults import Fault, FetchError
from canonry.crawler.fetch.identity import RequestSigner
from canonry.crawler.fetch.pacing import PacedRequest, Pacer, Unpaced, pace
from canonry.crawler.fetch.ports import is_web_port
from canonry.crawler.fetch.proxy_routes import PASSWORD_WANTED, ProxyRoutes, by_way_of
from canonry.crawler.fetch.request_headers import RequestHeaders
from canonry.crawler.fetch.response import Exchange, Get, Response
from canonry.crawler.settings import Settings
from canonry.crawler.settings.host_tables import HostTables
from canonry.crawler.settings.proxies import Proxies
from canonry.storage.http_status import OK

# The order counts: many of aiohttp's errors belong to several of these classes.
_FAULTS: tuple[tuple[tuple[type[BaseException], ...], Fault], ...] = (
    ((aiohttp.ClientProxyConnectionError,), Fault.PROXY),
    ((asyncio.TimeoutError,), Fault.TIMEOUT),
    ((aiohttp.ClientConnectorDNSError,), Fault.DNS),
    ((aiohttp.ClientSSLError,), Fault.TLS),
    ((aiohttp.ClientPayloadError,), Fault.BODY),
    ((aiohttp.ServerDisconnectedError, aiohttp.ClientResponseError), Fault.PROTOCOL),
    ((aiohttp.ClientConnectionError, OSError), Fault.CONNECT),
)
# Final answers of name servers: no such name, or no address of it. Other faults may pass.
_NO_ADDRESS = frozenset({socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)})


def as_fetch_error(error: BaseException) -> FetchError:
    """Return the fetch error for an error of aiohttp or the system, with its cause as detail."""
    cause = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
    if isinstance(cause, AddressRefusedError):
        return FetchError(Fault.ADDRESS, str(cause))
    if isinstance(error, aiohttp.ClientHttpProxyError):
        return FetchError(Fault.PROXY, f"status {error.status}")
    fault = next((fault for kinds, fault in _FAULTS if isinstance(error, kinds)), Fault.PROTOCOL)
    final = isinstance(cause, socket.gaierror) and cause.errno in _NO_ADDRESS
    return FetchError(fault, _detail(cause), final=final)


def _detail(cause: BaseException) -> str:
    """Return what happened, in a few words from a small set, so that they can be counted."""
    if isinstance(cause, ssl.SSLCertVerificationError):
        return cause.verify_message.partition(",")[0].lower()
    if isinstance(cause, ssl.SSLError) and cause.reason:
        return cause.reason.lower().replace("_", " ")
    if isinstance(cause, socket.gaierror):
        return (cause.strerror or "").lower()
    if isinstance(cause, OSError) and cause.errno is not None and cause.errno in errno.errorcode:
        return os.strerror(cause.errno).lower()
    if isinstance(cause, aiohttp.ConnectionTimeoutError):
        return "no connection"
    return type(cause).__name__


# Browsers take 256 KiB of headers; aiohttp's own limits, 8 KiB a line and 128 lines, lose pages.
_MAX_LINE = 1 << 16
_MAX_HEADERS = 256
_MAIL = re.compile(r"[^@\s/]+@[^@\s/]+")
_PAUSE = 0.1  # seconds, before a request for which no socket was left is tried again


class Client:
    """Sends requests; follows no redirects, keeps no cookies, re-quotes nothing."""

    def __init__(
        self,
        settings: Settings,
        pacer: Pacer | None = None,
        headers: RequestHeaders | None = None,
        notify: Callable[[str], None] = lambda _message: None,
    ) -> None:
        """Prepare; enter the client as a context manager before use.

        Args:
            settings: limits, and where to connect to.
            pacer: makes each request wait for its host.
            headers: makes the headers that the settings ask for; None makes none.
            notify: receives a sentence for people the first time that no socket is left.

        Raises:
            ValueError: if a ``connect_to``, a proxy or the ``ca_file`` cannot be used.
            SettingsError: if the identity cannot be used.
        """
        fetch, crawl = settings.fetch, settings.crawl
        self._request_headers = headers or RequestHeaders(fetch, HostTables({}))
        self._fetch = fetch
        self._pacer = pacer or Unpaced()
        self._limit = crawl.concurrency + open_files.beside_slow(crawl.concurrency)
        self._sockets = open_files.Sockets(open_files.for_requests())
        self._notify: Callable[[str], None] | None = notify  # None once it was called
        self._rules = [ConnectTo.parse(text) for text in fetch.connect_to]
        self._proxies = Proxies(fetch.proxy)
        self._bodies = BodyReader(fetch)
        self._signer = None
        if fetch.identity or fetch.identity_agent:
            self._signer = RequestSigner(fetch.identity, fetch.identity_agent)
        self._tls = _trusting(fetch.ca_file) if fetch.ca_file else True
        contact = f" (+{crawl.contact})" if crawl.contact else ""
        self._headers = {
            "User-Agent": crawl.user_agent + contact,
            "Accept": "text/html,application/xhtml+xml,*/*;q=0.8",
        }
        self._patience = self._fetch.timeout / 3  # seconds for opening a connection
        if _MAIL.fullmatch(crawl.contact):
            self._headers["From"] = crawl.contact  # as RFC 9110 section 10.1.2 asks of robots

    async def __aenter__(self) -> Self:
        """Open the session."""
        patience = self._patience
        self._resolver = GuardedResolver(
            aiohttp.ThreadedResolver(),
            self._rules,
            allow_private=self._fetch.allow_private,
            patience=patience,
        )
        guard = None if self._fetch.allow_private else self._resolver
        self._routes = ProxyRoutes(self._proxies, self._rules, guard, patience)
        self._session = self._opened(self._resolver)
        # It only looks up proxies. The user chose them, so no guard checks their addresses.
        self._proxied = self._opened(aiohttp.ThreadedResolver())
        return self

    def _opened(self, resolver: AbstractResolver) -> aiohttp.ClientSession:
        """Open a session that looks up names with a resolver."""
        connector = aiohttp.TCPConnector(
            limit=self._limit,
            resolver=resolver,
            use_dns_cache=False,
            ssl=self._tls,
            socket_factory=self._sockets.make,
        )
        loop = asyncio.get_running_loop()
        handler: type[ResponseHandler] = _ResponseHandler
        connector._factory = partial(handler, loop)  # noqa: SLF001 - aiohttp has no other way
        return aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(sock_connect=self._patience),
            headers=self._headers,
            request_class=PacedRequest,
            response_class=_AddressedResponse,
            max_line_size=_MAX_LINE,
            max_field_size=_MAX_LINE,
            max_headers=_MAX_HEADERS,
        )

    async def __aexit__(
        self,
        _type: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        """Close all connections."""
        await self._session.close()
        await self._proxied.close()

    async def get(
        self,
        url: str,
        cookies: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        /,
    ) -> Response:
        """Request one URL and read the whole response.

        Args:
            url: the URL as in `canonry.Canonical.url`.
            cookies: cookies to send.
            headers: further headers to send.

        Raises:
            FetchError: if no complete response came.
        """
        return await self._get(url, cookies, headers, None)

    def cutting(self, size: int) -> Get:
        """Return a `get` that reads no more than the beginning of a long body.

        Args:
            size: bytes; a body that was cut has more than that.
        """

        async def get(
            url: str,
            cookies: Mapping[str, str] | None = None,
            headers: Mapping[str, str] | None = None,
            /,
        ) -> Response:
            return await self._get(url, cookies, headers, size)

        return get

    async def _get(
        self,
        url: str,
        cookies: Mapping[str, str] | None,
        headers: Mapping[str, str] | None,
        cut: int | None,
    ) -> Response:
        """Request one URL; read the whole body, or the beginning of it.

        If no socket is left, idle connections are closed, and the request is tried again until it
        has a socket: no host is at fault.
        """
        await self._pacer.turn(url)  # no time limit counts this wait
        sent = self._request_headers.of(url, cookies, headers)
        if self._signer is not None:
            sent.update(self._signer.headers_for(url))
        exact = _exact(url)
        target = self._pin(exact, sent)
        for tries in count():
            try:
                return await self._request(url, exact, target, sent, cut)
            except (TimeoutError, aiohttp.ClientError, OSError, ValueError) as error:
                if not open_files.is_shortage(error):
                    raise as_fetch_error(error) from error
            self._close_idle()
            if tries and self._notify is not None:
                self._notify(
                    "canonry: this process has no open file left for another connection (ulimit "
                    "-n); requests wait until they have one"
                )
                self._notify = None
            await asyncio.sleep(_PAUSE)
        raise AssertionError  # the loop has no end

    async def _request(
        self,
        url: str,
        exact: URL,
        target: URL,
        sent: MutableMapping[str, str],
        cut: int | None,
    ) -> Response:
        """Send a request whose turn it is, and read the response."""
        proxy = await self._routes.of(url, exact.host or "", exact.port or 0)
        pace(self._pacer, url)
        session = self._session if proxy is None else self._proxied
        way = by_way_of(proxy, exact.scheme, sent)
        async with (
            RequestTime(self._fetch.timeout) as time,
            session.get(target, allow_redirects=False, headers=sent, **way) as response,
        ):
            self._pacer.arrived(url)
            if proxy is not None and response.status == PASSWORD_WANTED:
                raise FetchError(Fault.PROXY, f"status {response.status}")
            if response.status < OK:  # invalid, or of an answer that is not the last one
                # RFC 9110 section 15; those above 599 are errors without this.
                raise FetchError(Fault.PROTOCOL, f"status {response.status:03}")
            exchange = _exchange(response, proxied=proxy is not None)
            body, unread = await self._bodies.read(response, cut, time)
            return Response(
                url,
                response.status,
                _clean(response.headers),
                {name: morsel.value for name, morsel in response.cookies.items()},
                body,
                time.elapsed,
                exchange,
                unread,
            )

    def _close_idle(self) -> None:
        """Close the connections that no request uses."""
        for session in (self._session, self._proxied):
            idle = session.connector._conns if session.connector else {}  # noqa: SLF001 - as above
            for protocol, _since in chain.from_iterable(idle.values()):
                protocol.close()

    async def address_of(self, host: str) -> str | None:
        """Return the address of a host; None if ``--connect-to`` maps it, or only a proxy knows it.

        Raises:
            OSError: if it has none that may be connected to.
        """
        return None if self._routes.hides(host) else await self._resolver.address_of(host)

    def _pin(self, url: URL, headers: MutableMapping[str, str]) -> URL:
        """Check the port; apply the guard and ``--connect-to`` if the host is an IP address.

        The resolver, which does so for names, is not called for addresses.
        """
        host = url.host or ""
        if not is_web_port(str(url.port or "")):
            raise FetchError(Fault.ADDRESS, f"port {url.port}")
        if not addresses.is_literal(host):
            return url
        mapped = addresses.connect_target(self._rules, host, url.port or 0)
        if mapped is not None:
            headers["Host"] = url.authority
            return url.with_host(mapped[0]).with_port(mapped[1])
        if not self._fetch.allow_private and not addresses.is_public(host):
            raise FetchError(Fault.ADDRESS, host)
        return url


def _trusting(file: str) -> ssl.SSLContext:
    """Return a context that trusts the certificate authorities in a file, besides the system's.

    Without a file, aiohttp's own context is used: another one would take time and memory.

    Raises:
        ValueError: naming the file.
    """
    tls = ssl.create_default_context()
    try:
        tls.load_verify_locations(file)
    except ssl.SSLError:
        message = f"ca_file {file}: allowed is a file with certificates in PEM format"
        raise ValueError(message) from None
    except OSError as error:
        message = f"ca_file {file}: cannot be read: {error.strerror}"
        raise ValueError(message) from None
    return tls


class _ResponseHandler(ResponseHandler):
    """Reads responses; a body that is longer than its Content-Length is cut to that length.

    aiohttp refuses the extra bytes, and with them a whole response in the same packet. So it gets
    the head first. A body that is not HTTP fails at once: aiohttp would report the error only to
    the reader of the next head, and the body's reader would wait until the request times out.
    """

    def data_received(self, data: bytes) -> None:
        """Take bytes from the network."""
        head, end, body = data.partition(b"\r\n\r\n") if data[:5] == b"HTTP/" else (data, b"", b"")
        super().data_received(head + end)
        if body:
            super().data_received(body)
        payload = self._payload
        if self._exception is not None and payload is not None and not payload.is_eof():
            payload.set_exception(aiohttp.ClientPayloadError("the body is not HTTP"))


class _AddressedResponse(aiohttp.ClientResponse):
    """A response that notes its server's address, before its connection is used for another."""

    address = ""

    async def start(self, connection: Connection) -> Self:
        """Note the address, and read the response's head."""
        peer = connection.transport and connection.transport.get_extra_info("peername")
        self.address = peer[0] if peer else ""
        await super().start(connection)
        return self


def _exchange(response: aiohttp.ClientResponse, *, proxied: bool) -> Exchange:
    """Return what went over the wire besides the response, without the address of a proxy."""
    address = response.address if isinstance(response, _AddressedResponse) else ""
    address = "" if proxied else address
    return Exchange(to_text(response.reason or ""), address, response.request_info.headers)


def _clean(headers: Mapping[str, str]) -> Mapping[str, str]:
    """Return headers as text; bytes that are not UTF-8, which no store takes, are percent-encoded.

    In a ``Location``, a URL parser does the same. Names stay case-insensitive.
    """
    if all(map(str.isascii, headers.values())):
        return headers
    return CIMultiDict((name, to_text(value)) for name, value in headers.items())


def _exact(url: str) -> URL:
    """Build a URL that goes into the request line byte for byte.

    yarl drops the "?" of an empty query, so path and query are passed to it as one path.
    """
    scheme, authority, path, query, _fragment = parse(url)
    target = path if query is None else f"{path}?{query}"
    return URL.build(scheme=scheme or "", authority=authority or "", path=target, encoded=True)
