"""Interrupts: Ctrl-C and SIGTERM stop a crawl, in this process or in its workers."""

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from canonry.crawler.run.loop import Crawl

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def stopping(run: Crawl, notify: Callable[[str], None]) -> Iterator[None]:
    """Stop a crawl on an interrupt: after the requests in flight, or at once on the second."""
    loop = asyncio.get_running_loop()
    interrupted = False

    def interrupt() -> None:
        nonlocal interrupted
        if not interrupted:
            interrupted = True
            notify("Stopping after the requests in flight; Ctrl-C again stops at once.")
            run.stop()
        else:
            run.stop(now=True)

    for number in _SIGNALS:
        loop.add_signal_handler(number, interrupt)
    try:
        yield
    finally:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)


@contextmanager
def forwarding(forward: Callable[[int], None]) -> Iterator[None]:
    """Call a function with the number of each interrupt signal, instead of being interrupted."""
    before = {n: signal.signal(n, lambda number, _frame: forward(number)) for n in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
