"""Vector files: a ``# why`` line above each case, tabs between columns, Python's escapes."""

from collections.abc import Iterator
from pathlib import Path

_FOLDER = Path(__file__).parents[1] / "vectors"


def cases(name: str, columns: int) -> list[tuple[str, ...]]:
    """Return the cases of a file; each begins with the text of the ``# why`` line above it."""
    return list(_read(name, columns))


def _read(name: str, columns: int) -> Iterator[tuple[str, ...]]:
    """Yield the cases of a file, line by line."""
    why = ""
    for number, line in enumerate((_FOLDER / name).read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("# "):
            why = line[2:]
        elif line.strip():
            found = line.split("\t")
            assert len(found) == columns, f"{name}:{number}: {columns} columns, tabs between them"
            assert why, f"{name}:{number}: a case needs a why above it"
            yield why, *(_plain(column) for column in found)


def _plain(column: str) -> str:
    """Return a column with its escapes decoded."""
    return column.encode("ascii", "backslashreplace").decode("unicode_escape")
