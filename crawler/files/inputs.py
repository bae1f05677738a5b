"""The files that arguments of a command name."""

from collections.abc import Sequence
from glob import glob
from pathlib import Path

from canonry.crawler.settings import SettingsError


def expand(arguments: Sequence[str]) -> list[str]:
    """Return the files that are named: also those in folders, at any depth, and of patterns.

    A pipe or a device is a file here, too.

    Hidden files are left out. The files of a folder or a pattern are in the order of their names.

    Raises:
        SettingsError: naming an argument that matches no file.
    """
    found: list[str] = []
    for name in arguments:
        path = Path(name)
        if name == "-" or (path.exists() and not path.is_dir()):
            found.append(name)
            continue
        if path.is_dir():
            inside = [file for file in sorted(path.rglob("*")) if file.is_file()]
            more = [str(f) for f in inside if not _is_hidden(f.relative_to(path))]
        else:
            matching = glob(name, recursive=True)  # noqa: PTH207 - also of absolute patterns
            more = sorted(file for file in matching if Path(file).is_file())
        if not more:
            reason = "no file in it" if path.is_dir() else "there is no such file"
            raise SettingsError(f"{name}: {reason}")
        found += more
    return found


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)
