"""The files that arguments of a command name, and lists of seeds."""

from collections.abc import Iterator, Sequence
from glob import glob
from pathlib import Path
from typing import NamedTuple

from canonry.canon.syntax import to_text
from canonry.crawler.files.line_streams import Cut
from canonry.crawler.locations import files_at, is_remote
from canonry.crawler.settings import SettingsError

_STDIN = "standard input"


def expand(arguments: Sequence[str]) -> list[str]:
    """Return the files that arguments name, including those in folders, at any depth, and patterns.

    Pipes and devices are files, too, and so are URLs such as ``s3://bucket/key``.

    Hidden files are left out. The files of a folder or a pattern are in the order of their names.

    Raises:
        SettingsError: naming an argument that matches no file.
    """
    files: list[str] = []
    for name in arguments:
        if is_remote(name):
            files += _remote(name)
            continue
        path = Path(name)
        if name == "-" or (path.exists() and not path.is_dir()):
            files.append(name)
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
        files += more
    return files


def _remote(name: str) -> list[str]:
    """Return the remote files that a URL names."""
    try:
        found = files_at(name)
    except FileNotFoundError:
        found = []
    files = [file for file in found if not file.rpartition("/")[2].startswith((".", "_"))]
    if not files:
        raise SettingsError(f"{name}: there is no such file")
    return files


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


class ListedSeed(NamedTuple):
    """A seed from a list, not yet checked."""

    text: str
    place: str  # the file and the line, for people


def read_seed_lists(files: Sequence[str]) -> Iterator[ListedSeed | Cut]:
    """Yield the seeds of lists: blank lines, and lines that begin with ``#``, are skipped.

    All formats of `canonry.crawler.files.formats` that need no column are read, compressed or not.
    A list that breaks off yields a `Cut` after its last whole line.

    Args:
        files: names of files; ``-`` is standard input.

    Raises:
        SettingsError: naming a file that does not exist.
    """
    try:
        sources = expand(files)
    except SettingsError as error:
        raise SettingsError(f"--seeds {error}") from None
    if not sources:
        return
    from canonry.crawler.files import blocks  # noqa: PLC0415 - loads NumPy, a tenth of a second

    for line in blocks.lines_of(blocks.read(sources)):
        if isinstance(line, Cut):
            yield line
            continue
        text = to_text(line.text.strip())
        if line.refused or (text and not text.startswith("#")):
            source = _STDIN if line.source == "-" else line.source
            yield ListedSeed(text, f"{source}, line {line.number:,}")
