"""The set of keys in memory: compiled, or without a compiler a dictionary."""

import os
from collections.abc import Iterator
from itertools import compress
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from canonry.crawler.batch.partition import Numbers
from canonry.crawler.files.blocks import Block

_VERSION = 5

try:
    from canonry.crawler.batch import _key_set
except ImportError:  # installed without a C compiler: everything works, but slower
    _compiled = None
else:
    # A kernel compiled from another version of the source is ignored.
    _compiled = _key_set if _key_set.VERSION == _VERSION else None

RuleBits = npt.NDArray[np.int32]  # of each line, bits that `canon.pipeline.rules_named` reads

FIRST, ALIKE, MERGED, REFUSED, BLANK, SEEN = range(6)  # what a line is; keys give the first three
NEEDED = 0x10  # a flag: the text of this line may be needed to name a merge
_BYTES_OF_KEY = 300  # in a dictionary, with what belongs to it
_SECRET = os.urandom(16)  # nobody can choose keys or lines that collide


def selected(block: Block, mask: npt.NDArray[np.bool_]) -> bytes:
    """Return the lines of a block that a mask selects, each with its line end."""
    if _compiled is not None:
        found: bytes = _compiled.selected(block.data, mask, ends_of(block))
        return found
    return b"".join(line + b"\n" for line in compress(block.lines(), mask.tolist()))


def chosen(block: Block, mask: npt.NDArray[np.bool_]) -> list[bytes]:
    """Return the lines of a block that a mask selects, without their line ends."""
    which = np.flatnonzero(mask)
    if not len(which):
        return []
    ends = ends_of(block).astype(np.int64)
    starts = np.append(0, ends[:-1] + 1)[which].tolist()
    return [block.data[start:end] for start, end in zip(starts, ends[which].tolist(), strict=True)]


def ends_of(block: Block) -> npt.NDArray[np.uint32]:
    """Return where the lines of a block end."""
    if block.ends:
        return np.frombuffer(block.ends, "<u4")
    feeds = np.flatnonzero(np.frombuffer(block.data, np.uint8) == ord("\n"))
    return np.append(feeds, len(block.data)).astype(np.uint32)


class Added(NamedTuple):
    """The fates of lines: each array has one element for each line."""

    kinds: npt.NDArray[np.uint8]  # FIRST, ALIKE or MERGED; `NEEDED` if first and not canonical
    firsts: Numbers  # the place of the first line with the key
    rules: RuleBits  # those that gave that line its identity


class HeldKeys(NamedTuple):
    """Keys in memory: each array has one element for each key."""

    keys: bytes  # 16 each
    texts: bytes  # 8 each: a hash of the first line, or zeros if it is canonical
    places: Numbers  # of the first lines


class KeySet:
    """Keys in memory, each with its first line. Exact, within a limit of memory."""

    def __init__(self, limit: int) -> None:
        """Start without keys.

        Args:
            limit: bytes that the tables may take.
        """
        self._set = _PlainSet(limit) if _compiled is None else _compiled.KeySet(limit, _SECRET)

    def __len__(self) -> int:
        """Return the number of keys."""
        return len(self._set)

    def add(self, keys: bytes, texts: bytes, rules: RuleBits, places: Numbers) -> Added | None:
        """Add the keys of lines, in ascending order of their places.

        Args:
            keys: 16 bytes each.
            texts: 8 bytes each: a hash of the line, or zeros if it is canonical.
            rules: those that gave each line its identity.
            places: of the lines, among all.

        Returns:
            The fates of the lines. None if the keys might not fit; then none was added.
        """
        fates = self._set.add(keys, texts, np.ascontiguousarray(rules), places)
        if fates is None:
            return None
        kinds, firsts, theirs = fates
        return Added(
            np.frombuffer(kinds, np.uint8),
            np.frombuffer(firsts, np.uint64),
            np.frombuffer(theirs, np.int32),
        )

    def rows(self) -> Iterator[HeldKeys]:
        """Yield all keys, in parts."""
        for shard in range(1 if _compiled is None else _compiled.SHARDS):
            keys, texts, places = self._set.rows(shard)
            yield HeldKeys(keys, texts, np.frombuffer(places, np.uint64))


class _PlainSet:
    """What the compiled set does, slower and with more memory."""

    def __init__(self, limit: int) -> None:
        self._most = limit // _BYTES_OF_KEY
        self._firsts: dict[bytes, tuple[int, bytes, int]] = {}  # place, hash and rules

    def __len__(self) -> int:
        return len(self._firsts)

    def add(
        self, keys: bytes, texts: bytes, rules: RuleBits, places: Numbers
    ) -> tuple[bytes, bytes, bytes] | None:
        """Add rows of keys; return kinds, first places and rules, or None if they may not fit."""
        if len(self._firsts) + len(places) > self._most:
            return None
        kinds, firsts, theirs = bytearray(), list[int](), list[int]()
        for n, (place, acted) in enumerate(zip(places.tolist(), rules.tolist(), strict=True)):
            key, text = keys[16 * n : 16 * n + 16], texts[8 * n : 8 * n + 8]
            first, its_text, its_rules = self._firsts.setdefault(key, (place, text, acted))
            if first == place:
                kinds.append(FIRST | NEEDED if any(text) else FIRST)
            else:
                kinds.append(ALIKE if text == its_text else MERGED)
            firsts.append(first)
            theirs.append(its_rules)
        made = np.array(firsts, "u8").tobytes(), np.array(theirs, "i4").tobytes()
        return bytes(kinds), *made

    def rows(self, _shard: int) -> tuple[bytes, bytes, bytes]:
        """Return all keys, hashes and places."""
        places = np.array([place for place, _text, _rules in self._firsts.values()], "u8")
        texts = b"".join([text for _place, text, _rules in self._firsts.values()])
        return b"".join(self._firsts), texts, places.tobytes()
