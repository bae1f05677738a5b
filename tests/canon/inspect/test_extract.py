"""URLs in running text: RFC 3986 appendix C, and everyday texts."""

import time

from hypothesis import given
from hypothesis import strategies as st
from support.strategies import share
from support.tables import each

import canonry
from canonry.canon.inspect.extract import Found

APPENDIX_C = """Yes, Jim, I found it under "http://www.w3.org/Addressing/",
but you can probably pick it up from <ftp://foo.example.
com/rfc/>.  Note the warning in <http://www.ics.uci.edu/pub/
ietf/uri/historical.html#WARNING>.
"""


def urls(text: str, *, suffixes: bool = False) -> list[str]:
    """Return the URLs in a text."""
    return [found.url for found in canonry.extract(text, suffixes=suffixes)]


def test_the_example_of_appendix_c() -> None:
    assert urls(APPENDIX_C) == [
        "http://www.w3.org/Addressing/",
        "ftp://foo.example.com/rfc/",
        "http://www.ics.uci.edu/pub/ietf/uri/historical.html#WARNING",
    ]


def test_the_example_of_appendix_e() -> None:
    """The drafts of 1997 and 2003 have it there; RFC 3986 calls the appendix C."""
    text = """from <ftp://ds.internic.
       net/rfc/>.  Note the warning in <http://ds.internic.net/
       instructions/overview.html#WARNING>."""
    assert urls(text) == [
        "ftp://ds.internic.net/rfc/",
        "http://ds.internic.net/instructions/overview.html#WARNING",
    ]


@each(
    ("text", "expected"),
    [
        # the sentence's punctuation
        ("See http://a.example/b.", ["http://a.example/b"]),
        ("See http://a.example/b, and http://a.example/c; or http://a.example/d?!", [*"bcd"]),
        ("(http://a.example/b)", ["http://a.example/b"]),
        ("(see http://a.example/b_(c))", ["http://a.example/b_(c)"]),
        ("http://a.example/b_(c)", ["http://a.example/b_(c)"]),
        ("[x](http://a.example/b)", ["http://a.example/b"]),
        ("http://[::1]/b].", ["http://[::1]/b"]),
        ("http://[::1]", ["http://[::1]"]),
        ("*http://a.example/b*", ["http://a.example/b"]),
        ("'http://a.example/b'", ["http://a.example/b"]),
        ("http://a.example/?b=1&c=(d)...", ["http://a.example/?b=1&c=(d)"]),
        # delimiters
        ("<http://a.example/b>", ["http://a.example/b"]),
        ("<URL:http://a.example/b>", ["http://a.example/b"]),
        ("<url: http://a.example/b >", ["http://a.example/b"]),
        ("URL:http://a.example/b", ["http://a.example/b"]),
        # with the label, any scheme (RFC 1738 appendix); the fragment belongs inside
        ("<URL:x-foo:bar>", ["x-foo:bar"]),
        ("see <url: X-Foo.1:bar\n  baz#f >.", ["X-Foo.1:barbaz#f"]),
        ("<URL:z39.50:a/b>, <URL:nfs:c>", ["z39.50:a/b", "nfs:c"]),
        ("<URL:1-a:b>", ["1-a:b"]),
        ("<URL:x-foo:a http://a.example/b>", ["http://a.example/b"]),
        ('<x-foo:bar> URL:x-foo:bar "URL:x-foo:bar" <URL:x-foo:> <URL:x-foo> <URL::b>', []),
        ('"http://a.example/b"', ["http://a.example/b"]),
        ("“http://a.example/b”", ["http://a.example/b"]),
        ('<a href="http://a.example/b">', ["http://a.example/b"]),
        # broken over lines: only within delimiters
        ("<http://a.example/b\n   c/\n\td>", ["http://a.example/bc/d"]),
        ('"http://a.example/b\n  c"', ["http://a.example/bc"]),
        ("http://a.example/b\nc", ["http://a.example/b"]),
        # other white space inside delimiters is ignored, too
        ("<http://a.example/b c\td>", ["http://a.example/bcd"]),
        ("< http://a.example/b c d >", ["http://a.example/bcd"]),
        ("<URL: ftp://ds.internic. net/rfc/>", ["ftp://ds.internic.net/rfc/"]),
        ('"URL: http://a.example/b c"', ["http://a.example/bc"]),
        ('"http://a.example/b c/d.html "', ["http://a.example/bc/d.html"]),
        ("<http://a.example/some path here>", ["http://a.example/somepathhere"]),
        # but delimiters may hold two URLs, and quotes a sentence
        ("<http://a.example/b http://a.example/c>", ["http://a.example/b", "http://a.example/c"]),
        ('"http://a.example/b\nurn:x:y"', ["http://a.example/b", "urn:x:y"]),
        (
            '"http://a.example/b is down, http://a.example/c is not."',
            ["http://a.example/b", "http://a.example/c"],
        ),
        ("a < http://a.example/b and c", ["http://a.example/b"]),
        # URLs, and words with a colon
        (
            "mailto:a@b.example, news:comp.lang; tel:+1-201",
            ["mailto:a@b.example", "news:comp.lang", "tel:+1-201"],
        ),
        ("note: this, std::vector, C:\\x, 10:30, a:b", []),
        ("foo+bar://x/y", ["foo+bar://x/y"]),
        ("xhttp://a.example/", ["xhttp://a.example/"]),
        ("http:// and https://", []),
        ("http://", []),
        ("svn+ssh://host/x", ["svn+ssh://host/x"]),
        # IRIs, and texts without spaces
        ("http://bücher.example/é", ["http://bücher.example/é"]),
        ("参照：http://a.example/b。次", ["http://a.example/b"]),  # noqa: RUF001 - meant
        ("（http://a.example/b）", ["http://a.example/b"]),  # noqa: RUF001 - meant
        ("", []),
    ],
)
def test_texts(text: str, expected: list[str]) -> None:
    if expected == [*"bcd"]:
        expected = [f"http://a.example/{letter}" for letter in expected]
    assert urls(text) == expected


def test_a_hyphen_at_the_end_of_a_line_may_or_may_not_belong() -> None:
    [found] = canonry.extract("<http://a.example/long-\n  word>")
    assert found.url == "http://a.example/long-word"
    assert found.alternative == "http://a.example/longword"
    [found] = canonry.extract("<http://a.example/long-word>")
    assert found.alternative is None


def test_suffix_references_only_on_request() -> None:
    text = "www.a.example/b, me@www.b.example, http://www.c.example/."
    assert urls(text) == ["http://www.c.example/"]
    assert urls(text, suffixes=True) == ["http://www.a.example/b", "http://www.c.example/"]


def test_positions_refer_to_the_text() -> None:
    text = "a <URL:http://a.example/\n b> c http://d.example/."
    first, second = canonry.extract(text)
    assert text[first.start : first.end] == "http://a.example/\n b"
    assert text[second.start : second.end] == "http://d.example/"
    assert first == Found("http://a.example/b", first.start, first.end, None)


def test_bytes_are_accepted() -> None:
    [found] = canonry.extract(b"http://a.example/\xe9")
    assert found.url == "http://a.example/%E9"


_PIECES = [
    "http://a.example/",
    "<",
    ">",
    '"',
    "URL:",
    "<URL:x-foo:",
    "(",
    ")",
    ".",
    " ",
    "\n",
    "-",
    "x",
    "www.",
    "é",
    ":",
]


_PIECED = st.lists(st.sampled_from(_PIECES), max_size=20).map("".join)


def test_the_generated_texts_contain_urls() -> None:
    assert share(_PIECED, lambda text: any(canonry.extract(text, suffixes=True))) > 0.15


@given(_PIECED)
def test_found_urls_are_in_the_text(text: str) -> None:
    end = 0
    for found in canonry.extract(text, suffixes=True):
        assert end <= found.start < found.end <= len(text)
        assert "".join(text[found.start : found.end].split()) in found.url
        assert not any(c.isspace() or c in '<>"' for c in found.url)
        end = found.end


@each(
    "unit",
    [
        "<http://a/",
        "<URL:x:a ",
        "<URL:x",
        '"http://a/\n',
        "http://a/ ",
        ")",
        "<",
        "a:",
        "www.a.",
        "-\n",
        "(",
        '"http://a/ ',
        "aa ",
    ],
)
def test_time_is_linear(unit: str) -> None:
    """Two hundred kilobytes of anything take a second; what is quadratic would take an hour."""
    start = time.process_time()
    for text in (unit * (200_000 // len(unit)), "http://a/" + unit * (200_000 // len(unit))):
        for _ in canonry.extract(text, suffixes=True):
            pass
    assert time.process_time() - start < 20
