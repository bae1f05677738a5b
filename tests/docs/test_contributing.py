"""The moves in CONTRIBUTING, made in a copy of the checkout: they suffice, and each is missed."""

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
_CHECKED = ["tests/canon/test_vectors.py", "tests/docs/test_docs.py"]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Copy what the moves touch, and what the tests of it need."""
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
    """Run the tests that the moves name; return the outcome of each."""
    chosen = "rules.md or test_vectors"
    words = ("-m", "pytest", "-v", "--tb=no", "-p", "no:cacheprovider", "-p", "no:xdist")
    said = run(copy, *words, *_CHECKED, "-k", chosen)
    found = re.findall(r"^tests/\S+::(\S.*) (PASSED|FAILED|ERROR)", said, re.MULTILINE)
    assert len(found) > 100, said
    return dict(found)


def test_a_rule_by_all_moves_passes(copy: Path) -> None:
    vectors = copy / "tests/vectors"
    policy = 'name = "mail"\nversion = 1\npractice = ["trailing-comma"]\n'
    (copy / "config/policies/mail.toml").write_text(policy, encoding="utf-8")
    add(vectors / "canonical.txt", "# a comma\nmail\thttp://a.example/b,\thttp://a.example/b\n")
    add(vectors / "distinct.txt", "# within\nmail\thttp://a.example/b,c\thttp://a.example/bc\n")
    code = (
        "import canonry; from canonry.canon.policies.policy import preset as p;"
        "print(p('mail').fingerprint, canonry.key('http://a.example/b,', policy='mail').hex())"
    )
    fingerprint, key = run(copy, "-c", code).split()
    add(vectors / "policies.txt", f"mail\t1\t{fingerprint}\n")
    add(vectors / "keys.txt", f"mail\t1\thttp://a.example/b,\t{key}\n")
    run(copy, "docs/generate.py")
    found = outcomes(copy)
    assert {name for name, outcome in found.items() if outcome != "PASSED"} == set()
    assert "test_every_rule_does_what_its_example_says[trailing-comma]" in found
    assert sum("http://a.example/b," in name for name in found) == 3, "vector, pair and key"


def test_a_rule_in_a_policy_of_the_same_version_without_a_vector_is_noticed(copy: Path) -> None:
    web = copy / "config/policies/web.toml"
    text = web.read_text(encoding="utf-8")
    web.write_text(text.replace("practice = [", 'practice = ["trailing-comma", ', 1), "utf-8")
    found = outcomes(copy)
    failed = {name.partition("[")[0] for name, outcome in found.items() if outcome != "PASSED"}
    assert failed == {
        "test_every_rule_acts_in_a_vector",
        "test_a_changed_policy_needs_a_new_version",
        "test_generated_pages_are_up_to_date",
    }
    assert found["test_every_rule_does_what_its_example_says[trailing-comma]"] == "PASSED"
