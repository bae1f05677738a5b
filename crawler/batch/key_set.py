"""The compiled set of keys, if it is installed; without it, dedup takes two passes."""

import os
from collections import Counter
from collections.abc import Iterator
from itertools import compress
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from canonry.crawler.batch.partition import Numbers
from canonry.crawler.files.blocks import Block

_VERSION = 3

try:
    from canonry.crawler.batch import _key_set
except ImportError:  # installed without a C compiler: everything works, but slower
    _compiled = None
else:
    # A kernel compiled from another version of the source is ignored.
    _compiled = _key_set if _key_set.VERSION == _VERSION else None

is_compiled = _compiled is not None
_SECRET = os.urandom(16)  # nobody can choose keys or lines that collide


def selected(block: Block, mask: npt.NDArray[np.bool_]) -> bytes:
    """Return the lines of a block that a mask selects, each with its line end."""
    if _compiled is not None:
        found: bytes = _compiled.selected(block.data, mask, block.ends)
        return found
    return b"".join(line + b"\n" for line in compress(block.lines(), mask.tolist()))


def chosen(block: Block, mask: npt.NDArray[np.bool_]) -> list[bytes]:
    """Return the lines of a block that a mask selects, without their line ends."""
    which = np.flatnonzero(mask)
    if not len(which):
        return []
    if not block.ends:
        return selected(block, mask).split(b"\n")[:-1]
    ends = np.frombuffer(block.ends, "<u4").astype(np.int64)
    starts = np.append(0, ends[:-1] + 1)[which].tolist()
    return [block.data[start:end] for start, end in zip(starts, ends[which].tolist(), strict=True)]


def tally(lines: bytes) -> dict[str, int]:
    """Count each distinct line, in order of first occurrence; every line ends with a line end."""
    if _compiled is not None:
        found: dict[str, int] = _compiled.tally(lines, _SECRET)
        return found
    return dict(Counter(lines.decode().split("\n")[:-1]))


class Added(NamedTuple):
    """The fates of lines: each array has one element for each line."""

    kinds: npt.NDArray[np.uint8]  # FIRST, ALIKE or MERGED; `NEEDED` if first and not canonical
    firsts: Numbers  # the place of the first line with the key
    counts: npt.NDArray[np.uint32]  # of the lines with the key so far; empty unless counted


class HeldKeys(NamedTuple):
    """Keys in memory: each array has one element for each key."""

    keys: bytes  # 16 each
    texts: bytes  # 8 each: a hash of the first line, or zeros if it is canonical
    places: Numbers  # of the first lines
    later: npt.NDArray[np.uint32]  # how many lines followed the first; empty unless counted


class KeySet:
    """Keys in memory, each with its first line. Exact, within a limit of memory."""

    def __init__(self, limit: int, *, counted: bool = False) -> None:
        """Start without keys.

        Args:
            limit: bytes that the tables may take.
            counted: count the lines of each key.

        Raises:
            RuntimeError: it is not compiled.
        """
        if _compiled is None:
            raise RuntimeError("the set of keys is not compiled")
        self._set = _compiled.KeySet(limit, _SECRET, counted)

    def __len__(self) -> int:
        """Return the number of keys."""
        return len(self._set)

    def add(self, keys: bytes, texts: bytes, places: Numbers) -> Added | None:
        """Add the keys of lines, in ascending order of their places.

        Args:
            keys: 16 bytes each.
            texts: 8 bytes each: a hash of the line, or zeros if it is canonical.
            places: of the lines, among all.

        Returns:
            The fates of the lines. None if the keys might not fit; then none was added.
        """
        fates = self._set.add(keys, texts, places)
        if fates is None:
            return None
        return Added(
            np.frombuffer(fates[0], np.uint8),
            np.frombuffer(fates[1], np.uint64),
            np.frombuffer(fates[2], np.uint32),
        )

    def rows(self) -> Iterator[HeldKeys]:
        """Yield all keys, in parts."""
        if _compiled is not None:
            for shard in range(_compiled.SHARDS):
                keys, texts, places, later = self._set.rows(shard)
                yield HeldKeys(
                    keys, texts, np.frombuffer(places, np.uint64), np.frombuffer(later, np.uint32)
                )
