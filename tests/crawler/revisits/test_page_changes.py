"""Changes of a page: what counts, and what changes by itself or belongs to the frame."""

import hashlib
from itertools import count

from hypothesis import given
from hypothesis import strategies as st

from canonry.crawler.documents.page_scan import blocks_of
from canonry.crawler.revisits.page_changes import (
    MOST_PLACES,
    HostPlaces,
    changed_places,
    folded,
    folded_bytes,
)


def page(text: str = "text", token: object = 0, date: str = "Monday") -> bytes:
    """Return the places of a page."""
    html = f"<h1>title</h1><p>{text}</p><i class=t>{token}</i><b class=d>{date}</b>"
    blocks = blocks_of(html.encode(), "text/html")
    assert blocks is not None
    return folded(blocks)


def test_each_place_is_one_number_whatever_the_order_of_its_texts() -> None:
    assert len(page()) == 4 * 8
    one, other = (
        folded(blocks_of(f"<ul><li>{a}</li><li>{b}</li></ul>".encode(), "text/html") or b"")
        for a, b in ("xy", "yx")
    )
    assert one == other
    [place] = changed_places(page("one"), page("two"))
    assert changed_places(page("one"), page("three")).keys() == {place}
    assert changed_places(page(), page()) == {}


def test_a_place_that_comes_or_goes_has_changed() -> None:
    both, one = (folded(blocks_of(t, "text/html") or b"") for t in (b"<p>a</p><b>c</b>", b"<p>a"))
    assert list(changed_places(both, one).values()) == [0]
    assert len(changed_places(one, both)) == 1


def test_a_page_of_very_many_places_is_remembered_in_few_bytes() -> None:
    classes = ("".join(chr(97 + n // 26**k % 26) for k in range(3)) for n in range(1_000))
    html = "".join(f"<p class={name}>{name}</p>" for name in classes)
    found = folded(blocks_of(html.encode(), "text/html") or b"")
    assert len(found) <= 8 * (MOST_PLACES + 1)
    other = folded(blocks_of(f"{html}<p class=zzz>more".encode(), "text/html") or b"")
    assert len(changed_places(found, other)) == 1


def test_other_bodies_are_compared_by_their_bytes() -> None:
    one, other = (folded_bytes(hashlib.blake2b(text).digest()) for text in (b"a", b"b"))
    assert changed_places(one, one) == {}
    assert len(changed_places(one, other)) == 1


def test_a_token_is_no_change_once_a_control_has_shown_it() -> None:
    host, tokens = HostPlaces(), count()
    changed = changed_places(page(token=next(tokens)), page("new", token=next(tokens)))
    assert len(host.counting(changed)) == 2
    assert all(map(host.is_unsure, changed))
    host.note_control(changed, changed_places(page("new", next(tokens)), page("new", next(tokens))))
    assert host.counting(changed_places(page(token=1), page(token=2))) == []
    assert len(host.counting(changed_places(page("a", 1), page("b", 2)))) == 1
    again = HostPlaces(host.encoded())
    assert again.counting(changed_places(page(token=1), page(token=2))) == []


def test_what_stays_in_controls_counts_though_it_once_went() -> None:
    host = HostPlaces()
    host.note_control([1], [1])
    host.note_control([1], [])
    assert host.counting([1]) == [1]
    assert not host.is_unsure(1)


def test_what_changes_alike_on_many_pages_is_the_frame() -> None:
    host = HostPlaces()
    for day in ("Tuesday", "Wednesday", "Thursday"):
        for number in range(5):
            changed = changed_places(page(f"{number}"), page(f"{number} {day}", date=day))
            host.note_changes(changed)
    assert host.counting(changed_places(page(), page(date="Friday"))) == []
    assert len(host.counting(changed_places(page(), page("new", date="Friday")))) == 1


def test_two_names_of_one_page_make_no_frame() -> None:
    host = HostPlaces()
    for version in range(20):
        changed = changed_places(page(f"{version}"), page(f"{version + 1}"))
        host.note_changes(changed)
        host.note_changes(changed)
    assert len(host.counting(changed)) == 1


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3), st.booleans()), max_size=2_000))
def test_what_is_kept_of_a_host_is_small_and_read_again(
    noted: list[tuple[int, int, bool]],
) -> None:
    host = HostPlaces()
    for place, text, is_control in noted:
        if is_control:
            host.note_control([place], [place] * (text % 2))
        else:
            host.note_changes({place: text})
    again = HostPlaces(host.encoded())
    assert again.encoded() == host.encoded()
    assert again.counting(range(6)) == host.counting(range(6))
