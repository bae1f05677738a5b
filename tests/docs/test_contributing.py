"""The moves of CONTRIBUTING for a rule, in a copy of the tree: all pass; a missing one fails."""

from pathlib import Path

import pytest
from support.next_version import (
    add,
    add_rule,
    change_rule,
    copy_tree,
    edit,
    outcomes,
    release,
    start,
)

_CHECKED = ("tests/canon/test_vectors.py", "tests/docs/test_docs.py")
_CHOSEN = "rules.md or test_vectors"
_MAKE = (
    "import canonry, sys; print(*(canonry.key(u, policy=sys.argv[1]).hex() for u in sys.argv[2:]))"
)


pytestmark = pytest.mark.slow


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Copy the tree."""
    return copy_tree(tmp_path)


def failed(copy: Path, chosen: str = _CHOSEN) -> set[str]:
    """Return the names of the tests that fail in the copy."""
    found = outcomes(copy, *_CHECKED, chosen=chosen)
    return {name.partition("[")[0] for name, outcome in found.items() if outcome != "PASSED"}


def freeze(copy: Path) -> str:
    """Freeze new versions; return what that prints, after checking that no line was changed."""
    files = [copy / f"tests/vectors/{name}.txt" for name in ("keys", "policies")]
    before = [file.read_text(encoding="utf-8") for file in files]
    said = start(copy, "tests/vectors/freeze.py")
    after = [file.read_text(encoding="utf-8") for file in files]
    assert all(new.startswith(old) for old, new in zip(before, after, strict=True))
    return said


def test_all_moves_for_a_rule_together_pass(copy: Path) -> None:
    add_rule(copy)
    release(copy, "trailing-comma")
    vectors = copy / "tests/vectors"
    add(vectors / "canonical.txt", "# a comma\nweb\thttp://a.example/b,\thttp://a.example/b\n")
    add(vectors / "distinct.txt", "# within\nweb\thttp://a.example/b,c\thttp://a.example/bc\n")
    assert freeze(copy) == "froze web@2\n"
    assert freeze(copy) == ""
    start(copy, "docs/generate.py")
    found = outcomes(copy, *_CHECKED, chosen=_CHOSEN)
    assert {name for name, outcome in found.items() if outcome != "PASSED"} == set()
    assert "test_every_rule_does_what_its_example_says[trailing-comma]" in found
    assert sum("http://a.example/b," in name for name in found) == 2, "the vector and the pair"
    assert any(name.startswith("test_keys_are_frozen") and "web-2-" in name for name in found)


def test_all_moves_for_a_changed_rule_together_pass(copy: Path) -> None:
    urls = ("http://a.example/?", "http://a.example/?&")
    before = start(copy, "-c", _MAKE, "web@1", *urls)
    change_rule(copy)
    release(copy, edition=2)
    assert freeze(copy) == "froze web@2\n"
    start(copy, "docs/generate.py")
    assert failed(copy) == set()
    assert start(copy, "-c", _MAKE, "web@1", *urls) == before
    old, new = before.split(), start(copy, "-c", _MAKE, "web", *urls).split()
    assert old[0] != old[1]
    assert new[0] == new[1], "the fast paths know that the rule has changed"


def test_missing_moves_are_noticed(copy: Path) -> None:
    add_rule(copy)
    release(copy, "trailing-comma")
    assert failed(copy) == {
        "test_every_rule_acts_in_a_vector",
        "test_every_version_is_frozen_with_the_example_of_each_rule",
        "test_generated_pages_are_up_to_date",
    }


def test_a_change_without_a_new_version_is_noticed(copy: Path) -> None:
    """Of a policy's rules; of a rule that a policy has; and of the rules that always run."""
    path = copy / "config/policies/web@1.toml"
    kept = path.read_text(encoding="utf-8")
    edit(path, '"tracking", ', "")
    assert failed(copy, "frozen or new_version") >= {
        "test_a_changed_policy_needs_a_new_version",
        "test_keys_are_frozen",
    }
    path.write_text(kept, encoding="utf-8")
    table = copy / "canon/rules/table.py"
    edit(table, "apply=practice.drop_empty_query", "apply=practice.drop_commas")
    assert "test_keys_are_frozen" in failed(copy, "frozen or new_version")
    edit(table, "apply=practice.drop_commas", "apply=practice.drop_empty_query")
    add_rule(copy)
    edit(table, 'a,,",', 'a,,",  # new')
    text = table.read_text(encoding="utf-8")
    at = text.index('name="trailing-comma"')
    new = text[at:].replace("lossless=False", "lossless=True", 1)
    table.write_text(text[:at] + new, encoding="utf-8")
    assert "test_a_changed_policy_needs_a_new_version" in failed(copy, "frozen or new_version")
