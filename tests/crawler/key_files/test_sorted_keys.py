"""Arrays of keys: what sets of bytes say."""

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st
from support.strategies import tries

from canonry.crawler.key_files.sorted_keys import (
    Keys,
    aligned,
    among,
    as_keys,
    highs,
    is_sorted,
    merged,
    union,
)

# Halves that are alike, and such that differ in the order of their bytes.
_HALF = st.sampled_from([0, 1, 255, 256, 1 << 63, (1 << 64) - 1])
KEY_BYTES = st.tuples(_HALF, _HALF).map(lambda halves: b"".join(n.to_bytes(8) for n in halves))
SETS = st.sets(KEY_BYTES, max_size=20)


def sorted_keys(keys: set[bytes]) -> Keys:
    return as_keys(b"".join(sorted(keys)))


def listed(keys: Keys) -> list[bytes]:
    return [key.tobytes() for key in keys]


@given(st.lists(KEY_BYTES, max_size=30), SETS)
@settings(max_examples=tries(0.15))
def test_they_answer_like_sets(some: list[bytes], known: set[bytes]) -> None:
    keys = as_keys(b"".join(some))
    ordered = sorted_keys(set(some))
    assert listed(ordered) == sorted(set(some))
    assert is_sorted(ordered)
    assert is_sorted(keys) == all(a < b for a, b in pairwise(some))
    wanted = [key in known for key in some]
    assert among(keys, sorted_keys(known)).tolist() == wanted
    assert among(keys, sorted_keys(known), highs(sorted_keys(known))).tolist() == wanted
    assert listed(union([ordered, sorted_keys(known)])) == sorted({*some, *known})


@given(st.lists(SETS, min_size=1, max_size=4), st.integers(1, 7))
@settings(max_examples=tries(0.15))
def test_streams_side_by_side_lose_nothing(sets: list[set[bytes]], size: int) -> None:
    whole = [sorted_keys(keys) for keys in sets]
    cut = [[keys[at : at + size] for at in range(0, len(keys), size)] for keys in whole]
    found = [listed(keys) for keys in merged([iter(parts) for parts in cut])]
    assert [key for part in found for key in part] == sorted(set().union(*sets))
    last = b""
    side_by_side: list[list[bytes]] = [[] for _ in sets]
    for parts in aligned([iter(some) for some in cut]):
        keys = [key for part in parts for key in listed(part)]
        assert last < min(keys)
        last = max(keys)
        for whole_stream, part in zip(side_by_side, parts, strict=True):
            whole_stream.extend(listed(part))
    assert side_by_side == [listed(keys) for keys in whole]
