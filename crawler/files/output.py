"""Files that appear whole or not at all."""

import bz2
import fcntl
import io
import lzma
import os
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from canonry.crawler.compression import gzip_member, write_all
from canonry.extras import require

_MEMBER = 1 << 21  # bytes before they are packed
_AHEAD = 8  # members in memory


@contextmanager
def whole(path: str) -> Iterator[IO[bytes]]:
    """Open a file for writing that takes its name when the block ends well, and is gone otherwise.

    It is packed where its name ends like a packed file's. A pipe or a device is written as it is.
    """
    target = Path(path)
    if is_special(path):
        with target.open("wb") as pipe, _packing(pipe, target.suffix) as packed:
            yield packed
        return
    temporary = target.with_name(f".{target.name}.tmp")
    with _own(temporary) as file:
        try:
            with _packing(file, target.suffix) as packed:
                yield packed
            file.flush()
            os.fsync(file.fileno())
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)


def is_special(path: str) -> bool:
    """Say whether a name is that of a pipe or a device, which nothing may take the place of."""
    target = Path(path)
    return target.exists() and not target.is_file() and not target.is_dir()


def _own(path: Path) -> IO[bytes]:
    """Open a file for writing that no other process writes; one that was killed may have left it.

    Raises:
        OSError: when another process writes it.
    """
    while True:
        file = path.open("ab")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if path.exists() and os.path.samestat(path.stat(), os.fstat(file.fileno())):
                file.truncate(0)
                return file
        except BlockingIOError as error:
            file.close()
            raise OSError(error.errno, "another process is writing it", str(path)) from None
        file.close()  # it got its name, or was taken away, before it was ours


@contextmanager
def _packing(file: IO[bytes], ending: str) -> Iterator[IO[bytes]]:
    """Pack what is written to a file, as an ending says."""
    if ending == ".gz":
        with io.BufferedWriter(_Packed(file), _MEMBER) as packed:
            yield packed
    elif ending in {".bz2", ".xz"}:
        with bz2.open(file, "wb") if ending == ".bz2" else lzma.open(file, "wb") as packed:
            yield packed
    elif ending == ".zst":
        require("arrow", "zst")
        import pyarrow as pa  # noqa: PLC0415 - optional

        with pa.CompressedOutputStream(_Lasting(file), "zstd") as packed:
            yield packed
    else:
        yield file


class _Lasting(io.RawIOBase):
    """A file for one who would close it when all is packed."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:  # noqa: ANN401 - whatever has a buffer
        """Write all bytes."""
        write_all(self._file, data)
        return len(data)


class _Packed(io.RawIOBase):
    """Packs what is written into gzip members, in threads: zlib lets others run meanwhile.

    A file of several members is a gzip file (RFC 1952 section 2.2).
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="canonry-gzip")
        self._members: deque[Future[bytes]] = deque()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:  # noqa: ANN401 - whatever has a buffer
        """Take in bytes, one member of them."""
        taken = bytes(data)
        self._members.append(self._threads.submit(gzip_member, taken))
        while len(self._members) > _AHEAD:
            write_all(self._file, self._members.popleft().result())
        return len(taken)

    def close(self) -> None:
        """Write what is being packed; an empty file is one empty member."""
        if not self.closed:
            try:
                for member in self._members:
                    write_all(self._file, member.result())
                if not self._file.tell():
                    self._file.write(gzip_member(b""))
            finally:
                self._threads.shutdown()
                super().close()
