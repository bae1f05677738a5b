"""Reading line by line, as a filter does, from files and from standard input."""

import io
from collections.abc import Iterator, Sequence
from typing import IO, NamedTuple

from canonry.crawler.compression import FAULTS, opened, unpacked
from canonry.crawler.refusal import Refusal

_BOM = b"\xef\xbb\xbf"
LONGEST = 1 << 24  # bytes of a line; what is longer is no URL


class Line(NamedTuple):
    """A line without its end, and where it stands."""

    source: str
    number: int
    text: bytes
    refused: str | None = None  # why it is no URL, where that is known before it is looked at


class Cut(NamedTuple):
    """A source that could not be read to its end."""

    source: str
    number: int
    why: str

    def told(self) -> str:
        """Return it as a sentence."""
        if not self.number:
            return f"{self.source}: cannot be read ({self.why})"
        return f"{self.source}: breaks off after line {self.number:,} ({self.why})"


def read(sources: Sequence[str]) -> Iterator[Line | Cut]:
    """Yield the lines of all sources, in order, as soon as each is there; ``-`` is standard input.

    A source that breaks off yields a `Cut` behind its last whole line, and the next one follows.
    Of a line longer than `LONGEST` there is only the beginning.

    Args:
        sources: names of files that exist, plain or packed.
    """
    for source in sources:
        number = 0
        try:
            with opened(source) as file:
                stream = io.BufferedReader(unpacked(file))
                for number, (text, whole) in enumerate(_split(stream), 1):
                    yield Line(source, number, text, None if whole else Refusal.TOO_LONG.label)
        except FAULTS as error:
            yield Cut(source, number, str(error) or type(error).__name__)


def _split(stream: IO[bytes]) -> Iterator[tuple[bytes, bool]]:
    """Yield lines without their ends, and whether they are whole."""
    first = True
    while line := stream.readline(LONGEST):
        whole = line.endswith(b"\n") or len(line) < LONGEST
        if not whole:
            while (rest := stream.readline(LONGEST)) and not rest.endswith(b"\n"):
                pass
        if first:
            line = line.removeprefix(_BOM)
            first = False
        yield line.rstrip(b"\r\n"), whole
