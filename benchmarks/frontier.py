"""How many URLs does `canonry frontier` take and give, over the network, beside the least there is?

A client on this machine puts batches of 100 URLs with metadata, as Apache StormCrawler does: the
links of a page, of which 80 stay on its host. ``--again`` is the share that is known, in percent.
Another client gets due URLs; then each is alone. "plain" is a server with the same library that
keeps exact texts in memory: it loses all when it ends, and says what network and messages take.
"""

import asyncio
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
from measure import arguments, keep

from canonry.crawler.frontier import messages

_BATCH = 100
_HOSTS = 50_000
_SITE = 400  # URLs of a host that follow each other
_GETS = 1_000
_PORT = 7_199
_SERVICE = f"/{messages.SERVICE.full_name}"


def batches(first: int, number: int, again: int) -> list[bytes]:
    """Return batches as a client sends them: new URLs by number, and some from before."""
    rng = random.Random(first)
    found = []
    n = first
    while n < first + number:
        batch = messages.DiscoveredBatch(ID=str(n))
        for place in range(_BATCH):
            at = n
            if n and rng.randrange(100) < again:
                at = rng.randrange(max(0, n - _SITE) if place % 5 else 0, n)
            n += at == n
            host = f"www{at // _SITE * 7_919 % _HOSTS}.example.com"
            info = batch.items.add(url=f"https://{host}/section/{at % 97}/{at}.html", key=host)
            info.metadata["url.path"].values.append(f"https://{host}/section/{at % 97}/")
            info.metadata["depth"].values.append(str(at % 7))
        found.append(batch.SerializeToString())
    return found


async def plain() -> None:
    """Serve exact texts from memory."""
    seen: set[str] = set()
    queues: dict[str, list[str]] = {}

    async def put(requests: AsyncIterator[messages.Message], context: Any) -> None:  # noqa: ANN401 - grpc's
        async for batch in requests:
            statuses = []
            for info in batch.items:
                statuses.append(messages.SKIPPED if info.url in seen else messages.OK)
                if statuses[-1] == messages.OK:
                    seen.add(info.url)
                    queues.setdefault(info.key, []).append(info.url)
            await context.write(messages.BatchAck(ID=batch.ID, statuses=statuses))

    async def get(request: messages.Message, _context: Any) -> AsyncIterator[messages.Message]:  # noqa: ANN401 - as above
        for name in list(queues)[: request.max_queues]:
            some = queues.pop(name)
            for url in some[: request.max_urls_per_queue]:
                yield messages.URLInfo(url=url, key=name)
            if rest := some[request.max_urls_per_queue :]:
                queues[name] = rest

    asks = messages.class_of(messages.SERVICE.methods_by_name["GetURLs"].input_type)
    server = grpc.aio.server()
    handlers = {
        "PutDiscovered": grpc.stream_stream_rpc_method_handler(
            put, messages.DiscoveredBatch.FromString, messages.BatchAck.SerializeToString
        ),
        "GetURLs": grpc.unary_stream_rpc_method_handler(
            get, asks.FromString, messages.URLInfo.SerializeToString
        ),
    }
    server.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler(messages.SERVICE.full_name, handlers),)
    )
    server.add_insecure_port(f"127.0.0.1:{_PORT}")
    await server.start()
    print("ready", file=sys.stderr, flush=True)
    await server.wait_for_termination()


@contextmanager
def serving(words: list[str]) -> Iterator[grpc.Channel]:
    """Run a server, and connect to it."""
    process = subprocess.Popen([sys.executable, *words], stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None  # noqa: S101 - it is piped
    process.stderr.readline()
    try:
        with grpc.insecure_channel(f"127.0.0.1:{_PORT}") as channel:
            yield channel
    finally:
        process.terminate()
        process.wait()


def put(channel: grpc.Channel, made: list[bytes]) -> float:
    """Put batches; return URLs a second."""
    call = channel.stream_stream(f"{_SERVICE}/PutDiscovered", None, messages.BatchAck.FromString)
    start = time.perf_counter()
    number = sum(len(ack.statuses) for ack in call(iter(made)))
    return number / (time.perf_counter() - start)


def get(channel: grpc.Channel, most: int, goes_on: Callable[[], bool]) -> list[float]:
    """Get URLs as long as something goes on; return the milliseconds of each call, sorted."""
    asks = messages.class_of(messages.SERVICE.methods_by_name["GetURLs"].input_type)
    call = channel.unary_stream(
        f"{_SERVICE}/GetURLs", asks.SerializeToString, messages.URLInfo.FromString
    )
    times = []
    while len(times) < most and goes_on():
        start = time.perf_counter()
        list(call(asks(max_queues=10, max_urls_per_queue=10, delay_requestable=3_600)))
        times.append(1_000 * (time.perf_counter() - start))
        time.sleep(0.01)
    return sorted(times)


def figures(channel: grpc.Channel, urls: int, again: int) -> dict[str, float]:
    """Fill a server, and measure it."""
    step = max(_BATCH, urls // 20)
    rates = [put(channel, batches(first, step, again)) for first in range(0, urls - step, step)]
    idle = get(channel, _GETS, lambda: True)
    words = [sys.executable, __file__, "put", str(urls - step), str(step), str(again)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as loading:
        assert loading.stdout is not None  # noqa: S101 - it is piped
        loading.stdout.readline()
        busy = get(channel, 1 << 30, lambda: loading.poll() is None)
        rate = float(loading.stdout.readline())
    return {
        "put, the first, URLs/s": rates[0],
        "put, the last, URLs/s": rates[-1],
        "put while others get, URLs/s": rate,
        "get, median, ms": idle[len(idle) // 2],
        "get, p99, ms": idle[len(idle) * 99 // 100],
        "get while others put, median, ms": busy[len(busy) // 2],
        "get while others put, p99, ms": busy[len(busy) * 99 // 100],
    }


def put_alone(words: list[str]) -> None:
    """Put URLs, as a process of its own; print when it begins, and URLs a second."""
    made = batches(*map(int, words))
    with grpc.insecure_channel(f"127.0.0.1:{_PORT}") as channel:
        print("ready", flush=True)
        print(put(channel, made), flush=True)


def main() -> None:
    """Measure and print."""
    given = arguments(str(__doc__), urls=1_000_000, again=60)
    found = {}
    with tempfile.TemporaryDirectory() as place:
        store = Path(place, "crawl.db")
        command = ["-m", "canonry", "frontier", "--port", str(_PORT), "--store", str(store)]
        ways = {"canonry, SQLite": command, "plain": [__file__, "plain"]}
        for name, words in ways.items():
            with serving(words) as channel:
                found[name] = figures(channel, given.urls, given.again)
            if name != "plain":
                found[name]["bytes of a URL"] = store.stat().st_size / given.urls
    for name, numbers in found.items():
        print(name)
        for what, number in numbers.items():
            print(f"    {what:32} {number:12,.1f}")
    keep(given, "frontier", [], found)


if __name__ == "__main__":
    if sys.argv[1:] == ["plain"]:
        asyncio.run(plain())
    elif sys.argv[1:2] == ["put"]:
        put_alone(sys.argv[2:])
    else:
        main()
