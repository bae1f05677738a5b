"""Pages that were asked again and read: others, the same, or not yet known."""

from canonry.canon.syntax import Parts
from canonry.crawler.content.page_reading import PageReading
from canonry.crawler.content.sketch import Sketch, encoded_sketch, hashes_of, sketch
from canonry.crawler.learn.knowledge.site_facts import Fact, SiteFacts

H = "http://h.example"


def shown(name: str, price: int, minute: int) -> bytes:
    """Return a page with a price and a clock."""
    words = ("is", "a", "thing", "of", "wood", "and", "stone", "and", "iron")
    text = " ".join(f"{name} {word}" for word in words)
    return f"<h1>{name}</h1><p>{text}</p><p>it is 10.{minute:02} now, price {price}".encode()


def site() -> SiteFacts:
    """Return a site with pages, of which some have shown that their clock changes."""
    known = SiteFacts()
    for n in range(40):
        name = "abcdefghij"[n % 10] * (2 + n // 10)
        add(known, f"{H}/{name}", shown(name, n, 0))
        if n < 4:
            both = (sketch_of(shown(name, n, minute)) for minute in (0, 30 + n))
            known.text.twice(f"{H}/{name}", *both)
    return known


def add(known: SiteFacts, url: str, body: bytes) -> Fact:
    """Add a page."""
    fact = Fact(url, 0.0, digest=body, sketch=encoded_sketch(body, "text/html"))
    known.add(fact, Parts.of(url))
    return fact


def sketch_of(body: bytes) -> Sketch:
    found = sketch(body, "text/html")
    assert found is not None
    return found


def read(known: SiteFacts, url: str, *bodies: bytes) -> None:
    """Read further answers of a page."""
    for body in bodies:
        hashes = hashes_of(body, "text/html")
        assert hashes is not None
        known.read.add(url, PageReading.of(hashes))


def two(known: SiteFacts, price: int) -> tuple[Fact, Fact]:
    """Return a page and another name of it, with a price that may be another."""
    one = add(known, f"{H}/thing", shown("thing", 5, 1))
    return one, add(known, f"{H}/thing?v=2", shown("thing", price, 2))


def test_what_each_answer_has_keeps_pages_apart_once_that_is_no_chance() -> None:
    known = site()
    one, other = two(known, 7)
    assert known.compare(one, other).apart is None
    for minute in range(10, 18, 2):
        read(known, one.url, shown("thing", 5, minute))
        assert known.compare(one, other).apart is None
        read(known, other.url, shown("thing", 7, minute + 1))
        assert known.compare(one, other).apart is None, "chance would do that, too"
    read(known, one.url, shown("thing", 5, 20))
    read(known, other.url, shown("thing", 7, 21))
    found = known.compare(one, other)
    assert (found.same, found.in_doubt, found.apart) == (None, True, True)
    assert known.read.times(one.url) == 5


def test_what_stays_in_several_answers_and_then_changes_is_chance() -> None:
    """A list of links is shuffled: two of them stand side by side in several answers."""
    known = site()
    one, other = two(known, 7)
    for n, price in enumerate((5, 5, 5, 5, 6)):
        assert known.compare(one, other).apart is None
        read(known, one.url, shown("thing", price, n))
        read(known, other.url, shown("thing", 6 + n % 2, n))
    assert known.compare(one, other).apart is False


def test_pages_of_which_nothing_stays_that_differs_are_together() -> None:
    known = site()
    one, other = two(known, 7)
    read(known, one.url, shown("thing", 5, 3), shown("thing", 6, 4))
    read(known, other.url, shown("thing", 7, 5), shown("thing", 6, 6))
    assert known.compare(one, other).apart is False


def test_what_changes_on_another_page_keeps_none_apart() -> None:
    """One of a few teasers may stay in all answers of a page by chance."""
    known = site()
    one, other = two(known, 7)
    for minute in range(10, 15):
        read(known, one.url, shown("thing", 5, minute))
        read(known, other.url, shown("thing", 7, minute))
        found = known.compare(one, other)
    assert found.apart is True
    for price in (5, 7):
        read(known, f"{H}/teaser", shown("other", 1, 20), shown("thing", price, 20))
    assert known.compare(one, other).apart is False
