"""How many fetchers keep how many hosts busy, and how long does a crawl of so many URLs take?

The URLs of a crawl are spread over its hosts by Zipf's law, and a host gets a request a second.
Hosts take turns, so that all have had the same number of requests, or are done: the time follows by
adding up. That is checked against the scheduler itself, on a small crawl and a clock of its own.
"""

import heapq
from typing import NamedTuple

import numpy as np
from measure import arguments, keep
from numpy.typing import NDArray

from canonry.crawler.run.queue.politeness import Politeness
from canonry.crawler.run.queue.turns import Turns

_DELAY = 1.0  # seconds between two requests to a host
_LATENCY = 0.5  # seconds that an answer takes
_PAGES = 300.0  # a second, of one process on one core
_SIZES = (10**6, 10**7, 10**8, 10**9, 10**10)
_SHARES = (0.5, 0.9, 0.99)
_FETCHERS = (1, 4, 16, 64, 256)
_DAY = 86_400


class Crawl(NamedTuple):
    """What a crawl has to fetch."""

    urls: int
    hosts: int


def of_hosts(crawl: Crawl) -> NDArray[np.float64]:
    """Return the URLs of each host, the largest first: by Zipf's law, at least one."""
    shares = 1 / np.arange(1, crawl.hosts + 1)
    return np.maximum(1.0, np.floor(crawl.urls * shares / shares.sum()))


def seconds_to(numbers: NDArray[np.float64], rate: float) -> list[tuple[float, float]]:
    """Return the seconds until shares of all URLs are fetched, with the hosts that are left then.

    Args:
        numbers: of URLs of each host, the largest first.
        rate: requests a second, of all fetchers.
    """
    rounds = np.unique(numbers)  # a host is done after as many rounds as it has URLs
    active = np.searchsorted(-numbers, -rounds, side="right").astype(float)  # in the last of them
    steps = np.diff(rounds, prepend=0.0)
    seconds = np.cumsum(steps * np.maximum(_DELAY, active / rate))
    fetched = np.cumsum(steps * active) / numbers.sum()
    found = []
    for share in _SHARES:
        at = min(int(np.searchsorted(fetched, share)), len(seconds) - 1)
        found.append((float(np.interp(share, fetched, seconds)), float(active[at])))
    return found


def by_the_scheduler(numbers: NDArray[np.float64], slots: int) -> list[float]:
    """Return the seconds until shares of all URLs are fetched, as the scheduler hands them out."""
    turns = Turns(Politeness(delay=_DELAY, per_host=1, slots=slots))
    for host, number in enumerate(numbers):
        turns.want(f"www.site{host}.example", int(number))
    now, fetched, total = 0.0, 0, int(numbers.sum())
    wanted = [share * total for share in _SHARES]
    found: list[float] = []
    under_way: list[tuple[float, str]] = []
    while fetched < total and len(found) < len(wanted):
        while len(under_way) < slots and (name := turns.take(now)) is not None:
            heapq.heappush(under_way, (now + _LATENCY, name))
        upcoming = turns.next_time() if len(under_way) < slots else None
        ends = under_way[0][0] if under_way else None
        now = max(now, min(at for at in (upcoming, ends) if at is not None))
        while under_way and under_way[0][0] <= now:
            turns.done(heapq.heappop(under_way)[1])
            fetched += 1
        while len(found) < len(wanted) and fetched >= wanted[len(found)]:
            found.append(now)
    return found


def main() -> None:
    """Compute, check and print."""
    given = arguments(str(__doc__), slots=64)
    small = of_hosts(Crawl(60_000, 2_000))
    expected = [seconds for seconds, _hosts in seconds_to(small, given.slots / _LATENCY)]
    measured = by_the_scheduler(small, given.slots)
    print("seconds to 50, 90 and 99 % of a small crawl: computed, and by the scheduler")
    print("   ", [round(one) for one in expected], [round(one) for one in measured])
    rows = []
    for urls in _SIZES:
        numbers = of_hosts(Crawl(urls, urls // 100))
        for fetchers in _FETCHERS:
            times = seconds_to(numbers, fetchers * _PAGES)
            rows.append([urls, fetchers, [(round(s / _DAY, 2), int(h)) for s, h in times]])
            days = "  ".join(f"{s / _DAY:9.2f} d {h:12,.0f} hosts" for s, h in times)
            print(f"{urls:14,} URLs {fetchers:4} fetchers  {days}")
    keep(given, "schedule", [], {"computed": expected, "scheduler": measured, "rows": rows})


if __name__ == "__main__":
    main()
