"""Choose the proxy of a request, by the settings and the environment."""

import ipaddress
import os
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from canonry.canon import InvalidURL, parse, redact
from canonry.canon.syntax import Parts

NO_PROXY = "none"  # the value of the setting that ignores the environment
_LOOPBACK = ("localhost", "127.0.0.0/8", "::1")


class Proxies:
    """Chooses the proxy for a request."""

    def __init__(self, setting: str, environment: Mapping[str, str] = os.environ) -> None:
        """Read the setting and the variables.

        Args:
            setting: the URL of a proxy; `NO_PROXY` for none; "" to use the environment.
            environment: may have ``HTTP_PROXY``, ``HTTPS_PROXY``, ``ALL_PROXY`` and ``NO_PROXY``,
                or the same names in lower case, which win.

        Raises:
            ValueError: a proxy cannot be used. The message names the variable, and no password.
        """
        variables = _variables(environment)
        self._given = setting not in {"", NO_PROXY}
        self._ignored: list[str] = []
        self._by_scheme: dict[str, _Chosen] = {}
        if self._given:
            chosen = _Chosen(proxy_url(setting), "--proxy")
            self._by_scheme = {"http": chosen, "https": chosen}
        for scheme in ("http", "https"):
            name, url = variables.get(f"{scheme}_proxy") or variables.get("all_proxy", ("", ""))
            if not url:
                continue
            if setting:
                self._ignored.append(name)
                continue
            try:
                self._by_scheme[scheme] = _Chosen(proxy_url(url), name)
            except ValueError as error:
                message = f"{name}: {error}; --proxy none ignores the environment"
                raise ValueError(message) from None
        exceptions = variables.get("no_proxy", ("", ""))[1]
        self._direct = [_Exception.read(text) for text in re.split(r"[\s,]+", exceptions) if text]
        if not self._given:  # a proxy in the settings is for loopback, too
            self._direct += [_Exception.read(text) for text in _LOOPBACK]
        self._no_proxy = exceptions if setting != NO_PROXY else ""

    def of(self, url: str) -> str | None:
        """Return the proxy for a URL; None if it is requested directly."""
        if not self._by_scheme:
            return None
        parts = Parts.of(url)
        chosen = self._by_scheme.get(parts.scheme or "")
        host, port = (parts.host or "").strip("[]"), parts.port or ""
        if chosen is None or any(one.is_for(host, port) for one in self._direct):
            return None
        return chosen.url

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


class _Exception(NamedTuple):
    """An item of ``NO_PROXY``: a domain with all below it, or a network; perhaps a port."""

    domain: str
    port: str
    network: ipaddress.IPv4Network | ipaddress.IPv6Network | None

    @classmethod
    def read(cls, text: str) -> "_Exception":
        """Read an item as a network, or else as a domain."""
        try:
            return cls("", "", ipaddress.ip_network(text.strip("[]"), strict=False))
        except ValueError:
            domain, _, port = text.lower().partition(":")
            return cls(domain.removeprefix("*").removeprefix("."), port, None)

    def is_for(self, host: str, port: str) -> bool:
        """Return True if a host is to be requested without a proxy."""
        if self.network is not None:
            try:
                return ipaddress.ip_address(host) in self.network
            except ValueError:
                return False
        if self.port and self.port != port:
            return False
        return not self.domain or host == self.domain or host.endswith(f".{self.domain}")


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


def _variables(environment: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Return the proxy variables: by lower-case name, the name as spelled and the value.

    Under CGI, ``HTTP_PROXY`` may be a header that the client sent, so it is ignored.
    """
    variables: dict[str, tuple[str, str]] = {}
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        for spelled in (name.upper(), name):
            from_client = spelled == "HTTP_PROXY" and "REQUEST_METHOD" in environment
            if environment.get(spelled) and not from_client:
                variables[name] = (spelled, environment[spelled])
    return variables
