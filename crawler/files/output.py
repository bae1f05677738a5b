"""Output files, written atomically: each appears whole or not at all."""

import bz2
import errno
import io
import lzma
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from filecmp import cmp
from pathlib import Path
from typing import IO, Any

from canonry.crawler.compression import Unclosed, gzip_member, naming_file, write_all
from canonry.crawler.locations import is_remote, version_of, written
from canonry.crawler.owned_files import discard, owned
from canonry.crawler.settings import SettingsError
from canonry.extras import require

_MEMBER = 1 << 21  # bytes before compression
_AHEAD = 8  # members in memory
_EMPTIED = "{}: it has content, and the new output has none, so it stays; delete it first"


@contextmanager
def atomic(path: str, is_emptied: Callable[[], bool] = lambda: False) -> Iterator[IO[bytes]]:
    """Open a file that gets its name when the block succeeds, and is deleted when it fails.

    It is compressed if its name ends in one of `COMPRESSED_ENDINGS`. A pipe or a device is written
    directly.

    Args:
        path: the name of the file.
        is_emptied: returns True, when all is written, if these are no rows. Then a file of the same
            name stays, unless it has none either.

    Raises:
        OSError: it cannot be written, or a file with rows would be replaced by one without.
    """
    target = Path(path)
    if is_remote(path):
        with written(path) as file:
            with _compressing(file, target.suffix) as compressed:
                yield compressed
            if is_emptied() and _size_at(path) > file.tell():
                raise OSError(_EMPTIED.format(path))
        return
    if is_special(path):
        with (
            naming_file(path),
            target.open("wb") as pipe,
            _compressing(pipe, target.suffix) as compressed,
        ):
            yield compressed
        return
    temporary = target.with_name(f".{target.name}.tmp")
    try:
        with naming_file(path), owned(temporary) as file:
            try:
                with _compressing(file, target.suffix) as compressed:
                    yield compressed
                file.flush()
                if is_emptied() and _is_other(target, temporary):
                    raise OSError(_EMPTIED.format(path))
                os.fsync(file.fileno())
                temporary.replace(target)
                sync_folder(target.parent)
            finally:
                discard(file, temporary)
    except OSError as error:
        if error.filename == str(temporary):
            error.filename = path
        raise


def _is_other(target: Path, empty: Path) -> bool:
    """Return True if there is a file with other content than an output without rows."""
    return target.exists() and target.stat().st_size > 0 and not cmp(target, empty, shallow=False)


def _size_at(path: str) -> int:
    """Return the size of a remote file in bytes; 0 if there is none."""
    try:
        return version_of(path)[0] or 0
    except FileNotFoundError:
        return 0


def sync_folder(folder: Path) -> None:
    """Sync a folder to disk, so that the names of its files last, on systems that support this.

    Raises:
        OSError: the disk fails.
    """
    try:
        number = os.open(folder, os.O_RDONLY)
    except PermissionError:  # its names may be written, but not read
        return
    try:
        os.fsync(number)
    except OSError as error:
        if error.errno not in {errno.EBADF, errno.EINVAL}:
            raise OSError(error.errno, error.strerror, str(folder)) from None
    finally:
        os.close(number)


def check_distinct(outputs: Iterable[tuple[str, str | None]], inputs: Iterable[str | None]) -> None:
    """Refuse an output that is a folder, an input or another output, by whatever name or link.

    Args:
        outputs: pairs of an option and a name; None and ``-`` are not files.
        inputs: names; ``-`` is standard input, and None is not a file.

    Raises:
        SettingsError: naming the option and the file.
    """
    read = {_identity(name): name for name in inputs if name is not None}
    written: dict[object, str] = {}
    for option, name in outputs:
        if name in {None, "-"} or is_special(name):
            continue
        if Path(name).is_dir():
            raise SettingsError(f"{option} {name}: this is a folder; name a file")
        file = _identity(name)
        if file in read:
            also = "" if read[file] == name else f" ({read[file]})"
            raise SettingsError(f"{option} {name}: this is an input{also}; name another file")
        if file in written:
            raise SettingsError(f"{written[file]} and {option} name the same file: {name}")
        written[file] = option


def _identity(name: str) -> object:
    """Return a value that all names of one file share, as in `os.path.samefile`."""
    try:
        found = os.fstat(0) if name == "-" else Path(name).stat()
    except OSError:  # it is not there yet
        return os.path.realpath(name)
    return found.st_dev, found.st_ino


def is_special(path: str) -> bool:
    """Return True for the name of a pipe or a device, which must not be replaced."""
    target = Path(path)
    return target.exists() and not target.is_file() and not target.is_dir()


@contextmanager
def _compressing(file: IO[bytes], ending: str) -> Iterator[IO[bytes]]:
    """Compress what is written to a file, in the format of an ending."""
    if ending == ".gz":
        with io.BufferedWriter(_GzipMembers(file), _MEMBER) as compressed:
            yield compressed
    elif ending in {".bz2", ".xz"}:
        with bz2.open(file, "wb") if ending == ".bz2" else lzma.open(file, "wb") as compressed:
            yield compressed
    elif ending == ".zst":
        require("arrow", "zst")
        import pyarrow as pa  # noqa: PLC0415 - optional

        with pa.CompressedOutputStream(Unclosed(file), "zstd") as compressed:
            yield compressed
    else:
        yield file


class _GzipMembers(io.RawIOBase):
    """Compresses what is written as gzip members, in threads: zlib releases the GIL.

    A file of several members is a gzip file (RFC 1952 section 2.2).
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="canonry-gzip")
        self._members: deque[Future[bytes]] = deque()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:  # noqa: ANN401 - whatever has a buffer
        """Compress bytes as one member."""
        content = bytes(data)
        self._members.append(self._threads.submit(gzip_member, content))
        while len(self._members) > _AHEAD:
            write_all(self._file, self._members.popleft().result())
        return len(content)

    def close(self) -> None:
        """Write the members in work; an empty file is one empty member."""
        if not self.closed:
            try:
                for member in self._members:
                    write_all(self._file, member.result())
                if not self._file.tell():
                    self._file.write(gzip_member(b""))
            finally:
                self._threads.shutdown()
                super().close()
