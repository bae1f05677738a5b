"""A compact set is a set."""

from hypothesis import given
from hypothesis import strategies as st

from canonry.crawler.learn.tallies.compact_set import CompactSet

_NUMBERS = st.lists(st.integers(0, 2**63 - 1) | st.integers(0, 20))


@given(_NUMBERS, _NUMBERS, st.integers(0, 20))
def test_it_is_a_set(first: list[int], more: list[int], other: int) -> None:
    found = CompactSet(first).with_more(more)
    assert list(found) == sorted({*first, *more})
    assert len(found) == len({*first, *more})
    assert all(number in found for number in more)
    assert (other in found) == (other in {*first, *more})
    assert len(CompactSet(first)) == len(set(first)), "what it was made from stays as it is"
