"""Repairs: what a browser's parser does to a text before it reads it, and what it leaves alone."""

import pytest

import canonry
from canonry.canon.references import whatwg
from canonry.canon.rules.repair import RESOLVE, URL_STANDARD, replace_backslashes, two_slashes


@pytest.mark.parametrize(
    ("text", "repaired"),
    [
        ("http:a", "http://a"),
        ("HTTPS:/a//b", "HTTPS://a//b"),
        ("ws:////a", "ws://a"),
        ("http://a", "http://a"),
        ("file:/a", "file:/a"),  # has no host
        ("FILE:////a", "FILE:////a"),
        ("foo:/a", "foo:/a"),
        ("a/http:b", "a/http:b"),
        ("http", "http"),
    ],
)
def test_slashes_after_a_special_scheme(text: str, repaired: str) -> None:
    assert two_slashes(text) == repaired


@pytest.mark.parametrize(
    ("text", "repaired"),
    [
        ("HTTP:\\\\a\\b?c\\d", "HTTP://a/b?c\\d"),
        ("file:\\a#b\\c", "file:/a#b\\c"),
        ("foo:\\a", "foo:\\a"),
        ("\\a", "\\a"),
    ],
)
def test_backslashes_before_the_query(text: str, repaired: str) -> None:
    assert replace_backslashes(text) == repaired


def test_the_examples_of_what_is_no_row() -> None:
    assert whatwg.serialize(URL_STANDARD.before) == URL_STANDARD.after
    assert canonry.resolve(RESOLVE.before, "http://example.com/a/c") == RESOLVE.after
