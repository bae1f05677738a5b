"""The vectors: canonical forms, SURTs and keys, and pairs that must stay distinct."""

from collections.abc import Iterator
from contextlib import suppress
from itertools import chain

import pytest
from support.tables import each
from support.vectorfiles import cases
from vectors.freeze import rows_hash, urls_of

import canonry
from canonry.canon.policies import from_toml, preset
from canonry.canon.policies.toml_files import preset_names, released
from canonry.canon.rules.repair import REPAIRS, Repair
from canonry.canon.rules.rule import Parameters
from canonry.canon.rules.table import STEPS, Step, unchanged
from canonry.canon.syntax.parts import Parts

_BASE = "http://a/b/c/d;p?q"
_SEARCH = preset("search")
LISTS = Parameters(
    _SEARCH.tracking, _SEARCH.tracking_prefixes, _SEARCH.session, _SEARCH.index_files
)


@each(("why", "reference", "strict", "lenient"), cases("resolve_rfc3986.txt", 3))
def test_the_examples_of_rfc_3986(why: str, reference: str, strict: str, lenient: str) -> None:
    assert canonry.resolve(reference, _BASE) == strict, why
    expected = strict if lenient == "=" else lenient
    assert canonry.resolve(reference, _BASE, strict=False) == expected, why


def test_all_examples_of_rfc_3986_are_there() -> None:
    """42 lines in section 5.4.1 and 5.4.2 together: 23 normal, 19 abnormal."""
    assert len(cases("resolve_rfc3986.txt", 3)) == 42


@each(("why", "base", "reference", "target"), cases("resolve_absent.txt", 3))
def test_undefined_is_not_empty(why: str, base: str, reference: str, target: str) -> None:
    assert canonry.resolve(reference, base) == target, why


@each(("why", "policy", "url", "identity"), cases("canonical.txt", 3))
def test_canonical_forms(why: str, policy: str, url: str, identity: str) -> None:
    assert canonry.canonicalize(url, policy=policy) == identity, why


@each(("why", "policy", "url", "surt"), cases("surt.txt", 3))
def test_surts(why: str, policy: str, url: str, surt: str) -> None:
    assert canonry.surt(url, policy=policy) == surt, why


@each(("why", "policy", "one", "other"), cases("distinct.txt", 3))
def test_pairs_that_must_stay_distinct(why: str, policy: str, one: str, other: str) -> None:
    assert canonry.key(one, policy=policy) != canonry.key(other, policy=policy), why
    assert [url for url in (one, other) if not stays(url, policy)] == [], "not idempotent"


def stays(url: str, policy: str) -> bool:
    """Return True if the identity of a URL is its own."""
    identity = canonry.canonicalize(url, policy=policy)
    return canonry.canonicalize(identity, policy=policy) == identity


def neighbours(step: Step) -> Iterator[str]:
    """Yield URLs like the examples of a rule: where it is careless, it is so in one of these."""
    for parts in map(Parts.of, (step.before, step.after)):
        last = parts.path.rpartition("/")[2]
        for path in {"", "/", parts.path, f"/{last}", f"{parts.path}/", f"{parts.path}/{last}"}:
            for query in {None, "", "a=b", parts.query, f"{parts.query}&{parts.query}"}:
                yield str(parts._replace(path=path, query=query))


@pytest.mark.parametrize("policy", preset_names())
def test_what_is_near_the_example_of_a_rule_has_one_form(policy: str) -> None:
    changed = []
    for url in chain.from_iterable(map(neighbours, STEPS)):
        with suppress(canonry.InvalidURL):
            changed += [] if stays(url, policy) else [url]
    assert changed == []


@each("step", STEPS)
def test_every_rule_does_what_its_example_says(step: Step) -> None:
    apply = step.bound(LISTS).apply
    before, after = (Parts.of(text) for text in (step.before, step.after))
    assert str(apply(before)) == step.after
    assert apply(after) is after, "a rule with nothing to do returns the same object"


@each("step", STEPS)
def test_every_step_has_a_function_or_makes_one_from_lists(step: Step) -> None:
    assert (step.apply is unchanged) == (step.bind is not None)


def test_without_lists_a_rule_that_reads_them_removes_nothing() -> None:
    for step in STEPS:
        if step.bind is not None:
            before = Parts.of(step.before)
            assert step.bound(Parameters()).apply(before) is before


def test_every_rule_acts_in_a_vector() -> None:
    """A rule that no preset takes cannot stand in the vectors, which name presets."""
    acted = {
        step.name
        for _why, policy, url, _identity in cases("canonical.txt", 3)
        for step in canonry.Canonicalizer(policy).explain(url).steps
    }
    assert {step.name for name in preset_names() for step in preset(name).steps()} <= acted


@pytest.mark.parametrize("repair", REPAIRS, ids=lambda repair: repair.name)
def test_every_repair_does_what_its_example_says(repair: Repair) -> None:
    assert repair.apply(repair.before) == repair.after
    assert repair.apply(repair.after) == repair.after


def test_rules_are_in_the_order_of_their_rungs() -> None:
    rungs = [step.rung for step in STEPS]
    assert rungs == sorted(rungs)
    assert len({step.name for step in STEPS}) == len(STEPS)
    assert all(step.lossless == (step.rung < canonry.Rung.PRACTICE) for step in STEPS)


@pytest.mark.parametrize(("why", "policy", "version", "found", "rows"), cases("policies.txt", 4))
def test_a_changed_policy_needs_a_new_version(
    why: str, policy: str, version: str, found: str, rows: str
) -> None:
    released_one = preset(f"{policy}@{version}")
    assert released_one.label == f"{policy}/{version}", "the file has the name of another version"
    assert (released_one.fingerprint, rows_hash(released_one)) == (found, rows), why


@each(("why", "policy", "version", "url", "key"), cases("keys.txt", 4))
def test_keys_are_frozen(why: str, policy: str, version: str, url: str, key: str) -> None:
    assert canonry.key(url, policy=f"{policy}@{version}").hex() == key, why


def test_every_version_is_frozen_with_the_example_of_each_rule() -> None:
    every = {(name, str(version)) for name in preset_names() for version in released()[name]}
    assert every == {(row[1], row[2]) for row in cases("policies.txt", 4)}
    frozen: dict[tuple[str, str], set[str]] = {}
    for _why, policy, version, url, _key in cases("keys.txt", 4):
        frozen.setdefault((policy, version), set()).add(url)
    assert every == frozen.keys()
    for (policy, version), urls in frozen.items():
        found = preset(f"{policy}@{version}")
        assert set(urls_of(found)) <= urls, "run tests/vectors/freeze.py"


def test_a_name_without_a_version_is_the_current_one() -> None:
    for name, versions in released().items():
        assert preset(name) == preset(f"{name}@{versions[-1]}")


def test_hashbang_fragments_stay_on_request() -> None:
    text = 'name = "mine"\nversion = 1\npractice = ["plain-fragment"]\n'
    mine = from_toml(text, "mine.toml")
    assert canonry.canonicalize("http://a.example/#!/x", policy=mine) == "http://a.example/#!/x"
    assert canonry.canonicalize("http://a.example/#top", policy=mine) == "http://a.example/"
    assert canonry.canonicalize("http://a.example/#!/x") == "http://a.example/"
