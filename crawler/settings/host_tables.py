"""Settings for single hosts, or for all hosts below a domain."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any

from msgspec import structs

from canonry.canon import InvalidURL, resolve
from canonry.canon.syntax import Parts
from canonry.crawler.settings.sections import HostSettings

_BELOW = "*."
_REMEMBERED = 65_536  # hosts
_NOTHING = HostSettings()


class HostTables:
    """Finds the settings of a host."""

    def __init__(self, tables: Mapping[str, HostSettings]) -> None:
        """Bind the tables; their names are as `host_name` returns them."""
        self._tables = tables
        self.of: Callable[[str], HostSettings] = lambda _host: _NOTHING
        if tables:
            self.of = lru_cache(_REMEMBERED)(self._of)

    def __bool__(self) -> bool:
        """Return True if there is any table."""
        return bool(self._tables)

    def _of(self, host: str) -> HostSettings:
        """Return the settings of a host; its own tables override those of the domains above it."""
        found: dict[str, Any] = {}
        for name in reversed(_names(host)):
            if name in self._tables:
                keys = structs.asdict(self._tables[name]).items()
                found |= {key: value for key, value in keys if value not in (None, ())}
        return HostSettings(**found)


def _names(host: str) -> list[str]:
    """Return the names of the tables that are for a host, the nearest first."""
    labels = host.split(".")
    above = (".".join(labels[n:]) for n in range(1, len(labels)))
    return [host, *(_BELOW + domain for domain in above)]


def host_name(name: str) -> str:
    """Return the name of a table, with the host as in canonical URLs.

    Raises:
        ValueError: it names no host; the message says what is allowed.
    """
    star, bare = (_BELOW, name[len(_BELOW) :]) if name.startswith(_BELOW) else ("", name)
    with suppress(InvalidURL):
        url = resolve(f"http://{bare}/", "http://any.invalid/", dialect="whatwg")
        host = Parts.of(url).host or ""
        port = ":" in bare and not bare.endswith("]")
        if url == f"http://{host}/" and not port and "*" not in host:
            return star + host
    message = (
        'allowed is a host without a port, such as "a.example", or "*.a.example" for all below'
    )
    raise ValueError(message)
