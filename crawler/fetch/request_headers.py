"""The headers of a request that the settings ask for: which host gets which."""

import base64
import time
from collections.abc import Callable, Iterable, Mapping

from multidict import CIMultiDict

from canonry.canon.syntax import Parts
from canonry.crawler.fetch.cookie_jar import CookieJar, read_jar
from canonry.crawler.settings import FetchSettings
from canonry.crawler.settings.header_lines import (
    cookies_of,
    headers_of,
    is_secret,
    user_and_password,
)
from canonry.crawler.settings.host_tables import HostTables

_Origin = tuple[str | None, str | None, str | None]  # scheme, host, port


class RequestHeaders:
    """Makes the headers of requests.

    Headers for all hosts go to the hosts in scope. Those that may be secret go only to the origins
    of the seeds, and never in the clear if the seed is https. So a redirect takes no password
    along. Headers, cookies and passwords of a host's table go to that host.
    """

    def __init__(
        self,
        fetch: FetchSettings,
        tables: HostTables,
        *,
        seeds: Iterable[str] = (),
        in_scope: Callable[[str], bool] = lambda _url: True,
        notify: Callable[[str], None] = lambda _message: None,
    ) -> None:
        """Read the settings.

        Args:
            fetch: has headers for all hosts, and the name of a file of cookies.
            tables: have headers for single hosts.
            seeds: as they are requested.
            in_scope: returns True if a URL is in the host, domain or directory of a seed.
            notify: receives sentences for people.

        Raises:
            ValueError: the cookies cannot be read.
        """
        headers = headers_of(fetch.headers)
        self._plain = {name: value for name, value in headers.items() if not is_secret(name)}
        self._secret = {name: value for name, value in headers.items() if is_secret(name)}
        self._trusted = {origin for seed in seeds for origin in _trusted(seed)}
        self._jar = read_jar(fetch.cookies) if fetch.cookies else CookieJar(())
        self._tables = tables
        self._in_scope = in_scope
        self._notify = notify
        self._told = False  # that a secret was not sent somewhere
        self._any = bool(headers or fetch.cookies or tables)

    def of(
        self, url: str, cookies: Mapping[str, str] | None, more: Mapping[str, str] | None
    ) -> CIMultiDict[str]:
        """Return the headers of a request.

        Args:
            url: the URL, as it is requested.
            cookies: those that the server has just set.
            more: headers of this request.
        """
        headers: CIMultiDict[str] = CIMultiDict()
        configured_cookies: dict[str, str] = {}
        if self._any:
            configured_cookies = self._ask(url, headers)
        if configured_cookies or cookies:
            pairs = {**configured_cookies, **(cookies or {})}
            headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in pairs.items())
        headers.update(more or {})
        return headers

    def _ask(self, url: str, headers: CIMultiDict[str]) -> dict[str, str]:
        """Add the headers that the settings ask for; return the cookies."""
        parts = Parts.of(url)
        host = parts.host or ""
        if self._in_scope(url):
            headers.update(self._plain)
            if (parts.scheme, host, parts.port) in self._trusted:
                headers.update(self._secret)
            elif self._secret and not self._told:
                self._withhold(host)
        table = self._tables.of(host)
        headers.update(headers_of(table.headers))
        if table.basic_auth is not None:
            user = ":".join(user_and_password(table.basic_auth)).encode()
            headers["Authorization"] = f"Basic {base64.b64encode(user).decode()}"
        if parts.userinfo is not None:
            headers.pop("Authorization", None)  # the URL has its own
        kept = cookies_of(headers.pop("Cookie", ""))
        return kept | self._jar.of(url, time.time()) | cookies_of(table.cookies or "")

    def _withhold(self, host: str) -> None:
        """Report once that a host does not get the headers that may be secret."""
        names = ", ".join(self._secret)
        self._notify(
            f"canonry: {names} of --header is sent to the seeds' own hosts only, not to {host} and "
            "others: make those that may have it seeds, or write headers for "
            f'[hosts."{host}"] in --config'
        )
        self._told = True


def _trusted(seed: str) -> list[_Origin]:
    """Return the origins that may get secrets because of a seed: its own, and that over https."""
    parts = Parts.of(seed)
    own = (parts.scheme, parts.host, parts.port)
    secure = ("https", parts.host, None)
    return [own, secure] if own == ("http", parts.host, None) else [own]
