"""Run an iterator ahead of its consumer, in a thread."""

from collections.abc import Iterator
from contextlib import suppress
from queue import Full, Queue
from threading import Event, Thread
from typing import TypeVar

_T = TypeVar("_T")


def ahead(items: Iterator[_T], most: int = 2) -> Iterator[_T]:
    """Yield the items of an iterator that a thread runs ahead, each as soon as it is there.

    What the iterator raises is raised here, after the items before it.

    Args:
        items: any; it is left where it is if the consumer stops.
        most: items that may wait.
    """
    ready: Queue[_T | BaseException | None] = Queue(most)
    over = Event()

    def put(item: _T | BaseException | None) -> None:
        while not over.is_set():
            with suppress(Full):
                ready.put(item, timeout=0.1)
                return

    def run() -> None:
        try:
            for item in items:
                put(item)
                if over.is_set():
                    return
            put(None)
        except BaseException as error:  # noqa: BLE001 - raised again by the consumer
            put(error)

    thread = Thread(target=run, name="canonry-reader", daemon=True)
    thread.start()
    try:
        while (item := ready.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        over.set()
