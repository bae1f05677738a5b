"""Fingerprints: what is the same request, and that no request raises an error."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scrapy import FormRequest, Request
from scrapy.utils.request import fingerprint as scrapys_fingerprint

from canonry.canon import Canonicalizer
from canonry.crawler.adapters.scrapy.fingerprints import RequestKeys

MAKE = Canonicalizer("web")
KEYS = RequestKeys(MAKE)
PAGE = "http://a.example/b?c=d"
TOKENS = [
    "http://",
    "https:",
    "//",
    "a.example",
    "[::1]",
    ":80",
    ":x",
    "/",
    "..",
    "%2e",
    "%",
    "%zz",
]
TOKENS += ["?", "&", "=", "#", "#!", "@", "é", "\\", "|", " ", "data:,x", "ftp://", "mailto:a@b"]


@pytest.mark.parametrize(
    "url", ["HTTP://A.example:80/b?c=d", f"{PAGE}&utm_source=x", f"{PAGE}#top", f"{PAGE}&gclid=1"]
)
def test_spellings_of_a_page_have_one_fingerprint(url: str) -> None:
    assert KEYS.fingerprint(Request(url)) == KEYS.fingerprint(Request(PAGE)) == MAKE(PAGE).key


@pytest.mark.parametrize(
    "other",
    [
        Request("http://a.example/b?c=e"),
        Request("https://a.example/b?c=d"),
        Request(PAGE, method="POST"),
        Request(PAGE, method="HEAD"),
        Request(PAGE, body=b"x"),
        Request(PAGE, method="POST", body=b"x"),
        Request(PAGE, meta={"verbatim_url": True}),
        Request("http://a.example/x/../b?c=d"),  # Scrapy sends it so: it has an answer of its own
        FormRequest(PAGE, formdata={"a": "1"}),
    ],
    ids=str,
)
def test_other_requests_have_others(other: Request) -> None:
    assert KEYS.fingerprint(other) != KEYS.fingerprint(Request(PAGE))
    assert KEYS.of(other).key in {None, KEYS.fingerprint(other)}


def test_method_body_and_url_cannot_be_mistaken_for_each_other() -> None:
    one = Request(PAGE, method="POST", body=b"ab")
    two = Request(PAGE, method="POST", body=b"a")
    assert KEYS.fingerprint(one) != KEYS.fingerprint(two)
    again = Request(f"{PAGE}&utm_source=x", method="POST", body=b"ab")
    assert KEYS.fingerprint(one) == KEYS.fingerprint(again)


def test_verbatim_urls_are_compared_as_they_stand() -> None:
    prints = {
        KEYS.fingerprint(Request(url, meta={"verbatim_url": True}))
        for url in (PAGE, f"{PAGE}#top", f"{PAGE}&utm_source=x", "http://a.example:80/b?c=d")
    }
    assert len(prints) == 4


def test_what_has_no_canonical_form_gets_scrapys_own() -> None:
    request = Request("http://a%2Fb/c")
    assert KEYS.of(request) == (scrapys_fingerprint(request), None)


@given(st.lists(st.sampled_from(TOKENS), max_size=9).map("".join), st.sampled_from(["GET", "POST"]))
def test_no_request_raises(url: str, method: str) -> None:
    try:
        request = Request(url, method=method)
    except ValueError:  # Scrapy takes no URL without a scheme
        return
    found = KEYS.of(request)
    assert found.fingerprint == KEYS.fingerprint(request)
    assert len(found.fingerprint) in {16, 20}
    sent = KEYS.as_browsers(request)
    if found.key is not None:
        assert sent is request


def test_dot_segments_are_sent_as_browsers_send_them() -> None:
    request = Request("http://a.example/x/../b?c=d#top", meta={"a": 1}, priority=3)
    sent = KEYS.as_browsers(request)
    assert (sent.url, sent.meta, sent.priority) == (f"{PAGE}#top", {"a": 1}, 3)
    kept = request.replace(meta={"verbatim_url": True})
    assert KEYS.as_browsers(kept) is kept
