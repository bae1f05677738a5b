"""A client of the URLFrontier API, and servers of it that tests start as users would."""

import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
from support.forking import Fork
from support.sites import start

from canonry.crawler.frontier import messages
from canonry.crawler.frontier.messages import Message, class_of

_SECONDS = 60.0


class Client:
    """Calls every method of the API, by its name there."""

    def __init__(self, channel: grpc.Channel, metadata: Sequence[tuple[str, str]] = ()) -> None:
        """Bind a channel, and what each call brings beside its message."""
        self.channel = channel
        self._metadata = metadata
        self._methods: dict[str, Any] = {}
        self._takes: dict[str, Any] = {}
        for name, method in messages.SERVICE.methods_by_name.items():
            kind = (
                f"{'stream' if method.client_streaming else 'unary'}_"
                f"{'stream' if method.server_streaming else 'unary'}"
            )
            self._takes[name] = takes = class_of(method.input_type)
            self._methods[name] = getattr(channel, kind)(
                f"/{messages.SERVICE.full_name}/{name}",
                takes.SerializeToString,
                class_of(method.output_type).FromString,
            )

    def __call__(self, name: str, **fields: object) -> Message:
        """Call a method that takes one message, given by its fields."""
        request = self._takes[name](**fields)
        return self._methods[name](request, timeout=_SECONDS, metadata=self._metadata)

    def method(self, name: str) -> Callable[..., Any]:
        """Return a method as grpc has it."""
        method: Callable[..., Any] = self._methods[name]
        return method

    def put(self, items: Iterable[Message]) -> list[str]:
        """Put items, and return their statuses."""
        call = self._methods["PutURLs"]
        acks = call(iter(items), timeout=_SECONDS, metadata=self._metadata)
        return [messages.AckMessage.Status.Name(ack.status) for ack in acks]

    def discover(self, *urls: str, **fields: object) -> list[str]:
        """Put URLs that were found."""
        return self.put([discovered(url, **fields) for url in urls])

    def batch(self, urls: Sequence[str], **fields: object) -> list[str]:
        """Put URLs that were found, in one batch."""
        items = [info(url, **fields) for url in urls]
        batches = iter([messages.DiscoveredBatch(ID="1", items=items)])
        [ack] = self._methods["PutDiscovered"](batches, timeout=_SECONDS)
        return [messages.AckMessage.Status.Name(status) for status in ack.statuses]

    def report(self, url: str, again_at: int = 0, **fields: object) -> str:
        """Report on one URL."""
        return self.put([known(url, again_at, **fields)])[0]

    def get(self, **fields: object) -> list[str]:
        """Get due URLs."""
        return [one.url for one in self("GetURLs", **fields)]


def info(url: str, **fields: object) -> Message:
    """Return a URL with its queue, its crawl and what is kept with it."""
    metadata = fields.pop("metadata", {})
    made = messages.URLInfo(url=url, **fields)
    assert isinstance(metadata, dict)
    for name, value in metadata.items():
        made.metadata[name].values.append(value)
    return made


def discovered(url: str, **fields: object) -> Message:
    """Return a URL that was found."""
    item = messages.URLItem(ID=url)
    item.discovered.info.CopyFrom(info(url, **fields))
    return item


def known(url: str, again_at: int = 0, **fields: object) -> Message:
    """Return a report on a URL."""
    item = messages.URLItem(ID=url)
    item.known.info.CopyFrom(info(url, **fields))
    item.known.refetchable_from_date = again_at
    return item


@contextmanager
def process(store: str, *options: str, port: int = 0) -> Iterator[tuple[Fork, int]]:
    """Run ``canonry frontier``; yield the process and its port."""
    words = ("frontier", "--store", store, "--port", str(port), *options)
    with start(Path.cwd(), *words) as running:
        try:
            yield running, told_and_port(running)[1]
        finally:
            running.terminate()
            running.wait(timeout=_SECONDS)


def told_and_port(running: Fork) -> tuple[str, int]:
    """Return what a server says until it listens, and its port."""
    until = time.monotonic() + _SECONDS
    told = ""
    while time.monotonic() < until and (line := running.stderr.readline().decode()):
        told += line
        if found := re.search(r"URLFrontier's API.*:(\d+),", line):
            return told, int(found[1])
    raise AssertionError(told)


@contextmanager
def client(port: int) -> Iterator[Client]:
    """Connect to a server on this machine."""
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        yield Client(channel)


@contextmanager
def serving(folder: Path, *options: str) -> Iterator[Client]:
    """Run a server on a store in a folder, and connect to it."""
    with process(str(folder / "crawl.db"), *options) as (_running, port), client(port) as found:
        yield found
