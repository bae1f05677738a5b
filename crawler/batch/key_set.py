"""The compiled set of keys, if it was built; without it, dedup takes two passes."""

import os
from collections.abc import Iterator
from itertools import compress

import numpy as np
import numpy.typing as npt

from canonry.crawler.batch.passes.partition import Numbers
from canonry.crawler.files.blocks import Block

_VERSION = 2

try:
    from canonry.crawler.batch import _key_set
except ImportError:  # Canonry was installed without a C compiler: everything works, but slower
    _compiled = None
else:
    # One compiled from another version of the source is ignored.
    _compiled = _key_set if _key_set.VERSION == _VERSION else None

is_compiled = _compiled is not None


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


class KeySet:
    """Keys in memory, each with its first line. Exact, within a limit of memory."""

    def __init__(self, limit: int) -> None:
        """Start without keys.

        Args:
            limit: bytes that the tables may take.

        Raises:
            RuntimeError: it is not compiled.
        """
        if _compiled is None:
            raise RuntimeError("the set of keys is not compiled")
        self._set = _compiled.KeySet(limit, os.urandom(16))

    def __len__(self) -> int:
        """Return the number of keys."""
        return len(self._set)

    def add(
        self, keys: bytes, texts: bytes, places: Numbers
    ) -> tuple[npt.NDArray[np.uint8], Numbers] | None:
        """Add the keys of lines, in ascending order of their places.

        Args:
            keys: 16 bytes each.
            texts: 8 bytes each: a hash of the line, or zeros if it is canonical.
            places: of the lines, among all.

        Returns:
            For each line whether it is first, alike or merged, with `NEEDED` for first lines that
            are not canonical, and the place of its first line. None if the keys might not fit: then
            nothing was added.
        """
        found = self._set.add(keys, texts, places)
        if found is None:
            return None
        return np.frombuffer(found[0], np.uint8), np.frombuffer(found[1], np.uint64)

    def rows(self) -> Iterator[tuple[bytes, bytes, Numbers]]:
        """Yield all keys, in parts, with the hashes of their first lines and their places."""
        if _compiled is not None:
            for shard in range(_compiled.SHARDS):
                keys, texts, places = self._set.rows(shard)
                yield keys, texts, np.frombuffer(places, np.uint64)
