"""The ladder of RFC 3986 section 6.2: what each rung adds to those below it."""

import pytest

import canonry

RUNGS = ["string", "syntax", "scheme", "protocol"]


@pytest.mark.parametrize(
    ("one", "other", "first"),
    [
        ("http://a.example/", "http://a.example/", "string"),
        # Section 6.2.2: letter case, escapes, dot segments
        ("http://a.example/", "HTTP://A.Example/", "syntax"),
        ("http://a.example/~b", "http://a.example/%7eb", "syntax"),
        ("http://a.example/%3A", "http://a.example/%3a", "syntax"),
        ("http://a.example/b", "http://a.example/a/../b", "syntax"),
        ("example://a/b/c/%7Bfoo%7D", "eXAMPLE://a/./b/../b/%63/%7bfoo%7d", "syntax"),
        # rfc2396bis-01 sections 6.2.2 and 6.2.3
        ("example://a/b/c/%7A", "eXAMPLE://a/./b/../b/c/%7a", "syntax"),
        ("http://example.com/", "http://example.com:80/", "scheme"),
        # Section 6.2.3: ports and empty paths, by the scheme
        ("http://example.com", "http://example.com/", "scheme"),
        ("http://example.com:/", "http://example.com:80/", "scheme"),
        ("mailto:Joe@Example.com", "mailto:Joe@example.com", "scheme"),
        # Not equal on any rung: these need evidence (section 6.2.4) or guesses
        ("http://example.com/data", "http://example.com/data/", None),
        ("http://example.com/?a=1&b=2", "http://example.com/?b=2&a=1", None),
        ("http://example.com/", "http://example.com/#", None),
        ("http://example.com/a", "http://example.com/A", None),
    ],
)
def test_the_ladder(one: str, other: str, first: str | None) -> None:
    found = [rung for rung in RUNGS if canonry.equivalent(one, other, rung=rung)]
    assert found == ([] if first is None else RUNGS[RUNGS.index(first) :])


def test_unknown_rungs_and_relative_urls_are_refused() -> None:
    with pytest.raises(ValueError, match="unknown rung 'top'; allowed: string, syntax"):
        canonry.equivalent("http://a/", "http://a/", rung="top")
    with pytest.raises(canonry.InvalidURL):
        canonry.equivalent("a", "a")
