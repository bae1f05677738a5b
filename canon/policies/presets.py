"""Settings files that ship with Canonry: the only files that this library reads.

A released version of a policy keeps its file, ``policies/NAME@VERSION.toml``, and so does each
version of the shared lists, ``parameters@EDITION.toml``.
"""

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable


@cache
def _root() -> "Traversable":
    """Return the folder of settings."""
    from importlib.resources import files  # noqa: PLC0415 - a tenth of the library's start-up time

    return files("canonry") / "config"


def read_shipped(name: str) -> str:
    """Return the text of a settings file, such as ``policies/web@1.toml``."""
    return _root().joinpath(*name.split("/")).read_text(encoding="utf-8")


@cache
def released() -> dict[str, tuple[int, ...]]:
    """Return the versions of each policy that ships with Canonry, in order; the last is current."""
    found = _versions(_root() / "policies")
    return {name: found[name] for name in sorted(found)}


def preset_names() -> tuple[str, ...]:
    """Return the names of the policies that ship with Canonry, sorted."""
    return tuple(released())


@cache
def read_lists(edition: int) -> str:
    """Return the text of the lists that the presets of an edition share."""
    editions = _versions(_root())["parameters"]
    of = max((one for one in editions if one <= edition), default=editions[0])
    return read_shipped(f"parameters@{of}.toml")


def _versions(folder: "Traversable") -> dict[str, tuple[int, ...]]:
    """Return the versions of the files ``NAME@VERSION.toml`` in a folder, by name."""
    found: dict[str, list[int]] = {}
    for entry in folder.iterdir():
        name, mark, version = entry.name.removesuffix(".toml").rpartition("@")
        if mark and version.isdecimal():
            found.setdefault(name, []).append(int(version))
    return {name: tuple(sorted(versions)) for name, versions in found.items()}
