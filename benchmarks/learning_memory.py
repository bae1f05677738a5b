"""How much memory does learning take on a large host, and how long do many hosts in turns take?

The answers are recorded as a crawl records them, without a network: on one host whose pages have
two names now and then; on many hosts in turns, by a process that goes on with their store; and on
the hosts of one worker, while another one learns rules of others; and where there are many rules.
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
from canonry.canon import LearnedRule
from canonry.canon.learned import Rewrite
from canonry.canon.pipeline import merging_rules
from canonry.canon.policies import preset
from canonry.crawler.admission.scope import host_of
from canonry.crawler.documents.page_scan import blocks_of
from canonry.crawler.learn.rules import rule_store
from canonry.crawler.learn.session import LearningSession
from canonry.storage import Candidate, Hop, Outcome, Page, Queued, State, Store, facts
from canonry.storage.learned import rule_rows
from canonry.storage.learned.rule_rows import TrackedRule

_MAKE = canonry.Canonicalizer("web")
_WORDS = [f"{a}{b}{c}" for a in "bdklmnrst" for b in "aeiou" for c in ("n", "r", "st", "l")]
_AT_ONCE = 100  # outcomes


def main() -> None:
    """Measure and print."""
    given = measure.arguments(__doc__ or "", pages=400_000, hosts=300, each=1000, requests=6000)
    results = {"one host": _alone(large, given.pages)}
    results["hosts in turns"] = _alone(turns, given.hosts, given.each, given.requests)
    results["beside another worker"] = _alone(beside, 100, 300, 40)
    results["many rules"] = _alone(crowded, 20_000, 40)
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


def beside(hosts: int, each: int, rules: int) -> dict[str, float]:
    """Record pages of hosts, while another worker learns rules of its own hosts."""
    with tempfile.TemporaryDirectory() as folder:
        other, own = _Recorded(Path(folder)), _Recorded(Path(folder))
        for start in range(0, hosts * each, _AT_ONCE):
            urls = [f"http://h{n % hosts}.example/p{n}" for n in range(start, start + _AT_ONCE)]
            own.record([(url, url.encode()) for url in urls])
        before = own.session.seconds
        for rule in range(rules):
            for n in range(14):
                other.redirect(f"http://o{rule}.example/p{n}", f"http://o{rule}.example/p{n}/")
            for start in range(0, hosts, 10):  # an answer of each host
                urls = [f"http://h{n}.example/q{rule}" for n in range(start, start + 10)]
                own.record([(url, url.encode()) for url in urls])
        learned = len(other.active())
        seconds = own.session.seconds - before
    print(
        f"{hosts:,} hosts of {each:,} pages, while another worker learned {learned:,} rules: "
        f"{seconds:.1f} s of CPU time for learning from {rules * hosts:,} pages"
    )
    return {"rules": learned, "seconds": seconds, "pages": rules * hosts}


def crowded(rules: int, more: int) -> dict[str, float]:
    """Learn rules in a store that has many, beside another worker that learns none."""
    with tempfile.TemporaryDirectory() as folder:
        one, other = _Recorded(Path(folder)), _Recorded(Path(folder))
        with one.store.transaction() as connection:
            old = [Rewrite(f"r{n}.example", "trailing-slash", new="slash") for n in range(rules)]
            tracked = [TrackedRule(said, state="active", agree=20, moved=20) for said in old]
            rule_rows.put(connection, tracked)
            for _rule in old:  # as if they had been learned one by one
                facts.advance(connection, facts.RULES)
        for each in (one, other):
            each.record([("http://h.example/", b"first")])  # all rules are loaded
        before = one.session.seconds, other.session.seconds
        for rule in range(more):
            for n in range(14):
                one.redirect(f"http://o{rule}.example/p{n}", f"http://o{rule}.example/p{n}/")
            other.record([(f"http://h.example/p{rule}", f"{rule}".encode())])
        learned = len(one.active()) - rules
        own, others = (
            each.session.seconds - start for each, start in zip((one, other), before, strict=True)
        )
    print(
        f"{rules:,} rules in the store, {learned:,} more learned: {1e3 * own / more:.0f} ms of "
        f"CPU time for each, {1e3 * others / more:.0f} ms in another worker"
    )
    return {"rules": rules, "learned": learned, "seconds": own, "in the other": others}


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
        self.session = LearningSession(_MAKE, lambda _said: None)
        self.store.rules = self.session
        self._now = 1e6  # more than a day

    def redirect(self, url: str, target: str) -> None:
        """Record that a URL redirects to another, and that one's page."""
        self._now += 1.0
        source, to = ((found, _MAKE(found)) for found in (url, target))
        url_id = self.store.admit([_candidate(*source)], self._now)[0].url_id
        hop = Hop("redirect", 301, _candidate(*to)._replace(hops=1, source=url_id))
        self._write([Outcome(Queued(url_id, url, 1, 0, 0), State.REDIRECTED, leads=(hop,))])
        self.record([(target, target.encode())])

    def active(self) -> list[LearnedRule]:
        """Return the active rules."""
        with self.store.transaction() as connection:
            return [rule for rule in rule_store.rules_in(connection) if rule.state == "active"]

    def record(self, visits: Sequence[tuple[str, bytes]]) -> float:
        """Record pages; return the seconds that the transaction took."""
        self._now += 1.0
        wanted = [_candidate(url, _MAKE(url)) for url, _body in visits]
        admitted = self.store.admit(wanted, self._now)
        return self._write(
            [
                Outcome(
                    Queued(one.url_id, url, 1, 0, 0),
                    State.FETCHED,
                    page=_page(body),
                    blocks=blocks_of(body, "text/html"),
                )
                for (url, body), one in zip(visits, admitted, strict=True)
            ]
        )

    def _write(self, outcomes: Sequence[Outcome]) -> float:
        start = time.perf_counter()
        with self.store.transaction() as connection:
            self.session.refresh(connection)
            recorded = self.store.record_in(connection, outcomes, self._now)
            self.session.learn(connection, recorded, self._now)
        return time.perf_counter() - start


def _candidate(url: str, form: canonry.Canonical) -> Candidate:
    return Candidate(form.url, url, form.key, host_of(form.url), 1)


def _page(body: bytes) -> Page:
    digest = hashlib.blake2b(body, digest_size=16).digest()
    return Page(200, 0.1, "text/html", len(body), digest, None, None, 0)


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
