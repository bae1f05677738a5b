"""``python -m canonry`` and ``canonry`` run the command."""

import atexit
import gc
import os
import signal
import sys
from types import FrameType

_INTERRUPTED = b"canonry: interrupted; run the same command to start again\n"
_LIBRARY_ALONE = """\
canonry: only the library is installed. In a checkout of Canonry:
  pip install '.[crawl]'   for all commands
  pip install '.[dedup]'   for those without a store:
                           canon, dedup, explain, extract, keys, migrate, policy
"""


def main() -> None:
    """Import the command and run it. Ctrl-C while it is imported ends it as it does later."""
    ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # else it is ignored
    if ours:
        signal.signal(signal.SIGINT, _leave)
    # The commands allocate millions of small tuples that are never part of a cycle. With the
    # default thresholds, the garbage collector takes a third of the time of a dedup.
    gc.set_threshold(200_000, 50, 100)
    atexit.register(gc.freeze)  # else Python's end looks through all that was imported
    try:
        from canonry.crawler.cli.commands import main as run  # noqa: PLC0415 - takes a while
    except ModuleNotFoundError as error:
        if error.name != "click":
            raise
        from canonry import __version__  # noqa: PLC0415 - only here
        from canonry.canon.pipeline import kernel_in_words  # noqa: PLC0415 - as above

        is_version = sys.argv[1:] == ["--version"]
        if is_version:
            sys.stdout.write(f"canonry, version {__version__}, {kernel_in_words()}\n")
        sys.stderr.write(_LIBRARY_ALONE)
        sys.exit(0 if is_version else 2)  # as in canonry.crawler.cli.exit_codes

    if ours:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        run()
    except KeyboardInterrupt:  # one more, while the command was ending
        sys.exit(3)  # as in canonry.crawler.cli.exit_codes
    finally:
        if ours:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        _drop_unwritten()


def _drop_unwritten() -> None:
    """Let what cannot be written go nowhere, so that Python does not end with a code of its own."""
    for stream in filter(None, (sys.stdout, sys.stderr)):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _leave(_number: int, _frame: FrameType | None) -> None:
    """End at once: nothing was begun, and an exception might be caught by what is imported."""
    os.write(sys.__stderr__.fileno() if sys.__stderr__ else 2, _INTERRUPTED)
    os._exit(3)  # as in canonry.crawler.cli.ending


if __name__ == "__main__":
    main()
