"""Lines of TOML files, so that messages can name them."""

import re
import tomllib
from collections.abc import Sequence
from typing import Any

_KEY = re.compile(r"\s*(?:\"([^\"]*)\"|'([^']*)'|([A-Za-z0-9_-]+))\s*=")


def line_of(text: str, path: Sequence[str]) -> int:
    """Return the number of the line with a key or the head of a table; 0 if it is not found.

    Dotted keys are not found.

    Args:
        text: of a TOML file.
        path: names of tables, and the key, such as ``("crawl", "delay")``.
    """
    table: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("["):
            table = _table(line) or table
            if table[: len(path)] == tuple(path):
                return number
        elif (found := _KEY.match(line)) and (*table, found[found.lastindex or 0]) == tuple(path):
            return number
    return 0


def _table(head: str) -> tuple[str, ...]:
    """Return the names in the head of a table; none if the line is something else."""
    try:
        found: Any = tomllib.loads(head)
    except tomllib.TOMLDecodeError:
        return ()
    names = []
    while isinstance(found, dict) and found:
        [(name, found)] = found.items()
        names.append(name)
    return tuple(names)
