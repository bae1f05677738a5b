"""The rules that would make two URLs one, each about one thing; one model of all parameters."""

from functools import reduce

from hypothesis import given, settings
from hypothesis import strategies as st
from support.strategies import tries
from support.tables import each

from canonry.canon.learned import Rewrite, act
from canonry.canon.syntax import Parts
from canonry.crawler.learn.rules.infer import as_read, opposite, rules_between, where_names_are

H = "http://h.example"


def read(one: str, other: str, *, led: bool = False) -> list[str]:
    """Return the rules between two URLs, abbreviated."""
    found = rules_between(Parts.of(one), Parts.of(other), led=led)
    return [" ".join(filter(None, (rule.family, rule.old, rule.new))) for rule in found]


@each(
    ("one", "other", "rules"),
    [
        (f"{H}/a?id=1&ref=2", f"{H}/a?id=1", ["parameter-anywhere ref"]),
        (f"{H}/a?id=1&s=x", f"{H}/a?id=1&s=y", ["parameter-anywhere s"]),
        (f"{H}/a?id=1&id=2", f"{H}/a?id=1", ["parameter-anywhere id"]),
        (f"{H}/a?x=1&ref=2", f"{H}/a", ["parameter-anywhere ref", "parameter-anywhere x"]),
        (f"{H}/a?c=1&r=2&b=3", f"{H}/a?b=3&c=1", ["parameter-order", "parameter-anywhere r"]),
        (f"{H}/a/?r=2", f"{H}/a", ["trailing-slash bare", "parameter-anywhere r"]),
        (f"{H}/a?a=1&b=1&c=1&d=1&e=1&f=1&g=1", f"{H}/a", []),  # too many
        (f"{H}/a?r=2", f"{H}/b", []),
        (f"{H}/a?id=1", "http://other.example/b?id=2", []),
        ("ftp://h.example/a?r=1", "ftp://h.example/a", []),
        (f"{H}/a", f"{H}/a", []),
    ],
)
def test_each_rule_is_about_one_thing(one: str, other: str, rules: list[str]) -> None:
    assert read(one, other) == rules
    assert read(other, one) == rules


def test_the_site_s_own_word_has_a_direction() -> None:
    assert read(f"{H}/a?r=1", f"{H}/a/", led=True) == [
        "trailing-slash slash",
        "parameter-anywhere r",
    ]
    assert read(f"{H}/a", "http://www.h.example/a", led=True) == ["www www.h.example"]


def test_a_parameter_beside_others() -> None:
    whole = Rewrite("h.example", "parameter-anywhere", old="h")
    one, other, less = (as_read(Parts.of(f"{H}/?{q}")) for q in ("a=1;h=2", "a=1;h=3", "h=2"))
    narrow = where_names_are(whole, one, other)
    assert narrow == Rewrite("h.example", "parameter-irrelevant", old="h", beside=("a",))
    assert act(narrow, one) == act(narrow, other) == Parts.of(f"{H}/?a=1")
    assert where_names_are(whole, one, less) == where_names_are(whole, less, less) == whole
    order = Rewrite("h.example", "parameter-order")
    assert where_names_are(order, one, other) == order


_FIELDS = st.lists(st.sampled_from(["a=1", "a=2", "b=1", "b", "c=3", "d=4"]), max_size=4)
_URLS = st.builds(
    lambda path, fields: f"{H}/{path}" + ("?" if fields else "") + "&".join(fields),
    st.sampled_from(["a", "A", "a/", "a//b"]),
    _FIELDS,
)


@given(_URLS, _URLS)
@settings(max_examples=tries(3))
def test_rules_make_both_urls_one(one: str, other: str) -> None:
    rules = rules_between(Parts.of(one), Parts.of(other))
    in_turn = sorted(rules, key=lambda rule: rule.family != "parameter-anywhere")
    ends = {
        reduce(lambda parts, rule: act(rule, parts), in_turn, Parts.of(u)) for u in (one, other)
    }
    assert not rules or len(ends) == 1


def test_what_undoes_a_rule() -> None:
    slash = Rewrite("h.example", "trailing-slash", new="slash")
    assert opposite(slash).new == "bare"
    assert opposite(opposite(slash)) == slash
    www = Rewrite("h.example", "www", new="www.h.example")
    assert opposite(www) == Rewrite("www.h.example", "www", new="h.example")
    alone = Rewrite("h.example", "letter-case")
    assert opposite(alone) == alone
