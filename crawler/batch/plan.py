"""The plan of a dedup: which lines are compared, by what, and within which limits."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import IO

from canonry.canon import Canonicalizer
from canonry.crawler.batch.summary import Summary
from canonry.crawler.compression import opened
from canonry.crawler.files import blocks
from canonry.crawler.files.formats import ANY, InputFormat
from canonry.crawler.files.lines import Cut
from canonry.crawler.key_files.seen_file import SeenFile


def _ignore(_value: object) -> None:
    """Do nothing, in the place of a callback."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What every engine needs to know; the last four fields matter to the local one only."""

    files: Sequence[str]  # existing ones; "-" is standard input
    canonicalizer: Canonicalizer
    input_format: InputFormat = ANY
    workers: int = 1  # threads or processes
    memory: int = 1 << 30  # bytes
    advance: Callable[[int], None] = _ignore  # called with the number of bytes read since then
    notify: Callable[[str], None] = _ignore  # called with sentences for people
    report: bool = False  # count hosts, and find the resources with the most lines
    mapped: bool = False  # name for each repeated line what it repeats
    groups: bool = False  # list the spellings of each resource
    seen: SeenFile | None = None  # leave out what is in it

    def blocks(
        self,
        summary: Summary,
        open_: Callable[[str], AbstractContextManager[IO[bytes]]] = opened,
    ) -> Iterator[blocks.Block]:
        """Yield the blocks of all files; sources that break off are added to a summary, once."""
        for found in blocks.read(self.files, self.advance, self.input_format, open_):
            if not isinstance(found, Cut):
                yield found
            elif (text := str(found)) not in summary.cut:
                summary.cut.append(text)
