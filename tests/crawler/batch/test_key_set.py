"""The set of keys: a dictionary that is not larger than it may be."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.strategies import tries

from canonry.crawler.batch import key_set
from canonry.crawler.batch.key_set import ALIKE, FIRST, MERGED, NEEDED
from canonry.crawler.files.blocks import Block

_key_set = pytest.importorskip("canonry.crawler.batch._key_set", reason="needs the compiled kernel")

_KEYS = st.integers(0, 40).map(lambda n: n.to_bytes(8) * 2)
_ROWS = st.lists(st.tuples(_KEYS, st.integers(0, 2)), max_size=200)


Answer = tuple[int, int, int]


def add(keys: key_set.KeySet, rows: list[tuple[bytes, int]], place: int) -> list[Answer]:
    """Add lines; return for each what it is, its first line, and the rules of that."""
    found = keys.add(
        b"".join(key for key, _ in rows),
        b"".join(text.to_bytes(8, "little") for _, text in rows),
        np.array([text for _, text in rows], np.int32),
        np.arange(place, place + len(rows), dtype=np.uint64),
    )
    assert found is not None
    fates = found.kinds.tolist(), found.firsts.tolist(), found.rules.tolist()
    return list(zip(*fates, strict=True))


@pytest.mark.parametrize("compiled", [_key_set, None], ids=["compiled", "plain"])
@given(rows=_ROWS, cut=st.integers(0, 200))
@settings(max_examples=tries(0.5))
def test_it_answers_like_a_dictionary(
    compiled: object, rows: list[tuple[bytes, int]], cut: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(key_set, "_compiled", compiled)
        check_answers(rows, cut)


def check_answers(rows: list[tuple[bytes, int]], cut: int) -> None:
    """Compare a set with a dictionary."""
    keys = key_set.KeySet(1 << 20)
    found = add(keys, rows[:cut], 0) + add(keys, rows[cut:], len(rows[:cut]))
    seen: dict[bytes, tuple[int, int]] = {}
    for place, ((key, text), answer) in enumerate(zip(rows, found, strict=True)):
        if key not in seen:
            seen[key] = place, text
            assert answer == (FIRST | NEEDED if text else FIRST, place, text)
        else:
            kind = ALIKE if seen[key][1] == text else MERGED
            assert answer == (kind, *seen[key])
    assert len(keys) == len(seen)
    kept = {
        held[16 * n : 16 * n + 16]: (
            int(places[n]),
            int.from_bytes(texts[8 * n : 8 * n + 8], "little"),
        )
        for held, texts, places in keys.rows()
        for n in range(len(places))
    }
    assert kept == seen


def test_a_hundred_thousand_keys_are_told_apart() -> None:
    """Also those that share one of their halves."""
    rng = np.random.default_rng(1)
    some = [rng.bytes(8) for _ in range(300)]
    rows = [(one + other, 0) for one in some for other in some]
    keys = key_set.KeySet(1 << 24)
    for again in (False, True):
        for start in range(0, len(rows), 1000):
            found = add(keys, rows[start : start + 1000], start)
            assert {kind for kind, _, _ in found} == {ALIKE if again else FIRST}
            assert [first for _, first, _ in found] == list(range(start, start + len(found)))
    assert len(keys) == 90_000


def test_it_takes_no_more_than_it_may() -> None:
    keys = key_set.KeySet(1 << 20)
    most = (1 << 20) * 0.64 / 24
    rng = np.random.default_rng(2)
    added, none = 0, np.zeros(100, np.int32)
    while keys.add(rng.bytes(1600), bytes(800), none, np.arange(100, dtype=np.uint64)) is not None:
        added += 100
    assert most - 200 < added <= most
    assert len(keys) == added, "nothing was added of what did not fit"


def test_a_wrong_call_is_an_error() -> None:
    keys = _key_set.KeySet(1000, bytes(16))
    with pytest.raises(ValueError, match="for each key of 16 bytes"):
        keys.add(bytes(16), bytes(8), bytes(4), np.zeros(2, np.uint64))
    with pytest.raises(ValueError, match="once"):
        keys.__init__(1000, bytes(16))  # type: ignore[misc]
    with pytest.raises(ValueError, match="a secret of 16 bytes"):
        _key_set.KeySet(1000, bytes(15))
    with pytest.raises(IndexError, match="256 shards"):
        keys.rows(256)
    with pytest.raises(ValueError, match="ends have four"):
        _key_set.selected(b"a\nb", np.ones(2, np.bool_), bytes(4))
    for ends in ([1, 4], [3, 1], [3, 3]):
        with pytest.raises(ValueError, match="lines end in the block"):
            _key_set.selected(b"a\nb", np.array([False, True]), np.array(ends, "<u4").tobytes())


@given(st.lists(st.sampled_from([b"", b"a", b"bc"]), min_size=1), st.data())
def test_lines_are_selected(lines: list[bytes], data: st.DataObject) -> None:
    size = len(lines)
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=size, max_size=size)), np.bool_)
    block = Block("-", 1, b"\n".join(lines), size)
    ends = np.cumsum([len(line) + 1 for line in lines]) - 1
    known = block._replace(ends=ends.astype("<u4").tobytes())
    wanted = [line for line, kept in zip(lines, mask.tolist(), strict=True) if kept]
    assert key_set.chosen(block, mask) == key_set.chosen(known, mask) == wanted
    joined = key_set.selected(block, mask)
    assert key_set.selected(known, mask) == joined
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(key_set, "_compiled", None)
        assert key_set.selected(block, mask) == joined == b"".join(x + b"\n" for x in wanted)
