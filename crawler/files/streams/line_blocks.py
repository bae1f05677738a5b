"""Cut a stream into blocks of whole lines, as they arrive or megabytes at a time."""

from collections.abc import Callable, Iterator, Mapping
from select import select
from typing import IO, NamedTuple

from canonry.crawler.compression import FAULTS, Stream
from canonry.crawler.files.lines import BOM, LONGEST, SAMPLE
from canonry.crawler.hold_reason import HoldReason

BLOCK = 1 << 22  # bytes
_NONE: Mapping[int, str] = {}
_TOO_LONG = {0: HoldReason.TOO_LONG.label}

Arrived = Callable[[], bool]  # tells whether more of a pipe can be read without waiting


class WholeLines(NamedTuple):
    r"""Lines, separated by ``\n``, with none after the last."""

    data: bytes
    refused: Mapping[int, str] = _NONE  # the reasons of those that are too long, shortened here


def never() -> bool:
    """Return False: wait for nothing."""
    return False


def arrivals(file: IO[bytes]) -> Arrived | None:
    """Return a function that tells if more of a pipe is there; None if that cannot be known."""
    try:
        number = file.fileno()
    except OSError:
        return None
    return lambda: bool(select([number], [], [], 0)[0])


def line_blocks(stream: Stream, arrives: Arrived | None = None) -> Iterator[WholeLines]:
    r"""Yield whole lines, a block at a time; lines end with ``\n`` alone.

    A first line that is longer than `LONGEST` is shortened and refused. Lines that were read before
    a fault are yielded before it is raised, up to the last whole one.

    Args:
        stream: the content of a file.
        arrives: tells whether there is more to read now; lines are yielded if there is not. None:
            yield lines when a block is full.
    """
    rest, bom = b"", BOM
    fault: BaseException | None = None
    while fault is None:
        parts, fault = _some(stream, arrives)
        if not parts:
            break
        whole, tail = _cut_after_lines(rest, parts)
        if whole is None:
            rest = tail[:LONGEST]  # enough to know that it is too long
            continue
        start = whole.find(b"\n")
        cut = len(whole) >= LONGEST and (start < 0 or start >= LONGEST)
        if cut:
            whole = whole[:SAMPLE] + (whole[start:] if start >= 0 else b"")
        yield WholeLines(_without_returns(whole.removeprefix(bom)), _TOO_LONG if cut else _NONE)
        rest, bom = tail, b""
    if fault is not None:
        raise fault
    rest = rest.removeprefix(bom)
    if rest:
        cut = len(rest) >= LONGEST
        yield WholeLines(
            _without_returns(rest[:SAMPLE] if cut else rest), _TOO_LONG if cut else _NONE
        )


def _cut_after_lines(rest: bytes, parts: list[bytes]) -> tuple[bytes | None, bytes]:
    r"""Return the whole lines of some parts, without the last ``\n``, and what follows it.

    Args:
        rest: what precedes the parts.
        parts: one at least.
    """
    for n in range(len(parts) - 1, -1, -1):
        end = parts[n].rfind(b"\n")
        if end >= 0:
            lines = b"".join([rest, *parts[:n], memoryview(parts[n])[:end]])
            return lines, b"".join([parts[n][end + 1 :], *parts[n + 1 :]])
    return None, b"".join([rest, *parts])


def _some(stream: Stream, arrives: Arrived | None) -> tuple[list[bytes], BaseException | None]:
    """Read a block, or what there is now, or what precedes the end or a fault; in parts."""
    parts: list[bytes] = []
    size = 0
    while size < BLOCK and (not parts or arrives is None or arrives()):
        try:
            part = stream.read1(BLOCK)
        except FAULTS as error:
            return parts, error
        if not part:
            break
        parts.append(part)
        size += len(part)
    return parts, None


def _without_returns(data: bytes) -> bytes:
    r"""Return lines without a ``\r`` at their ends."""
    if b"\r" not in data:
        return data
    return b"\n".join([line.rstrip(b"\r") for line in data.split(b"\n")])


def pieces(stream: Stream, arrives: Arrived | None) -> Iterator[bytes]:
    """Yield the content of a stream; what precedes a fault is yielded before it is raised."""
    fault: BaseException | None = None
    while fault is None:
        parts, fault = _some(stream, arrives)
        if not parts:
            break
        yield b"".join(parts)
    if fault is not None:
        raise fault
