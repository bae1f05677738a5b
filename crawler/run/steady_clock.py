"""A steady clock: seconds since 1970 that never go back, so that no set clock halts a crawl."""

import time

_SET_BACK = 1.0  # seconds; less is the daily correction of a clock


class SteadyClock:
    """Follows the system's clock, but goes on at its own pace where that is set back.

    So the pauses of hosts, retries and leases, which are moments of this clock, end when they
    should. A clock that is set forward is followed: a machine that slept has really waited.
    """

    def __init__(self) -> None:
        """Start with the system's time."""
        self._now, self._elapsed = time.time(), time.monotonic()

    def __call__(self) -> float:
        """Return the seconds since 1970."""
        wall, elapsed = time.time(), time.monotonic()
        expected = self._now + elapsed - self._elapsed
        self._now, self._elapsed = expected if wall < expected - _SET_BACK else wall, elapsed
        return self._now
