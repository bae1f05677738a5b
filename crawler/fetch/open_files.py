"""Open files: how many a process may have, and how many of them are for connections.

Each connection is an open file. Requests, viewers of the live page, and all other files have a
share each, so that none of them takes the last open file from another.
"""

import errno
import os
import socket
from collections.abc import Callable
from contextlib import suppress
from types import ModuleType
from weakref import WeakSet

from aiohttp import AddrInfoType
from msgspec.structs import replace

from canonry.crawler.settings import Settings

resource: ModuleType | None
try:
    import resource
except ImportError:  # pragma: no cover - Windows has no such limit
    resource = None

_MOST = 1 << 16  # open files that we ask the system for
_OTHERS = 40  # files that are no connections: the store and its readers, a log, an archive, pipes
_VIEWERS = 128  # connections to the live page, at most
_SLOW = 3  # times as many requests as may be sent at once, where hosts are slow or mute
_SHORTAGES = tuple(f"[Errno {number}]" for number in (errno.EMFILE, errno.ENFILE))


def for_viewers() -> int:
    """Return how many connections the live page may have."""
    return max(1, min(_VIEWERS, _limit() // 8))


def for_requests() -> int:
    """Return how many connections a crawl may have, used or kept for the next request."""
    return max(1, _limit() - for_viewers() - _OTHERS)


def beside_slow(concurrency: int) -> int:
    """Return how many more requests there may be, as many as have waited for an answer for long.

    Args:
        concurrency: of the crawl.
    """
    return min(_SLOW * concurrency, max(0, for_requests() - concurrency))


def with_room(settings: Settings, notify: Callable[[str], None]) -> Settings:
    """Let this process have as many open files as the system grants it.

    Args:
        settings: of a crawl.
        notify: receives a sentence for people if there is little room.

    Returns:
        The settings, with a smaller concurrency if there is no room for as many connections.
    """
    if resource is not None:
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = _MOST if hard == resource.RLIM_INFINITY else min(hard, _MOST)
        if soft != resource.RLIM_INFINITY and soft < wanted:
            with suppress(OSError, ValueError):  # macOS may grant less than it says
                resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    room = for_requests()
    if settings.crawl.concurrency <= room:
        return settings
    notify(
        f"canonry: this process may have {_limit()} open files (ulimit -n): at most {room} "
        f"requests are sent at once, not {settings.crawl.concurrency} (--concurrency)"
    )
    return replace(settings, crawl=replace(settings.crawl, concurrency=room))


class Sockets:
    """Makes the sockets of a client, at most a given number at once."""

    def __init__(self, most: int) -> None:
        """Allow this many open sockets."""
        self._most = most
        self._made: WeakSet[socket.socket] = WeakSet()

    def make(self, address: AddrInfoType) -> socket.socket:
        """Return a new socket for an address.

        Raises:
            OSError: ``EMFILE``, as the system does, if too many are open.
        """
        if len(self._made) >= self._most:
            self._made = WeakSet(one for one in self._made if one.fileno() >= 0)
            if len(self._made) >= self._most:
                raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        family, kind, protocol, _name, _address = address
        made = socket.socket(family, kind, protocol)
        self._made.add(made)
        return made


def is_shortage(error: BaseException) -> bool:
    """Return True if a request failed because no open file was left, here or on the machine.

    If several addresses were tried, only the text has the numbers of their errors. A failed look-up
    of a name has none at all, so we try to open a file.
    """
    cause = getattr(error, "os_error", error)
    if isinstance(cause, socket.gaierror):
        try:
            os.close(os.open(os.devnull, os.O_RDONLY))
        except OSError as failure:
            cause = failure
    return isinstance(cause, OSError) and any(number in str(cause) for number in _SHORTAGES)


def _limit() -> int:
    """Return how many files this process may have open; a large number where there is no limit."""
    if resource is None:  # pragma: no cover - Windows
        return _MOST
    soft: int = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return _MOST if soft == resource.RLIM_INFINITY else soft
