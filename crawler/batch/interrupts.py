"""Ctrl-C and SIGTERM in a dedup: both end it in the same way, at once or at the next checkpoint."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_Handler = Callable[[int, FrameType | None], object]


@contextmanager
def interrupted_at_once() -> Iterator[None]:
    """Raise KeyboardInterrupt for SIGTERM, too."""
    with _handling(signal.default_int_handler):
        yield


@contextmanager
def interrupted_later(note: Callable[[], None]) -> Iterator[None]:
    """Call a function on the first signal, and raise KeyboardInterrupt at the end of the block.

    It is raised at once on the second signal, and instead of an error.
    """
    is_noted = False

    def handle(number: int, frame: FrameType | None) -> None:
        nonlocal is_noted
        if is_noted:
            signal.default_int_handler(number, frame)
        is_noted = True
        note()

    with _handling(handle):
        try:
            yield
        except Exception:
            if is_noted:  # as the signal may have ended worker processes
                raise KeyboardInterrupt from None
            raise
        if is_noted:
            raise KeyboardInterrupt


@contextmanager
def _handling(handler: _Handler) -> Iterator[None]:
    """Handle the signals, but those that are ignored; only the main thread can."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handled = [number for number in _SIGNALS if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, handler) for number in handled}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)
