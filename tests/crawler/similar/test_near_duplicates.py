"""Groups of near-duplicates: manuals in releases, shops, mirrors, and pages that share a frame."""

import random
from collections.abc import Iterable, Iterator
from contextlib import closing

import pytest
from support.made_pages import WORDS

from canonry.crawler.files.captures import Capture
from canonry.crawler.similar.near_duplicates import LEAST, NearDuplicates, SimilarPage, find
from canonry.crawler.similar.page_texts import PageTexts

HTML = {"Content-Type": "text/html; charset=utf-8"}
NAVIGATION = "".join(f"<li><a href=/{word}>the page {word}</a></li>" for word in WORDS[:80])
FOOTER = "<footer><p>All rights are with the makers of this site, who can be reached by mail.</p>"


def prose(seed: object, words: int = 120) -> str:
    """Return paragraphs that only this seed has."""
    chosen = random.Random(str(seed)).choices(WORDS, k=words)
    return "".join(f"<p>{' '.join(chosen[at : at + 20])}.</p>" for at in range(0, words, 20))


def page(content: str, title: str = "A page") -> bytes:
    """Return a page in the frame of its site, which is longer than its content."""
    return f"<title>{title}</title><ul>{NAVIGATION}</ul>{content}{FOOTER}".encode()


def captures(pages: Iterable[tuple[str, bytes]]) -> Iterator[Capture]:
    """Yield a capture for each page."""
    for number, (url, body) in enumerate(pages):
        yield Capture(number, url, "200", "", f"sha1:{hash(body)}", HTML, body, "2026-01-01")


def found_in(
    some: Iterable[Capture], least: float = LEAST
) -> tuple[NearDuplicates, list[SimilarPage]]:
    """Return what is found, with its rows."""
    with closing(PageTexts()) as texts:
        for capture in some:
            texts.add(capture)
        texts.finish()
        found = find(texts, least)
        return found, list(found.rows)


def groups_of(rows: Iterable[SimilarPage]) -> list[set[str]]:
    """Return the URLs of each group."""
    groups: dict[int, set[str]] = {}
    for row in rows:
        groups.setdefault(row.group, set()).add(row.url)
    return list(groups.values())


def manual(host: str = "https://m.example", pages: int = 12) -> list[tuple[str, bytes]]:
    """Return a manual in three releases; a sentence of each page is new in each of them."""
    return [
        (
            f"{host}/{release}/page{n}",
            page(f"<h1>Page {n}</h1>{prose(n)}<p>Since {release} it is {WORDS[n]}.</p>"),
        )
        for n in range(pages)
        for release in ("1.0", "2.0", "3.0")
    ]


def test_the_releases_of_a_manual_page_are_a_group_and_its_pages_are_apart() -> None:
    found, rows = found_in(captures(manual()))
    assert found.groups == 12
    assert {frozenset(group) for group in groups_of(rows)} == {
        frozenset(f"https://m.example/{release}/page{n}" for release in ("1.0", "2.0", "3.0"))
        for n in range(12)
    }
    assert all(LEAST <= row.score < 1 for row in rows if row.url != row.representative)
    assert all(row.score == row.containment == 1 for row in rows if row.url == row.representative)
    newer = next(row for row in rows if row.url.endswith("/3.0/page5"))
    assert newer.representative == "https://m.example/1.0/page5"
    assert "3.0" in newer.only_here
    assert "1.0" in newer.only_there
    assert all(row.same_host for row in rows)
    assert {row.words for row in rows} < set(range(100, 150))  # the frame has 250 more


def shop(count: int, wording: str) -> list[tuple[str, bytes]]:
    """Return products, each under two categories, with another price in the second."""
    return [
        (
            f"https://s.example/{category}/product-{n}",
            page(
                f"<nav>Home &gt; {category}</nav><h1>{WORDS[n]} {WORDS[-n]}</h1>"
                f"<p>Price: <b>{100 + n + increase}.00</b> EUR</p>"
                + wording.format(name=WORDS[n], code=n * 7919, own=prose(n, 60)),
                WORDS[n],
            ),
        )
        for n in range(count)
        for category, increase in (("shoes", 0), ("sale", 500))
    ]


def test_a_product_under_two_categories_is_a_group_and_its_price_is_named() -> None:
    found, rows = found_in(captures(shop(20, "{own}")))
    assert found.groups == 20
    for group in groups_of(rows):
        assert len({url.rpartition("/")[2] for url in group}) == 1
    row = next(row for row in rows if row.url == "https://s.example/shoes/product-3")
    assert row.representative == "https://s.example/sale/product-3"
    assert "103.00" in row.only_here
    assert "603.00" in row.only_there


TEMPLATE = (
    "<p>The {name} is made of the finest leather by hands that have done this for years, and "
    "comes with the number {code} in a box that you can use again for all you want to keep.</p>"
    "<p>Wear your {name} on any day, in rain as in the sun, and it will last for many years.</p>"
)


def test_products_of_one_template_are_apart() -> None:
    """What most products of a shop have is its template, also inside a sentence."""
    found, rows = found_in(captures(shop(20, TEMPLATE)))
    for group in groups_of(rows):
        assert len({url.rpartition("/")[2] for url in group}) == 1, group
    assert found.pages == 40


def test_a_template_of_few_products_is_no_frame() -> None:
    """The limit: two products of a long template, which nothing else of the site has."""
    long = TEMPLATE + prose("template", 300)
    two = [(f"{url}/x", body) for url, body in shop(2, long) if "/sale/" in url]
    _found, rows = found_in(captures([*two, *manual("https://s.example")]))
    [group] = [group for group in groups_of(rows) if "sale" in str(group)]
    assert len(group) == 2


def test_a_mirror_is_found_across_hosts() -> None:
    """It has too few pages to show its frame, which is known from the other host."""
    mirrored = manual()[:3]
    mirror = [(url.replace("m.example", "mirror.example.org"), body) for url, body in mirrored[:1]]
    changed = [
        (url.replace("m.example", "mirror.example.org"), body.replace(b"Since", b"From"))
        for url, body in mirrored[1:2]
    ]
    _found, rows = found_in(captures([*manual(), *mirror, *changed]))
    others = {row.url: row for row in rows if not row.same_host}
    assert set(others) == {url for url, _body in (*mirror, *changed)}
    assert others[mirror[0][0]].score == 1
    assert LEAST < others[changed[0][0]].score < 1
    assert "From" in others[changed[0][0]].only_here


def test_a_frame_that_only_one_release_has_is_a_frame() -> None:
    """Most pages of its folder have it, but not most pages of the host."""
    pages = [
        (f"https://r.example/{release}/{n}", f"{prose(release, 400)}{prose((release, n), 40)}")
        for release in ("1.0", "2.0", "3.0")
        for n in range(45)
    ]
    found, rows = found_in(captures((url, body.encode()) for url, body in pages))
    assert rows == []
    assert (found.pages, found.short) == (135, 0)


def test_frames_are_no_difference() -> None:
    def site(host: str, frame: str) -> list[tuple[str, bytes]]:
        return [(f"https://{host}/{n}", f"{frame}{prose(n)}".encode()) for n in range(12)]

    frames = (prose("frame a", 60), prose("frame b", 60))
    some = [*site("a.example", frames[0]), *site("b.example", frames[1])]
    found, rows = found_in(captures(some))
    assert found.groups == 12
    assert {row.score for row in rows} == {1.0}
    assert {row.only_here + row.only_there for row in rows} == {""}


def test_the_shortest_url_represents_a_group() -> None:
    urls = ("https://a.example/a-long-name", "https://z.example/")
    _found, rows = found_in(captures((url, page(prose(1))) for url in urls))
    assert [row.url for row in rows] == [urls[1], urls[0]]
    assert {row.representative for row in rows} == {urls[1]}


def test_a_page_joins_the_representative_that_it_resembles_most() -> None:
    words = [f"word{n}" for n in range(160)]
    texts = {"a": words[:100], "b": words[60:], "longer": words[45:145]}
    pages = [(f"https://{name}.example/", " ".join(text).encode()) for name, text in texts.items()]
    plain = [one._replace(headers={"Content-Type": "text/plain"}) for one in captures(pages)]
    _found, rows = found_in(plain, 0.3)
    assert groups_of(rows) == [{"https://b.example/", "https://longer.example/"}]


def test_what_is_no_page_is_left_out() -> None:
    text = " ".join(WORDS[:40]).encode()
    some = [
        Capture(n, f"https://{host}.example/{name}", "200", "", "1", {"Content-Type": kind}, text)
        for n, host in enumerate(("a", "b"))
        for name, kind in (("robots.txt", "text/plain"), ("a.css", "text/css"), ("i", "image/png"))
    ]
    found, rows = found_in(some)
    assert rows == []
    assert (found.pages, found.short, found.unread) == (0, 0, 0)


def test_pages_of_nothing_but_a_frame_are_apart() -> None:
    pages = [(f"https://f.example/{n}", page(f"<p>{WORDS[n]} is empty.</p>")) for n in range(30)]
    found, rows = found_in(captures(pages))
    assert rows == []
    assert (found.pages, found.short, found.groups) == (30, 30, 0)


def test_equal_pages_are_one_group_with_a_row_for_each() -> None:
    pages = [(f"https://e.example/?session={n}", page(prose(1))) for n in range(2000)]
    found, rows = found_in(captures(pages))
    assert len(rows) == found.in_groups == 2000
    assert {row.representative for row in rows} == {"https://e.example/?session=0"}
    assert {row.score for row in rows} == {1.0}
    assert {row.only_here for row in rows} == {""}


def test_short_pages_are_equal_only_byte_by_byte() -> None:
    """A page that scripts fill has few words, and says nothing of what people see."""
    bodies = {"a": b"<p>Loading<script>1</script>", "b": b"<p>Loading<script>2</script>"}
    names = {"https://l.example/1": "a", "https://l.example/2": "b", "https://l.example/3": "a"}
    found, rows = found_in(captures((url, bodies[name]) for url, name in names.items()))
    assert groups_of(rows) == [{"https://l.example/1", "https://l.example/3"}]
    assert found.short == 1


def test_near_equal_pages_of_thousands_take_no_pair_each() -> None:
    pages = [
        (f"https://n.example/{n}", f"<p>Number {n} here</p>{prose('same', 400)}".encode())
        for n in range(3)
    ]
    many = [
        (f"https://h{n}.example/", f"<p>Number {n} here</p>{prose('same', 400)}".encode())
        for n in range(1500)
    ]
    found, rows = found_in(captures([*pages, *many]))
    assert found.groups == 1
    assert len(rows) == 1503


def test_images_tell_pages_apart() -> None:
    text = "".join(f"<p>{word} {word}</p>" for word in WORDS[:10])
    pages = [(f"https://i.example/{n}", page(f"{text}<img src=/i/{n}.png>")) for n in range(9)]
    _found, rows = found_in(captures(pages))
    assert all(row.score < 1 for row in rows if row.url != row.representative)


def test_the_order_of_captures_does_not_matter() -> None:
    some = [*captures(manual()), *captures(shop(20, "{own}"))]
    newer = Capture(0, some[0].url, "200", "", "new", HTML, page(prose("new")), "2026-02-01")
    some.append(newer)
    expected = found_in(some)[1]
    for seed in range(3):
        random.Random(seed).shuffle(some)
        assert found_in(some)[1] == expected


def test_the_latest_page_counts() -> None:
    old, new, other = page(prose("old")), page(prose("new")), page(prose("other"))
    some = [
        Capture(1, "https://a.example/", "200", "", "1", HTML, new, "2026-02-01T00:00:00Z"),
        Capture(2, "https://a.example/", "200", "", "2", HTML, old, "2026-01-01T00:00:00Z"),
        Capture(3, "https://a.example/", "404", "", "3", HTML, other, "2026-03-01T00:00:00Z"),
        Capture(4, "https://b.example/", "200", "", "4", HTML, new, "2026-01-01T00:00:00Z"),
        Capture(5, "https://c.example/", "200", "", "5", HTML, old, "2026-01-01T00:00:00Z"),
    ]
    assert groups_of(found_in(some)[1]) == [{"https://a.example/", "https://b.example/"}]


def test_a_revisit_has_the_text_of_its_digest() -> None:
    some = [
        Capture(1, "https://a.example/2", "200", "", "sha1:b", date="2026-01-02"),
        Capture(2, "https://a.example/1", "200", "", "sha1:b", HTML, page(prose(1)), "2026-01-01"),
        Capture(3, "https://a.example/3", "200", "", "sha1:other", date="2026-01-02"),
    ]
    some.append(Capture(4, "https://a.example/1", "200", "", "sha1:none", date="2026-01-03"))
    found, rows = found_in(some)
    assert groups_of(rows) == [{"https://a.example/1", "https://a.example/2"}]
    assert (found.pages, found.unread) == (2, 1)  # what is left of /1 is its page


def test_passwords_are_not_shown() -> None:
    pages = [(f"https://me:secret@a.example/{n}", page(prose(1))) for n in range(2)]
    _found, rows = found_in(captures(pages))
    assert len(rows) == 2
    assert "secret" not in str(rows)


@pytest.mark.parametrize("least", [0.3, 0.5, 0.9, 1.0])
def test_no_score_is_less_than_the_least(least: float) -> None:
    words = random.Random(7).choices(WORDS, k=400)
    pages = []
    for n in range(60):
        some = list(words)
        for at in random.Random(n).sample(range(400), n * 2):
            some[at] = f"new{n}x{at}"
        pages.append((f"https://h{n}.example/", " ".join(some).encode()))
    some_captures = (
        one._replace(headers={"Content-Type": "text/plain"}) for one in captures(pages)
    )
    _found, rows = found_in(some_captures, least)
    assert all(row.score >= least for row in rows)
    assert bool(rows) == (least < 1)
