"""The snapshot: the filter's file, with a header that says to which store it belongs."""

import glob
import hashlib
import os
import struct
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from canonry.storage.seen.bloom import KeyFilter
from canonry.storage.sql.sqlite_engine import PRIVATE

_MAGIC = b"CANONRYF"
_FORMAT = 3
_HEADER = struct.Struct("<8sH32s32sQQ16s")  # magic, format, store, save, generation, size, checksum


class Snapshot(NamedTuple):
    """A filter from disk, and what it says of itself."""

    filter: KeyFilter
    generation: int  # the keys of all URLs up to this ``urls.id`` are in the filter
    save_id: str  # 32 hex digits, made for this one file


def save(path: Path, taken: Snapshot, store_id: str, mode: int = PRIVATE) -> None:
    """Write the filter, whole or not at all.

    Args:
        path: the file; it is replaced by renaming a temporary file next to it.
        taken: the filter, and what the file says of it.
        store_id: 32 hex digits; a filter is never loaded into another store.
        mode: of the file: who may read it.
    """
    data = taken.filter.dumps()
    head = _HEADER.pack(
        _MAGIC,
        _FORMAT,
        store_id.encode(),
        taken.save_id.encode(),
        taken.generation,
        len(data),
        _checksum(data, store_id, taken.save_id, taken.generation),
    )
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    _remove_leftovers(path)
    try:
        with temporary.open("wb") as file:
            os.fchmod(file.fileno(), mode)
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
    magic, file_format, owner, made_by, generation, size, checksum = _HEADER.unpack_from(raw)
    data = raw[_HEADER.size :]
    if (magic, file_format) != (_MAGIC, _FORMAT):
        raise ValueError("the filter file has another format")
    if owner != store_id.encode():
        raise ValueError("the filter file belongs to another store")
    save_id = made_by.decode("latin-1")
    if len(data) != size or checksum != _checksum(data, store_id, save_id, generation):
        raise ValueError("the filter file is damaged")
    key_filter = KeyFilter()
    key_filter.loads(data)
    return Snapshot(key_filter, generation, save_id)


def _checksum(data: bytes, store_id: str, save_id: str, generation: int) -> bytes:
    """Return a checksum of 16 bytes over everything in the file."""
    state = hashlib.blake2b(f"{store_id}/{save_id}/{generation}/".encode(), digest_size=16)
    state.update(data)
    return state.digest()


def _remove_leftovers(path: Path) -> None:
    """Remove the temporary files of processes that were killed while they wrote."""
    for leftover in path.parent.glob(f"{glob.escape(path.name)}.*.tmp"):
        process = leftover.name.split(".")[-2]
        with suppress(OSError):
            if process.isdecimal() and not _is_alive(int(process)):
                leftover.unlink()


def _is_alive(process: int) -> bool:
    """Return True if this machine has a process of this number."""
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True
