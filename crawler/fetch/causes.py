"""Causes: what the exceptions of aiohttp, TLS and the system mean for a fetch."""

import asyncio
import errno
import os
import socket
import ssl

import aiohttp

from canonry.crawler.fetch.addresses import AddressRefusedError
from canonry.crawler.fetch.faults import Fault, FetchError

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
