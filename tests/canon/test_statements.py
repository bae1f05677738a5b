"""What the five documents state, statement by statement, where no other test has it as its own."""

import pytest
from support.tables import each
from support.vectorfiles import cases

import canonry
from canonry.canon.syntax.grammar import matches
from canonry.canon.syntax.schemes import SCHEMES

_ALNUM = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
_ASCII = [chr(code) for code in range(128)]


def members(document: str, name: str) -> set[str]:
    """Return the ASCII characters that a production matches."""
    return {char for char in _ASCII if matches(name, char, document=document)}


@each(("why", "document", "name", "chars"), cases("character_classes.txt", 3))
def test_character_classes(why: str, document: str, name: str, chars: str) -> None:
    assert members(document, name) == set(chars.replace("A-Za-z0-9", _ALNUM)), why


@pytest.mark.parametrize(
    ("document", "names"),
    [
        ("rfc2396bis-01", ["CTL", "SP", "delims", "unwise", "reserved", "unreserved"]),
        ("url-syntax-05", ["control", "space", "delims", "unwise", "reserved", "unreserved"]),
        ("rfc1738", ["national", "punctuation", "reserved", "unreserved"]),
    ],
)
def test_every_ascii_character_is_in_one_class(document: str, names: list[str]) -> None:
    """RFC 1738 has no names for controls and the space (section 2.2)."""
    found = [char for name in names for char in members(document, name)]
    rest = set(_ASCII[:33]) | {"\x7f"} if document == "rfc1738" else set()
    assert sorted(found) == sorted(set(_ASCII) - rest)


@pytest.mark.parametrize(("why", "policy", "chars"), cases("unescaped.txt", 2))
@pytest.mark.parametrize(
    "before", ["/", "/?", "/#", "u"], ids=["path", "query", "fragment", "user"]
)
def test_what_a_normalizer_unescapes(why: str, policy: str, chars: str, before: str) -> None:
    if before == "/#" and policy in {"web", "search"}:
        pytest.skip("they drop the fragment")
    start = "http://u" if before == "u" else f"http://a.example{before}x"
    end = "@a.example/" if before == "u" else "y"
    decoded = {
        char
        for char in _ASCII
        if canonry.canonicalize(f"{start}%{ord(char):02x}{end}", policy=policy)
        == f"{start}{char}{end}"
    }
    assert decoded == set(chars.replace("A-Za-z0-9", _ALNUM)), why


@each("row", cases("components.txt", 6))
def test_components(row: tuple[str, ...]) -> None:
    why, text, *expected = row
    assert list(canonry.parse(text)) == [None if v == "-" else v for v in expected], why


@each(("why", "dialect", "base", "document", "reference", "target"), cases("documents.txt", 5))
def test_the_current_document(
    why: str, dialect: str, base: str, document: str, reference: str, target: str
) -> None:
    known = None if document == "-" else document
    found = canonry.resolve(reference, base, dialect=dialect, document=known)
    assert found == target, why


@each(("why", "scheme", "port"), cases("scheme_ports.txt", 2))
def test_default_ports(why: str, scheme: str, port: str) -> None:
    """A default port is dropped, and every other one stays."""
    ports = {row[2] for row in cases("scheme_ports.txt", 2)} - {"none"}
    host = f"{scheme}://a.example"
    dropped = {
        given
        for given in ports
        if canonry.canonicalize(f"{host}:{given}/x", policy="rfc3986") == f"{host}/x"
    }
    assert dropped == {port} - {"none"}, why
    assert (SCHEMES[scheme].port if scheme in SCHEMES else None) in {port, None}


@each(("why", "policy", "url", "reason"), cases("refused.txt", 3))
def test_refused(why: str, policy: str, url: str, reason: str) -> None:
    with pytest.raises(canonry.InvalidURL) as caught:
        canonry.canonicalize(url, policy=policy)
    assert caught.value.reason is canonry.Reason[reason], why
