"""Repairs: what a browser's parser does to a text before it reads it, and what it leaves alone."""

import pytest

from canonry.canon.rules.repair import two_slashes


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
