"""Compressed files: detected by content, decompressed as they are read."""

import bz2
import io
import lzma
import zlib
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import ModuleType
from typing import IO, Any

from canonry.extras import require

gz: ModuleType = zlib
_LEVEL = 6
try:
    from isal import isal_zlib
except ImportError:  # pragma: no cover - on processors for which there is none
    pass
else:
    gz = isal_zlib
    _LEVEL = 3  # its highest: files are a few percent larger than those of gzip -6

COMPRESSED_ENDINGS = (".gz", ".bz2", ".xz", ".zst")  # of names of files to be compressed
# What a file that breaks off raises.
_GZIP_FAULT: type[Exception] = gz.error
FAULTS = (OSError, EOFError, zlib.error, _GZIP_FAULT, lzma.LZMAError)
_SOME = 1 << 16  # bytes
_GZIP = 31  # zlib's window bits for a gzip header and checksum


class Stream(io.RawIOBase):
    """Content that is read once; its beginning can be looked at before."""

    def __init__(self, source: Any) -> None:  # noqa: ANN401 - they have read1 in common, and no type
        """Wrap any object that has ``read1``."""
        self.source = source
        self._head = b""
        self._fault: Exception | None = None

    def head(self, size: int) -> bytes:
        """Return the first bytes, ``size`` of them or a few more, without consuming them."""
        while len(self._head) < size and self._fault is None:
            try:
                part = self.source.read1(_SOME)
            except FAULTS as error:
                self._fault = error
                break
            if not part:
                break
            self._head += part
        return self._head

    def read1(self, size: int = _SOME) -> bytes:
        """Return some bytes; b"" at the end."""
        if self._head:
            part, self._head = self._head[:size], self._head[size:]
            return part
        if self._fault is not None:
            raise self._fault
        return bytes(self.source.read1(size))

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401 - whatever has a buffer
        """Read as `read1` does."""
        part = self.read1(len(buffer))
        buffer[: len(part)] = part
        return len(part)


def opened(source: str) -> AbstractContextManager[IO[bytes]]:
    """Open a file; ``-`` is standard input.

    Standard input gets a file object of its own, which is left open: a reading thread may hold the
    lock of the usual one.
    """
    if source == "-":
        return nullcontext(open(0, "rb", closefd=False))
    return Path(source).open("rb")


def decompressed(file: IO[bytes]) -> Stream:
    """Return a file's content, decompressed if it begins like gz, bz2, xz or zst.

    Args:
        file: buffered, at its beginning.

    Raises:
        MissingExtraError: for zst, if pyarrow is not installed.
    """
    head = file.peek(10)[:10]  # type: ignore[attr-defined]  # a buffered file has it
    if head.startswith(b"\x1f\x8b\x08"):
        return Stream(_Gunzip(file))
    if head.startswith(b"BZh") and head[4:10] == b"1AY&SY":
        return Stream(bz2.BZ2File(file))
    if head.startswith(b"\xfd7zXZ\0"):
        return Stream(lzma.LZMAFile(file))
    if head.startswith(b"\x28\xb5\x2f\xfd"):
        return Stream(_zstandard(file))
    return Stream(file)


def _zstandard(file: IO[bytes]) -> Any:  # noqa: ANN401 - pyarrow ships no types
    """Return a zst file's content."""
    require("arrow", "zst")
    import pyarrow as pa  # noqa: PLC0415 - optional

    return pa.CompressedInputStream(_Unclosed(file), "zstd")


class Copied(io.RawIOBase):
    """A stream that is copied as it is read, so that it can be read again."""

    def __init__(self, source: IO[bytes], copy: IO[bytes]) -> None:
        """Bind the source and its copy, which is open for writing and unbuffered."""
        self._source = source
        self._copy = copy

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401 - whatever has a buffer
        """Read some bytes, and copy them."""
        part = self._source.read1(len(buffer))  # type: ignore[attr-defined]  # a buffered file has it
        write_all(self._copy, part)
        buffer[: len(part)] = part
        return len(part)


def write_all(file: IO[bytes], data: bytes) -> None:
    """Write bytes, all of them.

    A buffered file that fails in the middle of many bytes only returns how many it took. A full
    disk, or a pipe without a reader, raises an error when the rest is written.
    """
    rest = memoryview(data)
    while rest:
        rest = rest[file.write(rest) :]


class _Unclosed(io.RawIOBase):
    """A file that its reader cannot close: others still ask for its position."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401 - whatever has a buffer
        """Read as the file does."""
        return int(self._file.readinto(buffer))  # type: ignore[attr-defined]


class _Gunzip:
    """The content of a gzip file (RFC 1952) of any number of members, up to where it breaks off."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._member: Any = None
        self._rest = b""
        self._members = 0

    def read1(self, size: int) -> bytes:
        """Return some bytes; b"" at the end.

        Raises:
            EOFError: the file ends too early.
            zlib.error, isal.isal_zlib.error: it is no gzip file.
        """
        while True:
            self._rest = self._rest or self._file.read1(_SOME)  # type: ignore[attr-defined]
            if self._member is None:
                if self._members:  # zeros may pad the file
                    self._rest = self._rest.lstrip(b"\0") if self._rest else b""
                if not self._rest:
                    if not self._file.peek(1):  # type: ignore[attr-defined]
                        return b""
                    continue
                self._member = gz.decompressobj(_GZIP)
                self._members += 1
            is_end = not self._rest
            out: bytes = self._member.decompress(self._rest, size)
            if self._member.eof:
                self._rest, self._member = self._member.unused_data, None
            else:
                self._rest = self._member.unconsumed_tail
                if is_end and not out:
                    raise EOFError("it ends in the middle of a gzip member")
            if out:
                return out


def gzip_member(data: bytes) -> bytes:
    """Return bytes as a gzip member (RFC 1952): a file by itself, or the next part of one."""
    compressor = gz.compressobj(_LEVEL, wbits=_GZIP)
    return bytes(compressor.compress(data) + compressor.flush())
