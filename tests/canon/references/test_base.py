"""Which source decides the base URI (RFC 3986 section 5.1; the drafts before it; RFC 2557)."""

import pytest
from support.tables import each

import canonry


@each(
    ("embedded", "encapsulating", "retrieval", "default", "base"),
    [
        ("http://e/", "http://m/", "http://r/", "http://d/", "http://e/"),
        (None, "http://m/", "http://r/", "http://d/", "http://m/"),
        (None, None, "http://r/", "http://d/", "http://r/"),
        (None, None, None, "http://d/", "http://d/"),
        (None, None, None, None, None),
        # A relative source is resolved against the sources outside it.
        ("../e/", None, "http://r/a/b", None, "http://r/e/"),
        ("e/", "m/", "http://r/a/b", None, "http://r/a/m/e/"),
        ("e/", None, None, None, None),
        # A source that cannot be parsed is ignored.
        ("http://[", None, "http://r/", None, "http://r/"),
        # Content-Base goes before Content-Location, and resolves a relative one.
        (None, ["http://base/", "http://location/"], "http://r/", None, "http://base/"),
        (None, [None, "http://location/"], "http://r/", None, "http://location/"),
        # Nested parts, innermost first: the outer ones resolve a relative Content-Location.
        (None, ["inner/x", None, "http://outer/a/b"], "http://r/", None, "http://outer/a/inner/x"),
        (None, [None, None, None, None], "http://r/", None, "http://r/"),
        # url-syntax-05 section 5.1.4: the default is the empty text.
        (None, None, None, "", ""),
        ("e/", "\ud800", "r/", "", ""),
        (None, None, "http://r/", "", "http://r/"),
        # RFC 3986 section 5.1: a base has no fragment, wherever it comes from.
        ("http://e/#f", None, None, None, "http://e/"),
        (None, "http://m/?q#f", None, None, "http://m/?q"),
        (None, None, "http://r/a#f", None, "http://r/a"),
        (None, None, None, "http://d/#", "http://d/"),
        ("#f", None, "http://r/a?q", None, "http://r/a?q"),
        # url-syntax-05 section 5.1.1: white space anywhere in a header's value is ignored.
        (None, " http://m.exa\r\n mple/a\tb /c ", None, None, "http://m.example/ab/c"),
        (None, ["x /", "http: //outer/a/b"], "http://r/", None, "http://outer/a/x/"),
        ("x y/", None, "http://r/", None, "http://r/x%20y/"),
        # A header that cannot be decoded is ignored, too.
        (None, ["\ud800", "http://outer/"], None, None, "http://outer/"),
        # RFC 2557: the location of a body part may exist only inside the message.
        ("img/", ["cid:part@example"], None, None, "cid:part@example"),
    ],
)
def test_the_innermost_source_decides(
    embedded: str | None,
    encapsulating: str | list[str | None] | None,
    retrieval: str | None,
    default: str | None,
    base: str | None,
) -> None:
    assert canonry.establish_base(embedded, encapsulating, retrieval, default) == base


@pytest.mark.parametrize("dialect", ["url-syntax-05", "rfc2396bis-01", "rfc3986", "whatwg"])
def test_the_example_of_appendix_d(dialect: str) -> None:
    """The base of a document counts wherever the document came from (1997 and 2003)."""
    base = canonry.establish_base("http://www.ics.uci.edu/Test/a/b/c", retrieval="http://r/x/y")
    assert base is not None
    found = canonry.resolve("../x", base, dialect=dialect)
    assert found == "http://www.ics.uci.edu/Test/a/x"


def test_the_default_base_of_1997_resolves_absolute_references() -> None:
    base = canonry.establish_base(default="")
    assert base is not None
    assert canonry.resolve("http://a/../b#c", base, dialect="url-syntax-05") == "http://a/../b#c"
    with pytest.raises(canonry.InvalidURL) as caught:
        canonry.resolve("b", base, dialect="url-syntax-05")
    assert caught.value.reason is canonry.Reason.RELATIVE
