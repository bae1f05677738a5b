"""The URL filter: scope, limits, traps, raw URLs."""

import hypothesis
import pytest
from hypothesis import given
from support import strategies
from support.tables import each

import canonry
from canonry.crawler.admission.scope import Scope
from canonry.crawler.admission.url_filter import URLFilter, pattern, shape, shortest_base
from canonry.crawler.hold_reason import HoldReason
from canonry.crawler.settings import load
from canonry.storage import Candidate


def url_filter(scope: str = "host", **crawl: object) -> URLFilter:
    """Return a URL filter with one seed."""
    settings = load(None, {"crawl": {"scope": scope, **crawl}})
    return URLFilter(
        canonry.Canonicalizer("web"), Scope(scope, ["http://www.shop.co.uk/a/b?c"]), settings
    )


@pytest.mark.parametrize(
    ("scope", "inside", "outside"),
    [
        ("host", "https://www.shop.co.uk:8443/x", "http://shop.co.uk/"),
        ("domain", "http://shop.co.uk/", "http://other.co.uk/"),
        ("domain", "http://deep.er.shop.co.uk/", "http://shop.co.uk.example/"),
        ("prefix", "http://www.shop.co.uk/a/x", "http://www.shop.co.uk/b"),
        ("prefix", "http://www.shop.co.uk/a/", "https://www.shop.co.uk/a/"),
        ("any", "http://elsewhere.example/", None),
    ],
)
def test_scope(scope: str, inside: str, outside: str | None) -> None:
    found = url_filter(scope)
    assert found.reason_to_hold(inside, 0, 0) is None
    if outside is not None:
        assert found.reason_to_hold(outside, 0, 0) is HoldReason.OUT_OF_SCOPE


def test_an_address_is_its_own_domain() -> None:
    scope = Scope("domain", ["http://127.0.0.1/", "http://[::1]:80/"])
    assert "http://127.0.0.1:8080/" in scope
    assert "http://[::1]/" in scope
    assert "http://127.0.0.2/" not in scope


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://www.shop.co.uk/" + "x" * 2000, HoldReason.TOO_LONG),
        ("http://www.shop.co.uk/" + "/".join(map(str, range(41))), HoldReason.TOO_MANY_SEGMENTS),
        ("http://www.shop.co.uk/a/b/a/b/a/b/a/b", HoldReason.REPEATING_PATH),
        ("http://www.shop.co.uk/a?f=x&f=x&p=1&f=x&f=x", HoldReason.REPEATING_PATH),
        ("http://www.shop.co.uk/a?f[]=1&f[]=2&f[]=3&f[]=4", None),
        ("http://www.shop.co.uk/a?f[]=&f[]=&f[]=&f[]=&x&x&x&x", None),
        ("http://www.shop.co.uk/a/b/a/b/a/b", None),
        ("http://www.shop.co.uk/2024/01/01/01", None),
        ("http://www.shop.co.uk/////////", None),
    ],
)
def test_traps(url: str, reason: HoldReason | None) -> None:
    assert url_filter().reason_to_hold(url, 1, 0) is reason


def test_a_seed_may_look_endless() -> None:
    assert url_filter().reason_to_hold("http://www.shop.co.uk/a/a/a/a/a", 0, 0) is None
    found = url_filter().candidate(
        "http://www.shop.co.uk/a/a/a/a/a", None, depth=0, hops=0, source=None
    )
    assert isinstance(found, Candidate)
    assert found.held is None


def test_depth_and_hops() -> None:
    found = url_filter(max_depth=2, max_hops=1)
    assert found.reason_to_hold("http://www.shop.co.uk/", 2, 1) is None
    assert found.reason_to_hold("http://www.shop.co.uk/", 3, 0) is HoldReason.TOO_DEEP
    assert found.reason_to_hold("http://www.shop.co.uk/", 0, 2) is HoldReason.TOO_MANY_HOPS


@pytest.mark.parametrize("reference", ["mailto:a@b", "javascript:void(0)", "data:,x", "ftp://h/"])
def test_only_http_is_fetched(reference: str) -> None:
    found = url_filter().candidate(
        reference, "http://www.shop.co.uk/", depth=1, hops=0, source=None
    )
    assert found is HoldReason.SCHEME


@pytest.mark.parametrize(
    ("reference", "raw_url"),
    [
        ("../x?y#z", "http://www.shop.co.uk/x?y#z"),
        ("HTTP://WWW.Shop.co.uk:80/%7Ex", "HTTP://WWW.Shop.co.uk:80/%7Ex"),
        ("  http://www.shop.co.uk/x\n", "http://www.shop.co.uk/x"),
        ("//www.shop.co.uk", "http://www.shop.co.uk/"),
        ("", "http://www.shop.co.uk/a/b?c"),
    ],
)
def test_a_raw_url_is_the_link_as_written_made_absolute(reference: str, raw_url: str) -> None:
    base = "http://www.shop.co.uk/a/b?c"
    found = url_filter().candidate(reference, base, depth=1, hops=0, source=7)
    assert isinstance(found, Candidate)
    assert found.raw_url == raw_url
    assert found.source == 7


def test_two_fragments_are_one_request_under_every_policy() -> None:
    settings = load(None, {})
    strict = URLFilter(canonry.Canonicalizer("rfc3986"), Scope("any", []), settings)
    one, other = (
        strict.candidate(f"http://a.example/#{n}", None, depth=0, hops=0, source=None) for n in "xy"
    )
    assert isinstance(one, Candidate)
    assert isinstance(other, Candidate)
    assert one.key == other.key


_READERS = [canonry.Canonicalizer(policy) for policy in ("web", "rfc3986")]


@hypothesis.example("http://%/.", "http://example.com/")
@hypothesis.example("HTTP:", "http://example.com/a")
@given(strategies.anything | strategies.tidy, strategies.urls | strategies.sound)
def test_the_shortest_base_leads_to_the_same_target(reference: str, base: str) -> None:
    bare = reference.partition("#")[0]
    for read in _READERS:
        try:
            base = read(base).url
        except canonry.InvalidURL:
            hypothesis.reject()  # there is no page without a URL
        try:
            plain: object = read(bare, base)
        except canonry.InvalidURL as error:
            plain = error.reason
        try:
            short: object = read(bare, shortest_base(bare, base))
        except canonry.InvalidURL as error:
            short = error.reason
        assert short == plain, (read.policy.name, shortest_base(bare, base))


@each(
    ("reference", "base", "enough"),
    [
        ("http://b.example/", "http://a.example/x/y?q", "http://any.invalid/"),
        ("/z", "http://u:p@a.example:81/x/y?q", "http://u:p@a.example:81/"),
        ("//b.example/z", "https://a.example/x", "https://a.example/"),
        ("z", "http://a.example/x/y/w?q=/a/b", "http://a.example/x/y/"),
        ("../z", "http://a.example/x/y/w", "http://a.example/x/y/"),
        ("http:z", "http://a.example/x/y", "http://a.example/x/y"),
        ("?z", "http://a.example/x/y?q", "http://a.example/x/y?q"),
        ("", "http://a.example/x/y?q", "http://a.example/x/y?q"),
        (" z", "http://a.example/x/y?q", "http://a.example/x/y?q"),
        ("\\z", "http://a.example/x/y?q", "http://a.example/x/y?q"),
        ("z", "http://a.example", "http://a.example"),
        ("z", "data:text/html,x/y", "data:text/html,x/y"),
        ("/z", "data:text/html,x/y", "data:text/html,x/y"),
    ],
)
def test_the_shortest_base(reference: str, base: str, enough: str) -> None:
    assert shortest_base(reference, base) == enough


def test_an_extended_scope_applies_to_cached_links() -> None:
    found = url_filter()

    def held() -> str | None:
        link = found.candidate("http://b.example/", None, depth=1, hops=0, source=None)
        assert isinstance(link, Candidate)
        return link.held

    assert held() == "out-of-scope"
    found.extend_scope("http://b.example/x")
    assert held() is None


@pytest.mark.parametrize("port", [22, 25, 6667, 10080])
def test_ports_of_other_protocols_are_held(port: int) -> None:
    found = url_filter("any").candidate(
        f"http://a.example:{port}/", None, depth=1, hops=0, source=None
    )
    assert isinstance(found, Candidate)
    assert found.held == "port"


@pytest.mark.parametrize("authority", ["a.example", "a.example:80", "a.example:8080", "[::1]:81"])
def test_web_ports_are_not_held(authority: str) -> None:
    assert url_filter("any").reason_to_hold(f"http://{authority}/", 1, 0) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://a.example/cal/2026/11", "http://a.example/cal/2031/2"),
        ("http://a.example/p/17.html", "http://a.example/p/18.html"),
        ("http://a.example/find?a=1", "http://a.example/find?b=2&a=1"),
        ("http://a.example/s/0a1b2c3d4e5f60718293/x", "http://a.example/s/ffee00112233445566/x"),
        (
            "http://a.example/123e4567-e89b-12d3-a456-426614174000",
            "http://a.example/abcdefab-e89b-12d3-a456-426614174fff",
        ),
        ("http://a.example/x;jsessionid=0123456789ABCDEF0", "http://a.example/x;jsessionid=1"),
    ],
)
def test_urls_of_one_program_have_one_pattern(one: str, other: str) -> None:
    assert pattern(one) == pattern(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://a.example/1", "http://b.example/1"),
        ("http://a.example/news", "http://a.example/shop"),
        (
            "http://a.example/a-long-title-of-an-article",
            "http://a.example/another-long-title-of-it",
        ),
        ("http://a.example/find", "http://a.example/find?q"),
        ("http://a.example/p/1", "http://a.example/q/1"),
        ("http://a.example/acknowledgements", "http://a.example/responsibilities"),
    ],
)
def test_urls_of_different_programs_have_different_patterns(one: str, other: str) -> None:
    assert pattern(one) != pattern(other)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://a.example/x/17", "a.example/x/*"),
        ("http://a.example:8080/x", "a.example:8080/x"),
        ("http://a.example/x?", "a.example/x?"),
        ("http://a.example/x?b=1&a=2&b=3", "a.example/x?a&b"),
        ("http://a.example/x?row17=1&row18=2&a/b", "a.example/x?a/b&row*"),
        ("http://[::1]:81/x?q", "[::1]:81/x?q"),
        ("http://a.example/x?" + "&".join(f"n{chr(97 + n)}=1" for n in range(11)), "a.example/x?*"),
    ],
)
def test_a_shape_has_the_port_and_the_names_of_parameters(url: str, expected: str) -> None:
    assert shape(url) == expected
    assert shape(f"http://{expected}") == expected, "it names itself"
