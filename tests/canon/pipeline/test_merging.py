"""Which rules merged two spellings: those that changed only one of them."""

import pytest

import canonry
from canonry.canon.pipeline import merging_rules
from canonry.canon.pipeline.merging import merged_by
from canonry.canon.pipeline.trace import changed_part

WEB = canonry.Canonicalizer("web")


@pytest.mark.parametrize(
    ("one", "other", "rules"),
    [
        ("http://a.example/", "http://a.example/", ()),
        ("HTTP://a.example/", "http://a.example/", ("scheme-case",)),
        ("HTTP://a.example/%7eb", "http://a.example/%7eb", ("scheme-case",)),
        ("http://a.example/?utm_x=1", "http://a.example/?utm_x=2", ("tracking",)),
        ("HTTP://a.example/?utm_x=1", "http://a.example/?utm_x=2", ("scheme-case", "tracking")),
        ("http://a.example/%41", "http://a.example:80/%41", ("default-port",)),
        ("http://a.example/%c3%a9", "http://a.example/é", ("encode-disallowed", "percent-case")),
        ("http://0x7f.1/", "http://127.0.0.1/", ("url-standard",)),
        (" http:\\\\a.example", "http://a.example/", ("strip", "backslashes", "empty-path")),
    ],
)
def test_rules(one: str, other: str, rules: tuple[str, ...]) -> None:
    traces = WEB.explain(one), WEB.explain(other)
    assert traces[0].identity == traces[1].identity
    assert merged_by(*traces) == merged_by(*reversed(traces)) == rules


def test_resolution_does_not_count_as_a_rule() -> None:
    one = WEB.explain("../b", "http://a.example/c/d")
    assert merged_by(one, WEB.explain("http://a.example/b")) == ()


@pytest.mark.parametrize(
    ("one", "other", "rules"),
    [
        ("http://a.example/#%41", "http://a.example/#é", "fragment"),
        ("http://a.example/#x", "http://a.example/", "fragment"),
        ("HTTP://a.example/#x", "http://a.example/#y", "scheme-case + fragment"),
        ("HTTP://a.example/#x", "http://a.example/#x", "scheme-case"),
        ("http://a.example/#x", "http://a.example/#x", ""),
    ],
)
def test_rules_inside_a_dropped_fragment_do_not_count(one: str, other: str, rules: str) -> None:
    assert merging_rules(WEB, one, other) == merging_rules(WEB, other, one) == rules


@pytest.mark.parametrize(
    ("before", "after", "part"),
    [
        ("abc", "abc", ("", "")),
        ("abc", "axc", ("b", "x")),
        ("aa", "aaa", ("", "a")),
        ("", "a", ("", "a")),
        ("abab", "ab", ("ab", "")),
    ],
)
def test_changed_parts(before: str, after: str, part: tuple[str, str]) -> None:
    assert changed_part(before, after) == part
