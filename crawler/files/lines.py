"""What the readers of files yield: lines, and where a source could not be read further."""

from typing import NamedTuple

LONGEST = 1 << 24  # bytes of a line; a longer one is no URL
SAMPLE = 200  # bytes of such a line that people see
BOM = b"\xef\xbb\xbf"  # before the first line of some files of UTF-8


class Line(NamedTuple):
    """A line without its end, and its place."""

    source: str
    number: int
    text: bytes
    refused: str | None = None  # the reason why it is no URL, where the reader knows that already


class Cut(NamedTuple):
    """A source that could not be read to its end."""

    source: str
    number: int  # of the last line that was read; 0: none was
    reason: str

    def __str__(self) -> str:
        """Return it as a sentence."""
        if not self.number:
            return f"{self.source}: cannot be read ({self.reason})"
        return f"{self.source}: breaks off after line {self.number:,} ({self.reason})"
