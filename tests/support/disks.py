"""A disk that forgets what was not synced, as one may when the machine loses power."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


class LostPowerError(Exception):
    """In the place of an end without any last words."""


class Disk:
    """What of a folder would still be there if power was lost now: the least that POSIX promises.

    Of a file, the content that it had when it was synced last; of a folder, the names that it had
    then.
    """

    def __init__(self, folder: Path) -> None:
        """Begin with what is in the folder now."""
        self._folder = folder
        self._contents: dict[int, bytes] = {}  # by inode
        self._names: dict[Path, dict[str, int]] = {}  # the files of each folder
        for path in folder.rglob("*"):
            if path.is_file():
                self._contents[path.stat().st_ino] = path.read_bytes()
        for path in (folder, *(path for path in folder.rglob("*") if path.is_dir())):
            self._note_names(path)

    def _note_names(self, folder: Path) -> None:
        self._names[folder] = {path.name: path.stat().st_ino for path in folder.iterdir()}

    @contextmanager
    def watching(self, monkeypatch: pytest.MonkeyPatch, left: int = -1) -> Iterator[None]:
        """Note what is synced in a block, instead of syncing it.

        Args:
            monkeypatch: to replace `os.fsync`.
            left: power is lost before so many calls of it have returned; -1: never.
        """

        def fsync(number: int) -> None:
            nonlocal left
            left -= 1
            if not left:
                raise LostPowerError
            path = Path(f"/proc/self/fd/{number}").readlink()
            if path.is_dir():
                self._note_names(path)
            else:
                self._contents[os.fstat(number).st_ino] = path.read_bytes()

        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", fsync)
            yield

    def restore(self) -> None:
        """Make the folder, which is empty, what it is after the loss of power."""
        self._restore(self._folder)

    def _restore(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        for name, inode in self._names.get(folder, {}).items():
            if folder / name in self._names:
                self._restore(folder / name)
            else:
                (folder / name).write_bytes(self._contents.get(inode, b""))
