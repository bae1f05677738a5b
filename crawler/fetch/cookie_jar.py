"""Cookies from a file in Netscape's format, as browsers' extensions and curl write it."""

import re
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from canonry.canon.syntax import Parts

_HTTP_ONLY = "#HttpOnly_"
_FIELDS = ("domain", "subdomains", "path", "secure", "expires", "name", "value")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_FLAGS = {"TRUE": True, "FALSE": False}


class _Cookie(NamedTuple):
    """A cookie of a jar."""

    domain: str
    below: bool  # it is also for the hosts below the domain
    path: str
    secure: bool
    expires: float  # seconds since 1970; 0: never
    name: str
    value: str

    def is_for(self, scheme: str, host: str, path: str, now: float) -> bool:
        """Return True if the cookie goes with a request (RFC 6265 section 5.4)."""
        if self.secure and scheme != "https":
            return False
        if host != self.domain and not (self.below and host.endswith(f".{self.domain}")):
            return False
        if 0 < self.expires <= now:
            return False
        if path == self.path:
            return True
        whole = self.path if self.path.endswith("/") else f"{self.path}/"
        return path.startswith(whole)


class CookieJar:
    """Cookies that are sent as they were read; what servers set does not change them."""

    def __init__(self, cookies: Iterable[_Cookie]) -> None:
        """Fill a jar."""
        self._cookies = sorted(cookies, key=lambda one: len(one.path))  # the longest path wins

    def of(self, url: str, now: float) -> dict[str, str]:
        """Return the cookies that go with a request, by name.

        Args:
            url: the URL, as it is requested.
            now: seconds since 1970.
        """
        if not self._cookies:
            return {}
        parts = Parts.of(url)
        place = (parts.scheme or "", parts.host or "", parts.path or "/", now)
        return {one.name: one.value for one in self._cookies if one.is_for(*place)}


def read_jar(file: str) -> CookieJar:
    """Read a file of cookies.

    Raises:
        ValueError: it cannot be read, or a line is no cookie. The message names the file and the
            number of the line, and shows no value.
    """
    cookies = []
    try:
        lines = Path(file).read_text(encoding="utf-8-sig").split("\n")
    except OSError as error:
        message = f"cookies {file}: cannot be read: {error.strerror}"
        raise ValueError(message) from None
    except UnicodeDecodeError as error:
        message = f"cookies {file}: not UTF-8: {error.reason}"
        raise ValueError(message) from None
    for number, line in enumerate(lines, 1):
        if not line.strip() or (line.startswith("#") and not line.startswith(_HTTP_ONLY)):
            continue
        try:
            cookies.append(_cookie(line.removeprefix(_HTTP_ONLY).rstrip("\r")))
        except ValueError as error:
            message = f"cookies {file}, line {number}: {error}"
            raise ValueError(message) from None
    if cookies and all(0 < one.expires <= time.time() for one in cookies):
        message = f"cookies {file}: all of its cookies have expired"
        raise ValueError(message)
    return CookieJar(cookies)


def _cookie(line: str) -> _Cookie:
    """Return the cookie of a line.

    Raises:
        ValueError: saying what is wrong with the line.
    """
    fields = line.split("\t")
    if len(fields) != len(_FIELDS):
        message = (
            f"{len(fields)} fields; allowed are {len(_FIELDS)}, separated by tabs: "
            f"{', '.join(_FIELDS)}"
        )
        raise ValueError(message)
    domain, below, path, secure, expires, name, value = fields
    for field, given in (("subdomains", below), ("secure", secure)):
        if given.upper() not in _FLAGS:
            message = f"{field}: allowed is TRUE or FALSE"
            raise ValueError(message)
    if _CONTROL.search(name + value) or ";" in name + value:
        message = "name and value: no control characters and no semicolon are allowed"
        raise ValueError(message)
    try:
        until = float(expires or 0)
    except ValueError:
        message = "expires: allowed are seconds since 1970, or 0"
        raise ValueError(message) from None
    host = domain.lstrip(".").lower()
    wide = _FLAGS[below.upper()] or domain.startswith(".")
    return _Cookie(host, wide, path or "/", _FLAGS[secure.upper()], until, name, value.strip())
