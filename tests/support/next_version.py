"""A copy of the tree in which the policy "web" gets version 2, by the moves of CONTRIBUTING."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
RULE = """
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
FUNCTIONS = '''

def drop_commas(parts: Parts) -> Parts:
    """Leave out commas at the end of a path."""
    path = parts.path.rstrip(",")
    return parts if path == parts.path else parts._replace(path=path)


def drop_blank_query(parts: Parts) -> Parts:
    """Leave out a query that is empty, or nothing but separators."""
    if parts.query is None or parts.query.strip("&") or parts.scheme not in WEB:
        return parts
    return parts._replace(query=None)
'''
CHANGED_RULE = """
    Step(
        name="empty-query",
        why="A query without any field means nothing on most servers.",
        before="http://example.com/a?&",
        after="http://example.com/a",
        cites="docs/decisions/0004-practice-rules.md",
        rung=Rung.PRACTICE,
        lossless=False,
        since=2,
        apply=practice.drop_blank_query,
    ),
"""


def add(path: Path, text: str) -> None:
    """Add text at the end of a file."""
    with path.open("a", encoding="utf-8") as file:
        file.write(text)


def edit(path: Path, old: str, new: str) -> None:
    """Replace a text that stands in a file once."""
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{path}: {old!r} stands there {text.count(old)} times"
    path.write_text(text.replace(old, new), encoding="utf-8")


def copy_tree(folder: Path) -> Path:
    """Copy the tree, with the two functions of the new version, which no row names yet."""
    # Compiled modules go along: files keep their times, so those that nobody edits are valid.
    skipped = shutil.ignore_patterns("*.so", ".hypothesis")
    for name in ("canonry", "canon", "storage", "crawler", "config", "docs", "tests"):
        shutil.copytree(ROOT / name, folder / name, symlinks=True, ignore=skipped)
    for name in ("canon", "storage", "crawler", "config"):  # in an sdist, these are no links
        if not (folder / "canonry" / name).is_symlink():
            shutil.rmtree(folder / "canonry" / name)
            (folder / "canonry" / name).symlink_to(f"../{name}")
    for path in (*ROOT.glob("*.md"), ROOT / "pyproject.toml"):
        shutil.copy(path, folder)
    add(folder / "canon/rules/practice.py", FUNCTIONS)
    return folder


def add_rule(copy: Path) -> None:
    """Move: a row for a new rule, at the end of the table."""
    table = copy / "canon/rules/table.py"
    text = table.read_text(encoding="utf-8")
    end = text.index("\n)\n", text.index("STEPS: "))
    table.write_text(text[:end] + RULE.rstrip() + text[end:], encoding="utf-8")


def change_rule(copy: Path) -> None:
    """Move: a new row for "empty-query", from edition 2 on; the old row ends there."""
    table = copy / "canon/rules/table.py"
    old = "        apply=practice.drop_empty_query,\n    ),"
    edit(table, old, f"        until=2,\n{old}{CHANGED_RULE.rstrip()}")
    edit(table, "\nEDITION = 1\n", "\nEDITION = 2\n")


def release(copy: Path, *rules: str, edition: int = 1) -> None:
    """Move: a file for version 2 of "web", with more rules, in an edition."""
    old = (copy / "config/policies/web@1.toml").read_text(encoding="utf-8")
    more = "".join(f'"{rule}", ' for rule in rules)
    new = old.replace("practice = [", f"practice = [{more}")
    new = new.replace("version = 1", f"version = 2\nedition = {edition}")
    (copy / "config/policies/web@2.toml").write_text(new, encoding="utf-8")


def release_web_2(folder: Path) -> Path:
    """Return a copy of the tree whose "web" has version 2: a rule more, and one that changed."""
    copy = copy_tree(folder)
    add_rule(copy)
    change_rule(copy)
    release(copy, "trailing-comma", edition=2)
    return copy


def start(copy: Path, *words: str, folder: Path | None = None, text: str = "") -> str:
    """Run Python in the copy; return what it prints. It may fail as tests and commands do."""
    done = run_python(copy, *words, folder=folder, text=text)
    assert done.returncode in {0, 1}, done.stdout + done.stderr
    return done.stdout


def run_python(
    copy: Path, *words: str, folder: Path | None = None, text: str = ""
) -> "subprocess.CompletedProcess[str]":
    """Run Python with the copy's packages."""
    return subprocess.run(
        [sys.executable, *words],
        cwd=folder or copy,
        env={**os.environ, "PYTHONPATH": str(copy), "COLUMNS": "1000"},
        capture_output=True,
        input=text,
        text=True,
        timeout=60,
        check=False,
    )


def outcomes(copy: Path, *files: str, chosen: str) -> dict[str, str]:
    """Run some tests in the copy; return the outcome of each."""
    words = ("-m", "pytest", "-v", "--tb=no", "-p", "no:cacheprovider", "-p", "no:xdist")
    said = start(copy, *words, *files, "-k", chosen)
    found = re.findall(r"^tests/\S+::(\S.*) (PASSED|FAILED|ERROR)", said, re.MULTILINE)
    assert len(found) > 100, said
    return dict(found)
