"""Seed lists: files with a seed on each line."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from canonry.canon.syntax import to_text
from canonry.crawler.files import inputs
from canonry.crawler.files.lines import Cut
from canonry.crawler.settings import SettingsError

_STDIN = "standard input"


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
        sources = inputs.expand(files)
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
