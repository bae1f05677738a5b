"""The one comparison, on small pages: what is the same, what differs, and what is asked again."""

from collections.abc import Sequence
from itertools import pairwise

import pytest

from canonry.crawler.documents.page_scan import blocks_of
from canonry.crawler.documents.text_blocks import decoded
from canonry.crawler.learn.text.comparison import PageAnswer, PageComparison, PageVerdict, compare
from canonry.crawler.learn.text.site_text import SiteText

SAME, DIFFERENT, UNKNOWN = PageVerdict.SAME, PageVerdict.DIFFERENT, PageVerdict.UNKNOWN
FRAME = "<nav>Home Shop</nav>"


def answer(html: str) -> PageAnswer:
    body = (FRAME + html).encode()
    return PageAnswer(
        body[:16].ljust(16) + bytes(str(hash(html)), "ascii"), blocks_of(body, "text/html")
    )


def site(*repeats: Sequence[str], pages: int = 24) -> SiteText:
    """Return what is known of a site of some pages, of which some were asked more than once."""
    text = SiteText()
    for n in range(pages):
        text.add_page(n, answer(f"<p>Page {n}</p>").encoded)
    for htmls in repeats:
        found = [answer(html).blocks for html in htmls]
        for before, after in pairwise(found):
            text.add_repeat(before, after)
    return text


def verdict(
    one: Sequence[str], other: Sequence[str], text: SiteText | None = None
) -> PageComparison:
    return compare([*map(answer, one)], [*map(answer, other)], text or site())


STEADY = [["<p>x</p>"] * 22]


def test_equal_pages_are_the_same() -> None:
    assert verdict(["<p>a</p>"], ["<p>a</p>"]).verdict is SAME


def test_a_frame_alone_proves_nothing() -> None:
    """So a soft 404, a wall or an empty list is no evidence, however often it comes."""
    assert verdict(["", ""], ["", ""]).verdict is UNKNOWN
    assert not verdict([""], [""]).ask_first


def test_pages_that_look_unlike_are_asked_again_before_they_differ() -> None:
    one, other = "<h1>a</h1><p>b</p>", "<h1>a</h1><p>c</p>"
    assert verdict([one], [other]) == PageComparison(UNKNOWN, ask_first=True)
    assert verdict([one, one], [other]) == PageComparison(UNKNOWN, ask_second=True)
    assert verdict([one] * 2, [other] * 2).verdict is UNKNOWN
    assert verdict([one] * 3, [other] * 3).verdict is DIFFERENT
    assert verdict([one] * 2, [other] * 2, site(*STEADY)).verdict is DIFFERENT


def test_on_a_site_that_is_hardly_known_pages_differ_only_by_four_answers() -> None:
    """What few pages have may be a teaser that many have."""
    one, other, text = "<h1>a</h1><p>b</p>", "<h1>a</h1><p>c</p>", site(pages=10)
    assert verdict([one] * 3, [other] * 3, text).verdict is UNKNOWN
    assert verdict([one] * 4, [other] * 4, text).verdict is DIFFERENT


def test_pages_that_have_next_to_nothing_in_common_differ_at_once() -> None:
    one, other = "<h1>a</h1><p>b</p>", "<h1>c</h1><p>d</p>"
    assert verdict([one], [other]).verdict is DIFFERENT


def test_how_much_differs_is_told() -> None:
    one = [f"<h1>a</h1>{'<p>b</p>' * 1}<p>c</p><p>{n}</p>" for n in "ddd"]
    other = ["<h1>a</h1><p>b</p><p>c</p><p>e</p>"] * 3
    found = verdict(one, other)
    assert found.verdict is DIFFERENT
    assert 0.3 < found.share < 0.5
    assert verdict(["<p>a</p>"] * 3, ["<p>b</p>"] * 3).share == 1.0


def test_what_changes_in_the_page_itself_is_no_difference() -> None:
    one = ["<p>a</p><p>now 1</p>", "<p>a</p><p>now 2</p>"]
    other = ["<p>a</p><p>now 3</p>", "<p>a</p><p>now 4</p>"]
    assert verdict(one[:1], other[:1]).verdict is UNKNOWN
    assert verdict(one, other).verdict is SAME


def test_a_place_that_never_stays_is_ignored_without_asking() -> None:
    clock = [[f"<p>{page}</p><i>{n}</i>" for n in range(2)] for page in "xyz"]
    assert verdict(["<p>a</p><i>7</i>"], ["<p>a</p><i>8</i>"], site(*clock)).verdict is SAME
    assert verdict(["<p>a</p><b>7</b>"], ["<p>a</p><b>8</b>"], site(*clock)).verdict is UNKNOWN


def test_a_wall_in_place_of_a_page_says_nothing_of_its_places() -> None:
    page, other = "<h1>a</h1><p>b</p><p>c</p>", "<h1>a</h1><p>d</p><p>e</p>"
    wall = blocks_of(b"<h1>Your privacy</h1><p>We need your consent</p>", "text/html")
    text = site()
    text.add_repeat(answer(page).blocks, decoded(wall or b""))
    assert verdict([page] * 4, [other] * 4, text).verdict is DIFFERENT


def test_what_comes_and_goes_all_over_a_site_is_ignored() -> None:
    text = SiteText()
    for n in range(12):
        text.add_page(n, answer(f"<p>Page {n}</p><p>teaser {n % 3}</p>").encoded)
    for n in range(6):
        text.add_repeat(
            answer(f"<p>x</p><p>teaser {n % 3}</p>").blocks,
            answer(f"<p>x</p><p>teaser {(n + 1) % 3}</p>").blocks,
        )
    one, other = ["<p>a</p><p>teaser 1</p>"], ["<p>a</p><p>teaser 2</p>"]
    assert verdict(one, other, text).verdict is SAME


def test_of_a_site_that_varies_the_same_needs_two_answers() -> None:
    text = site(["<p>a</p><p>one of its own</p>", "<p>a</p><p>another of its own</p>"])
    assert text.varies
    assert verdict(["<p>b</p>"], ["<p>b</p>"], text).verdict is UNKNOWN
    assert verdict(["<p>b</p>"] * 2, ["<p>b</p>"] * 2, text).verdict is SAME


def test_versions_are_not_known_to_be_the_same() -> None:
    """As in an A/B test: one URL always has what the other has now and then."""
    by_chance = ["<p>a</p><p>version 1</p>", "<p>a</p><p>version 2</p>"]
    assert verdict(by_chance, ["<p>a</p><p>version 2</p>"] * 2).verdict is UNKNOWN
    named = (["<p>a</p><p>version 1</p>"] * 3, ["<p>a</p><p>version 2</p>"] * 3)
    assert verdict(*named).verdict is DIFFERENT


@pytest.mark.parametrize("asked", [1, 2])
def test_another_order_is_another_page(asked: int) -> None:
    one, other = ["<li>a</li><li>b</li>"] * asked, ["<li>b</li><li>a</li>"] * asked
    assert verdict(one, other).verdict is UNKNOWN
    assert verdict(one[:1] * 3, other[:1] * 3).verdict is DIFFERENT


def test_a_list_that_is_shuffled_each_time_is_no_other_page() -> None:
    shuffled = ["<p>a</p><li>x</li><li>y</li>", "<p>a</p><li>y</li><li>x</li>"]
    assert verdict(shuffled, shuffled[::-1]).verdict is SAME
    text = site(shuffled)
    assert verdict(shuffled[:1], shuffled[1:], text).verdict is SAME


def test_bytes_are_compared_where_there_is_no_text() -> None:
    one, other = PageAnswer(b"1" * 16, None), PageAnswer(b"2" * 16, None)
    assert compare([one], [one], site()).verdict is SAME
    assert compare([one], [other], site()).ask_first
    assert compare([one] * 2, [other] * 2, site()).verdict is DIFFERENT
    assert compare([one, other], [other, PageAnswer(b"3" * 16, None)], site()).verdict is SAME
    changing = [one, PageAnswer(b"4" * 16, None)]
    assert compare(changing, [other], site()).verdict is UNKNOWN
