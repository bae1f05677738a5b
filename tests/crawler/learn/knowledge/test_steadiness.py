"""Tests of the kinds of pages: which of them say something of each other."""

import pytest

from canonry.crawler.content.sketch import encoded_sketch
from canonry.crawler.learn.knowledge.steadiness import KindsOfPages

H = "http://h.example"


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("/a.pdf", "/docs/b.PDF?print=1", True),
        ("/a.pdf", "/a.png", False),
        ("/show?file=a.pdf", "/show?file=b.png", True),
        ("/v1.2/show", "/show", True),
        ("/a.pdf", "/show", False),
        ("/of.everything", "/show", True),
        ("/", "/show", True),
    ],
)
def test_files_are_of_one_kind_if_their_names_end_alike(one: str, other: str, same: bool) -> None:
    kinds = KindsOfPages()
    assert (kinds.of(H + one, None) is kinds.of(H + other, None)) is same


def test_files_seem_steady_until_one_changes_and_say_nothing_of_texts() -> None:
    kinds, sketch = KindsOfPages(), encoded_sketch(b"<h1>Text</h1>", "text/html")
    file = kinds.of(f"{H}/a.pdf", None)
    assert file.is_steady
    assert not kinds.all_steady, "there is no text yet"
    kinds.of(f"{H}/a.pdf", sketch).add_repeat(is_same=True)
    file.add_repeat(is_same=False)
    assert not file.is_steady
    assert kinds.all_steady


def test_a_site_has_a_few_kinds_of_files() -> None:
    kinds = KindsOfPages()
    assert len({id(kinds.of(f"{H}/a.{n}", None)) for n in range(100)}) == 17
    assert len(list(kinds)) == 17
