"""Sites: what rules are about, and how they are read from URLs."""

import pytest
from hypothesis import given, settings
from support.strategies import sound, tries, urls
from support.tables import each

from canonry.canon import Canonicalizer, InvalidURL
from canonry.canon.learned import is_site, site_in, site_of, without_port
from canonry.canon.syntax import Parts

WEB = Canonicalizer("web")


@each(
    ("url", "site", "host"),
    [
        ("http://h.example/a", "h.example", "h.example"),
        ("https://h.example:8080", "h.example:8080", "h.example"),
        ("http://127.0.0.1:8000/a:1", "127.0.0.1:8000", "127.0.0.1"),
        ("http://[::1]:8000?a", "[::1]:8000", "[::1]"),
        ("https://[::1]/", "[::1]", "[::1]"),
        ("http://localhost#a@b", "localhost", "localhost"),
        ("http://u:p@h.example/", "", ""),
        ("http://u@h.example:8080/", "", ""),
        ("http://@h.example/", "", ""),
        ("ftp://h.example/", "", ""),
        ("mailto:a@h.example", "", ""),
        ("http:a", "", ""),
    ],
)
def test_the_site_of_a_url(url: str, site: str, host: str) -> None:
    assert site_of(Parts.of(url)) == site_in(url) == site
    assert without_port(site) == host
    assert is_site(site) is bool(site)


@given(urls | sound)
@settings(max_examples=tries(3))
def test_a_text_and_its_parts_have_one_site(url: str) -> None:
    try:
        identity = WEB.identity(url)
    except InvalidURL:
        return
    assert site_of(Parts.of(identity)) == site_in(identity)


@pytest.mark.parametrize(
    "text", ["", "H.example", "h.example:80", "1.2.3", "256.1.1.1", "[::0]", "a b"]
)
def test_what_no_canonical_url_spells_is_no_site(text: str) -> None:
    assert not is_site(text)
