"""Arguments of wrong types: a TypeError that says what is wanted and what was given."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from support.tables import each

import canonry
from canonry.canon.policies import Policy, from_toml, preset
from canonry.canon.redaction import redact_message, redact_refused

URL = "http://a.example/x"
MAKE = canonry.Canonicalizer()
COLUMNS = canonry.columns.canonicalize

NO_TEXT = (None, 5, True, 3.5, [URL], (URL,), {"a": 1}, {URL}, object(), memoryview(b"x"))
NO_STR = (*NO_TEXT, b"x")
NO_LIST = (None, 5, URL, b"x", bytearray(b"x"), memoryview(b"x"), object())

Call = Callable[[Any], object]

# One URL: str or bytes.
URLS: dict[str, Call] = {
    "canonicalize": canonry.canonicalize,
    "key": canonry.key,
    "surt": canonry.surt,
    "equivalent, one": lambda x: canonry.equivalent(x, URL),
    "equivalent, other": lambda x: canonry.equivalent(URL, x, rung="string"),
    "resolve, reference": lambda x: canonry.resolve(x, URL),
    "resolve, base": lambda x: canonry.resolve("a", x),
    "resolve, base as browsers do": lambda x: canonry.resolve("a", x, dialect="whatwg"),
    "same_document, reference": lambda x: canonry.same_document(x, URL),
    "same_document, base": lambda x: canonry.same_document("a", x, dialect="url-1993"),
    "from_suffix": canonry.from_suffix,
    "parse": canonry.parse,
    "matches": lambda x: canonry.matches("URI", x),
    "interpret": canonry.interpret,
    "extract": canonry.extract,
    "cautions": canonry.cautions,
    "call": MAKE,
    "identity": MAKE.identity,
    "explain": MAKE.explain,
    "Canonicalizer.surt": MAKE.surt,
    "plain": MAKE.plain,
    "many, a URL in the list": lambda x: list(MAKE.many([URL, x])),
    "many, a URL of an iterator": lambda x: list(MAKE.many(iter([x]))),
    "without the kernel": canonry.Canonicalizer("search"),
}
# The same where None has a meaning: no base, or a missing URL.
OPTIONAL: dict[str, Call] = {
    "canonicalize, base": lambda x: canonry.canonicalize(URL, base=x),
    "call, base": lambda x: MAKE(URL, x),
    "identity, base": lambda x: MAKE.identity(URL, x),
    "explain, base": lambda x: MAKE.explain(URL, x),
    "many, base": lambda x: list(MAKE.many([URL], x)),
    "rfc3986, base": lambda x: canonry.canonicalize(URL, base=x, policy="rfc3986"),
    "resolve, document": lambda x: canonry.resolve("", URL, document=x),
    "establish_base": canonry.establish_base,
    "establish_base, retrieval": lambda x: canonry.establish_base(retrieval=x),
    "establish_base, one of several": lambda x: canonry.establish_base(encapsulating=[x]),
    "columns, a URL in the list": lambda x: COLUMNS([x]),
    "columns, by the kernel": lambda x: COLUMNS([x], columns=["identity"]),
    "columns, base": lambda x: COLUMNS([URL], base=x),
}
# Texts that are no URLs: names, canonical forms, files.
TEXTS: dict[str, Call] = {
    "equivalent, rung": lambda x: canonry.equivalent(URL, URL, rung=x),
    "resolve, dialect": lambda x: canonry.resolve("a", URL, dialect=x),
    "same_document, dialect": lambda x: canonry.same_document("a", URL, dialect=x),
    "from_suffix, scheme": lambda x: canonry.from_suffix("a.example", x),
    "matches, production": lambda x: canonry.matches(x, "a"),
    "canonicalize, policy": lambda x: canonry.canonicalize(URL, policy=x),
    "key, policy": lambda x: canonry.key(URL, policy=x),
    "columns, policy": lambda x: COLUMNS([URL], policy=x),
    "columns, the name of one": lambda x: COLUMNS([URL], columns=[x]),
    "Canonicalizer": canonry.Canonicalizer,
    "key_of": MAKE.key_of,
    "surt_of": MAKE.surt_of,
    "follow": MAKE.follow,
    "redact": canonry.redact,
    "redact_message": redact_message,
    "redact_refused": redact_refused,
    "RuleSet, policy": lambda x: canonry.RuleSet([], x),
    "from_toml": lambda x: from_toml(x, "test"),
    "preset": preset,
}
# Several: a text would be taken for its characters.
LISTS: dict[str, Call] = {
    "many": MAKE.many,
    "columns": COLUMNS,
    "columns, columns": lambda x: COLUMNS([URL], columns=x),
    "RuleSet": lambda x: canonry.RuleSet(x, "web/1"),
    "Policy": lambda x: Policy(name="own", version=1, practice=x),
    "Policy, prefixes": lambda x: Policy(name="own", version=1, tracking_prefixes=x),
}


def refused(call: Call, given: object) -> None:
    """Check that a call raises a TypeError that names the type, and no value."""
    shown = "None" if given is None else type(given).__name__
    with pytest.raises(TypeError, match=rf" has to be .*, not {shown}\Z") as caught:
        call(given)
    assert URL not in str(caught.value)


@each("call", [*URLS.values(), *OPTIONAL.values()])
def test_one_url_is_wanted(call: Call) -> None:
    for given in NO_TEXT[1:]:
        refused(call, given)


@each("call", URLS.values())
def test_none_is_no_url(call: Call) -> None:
    refused(call, None)


@each("call", OPTIONAL.values())
def test_none_is_no_base_where_a_base_is_optional(call: Call) -> None:
    call(None)


@each("call", TEXTS.values())
def test_a_text_is_wanted(call: Call) -> None:
    for given in NO_STR:
        refused(call, given)


@pytest.mark.parametrize("call", LISTS.values(), ids=LISTS)
def test_several_are_wanted(call: Call) -> None:
    for given in NO_LIST:
        refused(call, given)


def test_rules_are_a_set_or_its_text() -> None:
    for given in (5, [], object(), {}):
        refused(lambda x: canonry.Canonicalizer(rules=x), given)
    refused(lambda x: canonry.RuleSet([x], "web/1"), "abc")
    refused(lambda x: canonry.establish_base(encapsulating=x), 5)
    refused(lambda x: COLUMNS(np.array(x)), "an array without a dimension")


def test_other_texts_are_texts() -> None:
    for url in (
        bytearray(b"HTTP://a.example"),
        np.str_("HTTP://a.example"),
        np.bytes_(b"HTTP://a.example"),
    ):
        assert canonry.canonicalize(url) == "http://a.example/"  # type: ignore[arg-type]
    assert canonry.establish_base(encapsulating=b"HTTP://a.example") == "http://a.example/"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        (
            {"dialect": "nope"},
            "policy own@1: key 'dialect': the dialects allowed are rfc3986, whatwg",
        ),
        ({"practice": ["nope"]}, "policy own@1: key 'practice': no rule 'nope'"),
        ({"version": 0}, "policy own@0: key 'version'"),
        ({"name": "a/b"}, "policy a@b@1: key 'name'"),
    ],
)
def test_a_policy_made_in_python_is_checked_like_a_file(fields: dict[str, Any], said: str) -> None:
    policy = Policy(**{"name": "own", "version": 1, **fields})
    with pytest.raises(canonry.PolicyError, match=said):
        canonry.Canonicalizer(policy)


def test_the_fields_of_policies_and_rules_have_types() -> None:
    for fields in ({"name": 5}, {"version": "1"}, {"version": True}, {"tracking": [5]}):
        with pytest.raises(TypeError, match=r"policy key .* has to be .*, not (int|str|bool)"):
            Policy(**{"name": "own", "version": 1, **fields})
    for fields in ({"host": None}, {"new": 5}, {"below": None}):
        given = {"family": "host-alias", "host": "a.example", "new": "b.example", **fields}
        with pytest.raises(TypeError, match=r"rules: a rule: Expected `str`, got"):
            canonry.RuleSet([canonry.LearnedRule(**given)], "web/1")


def test_a_policy_with_plain_sets_is_the_same_policy() -> None:
    plain = Policy(name="own", version=1, practice={"fragment"})  # type: ignore[arg-type]
    assert plain == Policy(name="own", version=1, practice=frozenset({"fragment"}))
    assert canonry.canonicalize(URL + "#a", policy=plain) == URL


@pytest.mark.parametrize("policy", ["web", "rfc3986"])
@pytest.mark.parametrize("base", ["rel", "", "//h/x", "http://["])
def test_a_base_that_is_not_absolute_is_refused_at_once(policy: str, base: str) -> None:
    make = canonry.Canonicalizer(policy)
    for urls in (["a", URL], iter(["a", URL]), []):
        for call in (make.many, partial(COLUMNS, policy=policy)):
            with pytest.raises(canonry.InvalidURL) as caught:
                call(urls, base=base)
            assert (caught.value.reason, caught.value.text) == (canonry.Reason.BASE, base)
    [relative, absolute] = make.many(["a", URL], "http://h.example/")
    assert (relative.identity, absolute.identity) == ("http://h.example/a", make(URL).identity)


RULES = canonry.RuleSet([], "web/1")


@each("make", [MAKE, canonry.Canonicalizer("rfc3986"),
                                  canonry.Canonicalizer("web", RULES)])  # fmt: skip
@each("of", [list, iter])
@each("place", [0, 1, 3_000])
def test_what_is_no_url_is_named_by_its_index(
    make: canonry.Canonicalizer, of: Call, place: int
) -> None:
    results = make.many(of([*[URL] * place, 1.5, URL]))
    assert [next(results).identity for _ in range(place)] == [make(URL).identity] * place
    with pytest.raises(TypeError, match=f"the URL at index {place} has to be str or bytes, not fl"):
        next(results)


@pytest.mark.parametrize("columns", [["identity"], ["url"], ["surt", "key"]])
def test_what_is_no_url_of_a_column_is_named_by_its_index(columns: list[str]) -> None:
    message = "the URL at index 2 has to be str or bytes, or None, not float"
    for policy in ("web", "rfc3986"):
        with pytest.raises(TypeError, match=message):
            COLUMNS([URL, None, float("nan")], columns=columns, policy=policy)


def test_columns_take_a_policys_path_and_rules_as_text(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('name = "mine"\nversion = 1\nextends = "web@1"\n')
    key = canonry.Canonicalizer(file)(URL).key
    assert COLUMNS([URL], policy=file).key == [key] == [canonry.key(URL, policy=file)]
    hints = COLUMNS.__annotations__
    assert isinstance(file, get_args(hints["policy"]))
    assert isinstance(RULES.dumps(), get_args(hints["rules"]))
    assert COLUMNS([URL], rules=RULES.dumps()).key == [canonry.key(URL)]


def test_the_name_of_a_file_is_no_preset() -> None:
    with pytest.raises(canonry.PolicyError, match=r"pass its path: Path\('my\.toml'\)"):
        canonry.Canonicalizer("my.toml")
