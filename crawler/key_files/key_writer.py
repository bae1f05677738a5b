"""Write files of keys: write a new file, or append keys to an existing one."""

import hashlib
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import numpy as np

from canonry.crawler import owned_files
from canonry.crawler.compression import write_all
from canonry.crawler.files import output
from canonry.crawler.key_files.key_file import (
    BEGINNING,
    MAGIC,
    STATES,
    KeyFile,
    KeyHeader,
    KeyPart,
    KeyState,
    as_record,
    sums_of,
)
from canonry.crawler.key_files.sorted_keys import (
    KEY_BYTES,
    KEYS_IN_PAGE,
    PAGE,
    Keys,
    as_keys,
    highs,
    in_lots,
    merged,
)
from canonry.crawler.settings import SettingsError

_KEPT_JOBS = 7  # parts for the keys of the last jobs alone, so that these can be repeated
_SHARE = 4  # older parts may have up to a fourth of the first one; else the file is rewritten
_MOST_PARTS = 16
_SOME = 1 << 18  # keys at once


@contextmanager
def locked(path: str) -> Iterator[IO[bytes]]:
    """Lock a file of keys, which need not exist; yield a temporary file for its new version.

    Raises:
        SettingsError: when another process has locked it.
    """
    temporary = beside(path)
    try:
        owned = owned_files.owned(temporary)
    except BlockingIOError:
        raise SettingsError(
            f"{path}: another process is writing this file of keys; run this again when it has "
            "ended"
        ) from None
    except OSError as error:
        raise type(error)(error.errno, error.strerror, path) from None
    with owned as file:
        try:
            yield file
        finally:
            owned_files.discard(file, temporary)


def beside(path: str) -> Path:
    """Return the path of the temporary file for a file of keys, which is also its lock."""
    target = Path(path)
    return target.with_name(f".{target.name}.tmp")


def write_new(
    file: IO[bytes],
    path: str,
    header: KeyHeader,
    parts: Iterable[tuple[Iterable[Keys], str]],
    generation: int = 0,
) -> KeyState:
    """Write a file of keys to a temporary file, sync it to disk, and rename it.

    Args:
        file: the temporary file that `locked` has yielded.
        path: the final name; an existing file is replaced.
        header: of the file.
        parts: its keys, sorted, each once in all parts, and the job that has added those of a part.
        generation: of the new state.
    """
    write_all(file, as_record(MAGIC, header).ljust(BEGINNING, b"\0"))
    made = KeyState(generation)
    for chunks, job in parts:
        made = _with_part(file, made, chunks, job)
    file.flush()
    _put_state(file, made, STATES[0])
    Path(beside(path)).replace(path)
    output.sync_folder(Path(path).parent)
    return made


def write_file(path: str, header: KeyHeader, chunks: Iterable[Keys]) -> KeyState:
    """Write a whole file of keys; it may replace a file from which the keys are read.

    Args:
        path: its name.
        header: of the file.
        chunks: its keys, sorted, each once.

    Raises:
        SettingsError: when another process writes it.
    """
    real = os.path.realpath(path)
    with locked(real) as file:
        return write_new(file, real, header, [(chunks, "")])


def extend(
    file: IO[bytes],
    path: str,
    header: KeyHeader,
    known: KeyFile | None,
    chunks: Iterable[Keys],
    job: str,
) -> KeyState:
    """Add keys to a file; they count once its new state, or the new file, is on disk.

    They are appended, or the file is written anew with its older parts as one.

    Args:
        file: the temporary file that `locked` has yielded.
        path: of the file.
        header: of the file.
        known: the same file, in its last state; None if it does not exist yet.
        chunks: the new keys, sorted, none of which is in the file.
        job: what adds them; "" if it cannot be repeated.
    """
    if known is None:
        return write_new(file, path, header, [(chunks, job)])
    state, parts = known.state, known.state.parts
    older = max(len(parts) - _KEPT_JOBS + 1, 0)
    more = sum(part.keys for part in parts[1:older])
    if parts and len(parts) < _MOST_PARTS and more * _SHARE <= parts[0].keys:
        with Path(path).open("r+b") as there:
            there.truncate(state.end)  # drop what a killed process has written
            begun = KeyState(state.generation + 1, parts)
            made = _with_part(there, begun, chunks, job)
            there.flush()
            _put_state(there, made, known.spare)
        return made
    one = merged([known.part_chunks(part) for part in parts[:older]] or [iter(())])
    kept = [(one, ""), *((known.part_chunks(part), part.job) for part in parts[older:])]
    return write_new(file, path, header, [*kept, (chunks, job)], state.generation + 1)


def _put_state(file: IO[bytes], state: KeyState, spare: int) -> None:
    """Sync the keys to disk, then write both copies of a state, the spare one first.

    So one copy is whole at any time, and damage to one does not bring an older state back.
    """
    os.fsync(file.fileno())
    for at in sorted(STATES, key=lambda at: at != spare):
        os.pwrite(file.fileno(), as_record(b"", state), at)
        os.fsync(file.fileno())


def _with_part(file: IO[bytes], state: KeyState, chunks: Iterable[Keys], job: str) -> KeyState:
    """Write keys and their index after the other parts; return a state with them, if any."""
    at = -(-state.end // PAGE) * PAGE
    file.seek(at)
    count = 0
    fences: list[bytes] = []
    sums: list[int] = []
    for pages in in_lots(chunks, _SOME // KEYS_IN_PAGE * KEYS_IN_PAGE):
        data = pages.tobytes()
        write_all(file, data)
        fences.append(highs(pages[::KEYS_IN_PAGE]).astype(">u8").tobytes())
        sums += sums_of(data)
        count += len(pages)
    index = b"".join(fences) + np.array(sums, "<u4").tobytes()
    write_all(file, index)
    if not count:
        return state
    part = KeyPart(at, count, hashlib.blake2b(index, digest_size=16).hexdigest(), job)
    return KeyState(state.generation, (*state.parts, part))


def keys_in(path: Path) -> Iterator[Keys]:
    """Yield the keys of a file that has only sorted keys, without a header or index."""
    with path.open("rb") as file:
        while data := file.read(_SOME * KEY_BYTES):
            yield as_keys(data)
