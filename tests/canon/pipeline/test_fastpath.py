"""The fast paths of Python answer as the plain pipeline, with and without the compiled kernel."""

from collections.abc import Callable

import pytest
from hypothesis import example, given
from support.strategies import guessed, sound, tidy
from support.tables import each

from canonry import Canonical, Canonicalizer, InvalidURL, Reason
from canonry.canon.pipeline import native
from canonry.canon.policies import from_toml

_MINE = """
name = "mine"
version = 1
practice = [{}]
[replace]
tracking = ["x", "q", "gclid"]
tracking_prefixes = ["utm_"]
"""
_SOME = ("", '"tracking"', '"empty-query"', '"fragment"', '"fragment", "tracking"')


def without_kernel(text: str) -> Canonicalizer:
    """Compile a policy whose answers all come from Python."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native, "VERSION", 0)
        return Canonicalizer(from_toml(text, "mine.toml"))


MAKERS = [without_kernel(_MINE.format(rules)) for rules in _SOME]


def outcome(make: Callable[[str], Canonical], url: str) -> Canonical | tuple[Reason, int]:
    """Return what a URL becomes, or where and for which reason it is refused."""
    try:
        return make(url)
    except InvalidURL as error:
        return error.reason, error.position


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: str(sorted(make.policy.practice)))
@given(url=tidy | guessed | sound)
@example(url="http://a.example/b#\ud800")  # a lone surrogate encodes no character
def test_each_combination_of_rules(make: Canonicalizer, url: str) -> None:
    plain = outcome(make.plain, url)
    assert outcome(make, url) == plain
    if isinstance(plain, Canonical):
        assert make.identity(url) == plain.identity


@each(
    ("rules", "url", "known"),
    [
        ("", "http://a.example/b#c", None),  # whether it stays is for the plain pipeline
        ('"fragment"', "http://a.example/b#c", "http://a.example/b"),
        ("", "http://a.example/%2e%2e/b", None),
        ("", "http://a.example/%7eb%2f", "http://a.example/~b%2F"),
        ("", "http://a.example/%41%2F", "http://a.example/A%2F"),
        ("", "http://a.example/b?", "http://a.example/b?"),
        ("", "http://a.example/b?c='", None),  # in a query, browsers escape it
        ("", "http://a.example/b'", "http://a.example/b'"),
        ('"empty-query"', "http://a.example/b?", "http://a.example/b"),
        *(
            ('"tracking"', f"http://a.example/b?{field}{rest}", f"http://a.example/b{left}")
            for field in ("x", "x=1", "Q=", "gclid", "utm_", "UTM_a=1")
            for rest, left in (("", ""), ("&", "?"), ("&a=1", "?a=1"))
        ),
        ('"tracking"', "http://a.example/b?xx&y=x&utm", "http://a.example/b?xx&y=x&utm"),
        ('"tracking"', "http://a.example/b?x=1&UTM_a", "http://a.example/b"),
        ('"tracking"', "http://a.example/b?x=1&c=2&utm_a&", "http://a.example/b?c=2&"),
        ("", "http://a.example/b?utm_a=%7e", "http://a.example/b?utm_a=~"),
        ("", "http://a.example:80/", None),
        ("", "http://a.example:8080/", "http://a.example:8080/"),
        ("", "http://255.1.0.99/", "http://255.1.0.99/"),
        ("", "http://256.1.0.99/", None),
        ("", "http://a.xn--b/", None),
        ("", "ftp://a.example/", None),
        ('"www"', "http://a.example/", None),
    ],
)
def test_what_is_known_without_a_parser(rules: str, url: str, known: str | None) -> None:
    found = without_kernel(_MINE.format(rules))._recognize(url)  # noqa: SLF001 - the path itself
    assert (found and found[1]) == known
