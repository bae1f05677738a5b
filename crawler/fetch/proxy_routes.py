"""Routes through proxies: which requests take one, and what the address guard still checks."""

import asyncio
import time
from base64 import b64encode
from collections.abc import MutableMapping, Sequence
from typing import Any

import aiohttp
from yarl import URL

from canonry.crawler.fetch import addresses
from canonry.crawler.fetch.addresses import AddressRefusedError, ConnectTo, GuardedResolver
from canonry.crawler.settings.proxies import Proxies

PASSWORD_WANTED = 407  # a proxy's status (RFC 9110 section 15.5.8)
_SECONDS, _MOST = 60.0, 10_000  # how long, and how many, failed look-ups are remembered


class ProxyRoutes:
    """Finds the proxy of each request, and checks the names that the proxy will look up."""

    def __init__(
        self,
        proxies: Proxies,
        rules: Sequence[ConnectTo],
        guard: GuardedResolver | None,
        longest: float,
    ) -> None:
        """Bind the proxies.

        Args:
            proxies: of the settings.
            rules: of ``--connect-to``; requests to the hosts that they map take no proxy.
            guard: looks up names; None checks nothing.
            longest: seconds that a look-up may take.
        """
        self._longest = longest
        self._proxies = proxies
        self._rules = rules
        self._guard = guard
        self._unknown: dict[str, float] = {}  # names, and until when they are not looked up again

    async def of(self, url: str, host: str, port: int) -> str | None:
        """Return the URL of the proxy for a request; None if it goes to the host itself.

        Raises:
            AddressRefusedError: if the host has addresses, and none of them is allowed.
        """
        proxy = self._proxies.of(url)
        if proxy is None or addresses.connect_target(self._rules, host, port) is not None:
            return None
        if self._guard is not None and not addresses.is_literal(host):
            await self._check(self._guard, host, port)
        return proxy

    def hides(self, host: str) -> bool:
        """Return True if only a proxy knows the addresses of a host, as far as we have tried."""
        return self._unknown.get(host, 0.0) > time.monotonic()

    async def _check(self, guard: GuardedResolver, host: str, port: int) -> None:
        """Raise if a name has no allowed address. A name that only the proxy knows passes."""
        if self.hides(host):
            return
        try:
            async with asyncio.timeout(self._longest):
                await guard.resolve(host, port)
        except AddressRefusedError:
            raise
        except OSError:  # time-outs are such errors, too
            if len(self._unknown) >= _MOST:
                self._unknown.clear()
            self._unknown[host] = time.monotonic() + _SECONDS


def by_way_of(proxy: str | None, scheme: str, headers: MutableMapping[str, str]) -> dict[str, Any]:
    """Return the arguments with which aiohttp sends a request through a proxy, or without one.

    Args:
        proxy: its URL, with a password or not.
        scheme: of the request. One over https goes through a tunnel.
        headers: of the request; over http, they get the proxy's password.
    """
    if proxy is None:
        return {}
    url = URL(proxy)
    if url.user is None:
        return {"proxy": url}
    user = f"{url.user}:{url.password or ''}"
    basic: dict[str, str] = {
        aiohttp.hdrs.PROXY_AUTHORIZATION: f"Basic {b64encode(user.encode()).decode()}"
    }
    if scheme == "https":
        return {"proxy": url.with_user(None), "proxy_headers": basic}
    headers.update(basic)
    return {"proxy": url.with_user(None)}
