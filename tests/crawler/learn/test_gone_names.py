"""Gone names: how many answer that there is no page, before the others are believed."""

from canonry.crawler.learn.session import GoneNames


def test_three_names_are_enough_and_a_page_that_is_found_starts_anew() -> None:
    gone = GoneNames()
    assert not gone
    for _ in range(2):
        gone.add(b"a")
        gone.add(b"b")
    assert not gone.are_enough(b"a")
    gone.add(b"a")
    assert gone.are_enough(b"a")
    assert not gone.are_enough(b"b")
    gone.found(b"a")
    gone.add(b"a")
    assert not gone.are_enough(b"a")
    gone.clear()
    assert not gone


def test_its_memory_is_bounded() -> None:
    gone = GoneNames()
    for _ in range(3):
        gone.add(b"first")
    for n in range(70_000):
        gone.add(b"%d" % n)
    assert not gone.are_enough(b"first")
