"""What one text has and another has not, in short excerpts."""

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from canonry.crawler.similar.shingles import SHINGLE, WORD, Shingles, is_in

_LONGEST = 200  # characters of all excerpts
_LONGEST_PART = 70  # characters of one
_AROUND = 2  # words before and after


def only_in(
    passages: Iterable[str], counts: Iterable[int], shingles: Shingles, elsewhere: Shingles
) -> str:
    """Return the words of a text that are in no shingle of another, each with its neighbours.

    Args:
        passages: of the text.
        counts: the words of each passage.
        shingles: the shingle that begins at each word of the text.
        elsewhere: the sorted shingles of the other text, and of frames.

    Returns:
        Excerpts from the first places that differ, joined by " … "; "" if there are none.
    """
    differing = ~is_in(shingles, elsewhere)
    parts: list[str] = []
    room, start = _LONGEST, 0
    for passage, count in zip(passages, counts, strict=True):
        part = differing[start : start + count]
        start += count
        if not part.any():
            continue
        for excerpt in _excerpts(passage, _uncovered(part)):
            if len(excerpt) > room:
                return " … ".join(parts)
            if excerpt not in parts:
                parts.append(excerpt)
                room -= len(excerpt) + len(" … ")
    return " … ".join(parts)


def _uncovered(differing: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which words of a passage are in no shingle that both texts have."""
    covered = ~differing
    for step in range(1, SHINGLE):
        covered[step:] |= ~differing[:-step]
    return ~covered


def _excerpts(passage: str, words: NDArray[np.bool_]) -> Iterator[str]:
    """Yield each run of marked words with the words around it, shortened in its middle."""
    spans = [found.span() for found in WORD.finditer(passage)][: len(words)]
    edges = np.flatnonzero(np.diff(words.astype(np.int8), prepend=0, append=0))
    end = 0
    for first, after in edges.reshape(-1, 2):
        if after <= end:
            continue
        begin, end = max(first - _AROUND, end), min(after + _AROUND, len(spans))
        text = passage[spans[begin][0] : spans[end - 1][1]]
        half = _LONGEST_PART // 2
        yield (
            text
            if len(text) <= _LONGEST_PART
            else f"{text[:half].rstrip()}…{text[-half:].lstrip()}"
        )
