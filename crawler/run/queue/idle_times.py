"""Idle times: a crawl that has nothing to do reports what it waits for."""

from collections.abc import Callable

from canonry.crawler.plurals import counted
from canonry.crawler.run.queue.host_leases import HostLeases
from canonry.storage.timestamps import iso

_NOTABLE = 15.0  # seconds; a shorter wait is not reported
_LOOKS = 1.0  # seconds between two looks into the store
_PATIENCE = 2.0  # seconds for which others hold all hosts, before that is reported


class IdleTimes:
    """Reports each long wait once."""

    def __init__(self, leases: HostLeases, notify: Callable[[str], None]) -> None:
        """Bind the leased hosts and the notifier."""
        self._leases = leases
        self._notify = notify
        self._looked_at = 0.0
        self._told = 0.0  # the end of the wait that was reported
        self._others_since: float | None = None  # since when all hosts are held by other workers
        self._told_others = False

    async def tell(self, now: float, turn: float | None = None) -> None:
        """Report until when an idle crawl waits, and for which host.

        Args:
            now: seconds since 1970.
            turn: when the next request is due, if that is known.
        """
        is_soon = turn is not None and turn - now < _NOTABLE
        if is_soon or abs(now - self._looked_at) < _LOOKS or self._told - now > _NOTABLE:
            return
        self._looked_at = now
        wait = await self._leases.waits_for(now)
        if wait is None or wait.until - now < _NOTABLE:
            await self._tell_of_others(now)
            return
        self._told = wait.until
        until = iso(wait.until) or ""
        others = "" if wait.urls == 1 else f" ({wait.urls:,} URLs are queued for it)"
        self._notify(
            f"Nothing to do until {until[:10]} {until[11:19]}Z: then {wait.host} is requested again"
            f"{others}; it waits because of {wait.reason or 'its delay'}. Ctrl-C stops the crawl; "
            "the same command resumes."
        )

    async def _tell_of_others(self, now: float) -> None:
        """Report once that other workers hold all hosts with queued URLs."""
        if self._told_others:
            return
        held = await self._leases.held_by_others(now)
        if held is None:
            self._others_since = None
            return
        if self._others_since is None:
            self._others_since = now
        if now - self._others_since < _PATIENCE:
            return
        self._told_others = True
        machine, process, *_rest = f"{held.owner}:?".split(":")
        hosts = (
            held.host
            if held.hosts == 1
            else f"{held.host} and {counted(held.hosts - 1, 'more host')}"
        )
        self._notify(
            f"Nothing to do as long as another process crawls {hosts} from the same store (process "
            f"{process} on {machine}); this one waits for hosts that are free."
        )
