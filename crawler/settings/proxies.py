"""Choose the proxy of a request, by the settings and the environment."""

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from ipaddress import ip_address, ip_network
from typing import NamedTuple
from urllib.request import (  # type: ignore[attr-defined]  # typeshed lacks the second
    getproxies_environment,
    proxy_bypass_environment,
)

from canonry.canon import InvalidURL, parse, redact
from canonry.canon.syntax import Parts

NO_PROXY = "none"  # the value of the setting that ignores the environment
_LOOPBACK = ("localhost", "127.0.0.0/8", "::1")


class Proxies:
    """Chooses the proxy for a request."""

    def __init__(self, setting: str) -> None:
        """Read the setting and the environment, with `urllib.request`.

        Args:
            setting: the URL of a proxy; `NO_PROXY` for none; "" to use the environment:
                ``HTTP_PROXY``, ``HTTPS_PROXY``, ``ALL_PROXY`` and ``NO_PROXY``, or the same names
                in lower case, which win. Under CGI, ``HTTP_PROXY`` is ignored: a client sent it.

        Raises:
            ValueError: a proxy cannot be used. The message names the variable, and no password.
        """
        variables = getproxies_environment()
        own = _Chosen(proxy_url(setting), "--proxy") if setting not in {"", NO_PROXY} else None
        self._ignored: list[str] = []
        self._by_scheme = {} if own is None else {"http": own, "https": own}
        for scheme in ("http", "https"):
            kind = scheme if scheme in variables else "all"
            name = f"{kind}_proxy" if f"{kind}_proxy" in os.environ else f"{kind}_proxy".upper()
            if kind in variables and setting:
                self._ignored.append(name)
            elif kind in variables:
                try:
                    self._by_scheme[scheme] = _Chosen(proxy_url(variables[kind]), name)
                except ValueError as error:
                    message = f"{name}: {error}; --proxy none ignores the environment"
                    raise ValueError(message) from None
        self._no_proxy = variables.get("no", "")
        direct = re.split(r"[\s,]+", self._no_proxy)
        if own is None:  # a proxy in the settings is for loopback, too
            direct += _LOOPBACK
        names = ",".join(name.removeprefix("*") for name in direct)
        self._direct = {"no": "*" if "*" in direct else names}
        self._networks = []
        for name in direct:
            with suppress(ValueError):
                self._networks.append(ip_network(name.strip("[]"), strict=False))

    def of(self, url: str) -> str | None:
        """Return the proxy for a URL; None if it is requested directly."""
        if not self._by_scheme:
            return None
        parts = Parts.of(url)
        chosen = self._by_scheme.get(parts.scheme or "")
        return None if chosen is None or self._is_direct(parts) else chosen.url

    def _is_direct(self, parts: Parts) -> bool:
        """Return True if ``NO_PROXY`` has the host, a domain above it, or its network."""
        host = parts.host or ""
        with suppress(ValueError):
            address = ip_address(host.strip("[]"))
            if any(address in network for network in self._networks):
                return True
        place = host if parts.port is None else f"{host}:{parts.port}"
        return bool(proxy_bypass_environment(place, self._direct))

    def notices(self, *, all_mapped: bool) -> Iterator[str]:
        """Yield sentences about the proxies that are used or ignored.

        Args:
            all_mapped: True if ``--connect-to`` maps all hosts.
        """
        if self._by_scheme and all_mapped:
            names = " and ".join(dict.fromkeys(proxy.source for proxy in self._by_scheme.values()))
            yield f"{names} is ignored: --connect-to says for all hosts where to connect to"
            return
        for proxy in dict.fromkeys(self._by_scheme.values()):
            schemes = [name for name, other in self._by_scheme.items() if other == proxy]
            but = f", but not to {self._no_proxy} (NO_PROXY)" if self._no_proxy else ""
            yield (
                f"requests for {' and '.join(schemes)} go through the proxy {redact(proxy.url)} "
                f"({proxy.source}){but}"
            )
        if self._ignored:
            yield f"{' and '.join(dict.fromkeys(self._ignored))} is ignored, because of --proxy"


class _Chosen(NamedTuple):
    """A proxy, and where it was named."""

    url: str
    source: str


def proxy_url(text: str) -> str:
    """Return the URL of a proxy; the scheme is http by default.

    Raises:
        ValueError: it is not the URL of an HTTP proxy. The message shows no password.
    """
    url = text if "://" in text else f"http://{text}"
    message = "allowed is http://HOST:PORT, https://HOST:PORT, with USER:PASSWORD@ or not"
    try:
        scheme, authority, path, _query, _fragment = parse(url)
    except InvalidURL:
        raise ValueError(message) from None
    if scheme is None or scheme.lower() not in {"http", "https"} or not authority:
        raise ValueError(message)
    if path not in {"", "/"} or not Parts.of(url).host:
        raise ValueError(message)
    return f"{scheme.lower()}://{authority}"


def shown_proxy(setting: str) -> str:
    """Return the setting without the password of the proxy."""
    return setting if setting in {"", NO_PROXY} else redact(proxy_url(setting))


def check_setting(text: str) -> None:
    """Raise ValueError if the setting has a value that is not allowed."""
    if text and text != NO_PROXY:
        try:
            proxy_url(text)
        except ValueError as error:
            message = f'{error}, "none", or "" for the variables of the environment'
            raise ValueError(message) from None
