"""Lines of TOML files, so that messages can name them: tomllib does not say them."""

import re
from collections.abc import Sequence
from typing import Any

_KEY = re.compile(r"\s*((?:\"[^\"]*\"|'[^']*'|[\w\-. ])+?)\s*=")


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
    """Return the line of a value that has an item; the line of its key if none has it."""
    for number, line in enumerate(text.splitlines(), 1):
        if number > first and _KEY.match(line):
            break
        if number >= first and (f'"{item}"' in line or f"'{item}'" in line):
            return number
    return first
