"""Strategies that build URLs from tokens: random characters never spell what breaks them."""

from collections.abc import Callable
from functools import cache
from typing import TypeVar

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from canonry.canon.syntax.schemes import SCHEMES

_T = TypeVar("_T")

TOKENS = [
    *"%/?#:@[].;,=&+~-_!$'()*|\\^`{}<>\" \t\n\r\0",
    "%%", "%2", "%25", "%2F", "%2f", "%2E", "%2e", "%41", "%7E", "%7e", "%C3%A9", "%E9", "%00",
    "%3A", "%23", "%3F", "%5C", "%zz", "..", "/..", "/.", "./", "../", "//", "///", "/./",
    "/../", "%2e%2E",
    "a", "b", "A", "Z", "é", "ß", "Ü", "☕", "\u200d", "\u3002", "\udce9", "xn--", "xn--bcher-kva",
    "http", "HTTP", "https", "ftp", "file", "mailto", "urn", "data", "foo", "javascript", "ws",
    "http:", "https://", "HTTP://", "http:/", "http:\\\\", "file:///", "mailto:", "urn:isbn:",
    "foo:",
    "example", "Example.COM", "example.com", "www.", "localhost", "127.0.0.1", "0x7f.1",
    "1.1", "256",
    "[::1]", "[1:0:0:2::]", "[::ffff:1.2.3.4]", "[v1.x]", "[", "]",
    ":80", ":443", ":", ":0080", ":8080", ":99999", ":x", "user@", "user:pw@", "@",
    "index.html", ";jsessionid=0123456789ABCDEF0123", ";jsessionid=0123456789ABCDEF0123..",
    ".node1", "C:", "C|",
    "?utm_source=x", "&utm_medium=y", "&fbclid=1", "?PHPSESSID=0123456789abcdef0123",
    "?b=2&a=1", "&&",
    "?", "#", "#!", "=", "1", "0",
]  # fmt: skip

texts = st.lists(st.sampled_from(TOKENS), max_size=14).map("".join)
urls = st.builds(
    lambda scheme, host, rest: f"{scheme}{host}{rest}",
    st.sampled_from(
        ["http://", "https://", "HTTP://", "http:", "ftp://", "foo://", "file://", "foo:"]
    ),
    st.sampled_from(["example.com", "Example.COM:80", "a", "[::1]", "user@h", "é.com", "1.2", ""]),
    texts,
)
_FORMS = [
    "mailto:", "urn:", "URN:Isbn:", "tel:", "tel:+1-", "data:", "data:TEXT/Plain;", "file:/",
    "file://localhost", "ftp://", "gopher://g", "gopher://G/", "ldap://l/", "news:", "nntp://n/",
    "wais://w/", "prospero://p/", "afs://c/", "telnet://", "sftp://s", "blob:https://",
    "javascript:",
]  # fmt: skip
_SIGNS = [
    "Joe@B.Example", ",", "?Subject=A", "&CC=b", "?+a", "?=b", "#", ";type=A", ";TYPE=i", "/",
    "/.//", "//", "/C|", "C|/", "%2F", "%09", "%00", "%41", ";ext=1-2", ";Phone-Context=+1", "(5)",
    "charset=US-ASCII", ";base64", "+", "-", ".", "..", "?", "??sub?", "*", "1", "A", "%", "é", "@",
]  # fmt: skip
forms = st.builds(
    lambda scheme, rest: scheme + "".join(rest),
    st.sampled_from(_FORMS),
    st.lists(st.sampled_from(_SIGNS), max_size=8),
)
# What a scheme's own document calls data, and the generic syntax takes for structure.
_WORDS = ["w7{}7W", "W7{}7", "%577{}7"]
_DATA = [
    "/", "/../", "/./", "..", "%2E%2E", "/.%2e/", ".", "//", "?", "?/../", ";", ";a=", "&", "=",
    "%09", "%00", "%2F", ",", ":", ":080", "@", "[::1]", "+", "1", "*", "%41", "%", "|", "\xe9",
]  # fmt: skip
_BEFORE = [
    *(f"{scheme}://h/" for scheme in SCHEMES if SCHEMES[scheme].authority),
    *(f"{scheme}:" for scheme in SCHEMES), *(f"{scheme.upper()}://" for scheme in SCHEMES),
    "news:", "mailto:", "data:,", "urn:ab:", "tel:+1;a=", "gopher://h/1a%09", "file:",
    "wais://h/d/", "x-foo:",
]  # fmt: skip
# URLs of every scheme in which each word is another, so that none can be dropped unseen.
marked = st.builds(
    lambda before, pieces: (
        before + "".join(piece.format(place) for place, piece in enumerate(pieces))
    ),
    st.sampled_from(_BEFORE),
    st.lists(st.sampled_from(_WORDS + _DATA), max_size=9),
)
anything = st.one_of(texts, urls, forms, st.text(max_size=40))
_SOUND = [
    "example.com", "Example.COM.", "a_b.example", "xn--bcher-kva.example", "1.2.3.4", "[::1]",
    "[::FFFF:1.2.3.4]", "user@h", "u:p%40@h", "%61.example",
]  # fmt: skip
# URLs that every policy has to accept: scheme, host and port are right, and the rest is anything.
sound = st.builds(
    lambda scheme, host, port, rest: f"{scheme}://{host}{port}{rest}",
    st.sampled_from(["http", "https", "HTTP", "Https", "ftp", "ws", "foo"]),
    st.sampled_from(_SOUND),
    st.sampled_from(["", "", ":", ":80", ":443", ":080", ":65535"]),
    st.just("") | st.builds("{}{}".format, st.sampled_from("/?#"), texts),
)
raw = st.one_of(
    st.binary(max_size=40),
    anything.map(lambda text: text.encode("utf-8", "surrogatepass")),
)
# URLs that are canonical or nearly so: here a fast path and its oracle can differ.
_SEGMENTS = [
    "a",
    "b-c",
    ".",
    "..",
    ".x",
    "x.y",
    "",
    "%2F",
    "%2f",
    "%41",
    "%7E",
    "'",
    "a:b",
    "|",
    "(c)",
]
_FIELDS = [
    "a=1",
    "b",
    "",
    "=",
    "q='",
    "q=%27",
    "utm_source=x",
    "utm",
    "GCLID=1",
    "gclid2=1",
    "a%3D1",
]
_HOSTS = [
    "example.com", "www.a.example", "a", "Example.com", "xn--bcher-kva.example", "xn--a.b", "a..b",
    "1.2.3.4", "1.2.3.04", "256.2.3.4", "1.2.3", "a.1", "-a.example", "a_b.example", "a.example.",
]  # fmt: skip
_PORTS = [
    "",
    "",
    "",
    "",
    "",
    "",
    "",
    "",
    ":",
    ":80",
    ":443",
    ":8080",
    ":080",
    ":59999",
    ":65536",
    ":99999",
]
tidy = st.builds(
    lambda scheme, host, port, path, query, tail: (
        f"{scheme}://{host}{port}{''.join(f'/{s}' for s in path)}"
        f"{'' if query is None else '?' + '&'.join(query)}{tail}"
    ),
    st.sampled_from(["http", "https", "HTTP", "ftp"]),
    st.just("example.com") | st.sampled_from(_HOSTS),
    st.sampled_from(_PORTS),
    st.lists(st.sampled_from(_SEGMENTS), max_size=4),
    st.none() | st.lists(st.sampled_from(_FIELDS), max_size=3),
    st.sampled_from(["", "", "", "#", "#x", "\n", "é"]),
)

# URLs on which the rules of practice act: hosts, paths and queries that they look at.
_VALUES = ["", "1", "A", "0123456789abcdef", "a" * 24, "0a" * 16, "0A" * 65, "%26b=2", "%27", "x=y"]
_NAMES = [
    "a", "b", "B", "", "sid", "SID", "PHPSESSID", "jsessionid", "linkid", "x.sid", "cfid",
    "cftoken", "ASPSESSIONIDabcdefgh", "utm_x", "%61",
]  # fmt: skip
guessed = st.builds(
    lambda scheme, host, port, path, query, tail: (
        f"{scheme}://{host}{port}/{'/'.join(path)}"
        f"{'' if query is None else '?' + '&'.join(query)}{tail}"
    ),
    st.sampled_from(["http", "https"]),
    st.sampled_from(
        [
            "a.example",
            "www.a.example",
            "WWW2.a",
            "www.www2.a.example",
            "www1.www.b.c.d",
            "www.www2",
            "wwwx.a.b",
            "www..a",
        ]
    ),
    st.sampled_from(["", "", ":80", ":443", ":8080"]),
    st.lists(
        st.sampled_from(
            [
                "",
                "",
                "a",
                "A%2f",
                "b:",
                "http:",
                "%2E",
                "%252e",
                "%2525",
                "%3F%23",
                "index.html",
                "Index.html",
                "default.asp",
                "(a)",
                f"(S({'a' * 24}))",
                "x.aspx",
                f"x;jsessionid={'0A' * 8}",
                "x;y",
            ]
        ),
        max_size=5,
    ),
    st.none()
    | st.lists(
        st.sampled_from(_NAMES)
        | st.builds("{}={}".format, st.sampled_from(_NAMES), st.sampled_from(_VALUES)),
        max_size=5,
    ),
    st.sampled_from(["", "", "", "#x"]),
)


def tries(times: float) -> int:
    """Return a number of examples: so many times as many as the Hypothesis profile asks for."""
    return max(1, int(times * settings().max_examples))


def share(
    made_by: st.SearchStrategy[_T], holds: Callable[[_T], bool], examples: int = 300
) -> float:
    """Return the share of a strategy's examples for which a condition holds.

    A law that only asserts something for some of its examples needs a test that there are enough
    of them. The examples are the same in each run, so such a test either passes or fails.
    """
    found = [holds(example) for example in some_of(made_by, examples)]
    return sum(found) / len(found)


@cache
def some_of(made_by: st.SearchStrategy[_T], examples: int = 300) -> list[_T]:
    """Return examples of a strategy: the same in each run, and made once. Do not change them."""
    answers: list[_T] = []

    def holds(example: _T) -> _T:
        return example

    @settings(
        max_examples=examples,
        derandomize=True,
        database=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
    @given(made_by)
    def count(example: _T) -> None:
        answers.append(holds(example))

    count()  # its text, with the names in it, chooses the examples
    assert len(answers) >= examples
    return answers
