"""The locks fit pyproject.toml, name no server, and are what workflows and the image install."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
# A lock: the extras of the project with which it was made (None: without the project), and groups.
LOCKS: dict[str, tuple[tuple[str, ...] | None, tuple[str, ...]]] = {
    "backend": (None, ("backend",)),
    "build": (None, ("build",)),
    "image": (("all",), ()),
    "tests": (
        ("all", "duckdb", "pandas", "polars", "scrapy", "spark"),
        ("test", "check", "docs"),
    ),
}
PIN = re.compile(
    r"^(\S+?)==(\S+)(?: ; .+?)? \\$((?:\n    --hash=sha256:[0-9a-f]{64}(?: \\)?)+)", re.MULTILINE
)


def text_of(lock: str) -> str:
    return (ROOT / "locks" / f"{lock}.txt").read_text(encoding="utf-8")


def wanted(lock: str) -> Iterator[Requirement]:
    """Yield what a lock is made from."""
    extras, groups = LOCKS[lock]
    waiting: list[Any] = [*PROJECT["project"]["dependencies"]] if extras is not None else []
    for extra in extras or ():
        waiting += PROJECT["project"]["optional-dependencies"][extra]
    for group in groups:
        waiting += PROJECT["dependency-groups"][group]
    for one in waiting:
        if isinstance(one, dict):
            waiting += PROJECT["dependency-groups"][one["include-group"]]
        elif (found := Requirement(one)).name == "canonry":
            for extra in found.extras:
                waiting += PROJECT["project"]["optional-dependencies"][extra]
        else:
            yield found


def test_each_lock_is_known() -> None:
    assert {path.name for path in (ROOT / "locks").iterdir()} == {f"{name}.txt" for name in LOCKS}


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_has_hashes_and_no_address(lock: str) -> None:
    text = text_of(lock)
    assert PIN.sub("", text).strip() == ""
    assert "://" not in text


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_has_what_the_project_asks_for(lock: str) -> None:
    """If not: ``make lock``."""
    pins: dict[str, set[str]] = {}
    for name, version, _hashes in PIN.findall(text_of(lock)):
        pins.setdefault(canonicalize_name(name), set()).add(version)
    missing = [
        str(one)
        for one in wanted(lock)
        if not any(map(one.specifier.contains, pins.get(canonicalize_name(one.name), ())))
    ]
    assert missing == []


def test_the_image_has_the_versions_that_are_tested() -> None:
    tested = {(name, version) for name, version, _ in PIN.findall(text_of("tests"))}
    assert {(name, version) for name, version, _ in PIN.findall(text_of("image"))} <= tested


@pytest.mark.parametrize(
    "file", [*(ROOT / ".github/workflows").iterdir(), ROOT / "deploy/Dockerfile"], ids=str
)
def test_what_is_published_is_installed_from_locks(file: Path) -> None:
    commands = file.read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
    for command in (part for line in commands for part in line.split("&&")):
        if re.search(r"pip (install|wheel)", command):
            assert re.search(r"--(require-hashes|no-deps|no-index)", command), command
