"""References: older specifications, suffix references, comparison with another implementation."""

import pytest
import uritools
from hypothesis import assume, example, given
from hypothesis import strategies as st
from support.strategies import texts, urls
from support.tables import each
from support.vectorfiles import cases

import canonry
from canonry.canon.references.resolve import ANCESTORS, DIALECTS
from canonry.canon.references.rfc3986 import remove_dot_segments

_ROWS = cases("resolve_ancestors.txt", 4)


@each(("why", "dialect", "base", "reference", "target"), _ROWS)
def test_the_examples_of_the_ancestors(
    why: str, dialect: str, base: str, reference: str, target: str
) -> None:
    assert canonry.resolve(reference, base, dialect=dialect) == target, why


def test_every_ancestor_has_its_table() -> None:
    assert {row[1] for row in _ROWS} == ANCESTORS.keys() < DIALECTS.keys()


def test_a_base_without_a_scheme_is_refused() -> None:
    """RFC 3986 section 5.1: a base URI has to be absolute."""
    with pytest.raises(canonry.InvalidURL) as caught:
        canonry.resolve("g", "//a/b")
    assert caught.value.reason is canonry.Reason.BASE


@each(
    ("path", "left"),
    [
        # RFC 3986 section 5.2.4, case by case: A, B, C, D, E
        *(("../a", "a"), ("./a", "a"), ("./../.././a/b", "a/b"), ("...a", "...a")),
        *(("/./a", "/a"), ("/.", "/"), ("a/.", "a/"), ("a/./b", "a/b")),
        *(("/../a", "/a"), ("/..", "/"), ("a/..", "/"), ("a/b/..", "a/"), ("a/../../b", "/b")),
        *((".", ""), ("..", ""), ("./.", ""), ("../..", "")),
        *(("a/.b", "a/.b"), ("/a/...", "/a/..."), ("/a//../b", "/a/b")),
    ],
)
def test_dot_segments_of_any_path(path: str, left: str) -> None:
    assert remove_dot_segments(path) == left


@pytest.mark.parametrize("dialect", ["rfc2396bis-01", "url-syntax-05"])
def test_the_base_scheme_is_ignored_on_request(dialect: str) -> None:
    base = "http://a/b/c/d;p?q"
    assert canonry.resolve("http:g", base, dialect=dialect, strict=False) == "http://a/b/c/g"


@pytest.mark.parametrize(
    ("reference", "target"), [("http:", "http://d/e"), ("HTTP:#s", "http://d/e#s")]
)
def test_the_base_scheme_goes_before_the_test_for_the_empty_reference(
    reference: str, target: str
) -> None:
    """rfc2396bis-01 section 5.2: the scheme is forgotten first, so nothing is left of ``http:``."""
    base, dialect, document = "http://a/b/c/d;p?q", "rfc2396bis-01", "http://d/e#f"
    found = [
        canonry.resolve(reference, base, dialect=dialect, document=document, strict=strict)
        for strict in (True, False)
    ]
    assert found == [reference, target]
    assert not canonry.same_document(reference, base, dialect=dialect)
    assert canonry.same_document(reference, base, dialect=dialect, strict=False)
    assert not canonry.same_document("http:?y", base, dialect=dialect, strict=False)


_EXCESS = [
    # base, reference, kept, dropped
    ("http://a/b/c/d;p?q", "../../../g", "http://a/../g", "http://a/g"),
    ("http://a/b/c/d;p?q", "../../../../g?y#s", "http://a/../../g?y#s", "http://a/g?y#s"),
    ("http://a/b/c/d;p?q", "../../..", "http://a/..", "http://a/"),
    ("http://a/b/c/d;p?q", "../../../../..", "http://a/../../..", "http://a/"),
    ("foo:", "../g", "foo:/../g", "foo:/g"),
    ("foo:b/c", "../../g", "foo:../g", "foo:g"),
    ("http://a/b", "../../" * 9999 + "g", "http://a" + "/.." * 19998 + "/g", "http://a/g"),
]


@pytest.mark.parametrize(("base", "reference", "kept", "dropped"), _EXCESS)
def test_what_leads_above_the_root_is_kept_dropped_or_refused(
    base: str, reference: str, kept: str, dropped: str
) -> None:
    """rfc2396bis-01 section 5.2 step 6e leaves three choices."""
    dialect = "rfc2396bis-01"
    assert canonry.resolve(reference, base, dialect=dialect) == kept
    assert canonry.resolve(reference, base, dialect=dialect, excess="drop") == dropped
    with pytest.raises(canonry.InvalidURL) as caught:
        canonry.resolve(reference, base, dialect=dialect, excess="refuse")
    assert caught.value.reason is canonry.Reason.EXCESS


@pytest.mark.parametrize(
    "reference", ["../g", "..g", "/../g", "g/../..", "//h/../g", "?../y", "x:../g"]
)
def test_only_a_merged_path_that_leads_above_the_root_is_in_error(reference: str) -> None:
    base, dialect = "http://a/b/c/d", "rfc2396bis-01"
    found = {
        canonry.resolve(reference, base, dialect=dialect, excess=excess)
        for excess in ("keep", "drop", "refuse")
    }
    assert len(found) == 1


def test_an_unknown_treatment_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown excess 'x'; allowed: keep, drop, refuse"):
        canonry.resolve("a", "http://a/", excess="x")


@pytest.mark.parametrize(
    ("reference", "reason"), [("", "EMPTY"), ("g", "RELATIVE"), ("#s", "RELATIVE")]
)
def test_without_a_base_the_draft_of_1997_takes_references_as_absolute(
    reference: str, reason: str
) -> None:
    with pytest.raises(canonry.InvalidURL) as caught:
        canonry.resolve(reference, "", dialect="url-syntax-05")
    assert caught.value.reason is canonry.Reason[reason]


@pytest.mark.parametrize("dialect", DIALECTS)
@given(reference=texts, base=urls)
def test_dialects_raise_only_invalid_url(dialect: str, reference: str, base: str) -> None:
    try:
        found = canonry.resolve(reference, base, dialect=dialect)
    except canonry.InvalidURL:
        return
    read = ANCESTORS.get(dialect, canonry.parse)
    assert read(found).scheme is not None


@pytest.mark.parametrize("dialect", sorted(ANCESTORS))
def test_a_relative_base_is_refused(dialect: str) -> None:
    with pytest.raises(canonry.InvalidURL) as caught:
        canonry.resolve("a", "b/c", dialect=dialect)
    assert caught.value.reason is canonry.Reason.BASE


@pytest.mark.parametrize("dialect", sorted(ANCESTORS))
@pytest.mark.parametrize(("reference", "target"), [("", "http://d/e?f"), ("#s", "http://d/e?f#s")])
def test_an_empty_reference_means_the_document_not_its_base(
    dialect: str, reference: str, target: str
) -> None:
    document, base = "http://d/e?f#g", "http://a/b"
    assert canonry.resolve(reference, base, dialect=dialect, document=document) == target
    # A FORM's starts a new request, and means the base in 2003 (section 4.2): no document is given.
    # In 1997 (section 3), a FORM's and an IMG's mean the document, as above.
    assert canonry.resolve(reference, base, dialect=dialect) == f"{base}{reference}"
    assert canonry.resolve("x", base, dialect=dialect, document=document) == "http://a/x"


def test_in_rfc3986_an_empty_reference_means_the_base() -> None:
    assert canonry.resolve("#s", "http://a/b", document="http://d/") == "http://a/b#s"


@each(
    ("reference", "dialect", "same"),
    [
        ("", "rfc3986", True),
        ("#s", "rfc3986", True),
        ("d;p?q", "rfc3986", True),
        ("http://a/b/c/d;p?q#x", "rfc3986", True),
        ("?q", "rfc3986", True),
        ("?", "rfc3986", False),
        ("g", "rfc3986", False),
        ("HTTP://A/b/c/d;p?q", "whatwg", True),
        ("HTTP://A/b/c/d;p?q", "rfc3986", False),
        ("#s", "rfc2396bis-01", True),
        ("d;p?q", "rfc2396bis-01", False),
        ("", "url-syntax-05", True),
        ("?q", "url-1993", False),
    ],
)
def test_same_document_references(reference: str, dialect: str, same: bool) -> None:
    found = canonry.same_document(reference, "http://a/b/c/d;p?q#f", dialect=dialect)
    assert found is same


@each(
    ("suffix", "url"),
    [
        ("www.w3.org/Addressing/", "http://www.w3.org/Addressing/"),
        ("example.com", "http://example.com"),
        ("example.com:8080/a?b#c", "http://example.com:8080/a?b#c"),
        ("user@example.com/", "http://user@example.com/"),
        ("localhost:8000/x", "http://localhost:8000/x"),
        ("[::1]/x", "http://[::1]/x"),
        ("192.0.2.1/", "http://192.0.2.1/"),
        ("https://example.com/", "https://example.com/"),
        ("mailto:a@b.example", "mailto:a@b.example"),
        ("urn:example.com:1", "urn:example.com:1"),
        # Appendix C: delimiters, and white space inside them
        ("<www.example.com/a>", "http://www.example.com/a"),
        (' "www.example.com/a" ', "http://www.example.com/a"),
        ("<URL:www.example.com/a>", "http://www.example.com/a"),
        ("< url: ftp://ds.internic.\n\tnet/rfc/ >", "ftp://ds.internic.net/rfc/"),
        ("URL:http://example.com/", "http://example.com/"),
        ("www.exa mple.com/a\tb\r\n c", "http://www.example.com/abc"),
    ],
)
def test_suffix_references_on_request(suffix: str, url: str) -> None:
    assert canonry.from_suffix(suffix) == url


def test_a_suffix_gets_the_given_scheme() -> None:
    assert canonry.from_suffix("ftp.example.com/x", "ftp") == "ftp://ftp.example.com/x"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "EMPTY"),
        ("<>", "NO_ADDRESS"),
        ("<a", "NO_ADDRESS"),
        ("a/b.html", "NO_ADDRESS"),
        ("/a.example", "NO_ADDRESS"),
        ("word", "NO_ADDRESS"),
    ],
)
def test_a_suffix_has_to_begin_with_a_host(text: str, reason: str) -> None:
    with pytest.raises(canonry.InvalidURL) as caught:
        canonry.from_suffix(text)
    assert caught.value.reason is canonry.Reason[reason]


def is_rooted(text: str) -> bool:
    """Say whether a path has a root, so that every implementation removes its dots alike."""
    uri = canonry.parse(text)
    return uri.authority is not None or uri.path.startswith("/")


@given(reference=texts, base=urls, strict=st.booleans())
@example(reference="", base="http://example.com:/.//", strict=False)
@example(reference="", base="http:/.//", strict=False)
def test_resolution_agrees_with_another_implementation(
    reference: str, base: str, *, strict: bool
) -> None:
    """uritools has no dots left in ``a/../b`` without a root; by section 5.2.4 it is ``/b``."""
    assume(reference.isascii() and base.isascii() and is_rooted(base))
    assume(canonry.parse(reference).scheme is None or is_rooted(reference))
    try:
        expected = uritools.urijoin(base, reference, strict)
    except ValueError:
        return
    found = canonry.resolve(reference, base, strict=strict)
    if found != expected and canonry.parse(found).authority is None:
        found = found.replace(":/.//", "://", 1)  # it also makes an authority of a path
    assert found == expected


def test_listed_differences_from_the_other_implementation_still_exist() -> None:
    assert uritools.urijoin("foo:a", "b/../c") != canonry.resolve("b/../c", "foo:a") == "foo:/c"
    assert uritools.urijoin("foo:/", "/.//a") != canonry.resolve("/.//a", "foo:/") == "foo:/.//a"


@each(
    ("reference", "reason", "position"),
    [
        ("//a b/c", "HOST", 2),
        ("\\\\a b/c", "HOST", 2),  # browsers read backslashes as slashes
        ("/\\u:p@a b", "HOST", 6),
        ("//a:x/", "PORT", 4),
        ("//a:99999/", "PORT", 4),
        ("//a:0000000000065536/", "PORT", 4),
        ("//a:065535^/", "PORT", 4),
        ("//a^:065535/", "HOST", 2),
        ("//:80/", "NO_HOST", 2),
        (" \thttp://a b", "HOST", 9),
        ("http://[a]", "HOST", 7),
    ],
)
def test_where_a_browser_stops(reference: str, reason: str, position: int) -> None:
    with pytest.raises(canonry.InvalidURL) as caught:
        canonry.resolve(reference, "http://h/", dialect="whatwg")
    assert (caught.value.reason.name, caught.value.position) == (reason, position)


@each(
    ("url", "reason", "position"),
    [
        ("http://a:99999/", "PORT", 9),
        ("http://u@a:99999/", "PORT", 11),
        ("foo://a:0065536", "PORT", 8),
        ("http://u@a:b:c/", "PORT", 11),
        ("http://u@[a]/", "HOST", 9),
        ("http:///a", "NO_HOST", 7),
        ("http://@/", "NO_HOST", 8),
        ("1a:b", "SCHEME", 2),
        ("a/b:", "RELATIVE", 0),
        ("", "EMPTY", 0),
    ],
)
def test_where_rfc_3986_stops(url: str, reason: str, position: int) -> None:
    with pytest.raises(canonry.InvalidURL) as caught:
        canonry.canonicalize(url, policy="rfc3986")
    assert (caught.value.reason.name, caught.value.position) == (reason, position)
