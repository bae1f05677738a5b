"""How a command ends: with an exit code, and with errors as one sentence."""

import errno
import io
import os
import platform
import sys
import time
import traceback
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TextIO

import click

from canonry import __version__
from canonry.canon import InvalidURL, PolicyError, RulesError
from canonry.canon.pipeline import is_compiled
from canonry.crawler.cli.exit_codes import FAILED, INTERRUPTED, USAGE
from canonry.crawler.cli.terminal import render
from canonry.crawler.cli.terminal.loudness import LOUDNESS
from canonry.crawler.compression import naming_file
from canonry.crawler.settings import SettingsError
from canonry.extras import MissingExtraError, naming_extra
from canonry.storage import StoreError, StoreURLError

_NO_ROOM = frozenset({errno.ENOSPC, errno.EFBIG, errno.EDQUOT})  # files are named where written
_WRONG_USAGE = (
    *(SettingsError, PolicyError, RulesError, MissingExtraError, StoreURLError),
    FileNotFoundError,  # of a name that was given
)
_START_AGAIN = "run the same command to start again"
_P = ParamSpec("_P")


def with_exit_code(command: Callable[_P, int]) -> Callable[_P, None]:
    """Exit with the code that a command returns; print its errors and exit with theirs."""

    @wraps(command)
    def run(*args: _P.args, **kwargs: _P.kwargs) -> None:
        begun = time.monotonic()
        if sys.stdout is None:  # it was closed, as by ">&-"
            os.open(os.devnull, os.O_WRONLY)  # no file of ours may get its number
            sys.stdout = io.TextIOWrapper(_Closed(), "utf-8", write_through=True)
        if sys.stderr is None:
            sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123 - until the end
        code = _code_of(command, *args, **kwargs)
        if LOUDNESS.verbose:
            _describe(code, time.monotonic() - begun)
        sys.exit(code)

    return run


class _Closed(io.RawIOBase):
    """Standard output where it is closed: a command fails if its results go there."""

    def writable(self) -> bool:
        return True

    def write(self, _data: object) -> int:
        raise OSError(errno.EBADF, "it is closed", "<stdout>")


def _code_of(command: Callable[_P, int], *args: _P.args, **kwargs: _P.kwargs) -> int:
    """Run a command, print its errors, and return its exit code."""
    try:
        with naming_extra("a store"):  # all that a command of the extra dedup may lack
            code = command(*args, **kwargs)
        with naming_file("<stdout>"):
            sys.stdout.flush()  # what cannot be written is told here, not when Python ends
    except _WRONG_USAGE as error:
        return _report(error, USAGE)
    except BrokenPipeError:  # the reader has closed the pipe, as "head" does
        _forget(sys.stdout)
        return FAILED
    except (StoreError, InvalidURL, OSError, MemoryError) as error:
        return _report(error, FAILED)
    except KeyboardInterrupt as error:  # its message says what was saved
        render.notify(f"canonry: interrupted; {str(error) or _START_AGAIN}")
        return INTERRUPTED
    except Exception as error:
        damaged = _damaged_store(error)
        if damaged is None:
            raise
        return _report(damaged, FAILED)
    return code


def _damaged_store(error: Exception) -> StoreError | None:
    """Return what is damaged in the store of this command, if that may have caused an error."""
    context = click.get_current_context(silent=True)
    store = None if context is None else context.params.get("store")
    if store is None:
        return None
    from canonry.storage.sql.database_faults import damaged_store  # noqa: PLC0415 - loads SQLAlchemy

    return damaged_store(error, store)


def _forget(stream: TextIO) -> None:
    """Let what a stream still holds go nowhere, so that Python does not fail when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _report(error: Exception, code: int) -> int:
    """Print an error as a sentence, with -v also where it arose; return the exit code."""
    if LOUDNESS.verbose:
        render.notify("".join(traceback.format_exception(error)).rstrip())
    sentence = str(error)
    if isinstance(error, MemoryError):
        sentence = f"out of memory: {sentence}".removesuffix(": ")
    if isinstance(error, OSError) and error.strerror:
        file = error.filename or ("<stdout>" if error.errno in _NO_ROOM else None)
        place = f"{os.fsdecode(file)}: " if isinstance(file, str | bytes) else ""
        place = place.replace("<stdout>", "standard output")
        sentence = f"{place}{error.strerror}"
    render.notify(f"canonry: {sentence}")
    return code


def _describe(code: int, seconds: float) -> None:
    """Say what a report of a bug needs."""
    kernel = "compiled" if is_compiled() else "not compiled"
    python = f"{platform.python_implementation()} {platform.python_version()}"
    render.notify(f"canonry {__version__}, {kernel}, {python}, {platform.platform()}")
    used = time.process_time()
    render.notify(
        f"exit code {code} after {seconds:.2f} s, {used:.2f} s of processor time with start-up"
    )
