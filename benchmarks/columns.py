"""How long does a URL of a whole column take, compared with can_ada, which parses one by one?

By the clock and by processors, of the best of interleaved rounds: other jobs disturb the clock.
"""

import os
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from importlib import import_module

import pyarrow as pa
from measure import arguments, corpus, is_here, keep

import canonry


def parsed(parse: Callable[[str], object], urls: list[str], threads: int) -> None:
    """Parse every URL, each thread its share; errors are ignored."""

    def some(part: list[str]) -> None:
        for url in part:
            with suppress(Exception):
                parse(url)

    share = -(-len(urls) // threads)
    parts = [urls[start : start + share] for start in range(0, len(urls), share)]
    with ThreadPoolExecutor(threads) as pool:
        deque(pool.map(some, parts), 0)


def plainly(parse: Callable[[str], object], urls: list[str]) -> None:
    """Parse every URL as fast as a loop can; errors are ignored."""
    for url in urls:
        try:  # noqa: SIM105 - a context manager would be timed too
            parse(url)
        except Exception:  # noqa: BLE001, S110 - whatever the peer raises
            pass


def of_arrow(column: "pa.Array", wanted: list[str], threads: int) -> None:
    """Make the columns of an Arrow array, in so many threads."""
    pa.set_cpu_count(threads)
    canonry.columns.canonicalize(column, columns=wanted)


def main() -> None:
    """Measure and print."""
    given = arguments(str(__doc__))
    urls = corpus(given)
    column = pa.array([url.encode("utf-8", "surrogateescape") for url in urls], pa.binary())
    processors = os.cpu_count() or 1
    works: dict[str, Callable[[], object]] = {}
    if is_here("can_ada", "can_ada"):
        parse = import_module("can_ada").parse
        works["can_ada.parse"] = partial(plainly, parse, urls)
        works[f"can_ada.parse, {processors} threads"] = partial(parsed, parse, urls, processors)
    for wanted in (["identity"], ["identity", "key"]):
        name = " and ".join(wanted)
        works[f"list, {name}"] = partial(canonry.columns.canonicalize, urls, columns=wanted)
        for threads in sorted({1, processors}):
            works[f"Arrow, {name}, threads: {threads}"] = partial(of_arrow, column, wanted, threads)
    clock = dict.fromkeys(works, float("inf"))
    processor = dict(clock)
    for _ in range(given.rounds):
        for name, work in works.items():
            start, before = time.perf_counter(), time.process_time()
            work()
            processor[name] = min(processor[name], time.process_time() - before)
            clock[name] = min(clock[name], time.perf_counter() - start)
    print(f"{len(urls):,} URLs; µs a URL {'clock':>14} {'processors':>12}")
    for name in works:
        micros = (taken[name] / len(urls) * 1e6 for taken in (clock, processor))
        print(f"{name:34}", *(f"{one:10.3f}" for one in micros))
    keep(given, "columns", urls, {"seconds": clock, "processor_seconds": processor})


if __name__ == "__main__":
    main()
