"""How much memory does learning take on a large host, and how long do many hosts in turns take?

The answers are recorded as a crawl records them, without a network: on one host whose pages have
two names now and then; and on many hosts in turns, by a process that goes on with their store.
"""

import hashlib
import random
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import measure

import canonry
from canonry.canon.pipeline import merging_rules
from canonry.canon.policies import preset
from canonry.crawler.admission.scope import host_of
from canonry.crawler.content.sketch import encoded_sketch
from canonry.crawler.learn.life import thresholds
from canonry.crawler.learn.session import LearningSession
from canonry.storage import Candidate, Outcome, Page, Queued, State, Store

_MAKE = canonry.Canonicalizer("web")
_WORDS = [f"{a}{b}{c}" for a in "bdklmnrst" for b in "aeiou" for c in ("n", "r", "st", "l")]
_AT_ONCE = 100  # outcomes


def main() -> None:
    """Measure and print."""
    given = measure.arguments(__doc__ or "", pages=400_000, hosts=300, each=1000, requests=6000)
    results = {"one host": _alone(large, given.pages)}
    results["hosts in turns"] = _alone(turns, given.hosts, given.each, given.requests)
    measure.keep(given, "learning-memory", [], results)


def _alone(what: Any, *given: int) -> Any:  # noqa: ANN401 - what a part found
    """Run a part in a process of its own, so that its memory is its own."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(what, *given).result()


def large(pages: int) -> list[dict[str, float]]:
    """Record the pages of one host; every twentieth has another name with the same content."""
    found: list[dict[str, float]] = []
    with tempfile.TemporaryDirectory() as folder:
        recorded = _Recorded(Path(folder))
        before = _mib()
        longest = 0.0
        for start in range(0, pages, _AT_ONCE):
            visits: list[tuple[str, bytes]] = []
            for n in range(start, start + _AT_ONCE):
                url, body = f"http://h.example/d{n % 40}/p{n}", _body(n)
                visits.append((url, body))
                if n % 20 == 0:
                    visits.append((f"{url}?ref={n % 7}", body))
            longest = max(longest, recorded.record(visits))
            if (start + _AT_ONCE) % (pages // 8) == 0:
                learning = recorded.session.seconds
                found.append({"pages": start + _AT_ONCE, "mib": _mib() - before})
                found[-1] |= {"learning": learning, "longest": longest}
                print(
                    f"one host, {start + _AT_ONCE:,} pages: {found[-1]['mib']:.0f} MiB more than "
                    f"at first, learning {learning:.1f} s of CPU time; {longest:.2f} s for the "
                    f"longest transaction",
                    flush=True,
                )
    return found


def turns(hosts: int, each: int, requests: int) -> dict[str, float]:
    """Record pages of many hosts in turns; then go on as another process would."""
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        for part, number in (("first", hosts * each), ("resumed", requests)):
            recorded = _Recorded(Path(folder))
            for start in range(0, number, _AT_ONCE):
                urls = [
                    f"http://h{n % hosts}.example/{part}/p{n}"
                    for n in range(start, start + _AT_ONCE)
                ]
                recorded.record([(url, url.encode()) for url in urls])
            found[part] = 1e6 * recorded.session.seconds / number
            recorded.store.close()
            print(
                f"{hosts:,} hosts in turns, {part}, {number:,} pages: "
                f"{found[part]:,.0f} µs of CPU time a page for learning"
            )
    return found


class _Recorded:
    """A store that learns from what is recorded."""

    def __init__(self, folder: Path) -> None:
        policy = preset("web")
        self.store = Store(
            f"sqlite:///{folder / 'made.db'}",
            policy=policy.label,
            fingerprint=policy.fingerprint,
            merging_rules=partial(merging_rules, _MAKE),
            notify=print,
        )
        self.session = LearningSession(_MAKE, thresholds.load(), lambda _said: None)
        self.store.rules = self.session
        self._now = 1000.0

    def record(self, visits: Sequence[tuple[str, bytes]]) -> float:
        """Record pages; return the seconds that the transaction took."""
        self._now += 1.0
        forms = [(url, _MAKE(url)) for url, _body in visits]
        wanted = [Candidate(form.url, url, form.key, host_of(form.url), 1) for url, form in forms]
        outcomes = [
            Outcome(Queued(admitted.row, url, 1, 0, 0), State.FETCHED, page=_page(body))
            for (url, body), admitted in zip(
                visits, self.store.admit(wanted, self._now), strict=True
            )
        ]
        start = time.perf_counter()
        with self.store.transaction() as connection:
            self.session.refresh(connection)
            recorded = self.store.record_in(connection, outcomes, self._now)
            self.session.learn(connection, recorded, self._now)
        return time.perf_counter() - start


def _page(body: bytes) -> Page:
    digest = hashlib.blake2b(body, digest_size=16).digest()
    sketch = encoded_sketch(body, "text/html")
    return Page(200, 0.1, "text/html", len(body), digest, None, None, 0, sketch=sketch)


def _body(number: int) -> bytes:
    rng = random.Random(number)
    text = " ".join(rng.choices(_WORDS, k=80))
    return f"<title>t {number}</title><h1>h {number}</h1><p>{text}</p>".encode()


def _mib() -> float:
    """Return the memory of this process, in MiB."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * 4096 / 2**20


if __name__ == "__main__":
    main()
