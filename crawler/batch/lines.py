"""Reading lines from files, plain or gzip by content, and from standard input."""

import gzip
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, NamedTuple

_GZIP = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"
LONGEST = 1 << 24  # bytes of a line; what is longer is no URL


class Line(NamedTuple):
    """A line without its end, and where it stands."""

    source: str
    number: int
    text: bytes
    whole: bool = True  # False: it was longer than `LONGEST`, and only its beginning is here


class Cut(NamedTuple):
    """A source that could not be read to its end."""

    source: str
    number: int
    why: str


def read(sources: Sequence[str], advance: Callable[[int], None]) -> Iterator[Line | Cut]:
    """Yield the lines of all sources, in order; ``-`` is standard input.

    A source that breaks off yields a `Cut` behind its last whole line, and the next one follows.

    Args:
        sources: names of files that exist.
        advance: is told how many bytes of a file (as stored) were read since the last call.
    """
    for source in sources:
        number = 0
        try:
            with _open(source) as file:
                stream = _unpacked(file)
                told = 0
                for number, (text, whole) in enumerate(_split(stream), 1):
                    yield Line(source, number, text, whole)
                    if number % 4096 == 0 and source != "-":
                        told, before = file.tell(), told
                        advance(told - before)
        except (OSError, EOFError, zlib.error) as error:
            yield Cut(source, number, str(error) or type(error).__name__)


def _open(source: str) -> IO[bytes]:
    """Open a source."""
    return sys.stdin.buffer if source == "-" else Path(source).open("rb")


def _unpacked(file: IO[bytes]) -> IO[bytes]:
    """Return a file's content, unpacked when it begins like gzip, whatever it is called."""
    head = file.peek(2)[:2] if hasattr(file, "peek") else b""
    return gzip.GzipFile(fileobj=file) if head == _GZIP else file  # type: ignore[return-value]


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
