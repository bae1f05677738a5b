"""Files that one process writes: locked while it does, whatever machine or container it is on."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


def owned(path: Path) -> IO[bytes]:
    """Open a file for writing, and lock it; empty one that a killed process left.

    Raises:
        OSError: when another process writes it.
    """
    while True:
        file = open(path, "wb", opener=_without_truncating)  # noqa: SIM115 - it is returned
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _has_name(file, path):
                file.truncate(0)
                return file
        except BlockingIOError as error:
            file.close()
            raise OSError(error.errno, "another process is writing it", str(path)) from None
        file.close()  # it was renamed or deleted before we had the lock


def discard(file: IO[bytes], path: Path) -> None:
    """Delete a file that `owned` has opened; not one of this name that another process has made."""
    if _has_name(file, path):
        path.unlink()


@contextmanager
def abandoned(path: Path) -> Iterator[IO[bytes] | None]:
    """Open a file that its writer did not finish, and lock it; None while a process writes it.

    Raises:
        OSError: it cannot be read and written, or locked.
    """
    with path.open("r+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_abandoned = _has_name(file, path)
        except BlockingIOError:
            is_abandoned = False
        yield file if is_abandoned else None


def _has_name(file: IO[bytes], path: Path) -> bool:
    """Return True if a file still has its name: it was not renamed, deleted or replaced."""
    try:
        return os.path.samestat(path.stat(), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False


def _without_truncating(path: str, _flags: int) -> int:
    """Open a file for writing, but keep its content until it is locked."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666)
