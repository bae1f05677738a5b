"""Tests of the index of forms: it remembers few pages, and they show what all would."""

from hypothesis import given
from hypothesis import strategies as st

from canonry.canon.learned import Rewrite
from canonry.canon.syntax import Parts
from canonry.crawler.learn.inference.infer import rewrites_between
from canonry.crawler.learn.knowledge.form_index import FormIndex
from canonry.crawler.learn.knowledge.loose_forms import loose_forms

H = "http://h.example"
paths = st.sampled_from(["/a", "/A", "/a/", "/a;s=1", "/b", ""])
fields = st.sampled_from(["x=1", "x=2", "y=1", "y=2", "z=1", "x", "", "x=1#f"])
queries = st.lists(fields, max_size=3).map("&".join)
urls = st.builds(lambda path, query: H + path + (f"?{query}" if query else ""), paths, queries)


def shown_by_all(urls: list[str]) -> set[Rewrite]:
    """Return what each page shows beside each page before it that has a form in common with it."""
    found: set[Rewrite] = set()
    for place, url in enumerate(urls):
        near = set(loose_forms(Parts.of(url)).near)
        for other in urls[:place]:
            if not near.isdisjoint(loose_forms(Parts.of(other)).near):
                found.update(rewrites_between(Parts.of(other), Parts.of(url)))
    return found


def shown_by_index(urls: list[str]) -> set[Rewrite]:
    """Return what each page shows beside those that the index remembers."""
    index, found = FormIndex(), set[Rewrite]()
    for url in urls:
        index.add(url, Parts.of(url))
        for other in index.near(Parts.of(url)):
            found.update(rewrites_between(Parts.of(other), Parts.of(url)))
    return found


@given(st.lists(urls, unique=True, max_size=8))
def test_the_index_shows_what_all_pages_show(urls: list[str]) -> None:
    assert shown_by_index(urls) == shown_by_all(urls)


def test_of_pages_that_differ_in_one_value_one_is_remembered() -> None:
    index = FormIndex()
    for n in range(9):
        index.add(f"{H}/view?id={n}", Parts.of(f"{H}/view?id={n}"))
    near = list(index.near(Parts.of(f"{H}/view?id=100")))
    assert near == [f"{H}/view?id=0"]


def test_a_parameter_with_many_values_hides_no_other_parameter() -> None:
    index = FormIndex()
    for n in range(20):
        index.add(f"{H}/view?id={n}", Parts.of(f"{H}/view?id={n}"))
    index.add(f"{H}/view?ref=x", Parts.of(f"{H}/view?ref=x"))
    assert f"{H}/view?ref=x" in index.near(Parts.of(f"{H}/view"))
