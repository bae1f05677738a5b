"""Partitions of keys: spread keys over files on disk, then deduplicate each file in memory.

Memory holds one partition at a time, however many keys there are.
"""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from canonry.crawler.compression import write_all
from canonry.crawler.key_files.sorted_keys import KEY, NO_KEYS, Keys

_MOST = 4096  # partitions
_ROW = [("high", "<u8"), ("low", "<u8"), ("text", "<u8"), ("place", "<u8")]
_ROW_BYTES = np.dtype(_ROW).itemsize
_SORTING = 5  # deduplicating a partition takes this many times its size in memory

Numbers = npt.NDArray[np.uint64]
Seen = Callable[[Keys], npt.NDArray[np.bool_]]  # which of some sorted keys were seen before


class Repeats(NamedTuple):
    """Lines that repeat a key: the first three arrays have one element for each.

    Lines with a key that was seen before are not among these.
    """

    place: Numbers  # of the line
    first: Numbers  # the place of the line with the key that stays: the first one, or the best
    alike: npt.NDArray[np.bool_]  # spelled like that line
    seen: Numbers  # the places of the lines with a key that was seen before
    fresh: Keys  # the keys not seen before, sorted; empty unless asked for


class Partitions:
    """Rows of (key, hash of the spelling, place of the line, perhaps its rank), spread by key."""

    def __init__(self, folder: Path, memory: int, count: int, rank: int = 0) -> None:
        """Start without rows.

        Args:
            folder: for the partitions' files; it need not exist.
            memory: bytes that may be used.
            count: the number of partitions, from `count_for`.
            rank: how many bytes a rank has; 0: lines have none, and the first one stays.
        """
        self.folder = folder
        self._row = np.dtype([*_ROW, ("rank", f"S{rank}")] if rank else _ROW)
        self._buffered = 0
        self._most_buffered = memory // 4
        self._bits = count.bit_length() - 1
        self._buffers: list[list[bytes]] = [[] for _ in range(count)]

    @staticmethod
    def count_for(memory: int, rows: int, rank: int = 0) -> int:
        """Return how many partitions to make, a power of two.

        Args:
            memory: bytes that may be used.
            rows: an estimate of their number; more rows only make the partitions larger.
            rank: how many bytes a rank has.
        """
        wanted = -(-rows * (_ROW_BYTES + rank) * _SORTING // max(memory // 2, 1))
        return 1 << min(max(wanted - 1, 0).bit_length(), _MOST.bit_length() - 1)

    @property
    def count(self) -> int:
        """Return the number of partitions."""
        return len(self._buffers)

    def add(
        self,
        keys: bytes,
        texts: bytes,
        places: Numbers,
        ranks: npt.NDArray[np.bytes_] | None = None,
    ) -> None:
        """Add rows.

        Args:
            keys: 16 bytes each.
            texts: 8 bytes each, a hash of the line as it was spelled; zeros if it is canonical.
            places: of the lines. Of two rows with one key, the earlier line is added first.
            ranks: of the lines; the least one of a key stays.
        """
        rows = np.empty(len(places), self._row)
        pairs = np.frombuffer(keys, ">u8").reshape(-1, 2)
        rows["high"], rows["low"] = pairs[:, 0], pairs[:, 1]
        rows["text"], rows["place"] = np.frombuffer(texts, "<u8"), places
        if ranks is not None:
            rows["rank"] = ranks
        if self._bits == 0:
            self._buffers[0].append(rows.tobytes())
        else:
            which = (rows["high"] >> np.uint64(64 - self._bits)).astype(np.int64)
            order = np.argsort(which, kind="stable")
            ends = np.searchsorted(which[order], np.arange(self.count + 1))
            sorted_rows = rows[order]
            for n in np.flatnonzero(np.diff(ends)):
                self._buffers[n].append(sorted_rows[ends[n] : ends[n + 1]].tobytes())
        self._buffered += rows.nbytes
        if self._buffered > self._most_buffered:
            self.spill()

    def spill(self) -> None:
        """Write the buffers to the files of the partitions."""
        self.folder.mkdir(exist_ok=True)
        for n, buffer in enumerate(self._buffers):
            if buffer:
                with self._file(n).open("ab") as file:
                    write_all(file, b"".join(buffer))
                buffer.clear()
        self._buffered = 0

    def _file(self, number: int) -> Path:
        return self.folder / f"{number:04}.keys"

    def files(self) -> list[Path]:
        """Return the files with all spilled rows."""
        return list(self.folder.iterdir())

    def delete(self) -> None:
        """Delete the files."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def unique(self, seen: Seen | None = None) -> Iterator[Repeats]:
        """Yield the repeats in each partition; the files stay.

        All keys of a partition are less than those of the next one.

        Args:
            seen: returns which keys were seen before.
        """
        for n in range(self.count):
            data = b"".join(self._buffers[n])
            self._buffers[n].clear()
            file = self._file(n)
            stored = file.read_bytes() if file.exists() else b""
            yield _repeats(np.frombuffer(stored + data, self._row), seen)


def _repeats(rows: npt.NDArray[np.void], seen: Seen | None) -> Repeats:
    """Return the rows that repeat the key of another row, with the row of that key that stays."""
    order = np.argsort(rows["high"], kind="stable")  # stable: places stay ascending
    high, low = rows["high"][order], rows["low"][order]
    ranks = [rows["rank"]] if "rank" in (rows.dtype.names or ()) else []
    if ranks or ((high[1:] == high[:-1]) & (low[1:] != low[:-1])).any():  # by the whole key
        order = np.lexsort((*ranks, rows["low"], rows["high"]))
        high, low = rows["high"][order], rows["low"][order]
    starts = np.ones(len(rows), np.bool_)
    starts[1:] = (high[1:] != high[:-1]) | (low[1:] != low[:-1])
    group = np.cumsum(starts) - 1
    firsts, again = order[np.flatnonzero(starts)[group]], ~starts
    place, text = rows["place"], rows["text"]
    before, fresh = place[:0], NO_KEYS
    if seen is not None:
        keys = np.empty(int(starts.sum()), KEY)
        keys["high"], keys["low"] = high[starts], low[starts]
        known = seen(keys)
        fresh, new = keys[~known], ~known[group]
        before = place[order[~new]]
        order, firsts, again = order[new], firsts[new], again[new]
    here, of_first = order[again], firsts[again]
    alike = text[here] == text[of_first]
    return Repeats(place[here], place[of_first], alike, before, fresh)
