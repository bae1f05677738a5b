"""A release is refused while anything of it is a placeholder."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from canonry import __version__

ROOT = Path(__file__).parents[2]
READ = ("canonry/__init__.py", "CHANGELOG.md", "SECURITY.md", "pyproject.toml", ".github/ready.py")
IMAGES = ("deploy/Dockerfile", "deploy/compose.yml")
DIGEST = "@sha256:" + "0" * 64


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return a tree that is ready, but for nothing."""
    for name in READ + IMAGES:
        text = (ROOT / name).read_text(encoding="utf-8")
        if not name.endswith("ready.py"):
            text = text.replace("//canonry.example", "//canonry.test").replace("OWNER/NAME", "a/b")
        text = re.sub(r"(?m)^(ARG PYTHON=| *image: )(\S+)$", rf"\1\2{DIGEST}", text)
        text = text.replace("## Unreleased", f"## Unreleased\n\n## {__version__} - 2026-11-22")
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def asked(tree: Path, tag: str) -> tuple[int, str]:
    """Ask whether a tag is ready; return the exit code and what is printed."""
    command = [sys.executable, str(tree / ".github/ready.py"), tag]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout


def test_a_tree_without_placeholders_is_ready(tree: Path) -> None:
    assert asked(tree, f"v{__version__}") == (0, "ready\n")
    code, said = asked(tree, "v99.0")
    assert code == 2, "neither the version nor the changelog"
    assert "the tag is v99.0" in said
    assert "no section with a date for v99.0" in said


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("pyproject.toml", "[project.urls] Homepage is a placeholder"),
        ("SECURITY.md", "SECURITY.md says OWNER/NAME"),
        ("CHANGELOG.md", "no section with a date"),
        ("deploy/Dockerfile", "deploy/Dockerfile: python:3.13-slim-bookworm has no digest"),
        ("deploy/compose.yml", "deploy/compose.yml: grafana/grafana:12.1.0 has no digest"),
    ],
)
def test_what_is_a_placeholder_is_named(tree: Path, name: str, says: str) -> None:
    (tree / name).write_text((ROOT / name).read_text(encoding="utf-8"), encoding="utf-8")
    code, said = asked(tree, f"v{__version__}")
    assert code > 0
    assert says in said
    assert (asked(tree, "--images")[0] > 0) is name.startswith("deploy/")
