"""Whose word counts for the base URI (RFC 3986 section 5.1; the drafts before it; RFC 2557)."""

import pytest

import canonry


@pytest.mark.parametrize(
    ("embedded", "encapsulating", "retrieval", "default", "base"),
    [
        ("http://e/", "http://m/", "http://r/", "http://d/", "http://e/"),
        (None, "http://m/", "http://r/", "http://d/", "http://m/"),
        (None, None, "http://r/", "http://d/", "http://r/"),
        (None, None, None, "http://d/", "http://d/"),
        (None, None, None, None, None),
        # What is relative is resolved against what stands outside.
        ("../e/", None, "http://r/a/b", None, "http://r/e/"),
        ("e/", "m/", "http://r/a/b", None, "http://r/a/m/e/"),
        ("e/", None, None, None, None),
        # What nobody can read is passed over.
        ("http://[", None, "http://r/", None, "http://r/"),
        # Content-Base comes before Content-Location, and is what resolves a relative one.
        (None, ["http://base/", "http://location/"], "http://r/", None, "http://base/"),
        (None, [None, "http://location/"], "http://r/", None, "http://location/"),
        # Parts within parts, innermost first: a relative Content-Location looks outwards.
        (None, ["inner/x", None, "http://outer/a/b"], "http://r/", None, "http://outer/a/inner/x"),
        (None, [None, None, None, None], "http://r/", None, "http://r/"),
        # RFC 2557: a body part's location may be one that only the message knows.
        ("img/", ["cid:part@example"], None, None, "cid:part@example"),
    ],
)
def test_the_innermost_word_counts(
    embedded: str | None,
    encapsulating: str | list[str | None] | None,
    retrieval: str | None,
    default: str | None,
    base: str | None,
) -> None:
    assert canonry.establish_base(embedded, encapsulating, retrieval, default) == base
