"""What do processes gain that claim in one PostgreSQL at once, instead of one after another?

One and four processes claim fresh URLs in batches: each its own, and all of them the same ones in
another order. "alone" is a transaction that has the write lock for itself, as all writers had
before; "beside" shares it. The ways alternate, on a database of their own each time. With
``--delay 500``, whatever goes to the server and comes back arrives 500 microseconds later, as from
another machine: then a writer also has the lock while it waits for the network.
"""

import asyncio
import multiprocessing
import os
import random
import statistics
import tempfile
import time
import urllib.parse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import psycopg
from measure import arguments, keep
from store import candidates, database, keys, open_store

if TYPE_CHECKING:
    from multiprocessing.queues import SimpleQueue

_BATCH = 1_000  # links of the pages that a busy crawl records at once
_EACH = 20_000  # claims of a process
_PROCESSES = (1, 4)
_WORK = ("different", "the same")
_WAYS = ("alone", "beside")


class Run(NamedTuple):
    """What one process did."""

    began: float
    ended: float
    new: int
    cpu: float


def batches(process: int, work: str) -> list[list[tuple[int, bytes]]]:
    """Return what a process claims: numbers of URLs, with their keys."""
    first = 0 if work == "the same" else process * _EACH
    made = list(zip(range(first, first + _EACH), keys(first, _EACH), strict=True))
    parts = [made[at : at + _BATCH] for at in range(0, _EACH, _BATCH)]
    random.Random(process).shuffle(parts)
    return parts


def claim(url: str, process: int, work: str, way: str, given: tuple[object, object]) -> None:
    """Claim in one process, when all are ready."""
    ready, answers = given
    store = open_store(url)
    parts = [candidates(part) for part in batches(process, work)]
    ready.wait()  # type: ignore[attr-defined]
    began, cpu, new = time.monotonic(), time.process_time(), 0
    for part in parts:
        with store.transaction() if way == "alone" else store.claiming() as connection:
            new += sum(one.new for one in store.admit_in(connection, part, 0.0))
    answers.put(  # type: ignore[attr-defined]
        Run(began, time.monotonic(), new, time.process_time() - cpu)
    )
    store.close()


def rate(url: str, processes: int, work: str, way: str) -> float:
    """Return how many claims a second the processes make together."""
    open_store(url).close()
    context = multiprocessing.get_context("spawn")
    ready = context.Barrier(processes)
    answers: SimpleQueue[Run] = context.SimpleQueue()
    running = [
        context.Process(target=claim, args=(url, number, work, way, (ready, answers)))
        for number in range(processes)
    ]
    for process in running:
        process.start()
    runs = [answers.get() for _ in running]
    for process in running:
        process.join()
    wanted = _EACH if work == "the same" else _EACH * processes
    if (won := sum(run.new for run in runs)) != wanted:
        raise AssertionError(f"{won} claims were new, of {wanted} keys")
    return processes * _EACH / (max(r.ended for r in runs) - min(r.began for r in runs))


def delay(microseconds: int, server: str, port: "SimpleQueue[int]") -> None:
    """Pass all bytes between a port, which is told, and a server's socket, later."""
    folder = urllib.parse.parse_qs(server.partition("?")[2])["host"][0]
    socket = f"{folder}/.s.PGSQL.5432"

    async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        loop = asyncio.get_running_loop()
        while data := await reader.read(1 << 20):
            loop.call_later(microseconds / 1e6, writer.write, data)
        loop.call_later(microseconds / 1e6, writer.close)

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from_server, to_server = await asyncio.open_unix_connection(socket)
        await asyncio.gather(pass_on(reader, to_server), pass_on(from_server, writer))

    async def serve() -> None:
        listening = await asyncio.start_server(connected, "127.0.0.1", 0)
        port.put(listening.sockets[0].getsockname()[1])
        await listening.serve_forever()

    asyncio.run(serve())


@contextmanager
def delayed(server: str, microseconds: int) -> Iterator[str]:
    """Yield the URL of a server as seen from far away."""
    if not microseconds:
        yield server
        return
    context = multiprocessing.get_context("spawn")
    port: SimpleQueue[int] = context.SimpleQueue()
    between = context.Process(target=delay, args=(microseconds, server, port))
    between.start()
    yield f"postgresql://postgres@127.0.0.1:{port.get()}/postgres?sslmode=disable&gssencmode=disable"
    between.terminate()
    between.join()


def fresh(server: str, name: str) -> str:
    """Make an empty database; return its URL."""
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return server.replace("/postgres?", f"/{name}?")


def measure(server: str, rounds: int) -> dict[str, list[float]]:
    """Return all rates by what was done."""
    found: dict[str, list[float]] = {}
    for number in range(rounds):
        for processes in _PROCESSES:
            for work in _WORK[:processes]:
                for way in _WAYS if number % 2 else reversed(_WAYS):
                    what = f"{processes} process(es), {work} URLs, {way}"
                    url = fresh(server, f"r{number}p{processes}{work[0]}{way}")
                    found.setdefault(what, []).append(rate(url, processes, work, way))
                    print(f"{what:45} {found[what][-1]:12,.0f}", flush=True)
    return found


def shown(found: dict[str, Sequence[float]]) -> None:
    """Print the medians."""
    for what, rates in sorted(found.items()):
        print(f"{what:45} {statistics.median(rates):12,.0f} claims a second")


def main() -> None:
    """Measure and print."""
    given = arguments(str(__doc__), delay=0)
    with (
        tempfile.TemporaryDirectory() as folder,
        database("postgresql", Path(folder)) as near,
        delayed(near, given.delay) as server,
    ):
        os.environ["XDG_CACHE_HOME"] = folder  # the filters
        found = measure(server, given.rounds)
    shown(found)
    more = {"batch": _BATCH, "microseconds": given.delay, "rates": found}
    keep(given, f"claiming-{given.delay}us", [str(_EACH)], more)


if __name__ == "__main__":
    main()
