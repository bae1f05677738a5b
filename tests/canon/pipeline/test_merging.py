"""Which rules merged two spellings: those that changed only one of them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.strategies import guessed, raw, share, tidy, tries, urls

import canonry
from canonry.canon.pipeline import is_compiled, kernels_rules, merging_rules, native
from canonry.canon.pipeline.canonical import changed_part
from canonry.canon.pipeline.merging import merged_by, traced_rules
from canonry.canon.rules.table import STEPS
from canonry.canon.syntax import to_text

WEB = canonry.Canonicalizer("web")
MAKERS = [canonry.Canonicalizer(policy) for policy in ("web", "search", "archive")]
compiled = pytest.mark.skipif(not is_compiled(), reason="needs the compiled kernel")


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


# What may be different in another spelling, and what is changed in both in the same way.
_TAILS = [
    "", "#x", "#é", "#", "?", "?utm_source=x", "&GCLID=1&b=2", "&b=1&a=2", "/..", "/./x", "/", "//",
    "%41", "%c3%a9", "%zz", "é", "|", " ", "/index.html", "?sid=0123456789abcdef",
]  # fmt: skip
_pairs = st.tuples(tidy | guessed, st.sampled_from(_TAILS), st.sampled_from(_TAILS)).map(
    lambda made: (f"{made[0]}{made[1]}", f"{made[0]}{made[2]}")
)
_others = st.tuples(tidy | guessed | urls, tidy | guessed | urls)


@compiled
@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.policy.label)
@given(pair=_pairs | _others | st.tuples(raw, raw), as_bytes=st.booleans())
@settings(max_examples=tries(0.7), deadline=None)
def test_the_kernel_names_the_rules_of_two_traces(
    make: canonry.Canonicalizer, pair: tuple[str | bytes, str | bytes], as_bytes: bool
) -> None:
    """Whether the two have one identity or not: it says which rules changed only one of them."""
    if as_bytes:
        pair = tuple(x.encode() if isinstance(x, str) and x.isascii() else x for x in pair)  # type: ignore[assignment]
    found = kernels_rules(make, [pair[0]], [pair[1]])[0]
    if found is not None:
        assert found == traced_rules(make, *map(to_text, pair))
    found = kernels_rules(make, [pair[0]], [None])[0]
    if found is not None:
        assert found == traced_rules(make, to_text(pair[0]), make.identity(pair[0]))


@compiled
@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.policy.label)
def test_the_kernel_names_the_rules_of_many_pairs(make: canonry.Canonicalizer) -> None:
    """Else the law above would hold for a kernel that never answers."""
    assert share(_pairs, lambda pair: bool(kernels_rules(make, [pair[0]], [pair[1]])[0])) > 0.15


@compiled
@pytest.mark.parametrize(
    ("policy", "one", "other", "rules"),
    [
        ("web", "HTTP://A.example:80?utm_x=1#é", None,
         "scheme-case + host-case + default-port + empty-path + tracking + fragment"),
        ("web", "http://a.example:", "http://a.example/./",
         "dot-segments + empty-port + empty-path"),
        ("web", "http://a.example:0443/%7eé%", "http://a.example:443/~%C3%A9%25?",
         "encode-disallowed + percent-case + percent-unreserved + port-zeros + empty-query"),
        ("web", "http://a.example/%7e?fbclid=1", "http://a.example/%7e?fbclid=1", ""),
        ("web", "http://a.example/%7e?fbclid=1", "http://a.example/%7e?fbclid=2", "tracking"),
        ("web", b"http://a.example/\xc3\xa9/", b"http://a.example/%c3%a9/",
         "encode-disallowed + percent-case"),
        ("web", b"http://a.example/\xe9", b"http://a.example/%e9", None),
        ("web", "http://a.example/\\", "http://a.example//", None),
        ("web", "http://a.example/ #x", "http://a.example/", None),
        ("web", f"http://a.example/{'%41' * 2000}", f"http://a.example/{'A' * 2000}", None),
        ("search", "http://a.example//x/?b=2&a=1&utm_x=3", None,
         "tracking + sorted-query + duplicate-slashes"),
        ("search", "http://a.example/index.html?PHPSESSID=0123456789abcdef",
         "http://a.example/index.html", "session-id"),
        ("archive", "https://www.A.example/B/?b&a", None,
         "host-case + scheme-fold + www + letter-case + archive-order + trailing-slash"),
    ],
)  # fmt: skip
def test_rules_that_the_kernel_names(
    policy: str, one: str, other: str | None, rules: str | None
) -> None:
    assert kernels_rules(canonry.Canonicalizer(policy), [one], [other]) == [rules]
    if other is not None and isinstance(one, str):
        expected = traced_rules(canonry.Canonicalizer(policy), one, other)
        assert merging_rules(canonry.Canonicalizer(policy), one, other) == expected


@compiled
def test_learned_rules_merge_nothing_that_had_one_identity_before() -> None:
    rule = canonry.LearnedRule(family="trailing-slash", host="a.example", new="slash")
    make = canonry.Canonicalizer("web", canonry.RuleSet([rule], "web/1"))
    one, other, third = (f"http://a.example/b{tail}" for tail in ("", "?utm_x=1", "/?utm_x=1"))
    assert kernels_rules(make, [one, one], [other, third]) == ["tracking", None]
    assert merging_rules(make, one, other) == traced_rules(make, one, other) == "tracking"
    assert merging_rules(make, one, third) == traced_rules(make, one, third)
    assert merging_rules(make, one, third) == "tracking + learned-trailing-slash"


@compiled
def test_wrong_arguments_are_refused() -> None:
    kernel = WEB.native
    assert kernel is not None
    for wrong in ((["http://a/"], []), ("http://a/", "http://a/"), (["http://a/"],)):
        with pytest.raises(TypeError, match="two lists of one length"):
            kernel.merging(*wrong)  # type: ignore[call-overload]
    assert kernel.merging([1, None], [2, None]) == b"\xff" * 8
    assert {name for bit in range(31) for name in native.named(1 << bit)} == set(native.RULES)


@compiled
def test_the_kernel_has_its_rules_in_the_order_of_the_table() -> None:
    """What a rule changed is found by what those before it make of a URL."""
    assert tuple(step.name for step in STEPS if step.name in native.RULES) == native.RULES
