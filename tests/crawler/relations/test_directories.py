"""Relations: what belongs together, and above all what must stay apart."""

import random
from collections.abc import Iterable, Mapping

from support.made_pages import WORDS
from support.tables import each

from canonry.crawler.relations.compared_pages import ComparedPage
from canonry.crawler.relations.directories import RelatedSet, related_sets

Made = tuple[str, str, int]  # URL after the scheme, title, size
NAMES = [f"{first}-{second}" for first, second in zip(WORDS, WORDS[1:] + WORDS[:1], strict=True)][
    :40
]


def stored(pages: Iterable[Made]) -> list[ComparedPage]:
    """Return pages as a store has them."""
    return [
        ComparedPage(number, f"https://{url}", title, number.to_bytes(16), size, None, 0.0, 0.0)
        for number, (url, title, size) in enumerate(pages, 1)
    ]


def manual(where: str, version: str, seed: int, names: Iterable[str] = NAMES) -> list[Made]:
    """Return a release of a manual: pages of all sizes, which change a little with each release."""
    changes = random.Random(seed)
    made = []
    for name in names:
        size = random.Random(name).randint(2_000, 90_000) * changes.uniform(0.98, 1.05)
        made.append((f"{where}{name}.html", f"{name.title()} — Tool {version} manual", int(size)))
    return made


def related(pages: Iterable[Made]) -> list[RelatedSet]:
    """Return the sets of directories of pages."""
    return list(related_sets(stored(pages)))


def links(found: RelatedSet) -> set[tuple[str, ...]]:
    """Return the families of two pages or more, by what follows the host."""
    families = ([one.page.url[8:] for one in family] for family in found.families)
    return {tuple(urls) for urls in families if len(urls) > 1}


def test_releases_are_found_in_their_order() -> None:
    pages = [
        *manual("h.example/docs/1.10/", "1.10.2", 2),
        *manual("h.example/docs/latest/", "2.0", 3),
        *manual("h.example/docs/1.9/", "1.9.1", 1),
    ]
    [found] = related(pages)
    assert found.kind == "release"
    assert list(found.sizes) == ["1.9", "1.10", "latest"]
    assert len(links(found)) == len(NAMES)
    for family in links(found):
        assert [url.split("/")[2] for url in family] == ["1.9", "1.10", "latest"]
        assert len({url.split("/")[3] for url in family}) == 1


def test_the_current_release_may_have_no_directory() -> None:
    pages = [*manual("h.example/docs/", "2.0", 2), *manual("h.example/docs/1.0/", "1.0", 1)]
    [found] = related(pages)
    assert list(found.sizes) == ["1.0", ""]
    assert len(links(found)) == len(NAMES)


def test_a_page_with_a_new_title_and_one_with_a_new_path() -> None:
    old, new = manual("h.example/1.0/", "1.0", 1), manual("h.example/2.0/", "2.0", 2)
    new[0] = (new[0][0], "Something else entirely — Tool 2.0 manual", new[0][2])
    new[1] = ("h.example/2.0/moved/there.html", *new[1][1:])
    [found] = related([*old, *new])
    assert (old[0][0], new[0][0]) in links(found)
    assert (old[1][0], new[1][0]) in links(found)


def test_numbers_of_files_that_shift() -> None:
    """As in the manual of libstdc++: the file of a class is another class's in the next release."""

    def doxygen(where: str, shift: int, seed: int) -> list[Made]:
        pages = []
        for number, (_url, title, size) in enumerate(manual(where, "", seed), 10 + shift):
            pages.append((f"{where}a{2 * number:05}.html", title, size))
            pages.append((f"{where}a{2 * number + 1:05}.html", "Member List", size // 9))
        return pages

    old, new = doxygen("h.example/11/", 0, 1), doxygen("h.example/12/", 3, 2)
    [found] = related([*old, *new])
    right = {(a[0], b[0]) for a, b in zip(old, new, strict=True)}
    assert links(found) <= right
    assert len(links(found)) > 0.9 * len(right)


def test_translations_by_structure_and_views_by_title() -> None:
    english = manual("h.example/en/", "1", 1)
    german = [
        (f"h.example/de/{url[13:]}", f"Seite {n}", 2 * size)
        for n, (url, _, size) in enumerate(english)
    ]
    [found] = related([*english, *german])
    assert found.kind == "translation"
    assert len(links(found)) == len(NAMES)
    plain = manual("www.h.example/", "1", 1)
    mobile = [(f"m.h.example/{url[14:]}", title, size // 5) for url, title, size in plain]
    [found] = related([*plain, *mobile])
    assert found.kind == "view"
    assert (plain[0][0], mobile[0][0]) in links(found)


def unlike(where: str, names: Iterable[str], title: str, seed: int) -> list[Made]:
    """Return pages whose paths and titles repeat elsewhere, and whose sizes are any."""
    sizes = random.Random(seed)
    return [(f"{where}{name}", title.format(name), sizes.randint(2_000, 90_000)) for name in names]


MONTHS = [f"{month:02}.html" for month in range(1, 13)]
KINDS = [f"{kind}.html" for kind in ("specs", "photos", "reviews", "manual", "parts", "faq", "buy")]
APART: Mapping[str, list[Made]] = {
    "archives of years": [
        *unlike("h.example/2023/", MONTHS, "Archive of {}", 1),
        *unlike("h.example/2024/", MONTHS, "Archive of {}", 2),
    ],
    "a conference of each year, with pages of one kind": [
        *manual("h.example/2023/", "2023", 1),
        *manual("h.example/2024/", "2024", 2),
    ],
    "volumes": [
        *unlike("h.example/vol1/", NAMES, "Chapter {} — Tales", 1),
        *unlike("h.example/vol2/", NAMES, "Chapter {} — Tales", 2),
    ],
    "two products with the same kinds of pages": [
        *[(u, f"{t} Red sneaker", s) for u, t, s in manual("h.example/p17/", "", 1, KINDS)],
        *[(u, f"{t} Blue boot", s) for u, t, s in manual("h.example/p18/", "", 1, KINDS)],
    ],
    "a hundred machines with seven pages each": [
        page
        for machine in range(100)
        for page in manual(f"h.example/host{machine}/", str(machine), machine, KINDS)
    ],
    "no titles": [
        (url, "", size)
        for version in "12"
        for url, _title, size in manual(f"h.example/v{version}/", version, 1)
    ],
    "one title for all": [
        (url, "Shop", size)
        for version in "12"
        for url, _title, size in manual(f"h.example/v{version}/", version, 1)
    ],
    "four pages": [
        *manual("h.example/v1/", "1", 1, NAMES[:4]),
        *manual("h.example/v2/", "2", 2, NAMES[:4]),
    ],
    "directories of two letters that are no languages": [
        *unlike("h.example/js/", NAMES, "{} in JavaScript", 1),
        *unlike("h.example/go/", NAMES, "{} in Go", 2),
    ],
    "languages with other pages under the same names": [
        *unlike("h.example/en/", NAMES, "News {}", 1),
        *unlike("h.example/de/", NAMES, "Neues {}", 2),
    ],
    "pages of topics": [
        page
        for topic in range(8)
        for page in unlike(f"h.example/t{topic}/", MONTHS, f"Topic {NAMES[topic]} page {{}}", topic)
    ],
}


@each("case", APART)
def test_what_must_stay_apart(case: str) -> None:
    assert related(APART[case]) == []
