"""What holds for every URL, whatever it is made of."""

from urllib.parse import unquote_to_bytes

import pytest
from hypothesis import example, given
from support.strategies import anything, raw, texts, tidy, urls

import canonry
from canonry.canon.policies.presets import names
from canonry.canon.references import whatwg
from canonry.canon.syntax.parts import Parts
from canonry.canon.syntax.percent import to_text
from canonry.canon.syntax.query import fields

POLICIES = [canonry.Canonicalizer(name) for name in names()]
LOSSLESS = canonry.Canonicalizer("rfc3986")


def outcome(make: canonry.Canonicalizer, url: str | bytes, base: str | None = None) -> object:
    """Return what comes of a URL, a refusal as its reason."""
    try:
        return make(url, base)
    except canonry.InvalidURL as error:
        return error.reason


@given(anything)
def test_parsing_loses_nothing(text: str) -> None:
    try:
        parsed = canonry.parse(text)
    except canonry.InvalidURL as error:
        assert error.reason is canonry.Reason.SURROGATE  # noqa: PT017 - the only way it may fail
    else:
        assert str(parsed) == to_text(text)


@given(anything)
def test_parts_lose_nothing(text: str) -> None:
    assert str(Parts.of(text)) == text


@pytest.mark.parametrize("make", POLICIES, ids=lambda make: make.policy.name)
@given(url=anything | tidy)
@example(url="FILE://%0\xa1A")
def test_canonical_forms_are_canonical(make: canonry.Canonicalizer, url: str) -> None:
    found = outcome(make, url)
    if isinstance(found, canonry.Canonical):
        assert make(found.identity).identity == found.identity
        assert make(found.identity).key == found.key
        assert found.identity.isascii()


@pytest.mark.parametrize("make", POLICIES, ids=lambda make: make.policy.name)
@given(url=raw, base=urls)
def test_bytes_and_bases_raise_nothing_but_invalid_url(
    make: canonry.Canonicalizer, url: bytes, base: str
) -> None:
    outcome(make, url)
    outcome(make, url, base)


@pytest.mark.parametrize("make", POLICIES, ids=lambda make: make.policy.name)
@given(url=anything | tidy)
def test_explain_ends_where_canonicalize_ends(make: canonry.Canonicalizer, url: str) -> None:
    found = outcome(make, url)
    if not isinstance(found, canonry.Canonical):
        return
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
        assert web._is_clean(url)  # noqa: SLF001 - else the law before says nothing


@given(reference=texts, base=urls)
def test_explain_accounts_for_resolution_too(reference: str, base: str) -> None:
    make = POLICIES[-1]
    found = outcome(make, reference, base)
    if isinstance(found, canonry.Canonical):
        trace = make.explain(reference, base)
        assert (trace.steps[-1].after if trace.steps else trace.text) == found.identity


@pytest.mark.parametrize("make", POLICIES, ids=lambda make: make.policy.name)
@given(url=anything | tidy)
def test_the_fast_path_answers_as_the_plain_pipeline(make: canonry.Canonicalizer, url: str) -> None:
    found = outcome(make, url)
    if isinstance(found, canonry.Canonical):
        assert make.plain(url) == found
        assert make.identity(url) == found.identity


@given(url=urls, base=urls)
def test_a_canonical_url_is_itself_against_any_base(url: str, base: str) -> None:
    found = outcome(LOSSLESS, url)
    if not isinstance(found, canonry.Canonical):
        return
    try:
        resolved = canonry.resolve(found.identity, base)
    except canonry.InvalidURL:
        return
    path = canonry.parse(found.identity).path
    if (
        path.startswith("/") or "." not in path
    ):  # rootless dots are opaque to us, not to section 5.2
        assert resolved == found.identity


@given(url=urls)
def test_what_is_requested_is_what_a_browser_requests(url: str) -> None:
    found = outcome(canonry.Canonicalizer("search"), url)
    if isinstance(found, canonry.Canonical):
        assert found.url == whatwg.serialize(to_text(url)).partition("#")[0]
        assert whatwg.serialize(found.url) == found.url


def decoded(text: str | None) -> bytes | None:
    """Return the bytes that a component stands for."""
    return None if text is None else unquote_to_bytes(text)


@given(urls)
def test_lossless_rules_keep_the_decoded_meaning(url: str) -> None:
    """Path segments and form fields, decoded, are what they were: nothing merged, nothing split."""
    found = outcome(LOSSLESS, url)
    if not isinstance(found, canonry.Canonical):
        return
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


@given(anything)
def test_no_byte_becomes_a_replacement_character(url: str) -> None:
    if "\ufffd" in url or "%ef%bf%bd" in url.lower():
        return
    for make in POLICIES:
        found = outcome(make, url)
        if isinstance(found, canonry.Canonical):
            assert "%EF%BF%BD" not in found.identity.upper()


@given(urls)
def test_redacting_hides_the_password_and_nothing_else(url: str) -> None:
    hidden = canonry.redact(url)
    before, after = Parts.of(url), Parts.of(hidden)
    assert (before.host, before.port, before.path) == (after.host, after.port, after.path)
    if before.userinfo and ":" in before.userinfo:
        assert after.userinfo == before.userinfo.partition(":")[0] + ":***"
    else:
        assert hidden == url
