"""Files by name: on this machine, or where a URL such as ``s3://bucket/key`` says (fsspec)."""

import io
import os
import re
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import IO, Any
from urllib.parse import urlsplit

from canonry.crawler.compression import naming_file
from canonry.crawler.settings import SettingsError
from canonry.extras import MissingExtraError, require

_REMOTE = re.compile(r"[a-z][a-z0-9+.-]+://.")
_EXTRAS = {"s3": "s3", "s3a": "s3", "gs": "gs", "gcs": "gs"}  # by scheme; others need "https"
_READ_ONLY = {"http", "https"}
_RENAMED = {"file", "hdfs", "sftp"}  # a file that is not complete has another name there
_PIECE = 1 << 23  # bytes that are requested, or sent, at once
_PAUSES = (0.2, 1.0, 3.0, 10.0)  # seconds before reading is tried again


class RedirectRefusedError(PermissionError):
    """A remote file redirects to an address that is not public."""


def is_remote(name: str) -> bool:
    """Return True for the URL of a file, and False for a name on this machine."""
    return _REMOTE.match(name) is not None


def is_stream(name: str) -> bool:
    """Return True for a source that can be read only once: standard input, a pipe, a device."""
    if is_remote(name):
        return False
    return name == "-" or (Path(name).exists() and not Path(name).is_file())


def opened(name: str) -> AbstractContextManager[IO[bytes]]:
    """Open a file; ``-`` is standard input.

    Standard input gets its own file object, which is left open, as a reading thread may hold the
    lock of `sys.stdin`.

    Raises:
        OSError: it cannot be read.
        MissingExtraError: a package for its scheme is not installed.
    """
    if is_remote(name):
        return io.BufferedReader(_RemoteFile(name), _PIECE)
    if name == "-":
        return nullcontext(open(0, "rb", closefd=False))
    return Path(name).open("rb")


class Ranges:
    """Reads ranges of bytes of a file, many at once if it is remote."""

    def __init__(self, name: str, file: IO[bytes] | None) -> None:
        """Use a file.

        Args:
            name: of the file, for messages.
            file: open for reading; None: the remote file of that name.

        Raises:
            OSError: there is no such file.
        """
        self.name = name
        self._file = file
        self.size = version_of(name)[0] if file is None else os.fstat(file.fileno()).st_size

    def read(self, spans: Sequence[tuple[int, int]]) -> list[bytes]:
        """Return some ranges, each given by its first byte and its size; shorter ones at the end.

        Raises:
            OSError: they cannot be read, or the server sends no ranges.
        """
        if self._file is not None:
            with naming_file(self.name):
                return [self._read(self._file.fileno(), at, size) for at, size in spans]
        if not spans:
            return []
        starts = [at for at, _size in spans]
        ends = [at + size for at, size in spans]
        for pause in (*_PAUSES, None):
            try:
                files, path = _storage(self.name)
                with _naming(self.name):
                    found = files.cat_ranges([path] * len(spans), starts, ends, on_error="raise")
                break
            except (FileNotFoundError, PermissionError):
                raise
            except OSError:
                if pause is None:
                    raise
            time.sleep(pause)
        if any(len(data) > size for data, (_at, size) in zip(found, spans, strict=True)):
            raise OSError(5, "its server sends no ranges of bytes", self.name)
        return [bytes(data) for data in found]

    @staticmethod
    def _read(number: int, at: int, size: int) -> bytes:
        parts: list[bytes] = []
        while size > 0 and (some := os.pread(number, size, at)):
            parts.append(some)
            at, size = at + len(some), size - len(some)
        return parts[0] if len(parts) == 1 else b"".join(parts)


@contextmanager
def ranges_of(name: str) -> Iterator[Ranges]:
    """Open a file of which only some ranges are read.

    Raises:
        OSError: it cannot be read.
    """
    if is_remote(name):
        yield Ranges(name, None)
        return
    with Path(name).open("rb") as file:
        yield Ranges(name, file)


def version_of(name: str) -> tuple[int | None, object]:
    """Return the size of a file in bytes, and a value that changes when it is replaced.

    Raises:
        OSError: there is no such file.
    """
    if is_remote(name):
        about = _asked(name, lambda files, path: files.info(path))
        kinds = ("ETag", "etag", "generation", "LastModified", "mtime", "last_modified")
        return about.get("size"), str(next((about[k] for k in kinds if k in about), None))
    found = Path(name).stat()
    return found.st_size, found.st_mtime_ns


def files_at(name: str) -> list[str]:
    """Return the remote files that a URL names: one, those of a folder, or those of a pattern.

    Raises:
        OSError: the storage cannot be asked.
    """
    if _scheme(name) in _READ_ONLY:
        return [name]

    def find(files: Any, path: str) -> list[str]:  # noqa: ANN401 - fsspec ships no types
        if any(sign in path for sign in "*?["):
            found = [one for one in files.glob(path) if not files.isdir(one)]
        elif files.isfile(path):
            return [name]
        else:
            found = files.find(path)
        return [files.unstrip_protocol(one) for one in sorted(found)]

    found: list[str] = _asked(name, find)
    return found


@contextmanager
def written(name: str) -> Iterator[IO[bytes]]:
    """Open a remote file for writing; it is there when the block succeeds, and not before.

    Raises:
        OSError: it cannot be written.
        SettingsError: nobody can write there.
    """
    if _scheme(name) in _READ_ONLY:
        raise SettingsError(f"{name}: an output cannot be written there; name a file, or s3://…")
    files, path = _storage(name)
    renames = _scheme(name) in _RENAMED
    folder, _slash, last = path.rpartition("/")
    temporary = (
        f"{folder}/.{last}.{token_hex(4)}.tmp" if renames else path
    )  # others write there, too
    with _naming(name):
        file = files.open(temporary, "wb", block_size=_PIECE, autocommit=renames)
    try:
        yield file
        with _naming(name):
            file.close()
            if renames:
                files.mv(temporary, path)
            else:
                file.commit()
    except BaseException:
        if renames:
            file.close()
            files.rm_file(temporary)
        else:
            file.discard()
            file.closed = True  # else it would be written when it is collected
        raise


def _scheme(name: str) -> str:
    """Return the scheme of a remote file's URL."""
    return name.partition("://")[0]


def _storage(name: str) -> tuple[Any, str]:
    """Return the storage that has a file, and the file's name there."""
    scheme = _scheme(name)
    require(_EXTRAS.get(scheme, "https"), f"{scheme}://")
    from fsspec.core import url_to_fs  # noqa: PLC0415 - optional

    try:
        options = {"get_client": partial(_client, _origin(name))} if scheme in _READ_ONLY else {}
        files, path = url_to_fs(name, **options)
    except ImportError as error:
        raise MissingExtraError(f"{name}: {error}") from None
    except ValueError as error:  # no such scheme
        raise SettingsError(f"{name}: {error}") from None
    return files, path


def _origin(name: str) -> tuple[str | None, int | None]:
    """Return the host and the port of a URL.

    Raises:
        SettingsError: it has none.
    """
    try:
        parts = urlsplit(name)
        return parts.hostname, parts.port or {"http": 80, "https": 443}[parts.scheme]
    except ValueError as error:
        raise SettingsError(f"{name}: {error}") from None


async def _client(origin: tuple[str | None, int | None], **options: Any) -> Any:  # noqa: ANN401 - of aiohttp
    """Return a client that follows redirects only to public addresses, and to the origin itself.

    The address guard of crawls holds for what a server names; the origin was named by the user.
    """
    import asyncio  # noqa: PLC0415 - takes long to load

    import aiohttp  # noqa: PLC0415 - optional

    from canonry.crawler.fetch.addresses import is_public  # noqa: PLC0415 - loads aiohttp

    loop = asyncio.get_running_loop()
    named = {one[4][:2] for one in await loop.getaddrinfo(*origin)}

    def guarded(found: aiohttp.AddrInfoType) -> socket.socket:
        family, kind, protocol, _name, address = found
        if address[:2] not in named and not is_public(str(address[0])):
            raise RedirectRefusedError(13, f"it redirects to {address[0]}, which is not public")
        return socket.socket(family, kind, protocol)

    connector = aiohttp.TCPConnector(socket_factory=guarded)
    return aiohttp.ClientSession(connector=connector, **options)


def _asked(name: str, ask: Callable[[Any, str], Any]) -> Any:  # noqa: ANN401 - as fsspec answers
    """Return what a storage answers."""
    files, path = _storage(name)
    with _naming(name):
        return ask(files, path)


@contextmanager
def _naming(name: str) -> Iterator[None]:
    """Name the file in errors, whatever a storage raises."""
    try:
        yield
    except FileNotFoundError as error:
        if refused := _refused(error):
            raise RedirectRefusedError(refused.errno, refused.strerror, name) from None
        raise FileNotFoundError(2, "there is no such file", name) from None
    except PermissionError as error:
        raise PermissionError(13, str(error) or "not allowed", name) from None
    except Exception as error:
        raise OSError(5, str(error) or type(error).__name__, name) from error


def _refused(error: BaseException | None) -> RedirectRefusedError | None:
    """Return the refused redirect from which an error came, if there is one."""
    while error is not None and not isinstance(error, RedirectRefusedError):
        error = error.__cause__ or error.__context__
    return error


class _RemoteFile(io.RawIOBase):
    """A remote file for reading. When a connection breaks off, it goes on from the same byte."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._file = _asked(name, self._open)
        self._at = 0

    @staticmethod
    def _open(files: Any, path: str) -> Any:  # noqa: ANN401 - fsspec ships no types
        return files.open(path, "rb", block_size=_PIECE, cache_type="readahead")

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True if the server can send parts."""
        return bool(self._file.seekable())

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Set the place of the next byte."""
        with _naming(self._name):
            self._at = int(self._file.seek(offset, whence))
        return self._at

    def tell(self) -> int:
        """Return the place of the next byte."""
        return self._at

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401 - whatever has a buffer
        """Read some bytes; try again if that fails."""
        for pause in (*_PAUSES, None):
            try:
                with _naming(self._name):
                    data = self._file.read(len(buffer))
                break
            except (FileNotFoundError, PermissionError):
                raise
            except OSError:
                if pause is None or not self.seekable():
                    raise
            time.sleep(pause)
            self._file = _asked(self._name, self._open)
            self._file.seek(self._at)
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)

    def close(self) -> None:
        """Close the file."""
        if not self.closed:
            self._file.close()
        super().close()
