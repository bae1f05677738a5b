"""Open files: a process may have so many at once, and each connection is one."""

from collections.abc import Callable
from types import ModuleType

from msgspec.structs import replace

from canonry.crawler.settings import Settings

resource: ModuleType | None
try:
    import resource
except ImportError:  # pragma: no cover - Windows has no such limit
    resource = None

_MOST = 1 << 16  # for which we ask
_OTHERS = 24  # files that are no connections: the store, a log, an archive, pipes


def with_room(settings: Settings, notify: Callable[[str], None]) -> Settings:
    """Let this process have as many open files as the system grants it.

    A connection that finds no room fails as if its host did not answer. Connections stay open for
    some seconds after their last request, so a crawl of many hosts needs more than it has requests
    in flight.

    Args:
        settings: of a crawl.
        notify: receives a sentence for people if there is little room.

    Returns:
        The settings, with a smaller concurrency if there is no room for as many connections.
    """
    if resource is None:  # pragma: no cover - Windows
        return settings
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST if hard == resource.RLIM_INFINITY else min(hard, _MOST)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        except (OSError, ValueError):  # macOS may grant less than it says
            pass
        else:
            soft = wanted
    room = max(1, soft - _OTHERS)
    if soft == resource.RLIM_INFINITY or settings.crawl.concurrency <= room:
        return settings
    notify(
        f"canonry: this process may have {soft} open files (ulimit -n): at most {room} requests "
        f"are sent at once, not {settings.crawl.concurrency} (--concurrency)"
    )
    return replace(settings, crawl=replace(settings.crawl, concurrency=room))
