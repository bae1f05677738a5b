"""Settings files that ship with Canonry: the only files that this library reads."""

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
    """Return the text of a settings file, such as ``policies/web.toml``."""
    return _root().joinpath(*name.split("/")).read_text(encoding="utf-8")


@cache
def preset_names() -> tuple[str, ...]:
    """Return the names of the policies that ship with Canonry, sorted."""
    found = (entry.name for entry in (_root() / "policies").iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in found if name.endswith(".toml")))
