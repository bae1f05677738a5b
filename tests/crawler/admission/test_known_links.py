"""Known links: what the store has answered for is counted, and all else is claimed."""

from collections import Counter
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from support.crawls import crawl, host_of, page, target_of
from support.servers import Answer, ok

from canonry.crawler.admission.known_links import KnownLinks

BASES = ("http://a.example/x/1", "http://a.example/x/2?q", "http://a.example/y/")
REFERENCES = ("b", "b#f", "/c", "http://o.example/d", "?q", "#f", "", "//e", "mailto:f", "./b")


def spelled(reference: str, base: str) -> str:
    """Return a text that is different for every target."""
    whole = reference in {"?q", "#f", ""} and base
    return f"{whole or base.rpartition('/')[0]}|{reference}"


@given(
    st.lists(
        st.tuples(
            st.sampled_from(BASES),
            st.lists(st.sampled_from(REFERENCES), unique=True),
            st.sampled_from(["", "fragment"]),
            st.booleans(),
        )
    ),
    st.integers(1, 6),
)
def test_a_link_is_counted_or_claimed_and_never_lost(
    pages: list[tuple[str, list[str], str, bool]], most: int
) -> None:
    known, told = KnownLinks(most), dict[str, str]()
    for base, references, rules, is_recorded in pages:
        rest, counted = known.without(references, base)
        gone = [reference for reference in references if reference not in rest]
        assert [r for r in references if r in rest] == list(rest)
        assert Counter(told[spelled(reference, base)] for reference in gone) == counted
        merged = {names for r in rest if (names := told.get(spelled(r, base)))}
        assert counted.keys() - {""} <= merged, "one stands for all, in the examples"
        for reference in rest:
            known.add(reference, base, spelled(reference, base))
        if is_recorded:
            told |= {spelled(r, base): told.get(spelled(r, base), rules) for r in rest}
            known.learn({spelled(r, base): told[spelled(r, base)] for r in rest})


def test_the_links_of_a_directory_are_known_on_its_next_page() -> None:
    known = KnownLinks()
    assert known.without(["b", "/c", "?q"], BASES[0]) == (["b", "/c", "?q"], {})
    for reference in ("b", "/c", "?q"):
        known.add(reference, BASES[0], spelled(reference, BASES[0]))
    assert known.without(["b"], BASES[1]) == (["b"], {}), "the store has not answered yet"
    known.learn({spelled(r, BASES[0]): "" for r in ("b", "/c", "?q")})
    assert known.without(["b", "/c", "?q", "n"], BASES[1]) == (["?q", "n"], {"": 2})
    assert known.without(["b"], BASES[2]) == (["b"], {})


def test_known_links_are_in_all_counts(tmp_path: Path) -> None:
    requested: Counter[str] = Counter()
    pages = [f"/{n}" for n in range(12)]
    links = [*pages, "/0?utm_source=x", "/1#a", "/1#b"]

    def answer(head: bytes) -> Answer:
        target = target_of(head)
        requested[host_of(head) + target] += 1
        return ok(b"") if target == "/robots.txt" else page(*links)

    status, rows = crawl(tmp_path, answer, concurrency=1)
    assert set(requested.values()) == {1}
    assert len(rows) == 13
    assert {row["links"] for row in rows} == {len(links)}
    counted = {row["rules"]: row["links"] for row in status["merged"]}
    assert sum(counted.values()) == 3 * 13, counted
