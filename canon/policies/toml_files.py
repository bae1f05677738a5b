"""Settings files that ship with Canonry, and line numbers in TOML files for error messages.

A released version of a policy keeps its file, ``policies/NAME@VERSION.toml``.
"""

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable
import re
from collections.abc import Sequence
from typing import Any

_KEY = re.compile(r"\s*((?:\"[^\"]*\"|'[^']*'|[\w\-. ])+?)\s*=")


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


def _versions(folder: "Traversable") -> dict[str, tuple[int, ...]]:
    """Return the versions of the files ``NAME@VERSION.toml`` in a folder, by name."""
    found: dict[str, list[int]] = {}
    for entry in folder.iterdir():
        name, mark, version = entry.name.removesuffix(".toml").rpartition("@")
        if mark and version.isdecimal():
            found.setdefault(name, []).append(int(version))
    return {name: tuple(sorted(versions)) for name, versions in found.items()}


def line_of(text: str, path: Sequence[str], item: str | None = None) -> int:
    """Return the number of the line with a key or the head of a table; 0 if it is not found.

    Args:
        text: of a TOML file.
        path: names of tables, and the key, such as ``("crawl", "delay")``.
        item: a text in the key's value. If it stands on a line below, that line is returned.
    """
    wanted = tuple(path)
    table: tuple[str, ...] = ()
    inline = 0
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("["):
            table = _names(line) or table
            if table[: len(wanted)] == wanted:
                return number
        elif found := _KEY.match(line):
            here = (*table, *_names(f"{found[1]} = 0"))
            if here == wanted:
                return number if item is None else _line_with(text, number, item)
            if here == wanted[: len(here)]:  # an inline table
                inline = number
    return inline


def _names(head: str) -> tuple[str, ...]:
    """Return the names in the head of a table, or in a key; none if the line is something else."""
    import tomllib  # noqa: PLC0415 - only when a file is read: `import canonry` stays light

    try:
        found: Any = tomllib.loads(head)
    except tomllib.TOMLDecodeError:
        return ()
    names = []
    while isinstance(found, dict) and found:
        [(name, found)] = found.items()
        names.append(name)
    return tuple(names)


def _line_with(text: str, first: int, item: str) -> int:
    """Return the first line of a value that holds an item, or else the line of its key."""
    for number, line in enumerate(text.splitlines(), 1):
        if number > first and _KEY.match(line):
            break
        if number >= first and (f'"{item}"' in line or f"'{item}'" in line):
            return number
    return first
