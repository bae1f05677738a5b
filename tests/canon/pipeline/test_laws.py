"""What holds for every URL, whatever it is made of.

A law about canonical forms leaves out the URLs that have none. Two tests see to it that this is
not most of them: URLs of `sound` are accepted without exception, and of all other strategies the
share that has to be accepted is written down.
"""

import re
from urllib.parse import unquote_to_bytes

import pytest
from hypothesis import assume, example, given
from hypothesis.strategies import SearchStrategy, lists, sampled_from
from support.strategies import anything, forms, raw, share, sound, texts, tidy, urls
from support.tables import each

import canonry
from canonry.canon.policies import preset_names
from canonry.canon.references import whatwg
from canonry.canon.syntax.parts import Parts
from canonry.canon.syntax.percent import to_text
from canonry.canon.syntax.query import fields

POLICIES = [canonry.Canonicalizer(name) for name in preset_names()]
LOSSLESS = canonry.Canonicalizer("rfc3986")


def outcome(
    make: canonry.Canonicalizer, url: str | bytes, base: str | None = None
) -> canonry.Canonical | canonry.Reason:
    """Return what a URL becomes, or the reason for which it is refused."""
    try:
        return make(url, base)
    except canonry.InvalidURL as error:
        return error.reason


def accepted(
    make: canonry.Canonicalizer, url: str | bytes, base: str | None = None
) -> canonry.Canonical:
    """Return what a URL becomes; a refused one does not count as an example."""
    found = outcome(make, url, base)
    assume(isinstance(found, canonry.Canonical))
    return found


@pytest.mark.parametrize("make", POLICIES, ids=lambda make: make.policy.name)
@given(url=sound)
def test_a_url_with_a_sound_authority_is_accepted(make: canonry.Canonicalizer, url: str) -> None:
    assert isinstance(outcome(make, url), canonry.Canonical)


@pytest.mark.parametrize("make", POLICIES, ids=lambda make: make.policy.name)
@pytest.mark.parametrize(
    ("made_by", "least"),
    [
        pytest.param(anything, 0.25, id="anything"),
        pytest.param(tidy, 0.5, id="tidy"),
        pytest.param(urls, 0.25, id="urls"),
        pytest.param(forms, 0.5, id="forms"),
    ],
)
def test_enough_urls_are_accepted(
    make: canonry.Canonicalizer, made_by: SearchStrategy[str], least: float
) -> None:
    assert share(made_by, lambda url: isinstance(outcome(make, url), canonry.Canonical)) >= least


@given(anything)
def test_parsing_loses_nothing(text: str) -> None:
    try:
        parsed = canonry.parse(text)
    except canonry.InvalidURL as error:
        assert error.reason is canonry.Reason.SURROGATE  # noqa: PT017 - the only way it may fail
    else:
        assert str(parsed) == to_text(text)


@each("make", POLICIES)
@each("place", ["a", "?a=b", "#"])
def test_a_lone_surrogate_is_refused_wherever_it_is(
    make: canonry.Canonicalizer, place: str
) -> None:
    url = f"http://example.com/{place}\ud800"
    assert outcome(make, url) is canonry.Reason.SURROGATE
    with pytest.raises(canonry.InvalidURL, match="lone surrogate"):
        make.identity(url)
    assert [type(found) for found in make.many([url])] == [canonry.Refused]


@given(anything)
def test_parts_lose_nothing(text: str) -> None:
    assert str(Parts.of(text)) == text


@pytest.mark.parametrize("make", POLICIES, ids=lambda make: make.policy.name)
@given(url=anything | tidy | sound)
@example(url="FILE://%0\xa1A")
def test_canonical_forms_are_canonical(make: canonry.Canonicalizer, url: str) -> None:
    found = accepted(make, url)
    assert make(found.identity).identity == found.identity
    assert make(found.identity).key == found.key
    assert found.identity.isascii()


# What IDNA maps to ASCII: full-width characters, a small percent sign, one that becomes "a/c".
_MAPPED = [*map(chr, range(0xFF01, 0xFF5F)), "\ufe6a", "\u2100", "4", "1", "2F", ".", "%", "a"]


@given(name=lists(sampled_from(_MAPPED) | sampled_from("\uff05\uff14\uff11\ufe6a"), max_size=5))
@example(name=["\uff05\uff14\uff11"])  # "%41" in full width
@example(name=["\ufe6a2F"])
def test_what_idna_maps_to_ascii_is_not_decoded_again(name: list[str]) -> None:
    found = accepted(LOSSLESS, f"http://x{''.join(name)}.example")
    assert LOSSLESS(found.identity).identity == found.identity


@pytest.mark.parametrize("make", POLICIES, ids=lambda make: make.policy.name)
@given(url=raw, base=urls)
def test_bytes_and_bases_raise_nothing_but_invalid_url(
    make: canonry.Canonicalizer, url: bytes, base: str
) -> None:
    outcome(make, url)
    outcome(make, url, base)


@pytest.mark.parametrize("make", POLICIES, ids=lambda make: make.policy.name)
@given(url=anything | tidy | sound)
def test_explain_ends_where_canonicalize_ends(make: canonry.Canonicalizer, url: str) -> None:
    found = accepted(make, url)
    trace = make.explain(url)
    assert (trace.url, trace.identity, trace.key) == tuple(found)
    place = trace.text
    for step in trace.steps:
        assert step.before == place
        assert step.after != step.before
        place = step.after
    assert place == trace.identity


def test_the_fast_path_is_taken() -> None:
    web = canonry.Canonicalizer("web")
    for url in ("https://www.a.example/b/c.html?d=e&f", "http://1.2.3.4:8080/%C3%A9"):
        assert web._recognize(url) == (url, url)  # noqa: SLF001 - else the laws say nothing
    for url in ("http://a.example/%7eb%2f?c=&utm_source=x&d#e", "https://a.example:8443/x?"):
        assert web._recognize(url) is not None  # noqa: SLF001 - the same


@given(reference=texts, base=sound)
def test_explain_accounts_for_resolution_too(reference: str, base: str) -> None:
    make = POLICIES[-1]
    found = accepted(make, reference, base)
    trace = make.explain(reference, base)
    assert (trace.steps[-1].after if trace.steps else trace.text) == found.identity


@pytest.mark.parametrize("make", POLICIES, ids=lambda make: make.policy.name)
@given(url=anything | tidy | sound)
def test_the_fast_path_answers_as_the_plain_pipeline(make: canonry.Canonicalizer, url: str) -> None:
    found = accepted(make, url)
    assert make.plain(url) == found
    assert make.identity(url) == found.identity


@pytest.mark.parametrize("make", POLICIES, ids=lambda make: make.policy.name)
@given(url=anything | sampled_from(["", " \t", "\x1f/a", "//h/x", " a\n", "\ud800", "?q#f"]))
def test_one_of_many_is_refused_for_the_same_reason(make: canonry.Canonicalizer, url: str) -> None:
    """Also a text without any colon, of which the reason is known at once."""
    [found] = make.many([url])
    try:
        expected: canonry.Canonical | canonry.Refused = make(url)
    except canonry.InvalidURL as error:
        expected = canonry.Refused(error.text, error.reason, error.position)
    assert found == expected


@given(url=urls | sound, base=urls | sound)
def test_a_canonical_url_is_itself_against_any_base(url: str, base: str) -> None:
    found = accepted(LOSSLESS, url)
    path = canonry.parse(found.identity).path
    # Dots in a path without a root are opaque to us, but not to section 5.2.
    assume(path.startswith("/") or "." not in path)
    assert canonry.resolve(found.identity, base) == found.identity


@given(url=urls | sound)
def test_what_is_requested_is_what_a_browser_requests(url: str) -> None:
    found = accepted(canonry.Canonicalizer("search"), url)
    assert found.url == whatwg.serialize(to_text(url)).partition("#")[0]
    assert whatwg.serialize(found.url) == found.url


def decoded(text: str | None) -> bytes | None:
    """Return the bytes of a component, its escapes decoded."""
    return None if text is None else unquote_to_bytes(text)


@given(urls | sound)
def test_lossless_rules_keep_the_decoded_meaning(url: str) -> None:
    """Path segments and form fields, decoded, are what they were: nothing merged, nothing split."""
    found = accepted(LOSSLESS, url)
    before, after = (Parts.of(text) for text in (to_text(url), found.identity))
    assert decoded(before.fragment) == decoded(after.fragment)
    assert (before.query is None) == (after.query is None)
    assert [decoded(f) for f in fields(before.query or "")] == [
        decoded(f) for f in fields(after.query or "")
    ]
    if "." not in (decoded(before.path) or b"").decode("latin-1"):
        given_path = before.path or ("/" if after.path == "/" else "")
        assert [decoded(s) for s in given_path.split("/")] == [
            decoded(s) for s in after.path.split("/")
        ]


@pytest.mark.parametrize("make", POLICIES, ids=lambda make: make.policy.name)
@given(url=anything | sound)
def test_no_byte_becomes_a_replacement_character(make: canonry.Canonicalizer, url: str) -> None:
    assume("\ufffd" not in url and "%ef%bf%bd" not in url.lower())
    assert "%EF%BF%BD" not in accepted(make, url).identity.upper()


@given(urls | sound)
def test_redacting_hides_the_password_and_nothing_else(url: str) -> None:
    hidden = canonry.redact(url)
    before, after = Parts.of(url), Parts.of(hidden)
    if before.userinfo and ":" in before.userinfo:
        assert after.userinfo == before.userinfo.partition(":")[0] + ":***"
        assert (before.host, before.port, before.path) == (after.host, after.port, after.path)
    elif hidden != url:  # browsers see a password
        assert re.match(r"\s*(?:(?:https?|wss?|ftp):|[/\\]{2})", url, re.IGNORECASE)
