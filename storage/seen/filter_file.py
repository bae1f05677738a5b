"""The filter between runs: its file, the store that it belongs to, and how a run starts from it.

A file is trusted only if the store knows it. Each save has a random id, which the store holds
before the file appears. A store that was restored from a backup does not know the files that were
saved later, whatever their generation: its URLs may have other numbers by now.
"""

import hashlib
import os
import stat
import struct
import uuid
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Connection, Engine, delete, select
from sqlalchemy.exc import DatabaseError

from canonry.storage import owned_files
from canonry.storage.seen.bloom import KeyFilter
from canonry.storage.seen.seen_set import SeenSet
from canonry.storage.sql import counts
from canonry.storage.sql.bulk import next_id, upsert
from canonry.storage.sql.schema import meta, url_rows
from canonry.storage.sql.sqlite_engine import PRIVATE, file_of
from canonry.storage.sql.store_errors import StoreError

_SAVES = "filter_saves"  # the fact that holds the ids of the latest saves, the newest last
_SAVES_KNOWN = 64  # several machines have a file each, for one PostgreSQL
_NO_FILE = "there is no filter file"
_MAGIC = b"CANONRYF"
_FORMAT = 3
_HEADER = struct.Struct("<8sH32s32sQQ16s")  # magic, format, store, save, generation, size, checksum


class Snapshot(NamedTuple):
    """A filter, with the generation and the id of its file."""

    filter: KeyFilter
    generation: int  # the keys of all URLs up to this ``urls.id`` are in the filter
    save_id: str  # 32 hex digits, made for this one file


class FilterFile:
    """The file of one store's filter."""

    def __init__(self, engine: Engine, store_id: str, notify: Callable[[str], None]) -> None:
        """Find the file of a store.

        Args:
            engine: of the store.
            store_id: 32 hex digits.
            notify: receives sentences for people, about work that takes time.
        """
        self._engine = engine
        self._path = _path(engine, store_id)
        self._store_id = store_id
        self._notify = notify
        self._saved_up_to = -1  # the generation of the file, if it can be used

    def load(self, connection: Connection) -> SeenSet:
        """Return the seen set: from the file if it can be used, otherwise from the table.

        A file that cannot be used is deleted at once: if this process is killed, the next one must
        not find it and take it for a good one.
        """
        newest = next_id(connection, url_rows) - 1
        snapshot_or_fault = self._read(connection, newest)
        if isinstance(snapshot_or_fault, str):
            self._delete()
            if newest:
                number = counts.total(connection, "urls")  # each has a key
                self._notify(f"{snapshot_or_fault}; rebuilding it from {number:,} keys")
            key_filter = KeyFilter.for_keys(newest)
            seen = SeenSet(key_filter, 0, self._wrong)
        else:
            self._saved_up_to = snapshot_or_fault.generation
            seen = SeenSet(snapshot_or_fault.filter, snapshot_or_fault.generation, self._wrong)
        done = 0
        for n in seen.catch_up(connection):
            done += n
            if done % 1_000_000 < n:
                self._notify(f"filter: {done:,} keys")
        return seen

    def _read(self, connection: Connection, newest: int) -> Snapshot | str:
        """Return the filter in the file, or a sentence that says why it cannot be used."""
        if self._path is None:
            return _NO_FILE
        snapshot_or_fault = load(self._path, self._store_id)
        if isinstance(snapshot_or_fault, str):
            return snapshot_or_fault
        if snapshot_or_fault.generation > newest:
            return "the filter file is ahead of the table"
        if snapshot_or_fault.save_id not in _saves(connection):
            return "the store did not save this filter file (was a backup restored?)"
        return snapshot_or_fault

    def _wrong(self) -> None:
        """Delete the file of a filter that turned out to lack keys."""
        self._delete()
        self._notify("the filter lacks keys that the table has; rebuilding it, nothing is lost")

    def _delete(self) -> None:
        """Delete the file, if there is one."""
        self._saved_up_to = -1
        if self._path is not None:
            with suppress(OSError):
                self._path.unlink(missing_ok=True)

    def save(self, seen: SeenSet) -> None:
        """Write the filter of a seen set. If that fails, the next start rebuilds it."""
        if self._path is None or seen.known_up_to == self._saved_up_to:
            return
        taken = Snapshot(seen.filter, seen.known_up_to, uuid.uuid4().hex)
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._engine.begin() as connection:
                _add_save(connection, taken.save_id)
            file = file_of(self._engine.url)
            mode = PRIVATE if file is None else stat.S_IMODE(file.stat().st_mode)
            save(self._path, taken, self._store_id, mode)
        except (OSError, DatabaseError, StoreError) as error:
            reason = error.orig if isinstance(error, DatabaseError) else error
            self._notify(f"the filter was not saved ({reason}); the next start rebuilds it")


def discard(engine: Engine, store_id: str) -> None:
    """Delete the file of a store whose keys were replaced; the next start makes it anew."""
    path = _path(engine, store_id)
    if path is not None:
        with suppress(OSError):
            path.unlink(missing_ok=True)


def _saves(connection: Connection) -> list[str]:
    """Return the ids of the latest saves that the store knows, the newest last."""
    held = connection.scalar(select(meta.c.value).where(meta.c.name == _SAVES))
    return held.split() if held else []


def distrust_all(connection: Connection) -> None:
    """Forget all saves, also those of other machines: their keys were replaced."""
    connection.execute(delete(meta).where(meta.c.name == _SAVES))


def _add_save(connection: Connection, save_id: str) -> None:
    """Write the id of a save into the store, before its file appears."""
    value = " ".join([*_saves(connection), save_id][-_SAVES_KNOWN:])
    new = upsert(connection.dialect.name, meta).values(name=_SAVES, value=value)
    connection.execute(
        new.on_conflict_do_update(index_elements=[meta.c.name], set_={"value": value})
    )


def _path(engine: Engine, store_id: str) -> Path | None:
    """Return the path: beside a database file, otherwise in the user's cache, if there is one."""
    if engine.dialect.name == "sqlite":
        file = file_of(engine.url)
        return None if file is None else Path(f"{file}.bloom")
    try:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:  # a user without a home
        return None
    return cache / "canonry" / f"{store_id}.bloom"


def save(path: Path, taken: Snapshot, store_id: str, mode: int = PRIVATE) -> None:
    """Write the filter, whole or not at all.

    Args:
        path: the file; it is replaced by renaming a temporary file next to it.
        taken: the filter, with its generation and id.
        store_id: 32 hex digits; a filter is never loaded into another store.
        mode: of the file: who may read it.

    Raises:
        OSError: it cannot be written, or another process writes it.
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
    temporary = path.with_name(f"{path.name}.tmp")
    with owned_files.owned(temporary) as file:
        try:
            os.fchmod(file.fileno(), mode)
            file.write(head)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
            temporary.replace(path)
        finally:
            owned_files.discard(file, temporary)


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
