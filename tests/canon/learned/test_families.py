"""Families of learned rules: the sentences that people read before they approve one."""

from itertools import product

import msgspec
from support.tables import each

from canonry.canon.learned.families import FAMILIES, act, describe
from canonry.canon.learned.rewrite import Rewrite
from canonry.canon.syntax.parts import Parts

_HOSTS = ["", "www.", "a."]
_PATHS = [
    *("/", "//", "///", "/a", "/a/", "/AB", "/Ab", "/a//b", "/a///b", "/a.html", "/a.html/"),
    *("/home.php", "/a/home.php", "/old/a", "/new/a", "/old/", "/a;sid=1", "/a;sid=2"),
    *("/(S(a))/a", "/(S(b))/a", "/login", "/7/a-b", "/7/c-d"),
]
_QUERIES = [
    "",
    "?",
    "?next=a",
    "?next=b",
    "?ref=1",
    "?ref=2",
    "?p=1;q=2",
    "?p=2;q=2",
    "?id=1&ref=1",
    "?ref=2&id=1",
    "?c=1&b=1&a=1",
    "?b=1&c=1&a=1",
    "?from=1&id=1&run=1",
    "?from=1&id=1&run=2",
    "?id=1&page=1",
    "?page=1&id=1",
]

_SENTENCES = [
    (Rewrite("h.example", "scheme-upgrade"), "http is https"),
    (Rewrite("h.example", "path-parameter", old="sid"), "path parameter sid selects nothing"),
    (Rewrite("h.example", "double-slash"), "several slashes are one"),
    (Rewrite("h.example", "path-prefix", old="/a/", new="/b/"), "/a/ is /b/"),
    (Rewrite("h.example", "index-file", old="home.php"), "home.php is its directory"),
    (Rewrite("h.example", "letter-case"), "upper case is lower case in paths"),
    (
        Rewrite("h.example", "trailing-slash", new="slash"),
        "a path is the same with a slash behind it",
    ),
    (
        Rewrite("h.example", "trailing-slash", new="bare"),
        "a path is the same without the slash behind it",
    ),
    (
        Rewrite("h.example", "trailing-slash", new="file"),
        "a file is the same without the slash behind it",
    ),
    (Rewrite("h.example", "parameter-irrelevant", old="ref"), "parameter ref selects nothing"),
    (
        Rewrite("h.example", "parameter-irrelevant", old="ref", beside=("a", "b")),
        "parameter ref selects nothing beside a, b",
    ),
    (
        Rewrite("h.example", "parameter-group", old="a&b"),
        "together, parameters a, b select nothing",
    ),
    (
        Rewrite("h.example", "parameter-group", old="a&b", beside=("id",)),
        "together, parameters a, b select nothing beside id",
    ),
    (
        Rewrite("h.example", "parameter-mix", old="a&b&c", beside=("id",)),
        "parameters a, b, c select nothing beside id, in any mix",
    ),
    (Rewrite("h.example", "parameter-default", old="p=1"), "p=1 is the same as without it"),
    (
        Rewrite("h.example", "parameter-default", old="p=1", beside=("id", "q")),
        "p=1 is the same as without it beside id, q",
    ),
    (
        Rewrite("h.example", "parameter-of-page", old="next", new="/login"),
        "/login is one page, whatever parameter next is",
    ),
    (
        Rewrite("h.example", "session-segment"),
        "a session's segment, such as (S(x1y2z3)), selects nothing",
    ),
    (Rewrite("h.example", "path-slug", old="id/slug"), "the words in id/slug select nothing"),
    (
        Rewrite("h.example", "parameter-anywhere", old="ref"),
        "parameter ref selects nothing, whatever the others are",
    ),
    (
        Rewrite("h.example", "parameter-anywhere", old="ref", new="any-case"),
        "parameter ref, in any letter case, selects nothing, whatever the others are",
    ),
    (Rewrite("h.example", "query-selection"), "the query selects nothing"),
    (
        Rewrite("h.example", "query-selection", beside=("a", "b")),
        "where it has a, b, nothing else in the query selects",
    ),
    (
        Rewrite("h.example", "parameter-irrelevant", old="h", beside=("a=blob", "f")),
        "parameter h selects nothing beside a=blob, f",
    ),
    (Rewrite("h.example", "parameter-separator"), "';' between parameters is '&'"),
    (Rewrite("h.example", "parameter-order"), "the order of parameters means nothing"),
    (Rewrite("h.example", "www", new="www.h.example"), "it is www.h.example"),
    (Rewrite("h.example", "host-alias", new="o.example"), "it is o.example"),
]


@each(("rewrite", "sentence"), _SENTENCES)
def test_what_a_rule_says(rewrite: Rewrite, sentence: str) -> None:
    assert describe(rewrite) == f"h.example: {sentence}"


def test_every_family_has_a_sentence() -> None:
    assert {rewrite.family for rewrite, _sentence in _SENTENCES} == FAMILIES.keys()


def test_where_a_rule_holds() -> None:
    below = Rewrite("h.example", "letter-case", below="/docs/")
    assert describe(below).startswith("h.example/docs/: ")
    everywhere = Rewrite("h.example", "letter-case", subdomains=True)
    assert describe(everywhere).startswith("h.example and its subdomains: ")


def test_the_id_of_a_rule_says_what_it_says() -> None:
    """Stores and files keep ids, so they never change; exceptions do not count."""
    rewrite = Rewrite("h.example", "parameter-irrelevant", old="ref", beside=("id",))
    assert rewrite.id == "96059ba2bf"
    wide = msgspec.structs.replace(rewrite, subdomains=True)
    assert wide.id != rewrite.id
    assert msgspec.structs.replace(wide, but=("a.h.example",)).id == wide.id


@each("name", FAMILIES)
def test_one_to_one_are_the_families_that_make_no_two_urls_one(name: str) -> None:
    starts = [f"{scheme}://{host}example.com" for scheme in ("http", "https") for host in _HOSTS]
    some = map("".join, product(starts, _PATHS, _QUERIES))
    family = FAMILIES[name]
    changed = [
        str(after)
        for parts in map(Parts.of, some)
        if (after := act(Rewrite("example.com", name, **family.example), parts)) is not parts
    ]
    assert changed
    assert family.one_to_one is (len(set(changed)) == len(changed))
