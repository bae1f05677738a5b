"""`interpret` by one document, and strictly: what a grammar excludes, and where."""

import re
import time
from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.strategies import anything, forms, marked, raw, share
from support.tables import each

import canonry
from canonry.canon.inspect.forms import (
    Afs,
    Ftp,
    Gopher,
    News,
    Prospero,
    Server,
    Terminal,
    Wais,
    Web,
)
from canonry.canon.inspect.interpret import DOCUMENTS


def at(host: str, port: int) -> Server:
    return Server(None, None, host, port)


@each(
    ("url", "position"),
    [
        # RFC 1738 section 5; sections 3.10 and 3.6 of the newer documents
        ("file://u@h/x", 7),
        ("file://h:80/x", 8),
        ("file://h", 8),
        ("file:///a;b", 9),
        ("ftp://h/a;b", 9),
        ("ftp://h/a;type=a/b", 16),
        ("http://u@h/", 7),
        ("https://u:p@h/", 8),
        ("gopher://u@h/", 9),
        ("gopher://h/1a%0Db", 13),
        ("gopher://h/1a%09b/c", 17),
        ("news:a_b?c", 8),
        ("nntp://h/1a", 8),
        ("nntp://u@h/a", 7),
        ("wais://h/a?b/c", 12),
        ("wais://h/a/b/c?d", 14),
        ("wais://h/a/b/c/d", 14),
        ("wais://h/a/b/10/d", 15),
        ("prospero://h/a;b=c=d", 18),
        ("ldap://h/?a?one?b?c?d", 19),
        # The draft of 1993
        ("rlogin://u@h/", 12),
        ("rlogin://u:p@h", 10),
        # RFC 3986: characters, escapes and hosts
        ("http://h/a b", 10),
        ("http://h/%zz", 9),
        ("http://h/\xe9", 9),
        ("http://h/[", 9),
        ("http://h/a#b#c", 12),
        ("ftp://h_\xe9/", 8),
        ("http://[1]/", 7),
        ("ftp://u@[::g]/", 8),
        ("news://[::1/a", 7),
        ("telnet://h:x/", 10),
        ("x-foo:a|b", 7),
    ],
)
def test_strict_reading_refuses_what_the_grammar_excludes(url: str, position: int) -> None:
    assert canonry.interpret(url) is not None
    with pytest.raises(canonry.InvalidURL) as caught:
        canonry.interpret(url, strict=True)
    assert caught.value.position == position


@each(
    ("url", "position"),
    [
        ("http://h?q", 8),
        ("http://h/~a", 9),
        ("http://h/a?b/c", 12),
        ("http://h:/", 9),
        ("http://a_b/", 8),
        ("http://[::1]/", 7),
        ("http://h/a#b", 10),
        ("ftp://1a/", 6),
        ("file:/a", 5),
        ("news:1a", 5),
        ("news://h/a", 5),
        ("x-foo:~", 6),
    ],
)
def test_rfc_1738_is_stricter_than_its_successors(url: str, position: int) -> None:
    assert canonry.interpret(url, strict=True) is not None
    assert canonry.interpret(url, document="rfc1738") is not None
    with pytest.raises(canonry.InvalidURL) as caught:
        canonry.interpret(url, strict=True, document="rfc1738")
    assert caught.value.position == position


@each(
    "url",
    [
        "ftp://user:pa%40ss@host.dom:21/%2Fetc/motd?x;type=D", "ftp://h", "ftp://u;x=&@h//a/",
        "file:///", "file://localhost/a?b:@&=c", "file://vms.host.edu/disk$user/my/notes/n.txt",
        "http://h", "http://1.2.3.4:8080/a;b:@&=c?d;:@&=e", "gopher://h", "gopher://h/",
        "gopher://h/00/x?y/../z", "gopher://h/7a%09b%09+x%20y", "gopher://h/1a%09%09$",
        "gopher://h/0a%09%09+%091%0D%0A+-1%0D%0Av/w?%0D%0A.%0D%0A", "mailto:a%25b@c.d?e=/;:",
        "news:*", "news:comp.lang.c++", "news:a;/?:&=b@h", "nntp://h:119/a.b/1", "telnet://u:p@h/",
        "telnet://h", "wais://h/db", "wais://h/db?a;:@&=b", "wais://h/db//",
        "wais://h/db/TEXT/a%2Fb", "prospero://h/a/b?c;d=e;f?=g?h", "prospero://h//a",
        "x-foo:a//b/?c", "afs://u:p@h/x",
    ],
)  # fmt: skip
def test_what_rfc_1738_allows_is_read_by_its_letter(url: str) -> None:
    lax = canonry.interpret(url, document="rfc1738")
    assert canonry.interpret(url, strict=True, document="rfc1738") == lax


@each(
    ("url", "form"),
    [
        ("http://h/a?b+c%2Bd", Web(at("h", 80), "/a", "b+c%2Bd", ("b", "c+d"))),
        ("gopher://h/7a?b+c", Gopher(at("h", 70), "7", "a", "b+c", None, ("b", "c"))),
        ("gopher://h?b", Gopher(at("h", 70), "1", "", "b", None, ("b",))),
        ("wais://h/d?b+c", Wais(at("h", 210), "d", "b+c", None, None, None, ("b", "c"))),
        ("wais://h/d/T/10/a/b", Wais(at("h", 210), "d", None, "T", "a/b", 10)),
        ("prospero://h/a%001%00b", Prospero(at("h", 1525), "a", "1", (), ("b",))),
        ("prospero://h/a;b", Prospero(at("h", 1525), "a;b", None, ())),
        ("telnet://u@h", Terminal(Server("u", None, "h", None))),
        ("rlogin://h:513", Terminal(at("h", 513))),
        ("tn3270://h", Terminal(Server(None, None, "h", None))),
        ("ftp://h/a;type", Ftp(at("h", 21), (), "a;type", None)),
        ("news:a@h", News(None, "message", "a@h")),
        ("afs://c/a b", Afs("c", "/a b")),
        ("x-foo:a", canonry.URI("x-foo", None, "a", None, None)),
    ],
)
def test_the_draft_of_1993_reads_otherwise(url: str, form: object) -> None:
    assert canonry.interpret(url, document="url-1993", strict=True) == form


@each(
    ("url", "position"),
    [
        ("http://h/a=b", 10),
        ("http://h/~a", 9),
        ("http://h/a//b", 11),
        ("http://h/?a++b", 11),
        ("telnet://h/", 10),
        ("telnet://u:p@h", 10),
        ("wais://h/d/T/x/a", 10),
        ("wais://h/d/T/10", 10),
        ("prospero://h/a%00v", 17),
        ("prospero://h/a%00%00-", 17),
        ("news:1a", 5),
        ("http://h#a=", 10),
    ],
)
def test_the_draft_of_1993_by_its_letter(url: str, position: int) -> None:
    assert canonry.interpret(url, document="url-1993") is not None
    with pytest.raises(canonry.InvalidURL) as caught:
        canonry.interpret(url, document="url-1993", strict=True)
    assert caught.value.position == position


@given(url=marked | forms | anything | raw, document=st.none() | st.sampled_from(list(DOCUMENTS)))
def test_strict_reading_says_the_same_or_refuses(url: str | bytes, document: str | None) -> None:
    try:
        lax = canonry.interpret(url, document=document)
    except canonry.InvalidURL:
        lax = None
    try:
        strict = canonry.interpret(url, strict=True, document=document)
    except canonry.InvalidURL as error:
        assert 0 <= error.position <= len(error.text)  # noqa: PT017 - the only way it may fail
    else:
        assert strict == lax


# What the productions of RFC 1738 and of 1993 allow, and we read in another way or not at all.
_READ_OTHERWISE = re.compile(
    r"""(?:ftp|telnet)://[^/@]*\?      # a "?" in a user name: for all others the host ends there
      | gopher:.*%09.*[/?].*%09       # a selector or a search with these, or with tabs of its own
      | gopher:.*%0[9AaDd]            # 3.4.1: a selector holds no tab and no line break
      | wais://[^/]*/(?:[?/]|\Z)      # no name of a database
      | prospero://[^/]*/(?:;|%00|\Z) # no name of an object
      """,
    re.VERBOSE,
)


# URLs that the grammar of RFC 1738 mostly allows.
_MILD = [
    "a",
    "1",
    "-",
    "/",
    "/a",
    "/1",
    ";",
    ";a=b",
    "=",
    "?",
    "&",
    ":",
    "@h",
    "%2F",
    "%09",
    ".",
    "*",
    "~",
]
mild = st.builds(
    lambda scheme, server, rest: f"{scheme}:{server}{''.join(rest)}",
    st.sampled_from(list(DOCUMENTS["rfc1738"])),
    st.sampled_from(
        ["//h", "//h/", "//h/a", "//h/a", "//u:p@h.a-b:1/a", "//1.2.3.4", "///", "a", "a", ""]
    ),
    st.lists(st.sampled_from(_MILD), max_size=4),
)


def is_allowed(url: str) -> bool:
    """Return True if RFC 1738 allows a URL."""
    try:
        return canonry.interpret(url, strict=True, document="rfc1738") is not None
    except canonry.InvalidURL:
        return False


@each("scheme", DOCUMENTS["rfc1738"])
def test_enough_urls_are_allowed(scheme: str) -> None:
    of_scheme = mild.filter(lambda url: url.startswith(f"{scheme}:"))
    assert 0 < share(of_scheme, is_allowed, 100) < 0.95


@given(url=mild | marked | forms)
@example(url="ftp://u:p@h:1/a/b;type=a")
@example(url="news:a@h")
@example(url="prospero://h/a?b;c=d")
@example(url="wais://h/a/b/c")
def test_rfc_1738_and_its_productions_agree(url: str) -> None:
    """`matches` reads the document's grammar as it stands; here are scheme-by-scheme patterns."""
    scheme = url.partition(":")[0]
    if scheme not in DOCUMENTS["rfc1738"] or _READ_OTHERWISE.match(url):
        return
    assert canonry.matches(f"{scheme}url", url, document="rfc1738") == is_allowed(url)


def test_an_unknown_document_is_refused() -> None:
    with pytest.raises(ValueError, match="allowed: rfc1738, url-1993"):
        canonry.interpret("http://h/", document="rfc1739")


@each("document", [None, *DOCUMENTS])
@each(
    "unit",
    ["a", "-", "a.", "1.", "/", "%00", "%09", ";a=", ";", "?", "+", "@", ":", "\r\n", "%0D%0A"],
)
def test_reading_takes_linear_time(unit: str, document: str | None) -> None:
    start = time.process_time()
    for before in (
        "http://",
        "gopher://h/0a%09%09+",
        "wais://h/",
        "prospero://h/a",
        "news:",
        "data:",
    ):
        for end in ("", "\0"):
            with suppress(canonry.InvalidURL):
                url = before + unit * (100_000 // len(unit)) + end
                form = canonry.interpret(url, strict=True, document=document)
                assert not isinstance(form, Gopher) or form.plus_request is not form
    assert time.process_time() - start < 10
