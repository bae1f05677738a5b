"""How fresh does a recrawl keep a site, for the same number of requests as other schedules?

A simulated site on a simulated clock: its pages change at random, each at its own rate, some show a
token that is new in each answer, and all show the date. One host has an honest sitemap, one writes
the time of the request into every line, one has none. A crawl starts every hour, and asks what is
due. Freshness is the share of pages whose stored copy is current, over the time. Ours runs with the
real store and session, and its controls and sitemaps count as requests. AdaptiveFetchSchedule of
Apache Nutch and AdaptiveScheduler of StormCrawler are written anew from their documentation. Each
makes as many requests as it does; ours and the fixed interval run at several efforts, and are read
off at that number.
"""

import bisect
import hashlib
import math
import random
import struct
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from measure import arguments, keep
from sqlalchemy import select

import canonry
from canonry.canon.policies import preset
from canonry.crawler.revisits.change_rates import IntervalLimits
from canonry.crawler.revisits.revisit_session import RevisitSession
from canonry.storage import Candidate, Outcome, Page, Queued, State, Store
from canonry.storage.recrawls import revisit_rows
from canonry.storage.sql.schema import urls

_HOUR, _DAY = 3_600.0, 86_400.0
_START = 1_700_000_000.0
_FIRST, _MOST = _DAY, 90 * _DAY  # the first interval of the others: StormCrawler's default
_HOSTS = ("honest", "lying", "none")  # by their sitemaps
_EFFORTS = (1, 2, 4, 8, 16, 32, 64, 128)  # hours: the least interval of ours


class Web(NamedTuple):
    """A kind of site."""

    gaps: tuple[tuple[float, float], ...]  # shares of pages, with the mean seconds between changes
    tokens: float  # the share of pages with a token
    spread: float  # the gaps of single pages differ by up to this factor
    regular: bool = False  # changes come at equal intervals, not at random


WEBS = {
    "tuning": Web(((0.2, _HOUR), (0.3, _DAY), (0.3, 30 * _DAY), (0.2, math.inf)), 0.4, 1.0),
    "slow": Web(((0.05, 2 * _HOUR), (0.15, 4 * _DAY), (0.4, 60 * _DAY), (0.4, math.inf)), 0.2, 3.0),
    "fast": Web(((0.4, 3 * _HOUR), (0.4, 2 * _DAY), (0.2, 20 * _DAY)), 0.6, 3.0),
    "broad": Web(((1.0, 5 * _DAY),), 0.3, 100.0),
    "regular": Web(((0.3, _DAY), (0.4, 7 * _DAY), (0.3, math.inf)), 0.3, 1.5, regular=True),
}


class SimulatedPage(NamedTuple):
    """A page: when it changes, and what it shows besides its text."""

    number: int
    host: str
    changes: list[float]
    has_token: bool

    @property
    def url(self) -> str:
        """Its URL."""
        return f"https://{self.host}.example/p{self.number}"

    def version(self, at: float) -> int:
        """Return how often it has changed until then."""
        return bisect.bisect_right(self.changes, at)

    def changed_at(self, at: float) -> float:
        """Return when it changed last until then."""
        version = self.version(at)
        return self.changes[version - 1] if version else _START - 30 * _DAY


def pages_of(
    web: Web, number: int, days: int, seed: int, hosts: Sequence[str] = _HOSTS
) -> list[SimulatedPage]:
    """Return the pages of a site, which take turns on its hosts."""
    rng = random.Random(seed)
    shares, gaps = zip(*web.gaps, strict=True)
    pages = []
    for at in range(number):
        gap = rng.choices(gaps, shares)[0] * web.spread ** rng.uniform(-1, 1)
        changes, now = [], _START + (rng.random() * gap if web.regular and gap < math.inf else 0.0)
        while gap < math.inf:
            now += gap if web.regular else rng.expovariate(1 / gap)
            if now > _START + days * _DAY:
                break
            changes.append(now)
        has_token = rng.random() < web.tokens
        pages.append(SimulatedPage(at, hosts[at % len(hosts)], changes, has_token))
    return pages


class Run(NamedTuple):
    """What came of a schedule."""

    requests: int
    freshness: float  # over all of the time
    late: float  # over its second half, once rates are known


def measured(
    pages: Sequence[SimulatedPage], visits: Sequence[list[float]], end: float, more: int = 0
) -> Run:
    """Return what came of visits.

    Args:
        pages: of the site.
        visits: of each page, their times; the first one is no revisit.
        end: of the time.
        more: further requests.
    """
    middle = (_START + end) / 2
    fresh = late = 0.0
    for page, times in zip(pages, visits, strict=True):
        for time, until in zip(times, [*times[1:], end], strict=True):
            at = bisect.bisect_right(page.changes, time)
            stale = page.changes[at] if at < len(page.changes) else math.inf
            fresh += max(0.0, min(until, stale) - time)
            late += max(0.0, min(until, stale) - max(time, middle))
    number = len(pages)
    requests = sum(map(len, visits)) - number + more
    return Run(requests, fresh / number / (end - _START), late / number / (end - middle))


Schedule = Callable[[float, float, bool], tuple[float, float]]  # interval, age, changed


def nutch(interval: float, age: float, changed: bool) -> tuple[float, float]:  # noqa: FBT001 - a column
    """Apply the rules of AdaptiveFetchSchedule, with the defaults of nutch-default.xml.

    Returns:
        The interval, and the seconds until the next request.
    """
    interval *= 0.8 if changed else 1.4
    delta = 0.0 if changed else age
    interval = min(max(interval, delta, 60.0), 365 * _DAY)
    return interval, interval - 0.3 * delta


def stormcrawler(interval: float, _age: float, changed: bool) -> tuple[float, float]:  # noqa: FBT001 - a column
    """Apply the rules of AdaptiveScheduler, with its defaults."""
    interval = 0.5 * interval + 0.5 * _HOUR if changed else min(1.5 * interval, 14 * _DAY)
    return interval, interval


def fixed(interval: float, _age: float, _changed: bool) -> tuple[float, float]:  # noqa: FBT001 - a column
    """Keep the interval."""
    return interval, interval


def of_rule(
    pages: Sequence[SimulatedPage], hours: int, rule: Schedule, first: float, *, knows: bool
) -> Run:
    """Run a schedule that knows one page at a time.

    Args:
        pages: of the site.
        hours: how long.
        rule: the schedule.
        first: the interval of all pages at the beginning.
        knows: True if it is told which changes are real; False: it compares the bytes of answers.
    """
    visits = []
    for page in pages:
        times, interval, due, modified = [_START], first, _START + first, _START
        while due <= _START + hours * _HOUR:
            now = _START + math.ceil((due - _START) / _HOUR) * _HOUR
            is_other = page.version(now) != page.version(times[-1])
            changed = is_other or (page.has_token and not knows)
            times.append(now)
            modified = now if changed else modified
            interval, wait = rule(interval, now - modified, changed)
            due = now + max(wait, 1.0)
        visits.append(times)
    return measured(pages, visits, _START + hours * _HOUR)


def _hash(*words: object) -> int:
    text = " ".join(map(str, words)).encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=4).digest(), "little")


class Ours:
    """Our schedule: a real store, and the session of a crawl every hour."""

    def __init__(
        self, folder: Path, pages: Sequence[SimulatedPage], limits: IntervalLimits
    ) -> None:
        """Make a store in a folder."""
        policy = preset("web")
        self._store = Store(
            f"sqlite:///{folder / 'store.db'}", policy=policy.label, fingerprint=policy.fingerprint
        )
        self._limits = limits
        self._pages = {page.url: page for page in pages}
        self._visits: dict[str, list[float]] = {page.url: [] for page in pages}
        self._more = 0
        self._rng = random.Random(1)
        make = canonry.Canonicalizer("web")
        self._keys = {url: make(url).key for url in self._pages}
        for host in ("honest", "lying"):
            url = f"https://{host}.example/sitemap.xml"
            self._keys[url] = make(url).key
        self._store.admit(
            [Candidate(url, url, key, url.split("/")[2], 0) for url, key in self._keys.items()],
            _START,
        )

    def run(self, hours: int) -> Run:
        """Run a crawl every hour."""
        for hour in range(hours + 1):
            now = _START + hour * _HOUR
            self._session = RevisitSession(self._limits, now)
            with self._store.transaction() as connection:
                revisit_rows.requeue(connection, now, self._limits.first, self._limits.most)
            while group := self._queued():
                self._record(group, now)
        self._store.close()
        visits = list(self._visits.values())
        return measured(list(self._pages.values()), visits, _START + hours * _HOUR, self._more)

    def _queued(self) -> list[Queued]:
        """Return the next URLs of the queue; sitemaps alone, since they go first."""
        query = select(urls.c.id, urls.c.url, urls.c.priority).where(urls.c.state == State.QUEUED)
        with self._store.transaction() as connection:
            rows = connection.execute(query.order_by(urls.c.priority, urls.c.id).limit(64)).all()
        lists = [row for row in rows if row.url.endswith(".xml")]
        return [Queued(row.id, row.url, 1, 0, 0) for row in lists or rows]

    def _record(self, group: Sequence[Queued], now: float) -> None:
        outcomes = [self._answer(queued, now) for queued in group]
        with self._store.transaction() as connection:
            stored = self._session.stored(connection, outcomes)
            recorded = self._store.record_in(connection, outcomes, now)
            news = self._session.record(connection, recorded, stored, now)
        for control in news.controls:
            self._more += 1
            found = self._answer(Queued(0, control.url, 1, 0, 0), now + 2)
            with self._store.transaction() as connection:
                self._session.observe(connection, control, found)

    def _answer(self, queued: Queued, now: float) -> Outcome:
        """Return the answer of the site."""
        page = self._pages.get(queued.url)
        listed: tuple[tuple[bytes, float], ...] = ()
        if page is None:
            self._more += 1
            honest = "honest" in queued.url
            host = [one for one in self._pages.values() if one.host in queued.url]
            listed = tuple(
                (self._keys[one.url], one.changed_at(now) if honest else now) for one in host
            )
            blocks = struct.pack("<2I", 1, _hash(listed))
        else:
            if queued.url_id:
                self._visits[queued.url].append(now)
            text = _hash(queued.url, page.version(now))
            token = self._rng.getrandbits(32) if page.has_token else 7
            places = [(2, 5), (3, text), (4, _hash("date", now // _DAY)), (5, token)]
            blocks = b"".join(struct.pack("<2I", *one) for one in places)
        digest = hashlib.blake2b(blocks, digest_size=16).digest()
        answer = Page(200, 0.1, "text/html", len(blocks), digest, None, None, 0)
        return Outcome(queued, State.FETCHED, page=answer, blocks=blocks, listed=listed)


def curve_of_ours(pages: Sequence[SimulatedPage], hours: int) -> Iterator[Run]:
    """Yield what comes of ours, from the most requests to the fewest."""
    for effort in _EFFORTS:
        limits = IntervalLimits(effort * _HOUR, min(7 * effort * _HOUR, _MOST), _MOST)
        with tempfile.TemporaryDirectory() as folder:
            yield Ours(Path(folder), pages, limits).run(hours)


def curve_of_fixed(pages: Sequence[SimulatedPage], hours: int) -> Iterator[Run]:
    """Yield what comes of fixed intervals."""
    for effort in (*_EFFORTS, 256, 512):
        yield of_rule(pages, hours, fixed, effort * _HOUR, knows=True)


def read_off(curve: Sequence[Run], requests: int) -> Run:
    """Return what comes of a number of requests, between two runs of a curve; never beyond it."""
    runs = sorted(curve)
    wanted = min(max(requests, runs[0].requests), runs[-1].requests)
    at = max(bisect.bisect_left([run.requests for run in runs], wanted), 1)
    low, high = runs[at - 1], runs[at]
    part = math.log(wanted / low.requests) / math.log(high.requests / low.requests)
    return Run(
        wanted,
        low.freshness + part * (high.freshness - low.freshness),
        low.late + part * (high.late - low.late),
    )


def compared(pages: Sequence[SimulatedPage], hours: int) -> Iterator[dict[str, object]]:
    """Yield rows: what came of ours and of the others, and of a fixed interval, at equal requests.

    Args:
        pages: of a site.
        hours: how long.
    """
    ours, flat = list(curve_of_ours(pages, hours)), list(curve_of_fixed(pages, hours))
    for effort, run in zip(_EFFORTS, ours, strict=True):
        yield _row(f"least {effort} h", run, run, read_off(flat, run.requests))
    for name, rule in (("nutch", nutch), ("stormcrawler", stormcrawler)):
        for told in (False, True):
            run = of_rule(pages, hours, rule, _FIRST, knows=told)
            at = (read_off(one, run.requests) for one in (ours, flat))
            yield _row(f"{name}, {'told what is real' if told else 'by bytes'}", run, *at)


def _row(name: str, run: Run, ours: Run, flat: Run) -> dict[str, object]:
    """Return a row of the table, and print it."""
    print(
        f"  {name:31} {run.requests:8,}  it {run.freshness:.3f} {run.late:.3f}  "
        f"ours {ours.freshness:.3f} {ours.late:.3f}  fixed {flat.freshness:.3f} {flat.late:.3f}  "
        f"ours / it {ours.freshness / run.freshness:.2f}  "
        f"ours / fixed {ours.freshness / flat.freshness:.2f}",
        flush=True,
    )
    return {"name": name, "it": run, "ours": ours, "fixed": flat}


def main() -> None:
    """Run all schedules on all sites, and print them."""
    given = arguments(str(__doc__), pages=150, days=90, seed=1, sitemaps=1)
    hosts = _HOSTS if given.sitemaps else ("none",)
    rows = {}
    print("requests, then freshness: over all of the time, and over its second half")
    for name, web in WEBS.items():
        print(name)
        pages = pages_of(web, given.pages, given.days, given.seed, hosts)
        rows[name] = list(compared(pages, given.days * 24))
    name = f"recrawl-{given.seed}{'' if given.sitemaps else '-without-sitemaps'}"
    keep(given, name, [], {"rows": rows})


if __name__ == "__main__":
    main()
