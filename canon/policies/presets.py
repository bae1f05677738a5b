"""The settings that ship with Canonry, read as package data: this library's only look outside."""

from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable


def _root() -> Traversable:
    """Return the folder of settings."""
    return files("canonry") / "config"


def read(name: str) -> str:
    """Return the text of one settings file, such as ``policies/web.toml``."""
    return _root().joinpath(*name.split("/")).read_text(encoding="utf-8")


@cache
def names() -> tuple[str, ...]:
    """Return the names of the policies that ship with Canonry, sorted."""
    found = (entry.name for entry in (_root() / "policies").iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in found if name.endswith(".toml")))
