"""The grammars: what each production matches, and what it does not."""

import ipaddress
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.strategies import anything, texts
from support.tables import each
from support.vectorfiles import cases

import canonry
from canonry.canon.syntax.grammar import DOCUMENTS, matches, productions_of

CASES = [
    # RFC 3986 section 1.1.2, examples
    ("URI", "ftp://ftp.is.co.za/rfc/rfc1808.txt", True),
    ("URI", "http://www.ietf.org/rfc/rfc2396.txt", True),
    ("URI", "ldap://[2001:db8::7]/c=GB?objectClass?one", True),
    ("URI", "mailto:John.Doe@example.com", True),
    ("URI", "news:comp.infosystems.www.servers.unix", True),
    ("URI", "tel:+1-816-555-1212", True),
    ("URI", "telnet://192.0.2.16:80/", True),
    ("URI", "urn:oasis:names:specification:docbook:dtd:xml:4.1.2", True),
    # Section 3: a scheme and a colon are enough for a URI
    ("URI", "a:", True),
    ("URI", "a:?#", True),
    ("URI", "a", False),
    ("URI", "1a:b", False),
    ("URI", "http://a/b c", False),
    ("URI", "http://a/%", False),
    ("URI", "http://a/%2", False),
    ("URI", "http://a/[b]", False),
    ("URI", "http://a/é", False),
    ("URI", "http://a/\n", False),
    ("URI", "http://a:b/", False),
    ("URI", "http://a@b@c/", False),
    ("URI", "http://[::1/", False),
    ("URI", "a:b#c#d", False),
    # Section 4.3: no fragment
    ("absolute-URI", "http://a/?b", True),
    ("absolute-URI", "http://a/#", False),
    # Section 4.2: the first segment of a relative path has no colon
    ("relative-ref", "", True),
    ("relative-ref", "a/b:c", True),
    ("relative-ref", "a:b", False),
    ("relative-ref", "./a:b", True),
    ("relative-ref", "//a", True),
    ("relative-ref", "?a", True),
    ("relative-ref", "#", True),
    ("URI-reference", "a:b", True),
    ("URI-reference", "a b", False),
    ("path-noscheme", "a:b", False),
    ("path-noscheme", "a/b:c", True),
    ("path-absolute", "//", False),
    ("path-absolute", "/", True),
    ("path-absolute", "/a//", True),
    ("path-abempty", "//", True),
    ("path-rootless", "a:b//", True),
    ("path-empty", "", True),
    ("path-empty", "a", False),
    ("hier-part", "//a:80/b", True),
    ("relative-part", "a:b", False),
    ("segment", "", True),
    ("segment-nz", "", False),
    ("segment-nz-nc", ":", False),
    ("authority", "u:p@h:80", True),
    ("authority", "", True),
    ("authority", ":", True),
    ("authority", "h/", False),
    ("userinfo", "a:b:c", True),
    ("userinfo", "@", False),
    ("port", "", True),
    ("port", "99999", True),
    ("port", "8o", False),
    ("host", "256.256.256.256", True),
    # Section 3.2.2: a registered name is no DNS name; its labels are free here
    ("host", "-a-", True),
    ("reg-name", "a_b..-", True),
    ("IPv4address", "256.0.0.1", False),
    ("IPv4address", "192.0.2.16", True),
    ("IPv4address", "01.2.3.4", False),
    ("IPv4address", "1.2.3", False),
    ("dec-octet", "255", True),
    ("dec-octet", "00", False),
    ("IPv6address", "::", True),
    ("IPv6address", "1:2:3:4:5:6:7:8", True),
    ("IPv6address", "1::2:3:4:5:6:7:8", False),
    ("IPv6address", "::1.2.3.4", True),
    ("IPv6address", "1:2:3:4:5:6:1.2.3.4", True),
    ("IPv6address", "1::2::3", False),
    ("IPv6address", "12345::", False),
    ("IPv6address", "fe80::1%25eth0", False),
    ("h16", "FFFF", True),
    ("ls32", "1:2", True),
    ("ls32", "1.2.3.4", True),
    ("IPvFuture", "v1.a:b", True),
    ("IPvFuture", "V1F.~", True),
    ("IPvFuture", "v.a", False),
    ("IP-literal", "[::]", True),
    ("IP-literal", "::", False),
    ("IP-literal", "[v1.x]", True),
    ("reg-name", "", True),
    ("reg-name", "a%20b", True),
    ("reg-name", "a:b", False),
    ("scheme", "a+b-c.d1", True),
    ("scheme", "-a", False),
    ("pchar", "@", True),
    ("pchar", "/", False),
    ("query", "/?:@", True),
    ("query", "#", False),
    ("fragment", "/?", True),
    ("pct-encoded", "%aF", True),
    ("pct-encoded", "%g0", False),
    ("unreserved", "~", True),
    ("reserved", "[", True),
    ("gen-delims", "!", False),
    ("sub-delims", "!", True),
    ("path", "//a", True),
]


@each(("production", "text", "expected"), CASES)
def test_productions(production: str, text: str, expected: bool) -> None:
    assert matches(production, text) is expected


def test_every_production_has_a_case() -> None:
    assert {production for production, _text, _expected in CASES} == set(productions_of("rfc3986"))


ANCESTORS = {
    "rfc2396bis-01": "grammar_2003.txt",
    "url-syntax-05": "grammar_1997.txt",
    "rfc1738": "grammar_1738.txt",
    "url-1993": "grammar_1993.txt",
}


@pytest.mark.parametrize("document", ANCESTORS)
def test_productions_of_the_ancestors(document: str) -> None:
    said = {True: "yes", False: "no"}
    rows = cases(ANCESTORS[document], 3)
    found = [said[matches(row[1], row[2], document=document)] for row in rows]
    assert [row for row, one in zip(rows, found, strict=True) if row[3] != one] == []


@pytest.mark.parametrize("document", ANCESTORS)
def test_every_production_of_the_ancestors_has_a_case_for_and_against(document: str) -> None:
    found = {(row[1], row[3]) for row in cases(ANCESTORS[document], 3)}
    expected = {(name, answer) for name in productions_of(document) for answer in ("yes", "no")}
    assert found == expected


def test_every_document_has_a_grammar_with_cases() -> None:
    assert {"rfc3986", *ANCESTORS} == DOCUMENTS.keys()


def test_a_production_or_a_document_that_does_not_exist() -> None:
    with pytest.raises(ValueError, match="no production 'url'; it has URI, hier-part"):
        matches("url", "x")
    with pytest.raises(ValueError, match="of url-1993 has no production 'URI'; it has fragmentadd"):
        matches("URI", "x", document="url-1993")
    with pytest.raises(ValueError, match="unknown document 'rfc1808'; allowed: rfc3986, rfc2396"):
        matches("URI", "x", document="rfc1808")
    with pytest.raises(TypeError, match="document has to be str, not None"):
        matches("URI", "x", document=None)  # type: ignore[arg-type]  # what is tested


@given(st.text(alphabet="0123456789abcdefABCDEF:.", max_size=45))
def test_ipv6_addresses_agree_with_another_parser(text: str) -> None:
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        expected = False
    else:
        expected = True
    assert matches("IPv6address", text) is expected


@given(st.integers(0, 9), st.integers(0, 9), st.sampled_from(["", "::"]), st.booleans())
def test_the_groups_of_an_ipv6_address_are_counted(
    before: int, after: int, gap: str, dotted: bool
) -> None:
    tail = ["1"] * after + ["1.2.3.4"] * dotted
    text = ":".join(["f"] * before) + (gap or ":" * bool(before and tail)) + ":".join(tail)
    groups = before + after + 2 * dotted
    assert matches("IPv6address", text) is (groups <= 7 if gap else groups == 8)


@given(st.ip_addresses(v=6))
def test_every_ipv6_address_matches(address: ipaddress.IPv6Address) -> None:
    assert matches("IPv6address", str(address))
    assert matches("IPv6address", address.exploded)


@given(anything)
def test_a_reference_is_a_uri_or_relative(text: str) -> None:
    try:
        found = matches("URI-reference", text)
    except canonry.InvalidURL:
        return
    assert found == (matches("URI", text) or matches("relative-ref", text))
    assert not (matches("URI", text) and matches("relative-ref", text))


@given(texts)
def test_lossless_canonical_forms_are_uris(text: str) -> None:
    try:
        identity = canonry.canonicalize(text, policy="rfc3986")
    except canonry.InvalidURL:
        return
    assert matches("URI", identity)


@given(anything)
def test_canonical_forms_of_the_web_are_uris(text: str) -> None:
    try:
        identity = canonry.canonicalize(text, policy="web")
    except canonry.InvalidURL:
        return
    assert matches("URI", identity)


_HEADS = ["", "http://", "//", "news:", "telnet://", "gopher://h/", "a@", "x:"]


@each("document", DOCUMENTS)
@each(
    "unit", ["a", "a-", "%41", "/", "../", "a.", ":", "1:", "@", "@1.1", "a@", "?", "[", "%", ";="]
)
def test_time_is_linear(document: str, unit: str) -> None:
    """Ten thousand characters take milliseconds; what is quadratic would take seconds."""
    start = time.process_time()
    for head in _HEADS:
        text = head + unit * (10_000 // len(unit)) + "\x7f"
        for production in productions_of(document):
            matches(production, text, document=document)
    assert time.process_time() - start < 20


@pytest.mark.parametrize("unit", ["a", "%41", "../", "a.", "1:", "@"])
def test_a_megabyte_is_read(unit: str) -> None:
    text = "http://a/" + unit * (1_000_000 // len(unit))
    start = time.process_time()
    for production in ("URI", "URI-reference", "authority", "host", "path"):
        matches(production, text)
    assert time.process_time() - start < 20
