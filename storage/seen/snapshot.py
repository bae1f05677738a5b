"""The filter on disk: a cache with a header that says which table it belongs to."""

import hashlib
import os
import struct
from pathlib import Path
from typing import NamedTuple

from canonry.storage.seen.bloom import KeyFilter

_MAGIC = b"CANONRYF"
_FORM = 1
_HEADER = struct.Struct("<8sH32sQQ16s")  # magic, form, store, generation, size, checksum


class Snapshot(NamedTuple):
    """What was found on disk: the filter, and up to which row of ``keys`` it knows."""

    filter: KeyFilter
    generation: int


def save(path: Path, key_filter: KeyFilter, store_id: str, generation: int) -> None:
    """Write the filter beside the store; whole or not at all.

    Args:
        path: where; a temporary file beside it is renamed over it.
        key_filter: what to write.
        store_id: 32 hex digits, so that another store's filter is never taken for this one's.
        generation: the highest ``keys.id`` that the filter holds.
    """
    data = key_filter.dumps()
    head = _HEADER.pack(
        _MAGIC,
        _FORM,
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
    """Read the filter back, or say in a sentence why it is of no use."""
    try:
        return _read(path.read_bytes(), store_id)
    except FileNotFoundError:
        return "there is no filter file"
    except OSError as error:
        return f"the filter file cannot be read ({error.strerror})"
    except ValueError as error:
        return str(error)


def _read(raw: bytes, store_id: str) -> Snapshot:
    """Read a snapshot, or raise ValueError with the sentence that says what is wrong with it."""
    if len(raw) < _HEADER.size:
        raise ValueError("the filter file is cut short")
    magic, form, owner, generation, size, checksum = _HEADER.unpack_from(raw)
    data = raw[_HEADER.size :]
    if (magic, form) != (_MAGIC, _FORM):
        raise ValueError("the filter file has another form")
    if owner != store_id.encode():
        raise ValueError("the filter file belongs to another store")
    if len(data) != size or checksum != _checksum(data, store_id, generation):
        raise ValueError("the filter file is damaged")
    key_filter = KeyFilter()
    key_filter.loads(data)
    return Snapshot(key_filter, generation)


def _checksum(data: bytes, store_id: str, generation: int) -> bytes:
    """Return 16 bytes over everything that the file says."""
    state = hashlib.blake2b(f"{store_id}/{generation}/".encode(), digest_size=16)
    state.update(data)
    return state.digest()
