"""The records of a WARC file (ISO 28500): their targets, and where one begins after a broken one.

Of the targets, only heads are read; bodies are skipped by their length. If no record begins after a
body, reading continues at the next line that begins a record.
"""

import io
import re
import zlib
from collections.abc import Iterator
from typing import IO

from canonry.crawler.compression import FAULTS, Stream

_VERSION = re.compile(rb"WARC/[01]\.[0-9]+\s*")
_CAPTURES = frozenset({b"response", b"resource", b"revisit"})
_BEGINNING = re.compile(rb"\x1f\x8b\x08|(?<=\n)WARC/[01]\.[0-9]")
_BEGUN = 1024  # bytes in which a record shows that it is one: longer than a Huffman table
_GZIP = 31  # zlib's window bits
_LONGEST_HEAD = 1 << 20
_SOME = 1 << 16  # bytes
CUT = "it ends in the middle of a record"


class _UpToFault(Stream):
    """A stream that ends at its fault; buffers would lose the bytes right before an exception."""

    fault: Exception | None = None

    def read1(self, size: int = _SOME) -> bytes:
        """Return some bytes; b"" at the end."""
        try:
            return b"" if self.fault else bytes(self.source.read1(size))
        except FAULTS as error:
            self.fault = error
            return b""


def read_targets(stream: Stream) -> Iterator[bytes | None]:
    """Yield the target of each capture, redirects included.

    Args:
        stream: the file's content, decompressed.

    Yields:
        A URL for each capture. None for one that names no target, for a record whose head is
        longer than 1 MiB, and for each run of bytes that belong to no record.

    Raises:
        OSError: the file ends in the middle of a record, which was yielded if its head is whole.
    """
    source = _UpToFault(stream)
    try:
        yield from _targets(io.BufferedReader(source))
    except OSError as error:
        raise source.fault or error from None
    if source.fault is not None:
        raise source.fault


def _targets(file: io.BufferedReader) -> Iterator[bytes | None]:
    is_between = True
    while line := file.readline(_SOME):
        if not _VERSION.fullmatch(line):
            if is_between and line.strip():
                is_between = False
                if not line.endswith(b"\n") and len(line) < _SOME:
                    raise OSError(CUT)
                yield None
            continue
        is_between = True
        fields = _fields(file)
        if fields is None:
            yield None
            continue
        if fields.get(b"warc-type", b"").lower() in _CAPTURES:
            yield fields.get(b"warc-target-uri", b"").strip(b"<>") or None
        length = fields.get(b"content-length", b"")
        _skip(file, int(length) if length.isdigit() and len(length) < len(str(1 << 63)) else 0)


def _fields(file: io.BufferedReader) -> dict[bytes, bytes] | None:
    """Return the fields of a record's head, with continued lines joined.

    None if the head is too long.

    Raises:
        OSError: the file ends in it.
    """
    fields: dict[bytes, bytes] = {}
    name, size = b"", 0
    while (line := file.readline(_LONGEST_HEAD)).strip():
        size += len(line)
        if size > _LONGEST_HEAD:
            return None
        if line[:1] in b" \t":
            fields[name] = b" ".join((fields.get(name, b""), line.strip())).strip()
            continue
        name, _, value = line.partition(b":")
        name = name.strip().lower()
        fields[name] = value.strip()
    if not line.endswith(b"\n"):
        raise OSError(CUT)
    return fields


def _skip(file: io.BufferedReader, size: int) -> None:
    """Skip bytes.

    Raises:
        OSError: there are fewer.
    """
    while size:
        part = file.read(min(size, _SOME))
        if not part:
            raise OSError(CUT)
        size -= len(part)


def seek_next(file: IO[bytes], start: int) -> bool:
    """Move a file to the first record that begins at an offset or after it.

    Args:
        file: plain or gzip by record, not decompressed.
        start: in bytes.

    Returns:
        False if there is none, or the file cannot be moved.
    """
    if not file.seekable():
        return False
    file.seek(start)
    data = b""
    while part := file.read(_LONGEST_HEAD):
        data += part
        for found in _BEGINNING.finditer(data):
            if _begins_record(data[found.start() :][:_BEGUN]):
                file.seek(start + found.start())
                return True
        start += max(len(data) - _BEGUN, 0)
        data = data[-_BEGUN:]
    return False


def has_more(file: IO[bytes], start: int) -> bool:
    """Return True if a file has anything but white space and padding after an offset.

    Args:
        file: as for `seek_next`; one that cannot be moved is taken to have nothing.
        start: in bytes.
    """
    if not file.seekable():
        return False
    file.seek(start)
    return bool(file.read(_LONGEST_HEAD).strip(b"\0\t\n\r "))


def _begins_record(data: bytes) -> bool:
    """Return True if a record begins with these bytes."""
    if not data.startswith(b"WARC/"):
        try:
            data = zlib.decompressobj(_GZIP).decompress(data)
        except zlib.error:
            return False
    return data.startswith(b"WARC/")
