"""A filter beside a file of keys: says of most absent keys that they are absent, in a byte each.

Keys of a shard are in a binary fuse filter (Graf and Lemire 2022), which has no false negative, and
.4 % false positives. A shard belongs to `SHARD` pages of the file. The format is in
docs/reference/formats.md.
"""

import hashlib
import struct
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import IO, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from canonry.crawler.compression import gz, write_all
from canonry.crawler.key_files.sorted_keys import KEYS_IN_PAGE, PAGE, Halves, Keys, joined
from canonry.crawler.locations import Ranges
from canonry.extras import require

SHARD = 1024  # pages
_HEAD = struct.Struct("<QII")  # of a shard: seed, segment length, length of all first segments
_ROW = np.dtype([("size", "<u4"), ("sum", "<u4")])  # of the index: of each shard
_HELD = 1 << 28  # bytes of shards in memory
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


class FuseFilter:
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
    u = np.uint64
    made = halves + u(shard.seed)
    made ^= made >> u(33)
    made *= u(0xFF51AFD7ED558CCD)
    made ^= made >> u(33)
    made *= u(0xC4CEB9FE1A85EC53)
    made ^= made >> u(33)
    wanted = (made ^ (made >> u(32))).astype(np.uint8)
    low, high, first = made & u(0xFFFFFFFF), made >> u(32), u(shard.first)
    one = (high * first + ((low * first) >> u(32))) >> u(32)
    mask = u(shard.segment - 1)
    two = (one + u(shard.segment)) ^ ((made >> u(18)) & mask)
    three = (one + u(2 * shard.segment)) ^ (made & mask)
    found: npt.NDArray[np.bool_] = (
        wanted ^ shard.prints[one] ^ shard.prints[two] ^ shard.prints[three]
    ) == 0
    return found


def write(file: IO[bytes], chunks: Iterable[Keys]) -> FilterIndex:
    """Write the filter of a file of keys; return where its index is.

    Args:
        file: open for writing.
        chunks: all keys, sorted.

    Raises:
        MissingExtraError: without pyfusefilter.
    """
    rows, at = [], 0
    for keys in _shards_of(chunks):
        data = _made(keys)
        write_all(file, data)
        rows.append((len(data), gz.crc32(data)))
        at += len(data)
    index = np.array(rows, _ROW).tobytes()
    write_all(file, index)
    return FilterIndex(len(rows), at, _sum_of(index))


def _made(keys: Keys) -> bytes:
    """Return a shard.

    Raises:
        ValueError: none was found, which does not happen with different keys.
    """
    require("publish", "keys publish")
    from pyfusefilter.pyfusefilter import ffi, lib  # noqa: PLC0415 - optional

    halves = np.unique(mixed(keys))
    made = ffi.new("binary_fuse8_t *")
    if not lib.binary_fuse8_allocate(len(halves), made):
        raise MemoryError("no memory for a filter")
    try:
        if not lib.binary_fuse8_populate(ffi.from_buffer("uint64_t[]", halves), len(halves), made):
            raise ValueError("no filter was found for these keys")
        head = _HEAD.pack(made.Seed, made.SegmentLength, made.SegmentCountLength)
        return head + bytes(ffi.buffer(made.Fingerprints, made.ArrayLength))
    finally:
        lib.binary_fuse8_free(made)


def _sum_of(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def _shards_of(chunks: Iterable[Keys]) -> Iterator[Keys]:
    """Yield sorted keys in arrays for whole shards; the last one may be smaller."""
    waiting: list[Keys] = []
    count, full = 0, SHARD * KEYS_IN_PAGE
    for chunk in chunks:
        waiting.append(chunk)
        count += len(chunk)
        if count >= full:
            keys = joined(waiting)
            whole = count - count % full
            yield from (keys[n : n + full] for n in range(0, whole, full))
            waiting, count = [keys[whole:]], count - whole
    if count:
        yield joined(waiting)
