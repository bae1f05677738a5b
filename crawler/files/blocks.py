"""Reading files as blocks of lines: megabytes at once, so that no line costs a call of its own."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from queue import Full, Queue
from threading import Event, Thread
from typing import IO, NamedTuple, TypeVar

from canonry.crawler.compression import FAULTS, Stream, opened, unpacked
from canonry.crawler.files.formats import ANY, HEAD, Form, Lines, Pick
from canonry.crawler.files.lines import LONGEST, Cut, Line
from canonry.crawler.refusal import Refusal

_T = TypeVar("_T")
_BLOCK = 1 << 22  # bytes
_MANY = 1 << 16  # records in a block
_BOM = b"\xef\xbb\xbf"
_SHOWN = 200  # bytes of a line that is longer than LONGEST


class Block(NamedTuple):
    r"""Whole lines, with ``\n`` between them and none behind the last; or records' URLs as such."""

    source: str
    first: int  # number of the first line in its source
    data: bytes
    size: int  # lines
    refused: Mapping[int, str] = {}  # lines known to be no URL, and why: too long, bad records

    def lines(self) -> list[bytes]:
        """Return the lines."""
        return self.data.split(b"\n")


def read(
    sources: Sequence[str],
    advance: Callable[[int], None] = lambda _count: None,
    form: Form = ANY,
    open_: Callable[[str], AbstractContextManager[IO[bytes]]] = opened,
) -> Iterator[Block | Cut]:
    """Yield the URLs of all sources, in order; ``-`` is standard input.

    A source that breaks off yields a `Cut` behind its last whole line, and the next one follows.

    Args:
        sources: names of files that exist.
        advance: is told how many bytes of a file (as stored) were read since the last call.
        form: what is known of their format.
        open_: opens a source.
    """
    for source in sources:
        number = 1
        try:
            with open_(source) as file:
                told = 0
                for data, refused in ahead(_of_file(file, form)):
                    block = Block(source, number, data, data.count(b"\n") + 1, refused)
                    yield block
                    number += block.size
                    if source != "-":
                        told, before = max(file.tell(), told), told
                        advance(told - before)
        except FAULTS as error:
            yield Cut(source, number - 1, str(error) or type(error).__name__)


def lines_of(given: Iterable[Block | Cut]) -> Iterator[Line | Cut]:
    """Yield lines one by one."""
    for block in given:
        if isinstance(block, Cut):
            yield block
            continue
        for place, line in enumerate(block.lines()):
            yield Line(block.source, block.first + place, line, block.refused.get(place))


_Some = tuple[bytes, Mapping[int, str]]  # lines, and which of them are refused
_NONE: Mapping[int, str] = {}
_TOO_LONG = {0: Refusal.TOO_LONG.label}


def _of_file(file: IO[bytes], form: Form) -> Iterator[_Some]:
    """Yield the URLs of a file of any format."""
    stream = unpacked(file)
    head = stream.head(HEAD)
    found = form.find(head)
    if not isinstance(found, Lines):
        yield from _of_records(found.read(stream, form.column))
        return
    first = head.removeprefix(_BOM).partition(b"\n")[0].rstrip(b"\r")
    pick, has_names = found.pick(first, form.column)
    given = _blocks(stream)
    yield from given if found.is_plain else _picked(given, pick, has_names=has_names)


def _picked(given: Iterable[_Some], pick: Pick, *, has_names: bool) -> Iterator[_Some]:
    """Yield what is picked of each line; a first line of names becomes a blank one."""
    for data, cut in given:
        given_lines = data.split(b"\n")
        values = [b"" if n in cut else pick(line) for n, line in enumerate(given_lines)]
        if has_names:
            values[0], has_names = b"", False
        lines, refused = _sound(values)
        for place in refused:  # so that people see what it was
            lines[place] = given_lines[place][:_SHOWN]
        yield b"\n".join(lines), {**refused, **cut}


def _of_records(given: Iterator[bytes | None]) -> Iterator[_Some]:
    """Yield the URLs of records; those that were read before a fault, before it is raised."""
    values: list[bytes | None] = []
    size, fault = 0, None
    while fault is None:
        try:
            value = next(given)
        except StopIteration:
            break
        except FAULTS as error:
            fault = error
            break
        values.append(value)
        size += len(value or b"")
        if size >= _BLOCK or len(values) >= _MANY:
            lines, refused = _sound(values)
            yield b"\n".join(lines), refused
            values.clear()
            size = 0
    if values:
        lines, refused = _sound(values)
        yield b"\n".join(lines), refused
    if fault is not None:
        raise fault


def _sound(values: Iterable[bytes | None]) -> tuple[list[bytes], dict[int, str]]:
    """Return values that can stand as lines, and which of them are no URL, and why.

    Line ends in them go, as no URL has any, and browsers drop them (URL Standard, section 4.4).
    """
    lines: list[bytes] = []
    refused: dict[int, str] = {}
    for place, value in enumerate(values):
        if value is None:
            refused[place] = Refusal.RECORD.label
            lines.append(b"")
        elif len(value) > LONGEST:
            refused[place] = Refusal.TOO_LONG.label
            lines.append(value[:_SHOWN].replace(b"\n", b""))
        else:
            lines.append(value.replace(b"\n", b"") if b"\n" in value else value)
    return lines, refused


def _blocks(stream: Stream) -> Iterator[_Some]:
    r"""Yield whole lines, some megabytes at a time; ends of lines are ``\n`` alone.

    A first one that was longer than `LONGEST` is cut, and refused. What was read before a fault is
    yielded before it is raised, up to the last whole line.
    """
    rest, first = b"", True
    fault: BaseException | None = None
    while fault is None:
        data, fault = _some(stream)
        if first:
            data, first = data.removeprefix(_BOM), False
        if not data:
            break
        start, end = data.find(b"\n"), data.rfind(b"\n")
        if end < 0:
            rest = (rest + data)[:LONGEST]  # enough to tell that it is too long
            continue
        cut = len(rest) + start >= LONGEST
        whole = (rest + data[:start])[:_SHOWN] + data[start:end] if cut else rest + data[:end]
        yield _plain(whole), _TOO_LONG if cut else _NONE
        rest = data[end + 1 :]
    if fault is not None:
        raise fault
    if rest:
        cut = len(rest) >= LONGEST
        yield _plain(rest[:_SHOWN] if cut else rest), _TOO_LONG if cut else _NONE


def ahead(given: Iterator[_T]) -> Iterator[_T]:
    """Yield what an iterator does, made by a thread in the meantime: zlib lets others run."""
    made: Queue[_T | BaseException | None] = Queue(2)
    over = Event()

    def put(item: _T | BaseException | None) -> None:
        while not over.is_set():
            with suppress(Full):
                made.put(item, timeout=0.1)
                return

    def make() -> None:
        try:
            for item in given:
                put(item)
                if over.is_set():
                    return
            put(None)
        except BaseException as error:  # noqa: BLE001 - raised where it is waited for
            put(error)

    thread = Thread(target=make, name="canonry-reader", daemon=True)
    thread.start()
    try:
        while (item := made.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        over.set()


def _some(stream: Stream) -> tuple[bytes, BaseException | None]:
    """Read a block, or what there is before the end or a fault."""
    parts: list[bytes] = []
    size = 0
    while size < _BLOCK:
        try:
            part = stream.read1(_BLOCK)
        except FAULTS as error:
            return b"".join(parts), error
        if not part:
            break
        parts.append(part)
        size += len(part)
    return b"".join(parts), None


def _plain(data: bytes) -> bytes:
    r"""Return lines without a ``\r`` at their ends."""
    if b"\r" not in data:
        return data
    return b"\n".join([line.rstrip(b"\r") for line in data.split(b"\n")])
