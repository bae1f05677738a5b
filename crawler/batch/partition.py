"""Keys spread over partitions on disk, and each of them made unique in memory.

Memory holds one partition at a time, however many keys there are.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from crawler.batch.output import write_all

MOST = 4096
_ROW = np.dtype([("high", "<u8"), ("low", "<u8"), ("text", "<u8"), ("place", "<u8")])
_SORTING = 5  # a partition takes that many times its size while it is made unique

Numbers = npt.NDArray[np.uint64]


class Repeats(NamedTuple):
    """Lines that repeat a key: where they stand, and where the first of it does."""

    place: Numbers
    first: Numbers
    alike: npt.NDArray[np.bool_]  # spelled as the first


class Partitions:
    """Rows of (key, hash of the spelling, place of the line), spread by key."""

    def __init__(self, folder: Path, memory: int, rows: int) -> None:
        """Make room.

        Args:
            folder: for the partitions' files.
            memory: bytes that may be used.
            rows: how many rows to expect; more only make partitions larger.
        """
        self._folder = folder
        self._buffers: list[list[bytes]] = []
        self._buffered = 0
        self._most_buffered = memory // 4
        self.rows = 0
        wanted = -(-rows * _ROW.itemsize * _SORTING // max(memory // 2, 1))
        self._bits = min(max(wanted - 1, 0).bit_length(), MOST.bit_length() - 1)
        self._buffers = [[] for _ in range(1 << self._bits)]
        self._spilled = False

    @property
    def count(self) -> int:
        """Return how many partitions there are."""
        return len(self._buffers)

    def add(self, keys: bytes, texts: bytes, places: Numbers) -> None:
        """Take in rows.

        Args:
            keys: 16 bytes each.
            texts: 8 bytes each, a hash of the line as it was spelled.
            places: of the lines, ascending.
        """
        rows = np.empty(len(places), _ROW)
        pairs = np.frombuffer(keys, ">u8").reshape(-1, 2)
        rows["high"], rows["low"] = pairs[:, 0], pairs[:, 1]
        rows["text"], rows["place"] = np.frombuffer(texts, "<u8"), places
        self.rows += len(rows)
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
            self._spill()

    def _spill(self) -> None:
        """Write what is buffered to the partitions' files."""
        for n, buffer in enumerate(self._buffers):
            if buffer:
                with self._file(n).open("ab") as file:
                    write_all(file, b"".join(buffer))
                buffer.clear()
        self._buffered = 0
        self._spilled = True

    def _file(self, number: int) -> Path:
        return self._folder / f"{number:04}.keys"

    def unique(self) -> Iterator[Repeats]:
        """Yield the repeats in each partition, and drop it."""
        for n, buffer in enumerate(self._buffers):
            data = b"".join(buffer)
            buffer.clear()
            if self._spilled and self._file(n).exists():
                data = self._file(n).read_bytes() + data
                self._file(n).unlink()
            yield _repeats(np.frombuffer(data, _ROW))


def _repeats(rows: npt.NDArray[np.void]) -> Repeats:
    """Return the rows whose key stands before them, with the first of each key."""
    order = np.lexsort((rows["low"], rows["high"]))  # stable: places stay ascending
    high, low = rows["high"][order], rows["low"][order]
    starts = np.ones(len(rows), np.bool_)
    starts[1:] = (high[1:] != high[:-1]) | (low[1:] != low[:-1])
    firsts = np.flatnonzero(starts)[np.cumsum(starts) - 1]
    again = ~starts
    of_first = order[firsts[again]]
    here = order[again]
    place, text = rows["place"], rows["text"]
    return Repeats(place[here], place[of_first], text[here] == text[of_first])
