"""Compressed files: detect them by content, and decompress them as they are read."""

import bz2
import io
import lzma
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import IO, Any

from canonry.extras import require

gz: ModuleType = zlib
_LEVEL = 6
try:
    from isal import isal_zlib
except ImportError:  # pragma: no cover - isal does not support this processor
    pass
else:
    gz = isal_zlib
    _LEVEL = 3  # its highest: files are a few percent larger than those of gzip -6
_QUICK = _LEVEL - 1 if gz is not zlib else 1  # half the time

COMPRESSED_ENDINGS = (".gz", ".bz2", ".xz", ".zst")  # of names of files to be compressed
# Errors of files that break off.
_GZIP_FAULT: type[Exception] = gz.error
FAULTS = (OSError, EOFError, zlib.error, _GZIP_FAULT, lzma.LZMAError)
_SOME = 1 << 16  # bytes
_STEP = 1 << 14  # bytes; the most that is lost before a damaged place
_GZIP, _DEFLATE = 31, -15  # zlib's window bits, with and without gzip's header and checksum
_MAGIC, _HEADER, _TRAILER = b"\x1f\x8b\x08", 10, 8  # RFC 1952 section 2.3
_EXTRA, _NAME, _COMMENT, _HEADER_SUM = 4, 8, 16, 2  # its flags
_LONGEST_HEADER = 1 << 18
_BROKEN_OFF = "it ends in the middle of a gzip member"


class GzipMembers:
    """Writes gzip members to a file: each `flush` ends one, as WARC files have for each record."""

    def __init__(self, file: IO[bytes]) -> None:
        """Bind the file."""
        self._file = file
        self._member: Any = None

    def write(self, data: bytes) -> None:
        """Compress bytes into the open member, or into a new one."""
        if self._member is None:
            self._member = gz.compressobj(_QUICK, zlib.DEFLATED, _GZIP)
        self._file.write(self._member.compress(data))

    def flush(self) -> None:
        """End the open member. The file itself is not flushed."""
        if self._member is not None:
            self._file.write(self._member.flush())
            self._member = None


class Stream(io.RawIOBase):
    """Content that can be read once, and peeked at before."""

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

    return pa.CompressedInputStream(Unclosed(file), "zstd")


def write_all(file: IO[bytes], data: bytes) -> None:
    """Write all bytes, or raise an error.

    A buffered file that fails midway only returns how many bytes it took. A full disk, or a pipe
    without a reader, raises an error when the rest is written.
    """
    rest = memoryview(data)
    with naming_file(getattr(file, "name", None)):
        while rest:
            rest = rest[file.write(rest) :]


@contextmanager
def naming_file(name: object) -> Iterator[None]:
    """Add the name of a file to the system's errors in a block that have none."""
    try:
        yield
    except OSError as error:
        if error.errno is not None and error.filename is None and isinstance(name, str):
            error.filename = name
        raise


class Unclosed(io.RawIOBase):
    """A file that whatever reads or writes it cannot close, because it is still needed."""

    def __init__(self, file: IO[bytes]) -> None:
        """Bind the file."""
        self._file = file

    def readable(self) -> bool:
        """Return True if the file can be read."""
        return self._file.readable()

    def writable(self) -> bool:
        """Return True if the file can be written."""
        return self._file.writable()

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401 - whatever has a buffer
        """Read as the file does."""
        return int(self._file.readinto(buffer))  # type: ignore[attr-defined]

    def write(self, data: Any) -> int:  # noqa: ANN401 - whatever has a buffer
        """Write all bytes."""
        write_all(self._file, data)
        return len(data)


class _Gunzip:
    """The content of a gzip file (RFC 1952) of any number of members, up to where it breaks off.

    Data before a fault is returned first, including that of a member with a wrong checksum. So
    checksums are compared here, since zlib would withhold the last data of such a member.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._member: Any = None
        self._rest = b""
        self._members = 0
        self._sum, self._size = 0, 0  # of the member's data

    def read1(self, size: int) -> bytes:
        """Return some bytes; b"" at the end.

        Raises:
            EOFError: the file ends too early.
            OSError, zlib.error, isal.isal_zlib.error: the file is not gzip, or is damaged.
        """
        while self._member is not None or self._begin():
            if self._member.eof:
                self._end()
                continue
            is_end = not self._rest and not self._more()
            out: bytes = self._member.decompress(self._rest, min(size, _STEP))
            self._sum, self._size = gz.crc32(out, self._sum), self._size + len(out)
            ended = self._member.eof
            self._rest = self._member.unused_data if ended else self._member.unconsumed_tail
            if out:
                return out
            if is_end and not ended:
                raise EOFError(_BROKEN_OFF)
        return b""

    def _more(self) -> bool:
        """Read more of the file; return False at its end."""
        part = self._file.read1(_SOME)  # type: ignore[attr-defined]  # a buffered file has it
        self._rest += part
        return bool(part)

    def _begin(self) -> bool:
        """Begin a member; return False if there is none. Skip zeros that pad the file."""
        while not self._rest and self._more():
            self._rest = self._rest.lstrip(b"\0") if self._members else self._rest
        if not self._rest:
            return False
        while not (length := _header(self._rest)):
            if not self._more():
                raise EOFError(_BROKEN_OFF)
        self._rest = self._rest[length:]
        self._member = gz.decompressobj(_DEFLATE)
        self._members += 1
        self._sum, self._size = 0, 0
        return True

    def _end(self) -> None:
        """Compare the checksum and the length of a member with its last eight bytes."""
        while len(self._rest) < _TRAILER:
            if not self._more():
                raise EOFError(_BROKEN_OFF)
        told = self._rest[:_TRAILER]
        self._rest, self._member = self._rest[_TRAILER:].lstrip(b"\0"), None
        if told != struct.pack("<II", self._sum, self._size & 0xFFFFFFFF):
            raise OSError("the checksum of a gzip member is wrong")


def _header(data: bytes) -> int:
    """Return the length of a gzip member's header (RFC 1952 section 2.3); 0: more is needed.

    Raises:
        OSError: if no member begins there.
    """
    if not data.startswith(_MAGIC[: len(data)]) or len(data) > _LONGEST_HEADER:
        raise OSError("after a gzip member there is something else")
    if len(data) < _HEADER:
        return 0
    flags, at = data[3], _HEADER
    if flags & _EXTRA:
        at += 2 + int.from_bytes(data[at : at + 2], "little")
    for flag in (_NAME, _COMMENT):
        if flags & flag:
            at = data.find(b"\0", at) + 1
            if not at:
                return 0
    at += flags & _HEADER_SUM  # the value of this flag equals its length
    return at if at <= len(data) else 0


def gzip_member(data: bytes) -> bytes:
    """Compress bytes as a gzip member (RFC 1952), which is a whole file or the next part of one."""
    compressor = gz.compressobj(_LEVEL, wbits=_GZIP)
    return bytes(compressor.compress(data) + compressor.flush())
