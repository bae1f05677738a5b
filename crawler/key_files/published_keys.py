"""Published keys: what was seen, in files that others can read by ranges, without a server.

A folder has ``latest.json``, which names a file of keys and its filter. Those never change: another
publication has other names. The filter says of most absent keys that they are absent, in a byte
each: keys of a shard are in a binary fuse filter (Graf and Lemire 2022), which has no false
negative, and .4 % false positives. A shard belongs to `SHARD` pages of the file. The format is in
docs/reference/formats.md.
"""

import hashlib
import math
import shutil
import struct
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from canonry.crawler.compression import gz, write_all
from canonry.crawler.files import output
from canonry.crawler.key_files import key_writer
from canonry.crawler.key_files.key_file import KeyFile, KeyFileError, opened_keys
from canonry.crawler.key_files.sorted_keys import KEYS_IN_PAGE, PAGE, Halves, Keys, in_lots
from canonry.crawler.locations import Ranges, is_remote, ranges_of

LATEST = "latest.json"
_MOST = 1 << 16  # bytes of that file
SHARD = 1024  # pages
_HEAD = struct.Struct("<QII")  # of a shard: seed, segment length, length of all first segments
_ROW = np.dtype([("size", "<u4"), ("sum", "<u4")])  # of the index: of each shard
_HELD = 1 << 28  # bytes of shards in memory
_TRIES = 100  # seeds; nine of ten are good
_MIX = np.uint64(0x9E3779B97F4A7C15)


class FilterError(OSError):
    """A filter is damaged; the message names it."""


class FilterIndex(msgspec.Struct, frozen=True):
    """Where a filter has its index: after its shards."""

    shards: int
    at: int  # bytes from the beginning of the file
    sum: str  # BLAKE2b-128 of the index, in hexadecimal


class _Shard(NamedTuple):
    """The filter of some pages."""

    seed: int
    segment: int
    first: int
    prints: npt.NDArray[np.uint8]


class _FuseFilter:
    """A filter, of which the shards are read when they are first asked."""

    def __init__(self, ranges: Ranges, index: FilterIndex) -> None:
        """Read its index.

        Raises:
            FilterError: it is damaged.
        """
        self._ranges = ranges
        [data] = ranges.read([(index.at, index.shards * _ROW.itemsize)])
        if _sum_of(data) != index.sum:
            raise FilterError(f"{ranges.name}: the filter is damaged (its index)")
        self._index = np.frombuffer(data, _ROW)
        ends = np.cumsum(self._index["size"].astype(np.int64))
        self._starts = np.append(0, ends[:-1]).tolist()
        self._shards: dict[int, _Shard] = {}
        self._held = 0

    def may_have(
        self, keys: Keys, first: npt.NDArray[np.int64], last: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.bool_]:
        """Return for each of some sorted keys False if the file does not have it.

        A shard is not read for so few keys that reading their pages takes less.

        Args:
            keys: sorted.
            first: for each, the first page that may have it.
            last: the last one.
        """
        answer = np.ones(len(keys), np.bool_)
        shards = first // SHARD
        starts = np.flatnonzero(np.diff(shards, prepend=-1)).tolist()
        halves = mixed(keys)
        for start, end in pairwise([*starts, len(keys)]):
            number = int(shards[start])
            few = (end - start) * PAGE < int(self._index[number]["size"])
            if few and number not in self._shards:
                continue
            one = self._shard(number)
            answer[start:end] = _contains(one, halves[start:end])
        # Pages whose first keys begin alike may lie in two shards.
        answer |= last // SHARD != shards
        return answer

    def _shard(self, number: int) -> _Shard:
        """Return a shard."""
        if number not in self._shards:
            row = self._index[number]
            [data] = self._ranges.read([(self._starts[number], int(row["size"]))])
            if gz.crc32(data) != int(row["sum"]):
                raise FilterError(f"{self._ranges.name}: the filter is damaged (shard {number:,})")
            if self._held + len(data) > _HELD:
                self._shards.clear()
                self._held = 0
            prints = np.frombuffer(data, np.uint8, offset=_HEAD.size)
            seed, segment, first = _HEAD.unpack_from(data)
            self._shards[number] = _Shard(seed, segment, first, prints)
            self._held += len(data)
        return self._shards[number]


def mixed(keys: Keys) -> Halves:
    """Return 64 bits of each key, by which a filter knows it."""
    made: Halves = keys["low"].astype(np.uint64) ^ (keys["high"].astype(np.uint64) * _MIX)
    return made


def _contains(shard: _Shard, halves: Halves) -> npt.NDArray[np.bool_]:
    """Return for each of some keys whether a shard may have it: its three prints say."""
    hashed = _hashed(halves, shard.seed)
    one, two, three = (shard.prints[at] for at in _slots(hashed, shard.segment, shard.first))
    found: npt.NDArray[np.bool_] = (_print_of(hashed) ^ one ^ two ^ three) == 0
    return found


def _hashed(halves: Halves, seed: int) -> Halves:
    """Return a hash of each key under a seed (MurmurHash3's last step)."""
    made = halves + np.uint64(seed)
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        made ^= made >> np.uint64(33)
        made *= np.uint64(factor)
    return made ^ (made >> np.uint64(33))


def _print_of(hashed: Halves) -> npt.NDArray[np.uint8]:
    """Return the fingerprint of each key."""
    return (hashed ^ (hashed >> np.uint64(32))).astype(np.uint8)


def _slots(hashed: Halves, segment: int, first: int) -> tuple[Halves, Halves, Halves]:
    """Return the slots of each key, in three segments one after the other.

    Args:
        hashed: the hash of each key.
        segment: slots in a segment, a power of two.
        first: slots in all segments that may be the first of a key.
    """
    u = np.uint64
    low, high = hashed & u(0xFFFFFFFF), hashed >> u(32)
    one = (high * u(first) + ((low * u(first)) >> u(32))) >> u(32)
    mask = u(segment - 1)
    two = (one + u(segment)) ^ ((hashed >> u(18)) & mask)
    return one, two, (one + u(2 * segment)) ^ (hashed & mask)


def _write_filter(file: IO[bytes], chunks: Iterable[Keys]) -> FilterIndex:
    """Write the filter of a file of keys; return where its index is.

    Args:
        file: open for writing.
        chunks: all keys, sorted.
    """
    rows, at = [], 0
    for keys in in_lots(chunks, SHARD * KEYS_IN_PAGE):
        data = _made(keys)
        write_all(file, data)
        rows.append((len(data), gz.crc32(data)))
        at += len(data)
    index = np.array(rows, _ROW).tobytes()
    write_all(file, index)
    return FilterIndex(len(rows), at, _sum_of(index))


def _made(keys: Keys) -> bytes:
    """Return a shard: the first filter that is found for its keys (Graf and Lemire, algorithm 1).

    Raises:
        ValueError: none was found, which does not happen with different keys.
    """
    halves = np.unique(mixed(keys))
    segment, count = _layout(len(halves))
    for seed in range(1, _TRIES):
        hashed = _hashed(halves, seed)
        slots = np.stack(_slots(hashed, segment, segment * count))
        prints = _prints(slots, _print_of(hashed), (count + 2) * segment)
        if prints is not None:
            return _HEAD.pack(seed, segment, segment * count) + prints.tobytes()
    raise ValueError("no filter was found for these keys")


def _layout(number: int) -> tuple[int, int]:
    """Return the length of a segment for some keys, and how many segments are a key's first."""
    size = max(number, 2)
    segment = 1 << min(int(math.log(size) / math.log(3.33) + 2.25), 18)
    capacity = round(size * max(1.125, 0.875 + 0.25 * math.log(1e6) / math.log(size)))
    return segment, max(-(-capacity // segment) - 2, 1)


def _prints(
    slots: npt.NDArray[np.uint64], wanted: npt.NDArray[np.uint8], length: int
) -> npt.NDArray[np.uint8] | None:
    """Return fingerprints of which each key's three give its own; None if none were found.

    Keys are taken away that have a slot for themselves, round after round. Then each sets its slot,
    the last one first: nothing that is set later is another key's.

    Args:
        slots: three rows, with the slots of each key.
        wanted: the fingerprint of each key.
        length: number of slots.
    """
    keys = np.arange(slots.shape[1], dtype=np.int64)
    counts = np.bincount(slots.ravel().astype(np.int64), minlength=length)
    sums = np.zeros(length, np.int64)  # of the keys of a slot, by exclusive or
    for row in slots:
        np.bitwise_xor.at(sums, row, keys)
    rounds: list[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]] = []
    alone = np.flatnonzero(counts == 1)
    while len(alone):
        taken, first = np.unique(sums[alone], return_index=True)
        rounds.append((taken, alone[first]))
        touched = slots[:, taken].ravel().astype(np.int64)
        np.subtract.at(counts, touched, 1)
        np.bitwise_xor.at(sums, touched, np.tile(taken, 3))
        touched = np.unique(touched)
        alone = touched[counts[touched] == 1]
    if sum(len(taken) for taken, _own in rounds) < slots.shape[1]:
        return None
    prints = np.zeros(length, np.uint8)
    for taken, own in reversed(rounds):
        one, two, three = prints[slots[:, taken]]
        prints[own] = wanted[taken] ^ one ^ two ^ three  # its own is zero until now
    return prints


def _sum_of(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()


class Publication(msgspec.Struct, frozen=True):
    """What a folder of published keys has."""

    policy: str  # name/version of the policy that made the keys
    fingerprint: str  # of the policy's content
    keys: int
    state: str  # the id of the file's state: a hash of all keys
    file: str  # beside this one
    filter: str  # beside this one
    index: FilterIndex  # of the filter


def is_published(name: str) -> bool:
    """Return True for a folder of published keys, or the URL of one."""
    return is_remote(name) or Path(name).is_dir() or Path(name).name == LATEST


def publish(source: KeyFile, chunks: Iterator[Keys], folder: str) -> Publication:
    """Write keys to a folder, and name them there when they are complete.

    Args:
        source: the file of keys.
        chunks: its keys.
        folder: its name, or a URL that can be written to; it need not exist.

    Raises:
        OSError: it cannot be written.
    """
    if not is_remote(folder):
        Path(folder).mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix="canonry-", dir=None if is_remote(folder) else folder) as name:
        keys = Path(name) / "keys"
        state = key_writer.write_file(str(keys), source.header, chunks)
        name_of_filter = f"{state.id}.filter"
        filtered = output.atomic(_beside(folder, name_of_filter))
        with ranges_of(str(keys)) as ranges, filtered as file:
            index = _write_filter(file, KeyFile(ranges).chunks())
        publication = Publication(
            policy=source.header.policy,
            fingerprint=source.header.fingerprint,
            keys=state.keys,
            state=state.id,
            file=f"{state.id}.keys",
            filter=name_of_filter,
            index=index,
        )
        with keys.open("rb") as read, output.atomic(_beside(folder, publication.file)) as file:
            shutil.copyfileobj(read, file, 1 << 20)
    with output.atomic(_beside(folder, LATEST)) as file:
        file.write(msgspec.json.encode(publication) + b"\n")
    return publication


@contextmanager
def opened_publication(name: str) -> Iterator[KeyFile]:
    """Open published keys; only what look-ups need is read.

    Args:
        name: of the folder, or its URL.

    Raises:
        KeyFileError: what is there was not published by ``canonry keys publish``.
        OSError: it cannot be read.
    """
    folder = name.removesuffix(LATEST)
    if not is_remote(folder) and not Path(folder, LATEST).exists():
        raise KeyFileError(f"{name}: this folder has no published keys; name a file")
    with ExitStack() as stack:
        about = stack.enter_context(ranges_of(_beside(folder, LATEST)))
        [content] = about.read([(0, _MOST if about.size is None else about.size)])
        try:
            found = msgspec.json.decode(content, type=Publication)
        except msgspec.DecodeError as error:
            raise KeyFileError(f"{name}: {LATEST} is not of published keys ({error})") from None
        keys, filtered = (
            stack.enter_context(ranges_of(_beside(folder, one)))
            for one in (found.file, found.filter)
        )
        file = KeyFile(keys, _FuseFilter(filtered, found.index).may_have)
        if file.state.id != found.state:
            raise KeyFileError(f"{name}: {found.file} is not the file that {LATEST} names")
        yield file


@contextmanager
def opened_at(name: str) -> Iterator[KeyFile]:
    """Open a file of keys, or published ones.

    Raises:
        KeyFileError: there are none, or they are damaged.
        OSError: they cannot be read.
    """
    with opened_publication(name) if is_published(name) else opened_keys(name) as file:
        yield file


def _beside(folder: str, name: str) -> str:
    """Return the name of a file in a folder."""
    return f"{folder.rstrip('/')}/{name}" if is_remote(folder) else str(Path(folder) / name)
