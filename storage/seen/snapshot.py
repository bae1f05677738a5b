"""The snapshot: the filter's file, with a header that says to which store it belongs."""

import hashlib
import os
import struct
from pathlib import Path
from typing import NamedTuple

from canonry.storage.seen.bloom import KeyFilter

_MAGIC = b"CANONRYF"
_FORMAT = 1
_HEADER = struct.Struct("<8sH32sQQ16s")  # magic, format, store, generation, size, checksum


class Snapshot(NamedTuple):
    """A filter from disk, and the last row of ``keys`` that it holds."""

    filter: KeyFilter
    generation: int


def save(path: Path, key_filter: KeyFilter, store_id: str, generation: int) -> None:
    """Write the filter, whole or not at all.

    Args:
        path: the file; it is replaced by renaming a temporary file next to it.
        key_filter: the filter.
        store_id: 32 hex digits; a filter is never loaded into another store.
        generation: the highest ``keys.id`` that the filter holds.
    """
    data = key_filter.dumps()
    head = _HEADER.pack(
        _MAGIC,
        _FORMAT,
        store_id.encode(),
        generation,
        len(data),
        _checksum(data, store_id, generation),
    )
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(head)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def load(path: Path, store_id: str) -> Snapshot | str:
    """Return the filter, or a sentence that says why it cannot be used."""
    try:
        return _read(path.read_bytes(), store_id)
    except FileNotFoundError:
        return "there is no filter file"
    except OSError as error:
        return f"the filter file cannot be read ({error.strerror})"
    except ValueError as error:
        return str(error)


def _read(raw: bytes, store_id: str) -> Snapshot:
    """Parse a snapshot, or raise ValueError with a sentence that says what is wrong with it."""
    if len(raw) < _HEADER.size:
        raise ValueError("the filter file is truncated")
    magic, file_format, owner, generation, size, checksum = _HEADER.unpack_from(raw)
    data = raw[_HEADER.size :]
    if (magic, file_format) != (_MAGIC, _FORMAT):
        raise ValueError("the filter file has another format")
    if owner != store_id.encode():
        raise ValueError("the filter file belongs to another store")
    if len(data) != size or checksum != _checksum(data, store_id, generation):
        raise ValueError("the filter file is damaged")
    key_filter = KeyFilter()
    key_filter.loads(data)
    return Snapshot(key_filter, generation)


def _checksum(data: bytes, store_id: str, generation: int) -> bytes:
    """Return a checksum of 16 bytes over everything in the file."""
    state = hashlib.blake2b(f"{store_id}/{generation}/".encode(), digest_size=16)
    state.update(data)
    return state.digest()
