"""Arrays of sorted keys: look keys up, and merge several streams of them.

A key is 16 bytes; keys are sorted as bytes, without repetition.
"""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

KEY = np.dtype([("high", ">u8"), ("low", ">u8")])  # the halves of a key, as big-endian numbers
KEY_BYTES = KEY.itemsize
PAGE = 4096  # bytes of keys that are read at once
KEYS_IN_PAGE = PAGE // KEY_BYTES

Keys = npt.NDArray[np.void]  # of the type KEY
Halves = npt.NDArray[np.uint64]
NO_KEYS: Keys = np.empty(0, KEY)


def as_keys(data: bytes | memoryview) -> Keys:
    """Return bytes, 16 for each key, as an array of keys."""
    return np.frombuffer(data, KEY)


def joined(parts: Sequence[Keys]) -> Keys:
    """Concatenate arrays of keys; NumPy's own function would swap the bytes."""
    return parts[0] if len(parts) == 1 else as_keys(b"".join(part.tobytes() for part in parts))


def highs(keys: Keys) -> Halves:
    """Return the first halves of keys as native integers, which are compared fast."""
    return keys["high"].astype(np.uint64)


def is_sorted(keys: Keys) -> bool:
    """Return True if each key is larger than the one before it."""
    high = highs(keys)
    ties = np.flatnonzero(high[1:] == high[:-1])
    low = keys["low"]
    return bool((high[1:] >= high[:-1]).all() and (low[ties + 1] > low[ties]).all())


def among(wanted: Keys, keys: Keys, key_highs: Halves | None = None) -> npt.NDArray[np.bool_]:
    """Return for each of some keys whether it is among other keys.

    Args:
        wanted: in any order, but sorted ones are found much faster.
        keys: the other keys, sorted.
        key_highs: the result of `highs` for these, if already computed.
    """
    high = highs(keys) if key_highs is None else key_highs
    if not len(high):
        return np.zeros(len(wanted), np.bool_)
    wanted_highs = highs(wanted)
    at = np.searchsorted(high, wanted_highs)
    at[at == len(high)] -= 1
    near = high[at] == wanted_highs
    present: npt.NDArray[np.bool_] = near & (keys["low"][at] == wanted["low"])
    for n in np.flatnonzero(
        near & ~present
    ):  # keys may share their first half; attackers can make such keys
        several = keys[at[n] : np.searchsorted(high, wanted_highs[n], "right")]
        present[n] = wanted["low"][n] in several["low"]
    return present


def aligned(streams: Sequence[Iterator[Keys]]) -> Iterator[list[Keys]]:
    """Yield aligned parts of sorted streams: every key of a part is less than those of later parts.

    Args:
        streams: arrays of keys, in ascending order within and between arrays.
    """
    heads = [next(stream, NO_KEYS) for stream in streams]
    while some := [head for head in heads if len(head)]:
        bound = min(head[-1].tobytes() for head in some)
        ends = [_up_to(head, bound) for head in heads]
        yield [head[:end] for head, end in zip(heads, ends, strict=True)]
        heads = [
            head[end:] if end < len(head) else next(stream, NO_KEYS) if end else head
            for head, end, stream in zip(heads, ends, streams, strict=True)
        ]


def _up_to(keys: Keys, bound: bytes) -> int:
    """Return how many sorted keys are not larger than a bound."""
    if not len(keys) or keys[-1].tobytes() <= bound:
        return len(keys)
    at = int(np.searchsorted(highs(keys), as_keys(bound)["high"].astype(np.uint64)[0]))
    while keys[at].tobytes() <= bound:
        at += 1
    return at


def union(parts: Sequence[Keys]) -> Keys:
    """Return the keys of sorted arrays, sorted, each once."""
    keys = joined(parts)
    high, low = highs(keys), keys["low"].astype(np.uint64)
    order = np.lexsort((low, high))
    high, low = high[order], low[order]
    is_new = np.ones(len(keys), np.bool_)
    is_new[1:] = (high[1:] != high[:-1]) | (low[1:] != low[:-1])
    return keys[order[is_new]]


def merged(streams: Sequence[Iterator[Keys]]) -> Iterator[Keys]:
    """Yield the keys of several sorted streams as one, each key once."""
    if len(streams) == 1:
        yield from streams[0]
        return
    for parts in aligned(streams):
        yield union(parts)


def in_lots(chunks: Iterable[Keys], size: int) -> Iterator[Keys]:
    """Yield keys in arrays of one size; only the last one may be smaller."""
    waiting: list[Keys] = []
    count = 0
    for chunk in chunks:
        waiting.append(chunk)
        count += len(chunk)
        if count >= size:
            keys = joined(waiting)
            whole = count - count % size
            yield from (keys[n : n + size] for n in range(0, whole, size))
            waiting, count = [keys[whole:]], count - whole
    if count:
        yield joined(waiting)
