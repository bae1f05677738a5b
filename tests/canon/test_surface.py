"""The library's surface: its exported names, under both of its own names, and its weight."""

import ast
import importlib
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from inspect import ismodule
from pathlib import Path

import pytest

import canonry

ROOT = Path(__file__).parents[2]
CONSUMERS = sorted(
    path
    for folder in ("crawler", "storage")
    for path in (ROOT / folder).rglob("*.py")
    if "__pycache__" not in path.parts
)
ROOMS = [f"canonry.canon.{path.parent.name}" for path in (ROOT / "canon").glob("*/__init__.py")]
HEAVY = {"aiohttp", "click", "importlib.resources", "numpy", "pyarrow", "rich", "sqlalchemy"}


def run(*arguments: str, folder: Path) -> str:
    """Run Python in a folder and return what it printed."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def imported(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the imports from the library in a file: the module and the name."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("canonry.canon"):
            yield from ((node.module or "", alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((a.name, "") for a in node.names if a.name.startswith("canonry.canon"))


@pytest.mark.parametrize("room", ["canonry.canon", *ROOMS])
def test_public_names_hide_no_module(room: str) -> None:
    module = importlib.import_module(room)
    files = Path(module.__file__ or "").parent.glob("*.py")
    assert {path.stem for path in files}.isdisjoint(
        name for name in getattr(module, "__all__", ()) if not ismodule(getattr(module, name))
    )


def test_the_crawler_and_the_store_use_only_exported_names() -> None:
    for path in CONSUMERS:
        for module, name in imported(path):
            assert module.count(".") <= 2, f"{path}: import {name} from the room, not from {module}"
            exported = importlib.import_module(module).__all__
            assert name in exported, f"{path}: {module} does not export {name}"


def test_the_version_is_that_of_the_distribution() -> None:
    assert canonry.__version__ == version("canonry")


@pytest.mark.parametrize(
    "package", ["canonry", "canonry.canon", "canonry.canon.pipeline", "canonry.storage"]
)
def test_a_misspelled_name_is_an_error_also_for_type_checkers(package: str) -> None:
    module = importlib.import_module(package)
    with pytest.raises(AttributeError, match="no attribute 'Canonicaliser'"):
        module.Canonicaliser  # noqa: B018 - it fails
    code = ast.parse(Path(module.__file__ or "").read_text(encoding="utf-8"))
    seen = {node.name for node in code.body if isinstance(node, ast.FunctionDef)}
    assert "__getattr__" not in seen  # with it, checkers take every name for one that is there


def test_what_a_canonicalizer_is_can_be_read() -> None:
    make = canonry.Canonicalizer("search@1")
    assert repr(make) == "Canonicalizer('search@1')"
    rule = canonry.LearnedRule(host="a.example", family="trailing-slash", new="bare")
    rules = canonry.RuleSet([rule], "web/1")
    found = repr(canonry.Canonicalizer(rules=rules))
    assert found == "Canonicalizer('web@1', rules=<RuleSet of 1 rules for web@1>)"


def test_importing_the_library_loads_no_heavy_packages() -> None:
    loaded = run("-c", "import sys, canonry; print(*sys.modules)", folder=ROOT).split()
    assert HEAVY.isdisjoint(loaded)


def test_in_a_checkout_canon_is_the_same_library() -> None:
    code = """
import canon, canonry, canon.errors
from canon.policies.policy import Policy
assert canon is canonry.canon
assert canon.errors.InvalidURL is canonry.InvalidURL
assert Policy is canonry.Policy
assert canon.columns is canonry.columns
print(all(getattr(canon, name) is getattr(canonry, name) for name in canon.__all__))
"""
    assert run("-c", code, folder=ROOT).strip() == "True"


def test_folders_with_our_names_in_the_working_directory_do_no_harm(tmp_path: Path) -> None:
    for name in ("canon", "config", "crawler", "storage"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise RuntimeError('not ours')\n")
    code = "import canonry; print(canonry.canonicalize('HTTP://a.example'))"
    assert run("-c", code, folder=tmp_path).strip() == "http://a.example/"
    command = ("-m", "canonry", "canon", "HTTP://a.example")
    assert run(*command, folder=tmp_path).strip() == "http://a.example/"
