"""Dedup of any size: lines keyed by workers, keys made unique in partitions, lines in order.

The first pass reads, canonicalizes in bulk and spreads 16-byte keys; then every line has a fate;
the second pass reads again and writes those that are the first of their resource. Memory is bounded
by what is asked for; fates are in mapped files, nine bytes a line.
"""

import hashlib
import heapq
import multiprocessing
import os
import signal
import tempfile
from array import array
from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import ExitStack
from itertools import compress
from pathlib import Path
from threading import Thread
from typing import IO, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from canon import Canonicalizer, Policy, Refused, RuleSet, redact
from canon.percent import to_text
from crawler.batch import blocks, output
from crawler.batch.dedup import Answer, Summary, map_line
from crawler.batch.lines import LONGEST, Cut, Line
from crawler.batch.partition import Numbers, Partitions, Repeats
from crawler.door import why
from crawler.refusal import Refusal
from crawler.scope import host_of

Fates = npt.NDArray[np.uint8]  # one for each line
_FIRST, _ALIKE, _MERGED, _REFUSED, _BLANK = range(5)
_NEEDED = 0x10  # the first of a resource, of which a merge has to be named
_AHEAD = 3  # blocks in work for each worker
_FEW = 1 << 23  # bytes; workers would take longer to start than to do that
_LARGEST = 20
_MANY_HOSTS = 200_000  # in memory; beyond, the rarest are forgotten
_NAMED = 200_000  # merges that are named, without a map


class Keyed(NamedTuple):
    """What came of a block of lines: rows for those that are URLs, and the fate of the others."""

    keys: bytes
    texts: bytes
    places: Numbers  # within the block
    blank: list[int]
    refused: list[tuple[int, str]]
    hosts: Counter[str]  # where a report asks for it


class Work(NamedTuple):
    """What a job asks for beside its files."""

    policy: Policy
    rules: RuleSet | None
    workers: int
    memory: int  # bytes
    report: bool = False  # count hosts and classes


_maker: list[tuple[Canonicalizer, bool]] = []  # of a worker process


def _prepare(policy: Policy, rules: str | None, hosts: bool) -> None:  # noqa: FBT001 - by the pool
    """Make a worker ready; Ctrl-C is for the process that has the files."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()
    _maker[:] = [(Canonicalizer(policy, rules), hosts)]


def _end_with_parent() -> None:
    """End a worker whose parent was killed: nobody would tell it."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _in_worker(block: blocks.Block) -> Keyed:
    canonicalizer, hosts = _maker[0]
    return keyed(block, canonicalizer, hosts=hosts)


def keyed(block: blocks.Block, canonicalizer: Canonicalizer, *, hosts: bool = False) -> Keyed:
    """Canonicalize lines and return their keys; count their hosts where that is asked for."""
    counted: Counter[str] = Counter()
    lines = block.lines()
    if block.cut:
        lines[0] = b""
    blank: list[int] = []
    refused: list[tuple[int, str]] = []
    keys: list[bytes] = []
    texts: list[bytes] = []
    places = []
    hashed = hashlib.blake2b
    for place, (line, found) in enumerate(zip(lines, canonicalizer.many(lines), strict=True)):
        if not isinstance(found, Refused):
            keys.append(found.key)
            texts.append(hashed(line, digest_size=8).digest())
            places.append(place)
            if hosts:
                counted[host_of(found.identity)] += 1
        elif block.cut and place == 0:
            refused.append((place, Refusal.TOO_LONG.label))
        elif not line or line.isspace():
            blank.append(place)
        else:
            refused.append((place, found.reason.name.lower()))
    return Keyed(
        b"".join(keys), b"".join(texts), np.array(places, np.uint64), blank, refused, counted
    )


class Dedup:
    """One job: its passes over the same files."""

    def __init__(
        self,
        files: Sequence[str],
        work: Work,
        advance: Callable[[int], None],
        *,
        name_all: bool,
    ) -> None:
        """Bind what to do.

        Args:
            files: that exist; "-" is standard input, which is kept in a temporary file.
            work: how.
            advance: is told how many bytes were read; each is read twice.
            name_all: keep for each repeated line what it repeats, as a map needs it.
        """
        self._files = files
        self._work = work
        self._advance = advance
        self._name_all = name_all
        self._canonicalizer = Canonicalizer(work.policy, work.rules)
        self.summary = Summary()
        self.hosts: Counter[str] = Counter()
        self._sizes: list[tuple[int, int]] = []
        self.largest: list[tuple[int, str]] = []  # resources with the most lines, and one of them

    def answers(self) -> Iterator[tuple[blocks.Block, Fates]]:
        """Yield each block with the fates of its lines, in order, once all were keyed."""
        with tempfile.TemporaryDirectory(prefix="canonry-") as name, ExitStack() as stack:
            folder = Path(name)
            self._spool = folder / "stdin"
            rows = _rows_in(self._files)
            partitions = Partitions(folder, self._work.memory, rows)
            others = stack.enter_context((folder / "others").open("w+b"))
            count = self._first_pass(partitions, others)
            fates = np.memmap(_reserved(folder / "fates", count), np.uint8, "r+")
            firsts = np.memmap(_reserved(folder / "firsts", 8 * count), np.uint64, "r+")
            others.seek(0)
            for place, fate in np.frombuffer(others.read(), "<u8").reshape(-1, 2):
                fates[place] = fate
            for repeats in partitions.unique():
                fates[repeats.place] = np.where(repeats.alike, _ALIKE, _MERGED)
                wanted = np.ones(len(repeats.place), np.bool_) if self._name_all else ~repeats.alike
                firsts[repeats.place[wanted]] = repeats.first[wanted]
                fates[repeats.first[wanted]] |= _NEEDED
                if self._work.report:
                    self._note_sizes(repeats)
            self._texts = stack.enter_context(_Texts(folder / "texts"))
            self._firsts = firsts
            yield from self._second_pass(fates, count)

    def _first_pass(self, partitions: Partitions, others: IO[bytes]) -> int:
        """Key all lines; return how many there are."""
        place = 0
        for block, found in self._keyed(self._once_more()):
            partitions.add(found.keys, found.texts, found.places + np.uint64(place))
            odd = [(place + n, _BLANK) for n in found.blank]
            odd += [(place + n, _REFUSED) for n, _why in found.refused]
            output.write_all(others, np.array(odd, "<u8").tobytes())
            self._count_refused(block, found)
            self.summary.blank += len(found.blank)
            self.hosts.update(found.hosts)
            if len(self.hosts) > _MANY_HOSTS:
                self.hosts = Counter(dict(self.hosts.most_common(_MANY_HOSTS // 2)))
            place += block.size
        self.summary.lines = place
        return place

    def _note_sizes(self, repeats: Repeats) -> None:
        """Keep which lines stand for the most others."""
        firsts, sizes = np.unique(repeats.first, return_counts=True)
        found = [(int(n) + 1, int(f)) for f, n in zip(firsts, sizes, strict=True)]
        self._sizes = heapq.nlargest(_LARGEST, [*self._sizes, *found])

    def _count_refused(self, block: blocks.Block, found: Keyed) -> None:
        """Count refused lines, and keep one of each reason."""
        lines = block.lines() if found.refused else []
        for n, reason in found.refused:
            self.summary.refuse(reason, block.source, block.first + n, lines[n])

    def _once_more(self) -> Iterator[blocks.Block]:
        """Yield the blocks of all files; what breaks off is told in the summary."""
        for file in self._files:
            if file == "-":
                yield from self._from_stdin()
                continue
            yield from self._whole(blocks.read([file], self._advance))

    def _whole(self, found: Iterable[blocks.Block | Cut]) -> Iterator[blocks.Block]:
        for block in found:
            if isinstance(block, Cut):
                told = f"{block.source}: breaks off after line {block.number:,} ({block.why})"
                if told not in self.summary.cut:
                    self.summary.cut.append(told)
            else:
                yield block

    def _from_stdin(self) -> Iterator[blocks.Block]:
        """Yield standard input's lines, and keep them for the second time."""
        if self._spool.exists():
            for block in self._whole(blocks.read([str(self._spool)])):
                yield block._replace(source="-")
            return
        with self._spool.open("wb") as kept:
            for block in self._whole(blocks.read(["-"])):
                if block.cut:  # it has to be too long the second time, too
                    kept.write(b"." * LONGEST)
                output.write_all(kept, block.data + b"\n")
                yield block

    def _keyed(self, given: Iterator[blocks.Block]) -> Iterator[tuple[blocks.Block, Keyed]]:
        """Key blocks in worker processes, in order; in this one where that is no slower."""
        seen = 0
        while self._work.workers == 1 or seen < _FEW:
            block = next(given, None)
            if block is None:
                return
            seen += len(block.data)
            yield block, keyed(block, self._canonicalizer, hosts=self._work.report)
        rules = None if self._work.rules is None else self._work.rules.dumps()
        context = multiprocessing.get_context("forkserver")
        pool = ProcessPoolExecutor(
            self._work.workers, context, _prepare, (self._work.policy, rules, self._work.report)
        )
        try:
            waiting: deque[tuple[blocks.Block, Future[Keyed]]] = deque()
            for block in given:
                waiting.append((block, pool.submit(_in_worker, block)))
                if len(waiting) > _AHEAD * self._work.workers:
                    first, future = waiting.popleft()
                    yield first, future.result()
            while waiting:
                first, future = waiting.popleft()
                yield first, future.result()
        finally:
            pool.shutdown(cancel_futures=True)

    def _second_pass(
        self,
        fates: Fates,
        count: int,
    ) -> Iterator[tuple[blocks.Block, Fates]]:
        """Yield each block with its lines' fates, and name what was merged on the way."""
        place = 0
        for block in self._once_more():
            here = np.array(fates[place : place + block.size])
            if len(here) != block.size:
                break
            plain = here & ~np.uint8(_NEEDED)
            self.summary.distinct += int((plain == _FIRST).sum())
            self.summary.exact += int((plain == _ALIKE).sum())
            if not self._name_all:
                self._name(block, here, place)
            self._place = place
            for size, first in self._sizes:
                if place <= first < place + block.size:
                    text = block.lines()[first - place].decode("utf-8", "replace")
                    self.largest.append((size, redact(text)))
            yield block, here
            place += block.size
        if place != count:
            raise OSError("the input has changed while it was read; run it again")

    def _name(self, block: blocks.Block, here: Fates, place: int) -> None:
        """Name the rules that merged the lines of a block."""
        looked_at = np.flatnonzero((here & _NEEDED) | (here == _MERGED))
        if not len(looked_at):
            return
        lines = block.lines()
        for n in map(int, looked_at):
            if here[n] & _NEEDED:
                self._texts.put(place + n, lines[n])
            else:
                first = self._texts.get(int(self._firsts[place + n]))
                self._merged(lines[n], first)

    def _merged(self, line: bytes, first: bytes) -> str:
        """Count a merge under its rules; return their names."""
        summary = self.summary
        if sum(summary.merged.values()) >= _NAMED and not self._name_all:
            rules = "(not looked into)"
        else:
            rules = why(self._canonicalizer, to_text(line), to_text(first))
        if rules:
            texts = (text.decode("utf-8", "replace") for text in (line, first))
            summary.merge(rules, *texts)
        else:  # spelled alike but for what no rule counts
            summary.exact += 1
        return rules

    def rows(self, block: blocks.Block, here: Fates) -> Iterator[Answer]:
        """Yield what became of each line of a block that is not blank: as a map has it."""
        place = self._place
        refused: dict[int, str] = {}
        for n, (line, fate) in enumerate(zip(block.lines(), here.tolist(), strict=True)):
            entry = Line(block.source, block.first + n, line)
            if fate & _NEEDED:
                self._texts.put(place + n, line)
            kind = fate & ~_NEEDED
            if kind == _FIRST:
                yield Answer(entry, None, "")
            elif kind == _REFUSED:
                if not refused:
                    found = keyed(block, self._canonicalizer)
                    refused = dict(found.refused)
                yield Answer(entry, None, "", refused[n])
            elif kind in {_ALIKE, _MERGED}:
                first = self._texts.get(int(self._firsts[place + n]))
                rules = self._merged(line, first) if kind == _MERGED else ""
                yield Answer(entry, to_text(first), rules)


class _Texts:
    """Lines by their place, on disk: put in ascending order, got in any."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("w+b")
        self._places = array("Q")
        self._starts = array("Q", [0])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._file.close()

    def put(self, place: int, text: bytes) -> None:
        """Keep a line."""
        output.write_all(self._file, text)
        self._places.append(place)
        self._starts.append(self._starts[-1] + len(text))

    def get(self, place: int) -> bytes:
        """Return a line."""
        self._file.flush()
        n = bisect_left(self._places, place)
        return os.pread(self._file.fileno(), self._starts[n + 1] - self._starts[n], self._starts[n])


def _reserved(path: Path, size: int) -> Path:
    """Make a file of zeros that has its place on the disk: a map of a full one kills the process.

    Raises:
        OSError: when the disk has no room for it.
    """
    with path.open("wb") as file:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file.fileno(), 0, max(size, 8))
        file.truncate(max(size, 8))
    return path


def _rows_in(files: Sequence[str]) -> int:
    """Return how many lines there may be, by the size of the files; packed ones hold more."""
    if "-" in files:
        return 1 << 26
    return sum(Path(file).stat().st_size for file in files) // 10


def kept(block: blocks.Block, here: Fates) -> bytes:
    """Return the lines of a block that are the first of their resource, each with its end."""
    mask = (here & ~np.uint8(_NEEDED)) == _FIRST
    if mask.all():
        return block.data + b"\n"
    lines = list(compress(block.lines(), mask.tolist()))
    return b"\n".join(lines) + b"\n" if lines else b""


def run(dedup: Dedup, out: IO[bytes] | None, mapped: IO[bytes] | None) -> Summary:
    """Do a job: write the lines that are kept, and every line's fate, where each is asked for."""
    for block, here in dedup.answers():
        if out is not None:
            output.write_all(out, kept(block, here))
        if mapped is not None:
            output.write_all(mapped, b"".join(map(map_line, dedup.rows(block, here))))
    if out is not None:
        out.flush()
    return dedup.summary


def default_workers() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
