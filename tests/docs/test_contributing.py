"""The steps of CONTRIBUTING for a rule, in a copy of the tree: all pass; a missing one fails."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_ROW = """
    Step(
        name="trailing-comma",
        why="Mail programs take the comma behind a URL into the link.",
        before="http://example.com/a,,",
        after="http://example.com/a",
        cites="docs/decisions/0004-practice-rules.md",
        rung=Rung.PRACTICE,
        lossless=False,
        apply=practice.drop_commas,
    ),
"""
_FUNCTION = '''

def drop_commas(parts: Parts) -> Parts:
    """Leave out commas at the end of a path."""
    path = parts.path.rstrip(",")
    return parts if path == parts.path else parts._replace(path=path)
'''
_FINGERPRINT = "import canonry; print(canonry.Canonicalizer('web').policy.fingerprint)"
_KEYS = """
import sys, canonry
for url in sys.argv[1:]:
    text = url.encode('ascii', 'backslashreplace').decode('unicode_escape')
    print(canonry.key(text, policy='web').hex())
"""
_CHECKED = ["tests/canon/test_vectors.py", "tests/docs/test_docs.py"]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Copy the tree, and add the function and the row of a new rule."""
    skipped = shutil.ignore_patterns("__pycache__", "*.so")
    for name in ("canonry", "canon", "storage", "crawler", "config", "docs", "tests"):
        shutil.copytree(ROOT / name, tmp_path / name, symlinks=True, ignore=skipped)
    for path in (*ROOT.glob("*.md"), ROOT / "pyproject.toml"):
        shutil.copy(path, tmp_path)
    add(tmp_path / "canon/rules/practice.py", _FUNCTION)
    table = tmp_path / "canon/rules/table.py"
    text = table.read_text(encoding="utf-8")
    end = text.index("\n)\n", text.index("STEPS: "))
    table.write_text(text[:end] + _ROW.rstrip() + text[end:], encoding="utf-8")
    return tmp_path


def add(path: Path, text: str) -> None:
    """Add text at the end of a file."""
    with path.open("a", encoding="utf-8") as file:
        file.write(text)


def run(copy: Path, *words: str) -> str:
    """Run Python in the copy; return what it prints."""
    done = subprocess.run(
        [sys.executable, *words],
        cwd=copy,
        env={**os.environ, "PYTHONPATH": str(copy)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode in {0, 1}, done.stdout + done.stderr
    return done.stdout


def outcomes(copy: Path) -> dict[str, str]:
    """Run the tests of rules and policies; return the outcome of each."""
    chosen = "rules.md or test_vectors"
    words = ("-m", "pytest", "-v", "--tb=no", "-p", "no:cacheprovider", "-p", "no:xdist")
    said = run(copy, *words, *_CHECKED, "-k", chosen)
    found = re.findall(r"^tests/\S+::(\S.*) (PASSED|FAILED|ERROR)", said, re.MULTILINE)
    assert len(found) > 100, said
    return dict(found)


def add_to_policy(copy: Path, version: int) -> None:
    """Add the rule to the policy "web", under this version."""
    web = copy / "config/policies/web.toml"
    text = web.read_text(encoding="utf-8").replace("version = 1", f"version = {version}")
    web.write_text(text.replace("practice = [", 'practice = ["trailing-comma", '), "utf-8")


def test_all_steps_together_pass(copy: Path) -> None:
    add_to_policy(copy, version=2)
    vectors = copy / "tests/vectors"
    add(vectors / "canonical.txt", "# a comma\nweb\thttp://a.example/b,\thttp://a.example/b\n")
    add(vectors / "distinct.txt", "# within\nweb\thttp://a.example/b,c\thttp://a.example/bc\n")
    fingerprint = run(copy, "-c", _FINGERPRINT).strip()
    add(vectors / "policies.txt", f"web\t2\t{fingerprint}\n")
    keys = (vectors / "keys.txt").read_text(encoding="utf-8")
    urls = re.findall(r"^web\t1\t(.*)\t", keys, re.MULTILINE)
    assert urls
    for url, key in zip(urls, run(copy, "-c", _KEYS, *urls).split(), strict=True):
        old = re.escape(f"web\t1\t{url}\t") + "[0-9a-f]{32}"
        keys = re.sub(old, lambda _, new=f"web\t2\t{url}\t{key}": new, keys)
    (vectors / "keys.txt").write_text(keys, encoding="utf-8")
    run(copy, "docs/generate.py")
    found = outcomes(copy)
    assert {name for name, outcome in found.items() if outcome != "PASSED"} == set()
    assert "test_every_rule_does_what_its_example_says[trailing-comma]" in found
    assert sum("http://a.example/b," in name for name in found) == 2, "the vector and the pair"


def test_missing_steps_are_noticed(copy: Path) -> None:
    add_to_policy(copy, version=1)
    found = outcomes(copy)
    failed = {name.partition("[")[0] for name, outcome in found.items() if outcome != "PASSED"}
    assert failed == {
        "test_every_rule_acts_in_a_vector",
        "test_a_changed_policy_needs_a_new_version",
        "test_generated_pages_are_up_to_date",
    }
    assert found["test_every_rule_does_what_its_example_says[trailing-comma]"] == "PASSED"


def test_a_version_without_frozen_keys_is_noticed(copy: Path) -> None:
    add_to_policy(copy, version=2)
    found = outcomes(copy)
    failed = {name.partition("[")[0] for name, outcome in found.items() if outcome != "PASSED"}
    assert failed >= {"test_keys_are_frozen", "test_the_version_of_every_preset_is_frozen"}
