"""Dedup of any size: lines keyed by workers, keys made unique in partitions, lines in order.

The first pass reads, canonicalizes in bulk and spreads 16-byte keys; then every line has a fate;
the second pass reads again and writes those that are the first of their resource. Memory is bounded
by what is asked for; fates are in mapped files, nine bytes a line.
"""

import heapq
import io
import os
import time
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from itertools import compress
from pathlib import Path
from typing import IO, NamedTuple, Self

import msgspec
import numpy as np
import numpy.typing as npt

from canonry.canon import Canonicalizer, Policy, RuleSet, redact
from canonry.canon.pipeline import merging_rules
from canonry.canon.syntax import to_text
from canonry.crawler.batch import keying
from canonry.crawler.batch.checkpoint import State, Workplace, fingerprint
from canonry.crawler.batch.partition import SPELLING, Partitions, Repeats
from canonry.crawler.batch.results import Results, as_read
from canonry.crawler.batch.summary import NOT_EXAMINED, Answer, Summary
from canonry.crawler.compression import Copied, opened, write_all
from canonry.crawler.files import blocks
from canonry.crawler.files.formats import ANY, InputFormat
from canonry.crawler.files.lines import Cut, Line

Fates = npt.NDArray[np.uint8]  # one for each line
_FIRST, _ALIKE, _MERGED, _REFUSED, _BLANK = range(5)
_NEEDED = 0x10  # its text is: as the first of a resource, of which a merge has to be named
_LARGEST = 20
_MANY_HOSTS = 200_000  # in memory; beyond, the rarest are forgotten
_NAMED = 200_000  # merges that are named, without a map
_EVERY = 30.0  # seconds, after which it is written down where a job stands
_ODD = 1 << 20  # rows of lines that are no URL, in memory at once


class Work(NamedTuple):
    """What a job asks for beside its files."""

    policy: Policy
    rules: RuleSet | None
    workers: int
    memory: int  # bytes
    report: bool = False  # count hosts and classes
    form: InputFormat = ANY
    name_all: bool = False  # keep for each repeated line what it repeats, as a map needs it
    groups: bool = False  # list the spellings of each resource


class Dedup:
    """One job: its passes over the same files."""

    def __init__(
        self,
        files: Sequence[str],
        work: Work,
        place: Workplace,
        advance: Callable[[int], None] = lambda _count: None,
        notify: Callable[[str], None] = lambda _text: None,
    ) -> None:
        """Bind what to do.

        Args:
            files: that exist; "-" is standard input, which is kept in a temporary file.
            work: how.
            place: where its own files are.
            advance: is told how many bytes were read; each is read twice.
            notify: receives sentences for people.
        """
        self._files = files
        self.work = work
        self._folder = place.folder
        self._place = place
        self._advance = advance
        self._canonicalizer = Canonicalizer(work.policy, work.rules)
        self.summary = Summary()
        self.hosts: Counter[str] = Counter()
        self.largest: list[tuple[int, str]] = []  # resources with the most lines, and one of them
        self._partitions = Partitions(self._folder, work.memory, _rows_in(files))
        self._lasting = place.lasting and "-" not in files
        self._state = State("")
        if self._lasting:
            given = (work.policy.fingerprint, work.rules and work.rules.dumps(), work.form)
            what = (work.report, work.name_all, work.groups, self._partitions.count)
            self._state = place.state(fingerprint(files, *given, *what), notify)
            self._recall()

    def _recall(self) -> None:
        """Take over what an earlier run wrote down."""
        if self._state.summary:
            self.summary = msgspec.convert(self._state.summary, Summary)
            self.hosts.update(self._state.hosts)

    def _save(self, **changes: object) -> None:
        """Write down where the job stands."""
        for name, value in changes.items():
            setattr(self._state, name, value)
        self._state.summary = msgspec.to_builtins(self.summary)
        self._state.hosts = dict(self.hosts)
        self._place.save(self._state)

    def run(self, results: Results) -> Summary:
        """Do the job: write the lines that are kept, every line's fate, and the groups."""
        with ExitStack() as stack:
            if self._state.partitions < 0:
                self._first_pass()
            fates, firsts = self._unique()
            texts = stack.enter_context(_Texts(self._folder / "texts"))
            second = _SecondPass(self, fates, firsts, texts)
            for block, here in second.read():
                self._write(results, second, block, here)
            if results.groups is not None:
                for group in self._groups(texts):
                    results.groups.write([group])
        results.close()
        return self.summary

    def _first_pass(self) -> None:
        """Key all lines."""
        state, partitions = self._state, self._partitions
        partitions.cut_to(state.sizes)
        saved_at = time.monotonic()
        with (self._folder / "others").open("ab") as others:
            others.truncate(state.others)
            given = self._left()
            work = self.work
            for block, found in keying.in_order(
                given, work.policy, work.rules, work.workers, hosts=work.report
            ):
                partitions.add(found.keys, found.texts, found.places + np.uint64(state.lines))
                odd = [(state.lines + n, _BLANK) for n in found.blank]
                odd += [(state.lines + n, _REFUSED) for n, _why in found.refused]
                write_all(others, np.array(odd, "<u8").tobytes())
                state.others += 16 * len(odd)
                state.lines += block.size
                self._count(block, found)
                if self._lasting and time.monotonic() - saved_at > _EVERY:
                    partitions.spill()
                    others.flush()
                    self._save(sizes=partitions.sizes())
                    saved_at = time.monotonic()
        self.summary.lines = state.lines
        state.partitions = 0
        if state.sizes:
            partitions.spill()
            self._save(sizes=partitions.sizes())

    def _left(self) -> Iterator[blocks.Block]:
        """Yield the blocks that are not keyed yet."""
        done = self._state.lines
        for block in self.once_more():
            if done <= 0:
                yield block
            done -= block.size if done > 0 else 0
            if done < 0:
                raise OSError("the input is not cut as it was; run it again without --resume")

    def _count(self, block: blocks.Block, found: keying.Keyed) -> None:
        """Count lines that are no URL, and keep one of each reason; count hosts."""
        lines = block.lines() if found.refused else []
        for n, reason in found.refused:
            self.summary.refuse(reason, block.source, block.first + n, lines[n])
        self.summary.blank += len(found.blank)
        self.hosts.update(found.hosts)
        if len(self.hosts) > _MANY_HOSTS:
            self.hosts = Counter(dict(self.hosts.most_common(_MANY_HOSTS // 2)))

    def once_more(self) -> Iterator[blocks.Block]:
        """Yield the blocks of all files; what breaks off is told in the summary."""
        for found in blocks.read(self._files, self._advance, self.work.form, self._open):
            if not isinstance(found, Cut):
                yield found
            elif (told := str(found)) not in self.summary.cut:
                self.summary.cut.append(told)

    def _open(self, source: str) -> AbstractContextManager[IO[bytes]]:
        """Open a file; standard input is kept for the second time.

        It is left open, as `opened` says.
        """
        spool = self._folder / "stdin"
        if source != "-":
            return opened(source)
        if spool.exists():
            return spool.open("rb")
        copied = Copied(opened("-").__enter__(), spool.open("wb", buffering=0))
        return nullcontext(io.BufferedReader(copied))

    def _unique(self) -> tuple[Fates, npt.NDArray[np.uint64]]:
        """Give every line its fate, and every repeated one the place of the first."""
        state, work = self._state, self.work
        names = self._folder / "fates", self._folder / "firsts"
        if state.partitions == 0:
            _reserve(names[0], state.lines)
            _reserve(names[1], 8 * state.lines)
        fates = np.memmap(names[0], np.uint8, "r+")
        firsts = np.memmap(names[1], np.uint64, "r+")
        if state.partitions == 0:
            self._fates_of_others(fates)
        with (self._folder / "spellings").open("ab") as spellings:
            spellings.truncate(SPELLING.itemsize * (state.runs[-1] if state.runs else 0))
            for repeats in self._partitions.unique(state.partitions, spelled=work.groups):
                fates[repeats.place] = np.where(repeats.alike, _ALIKE, _MERGED)
                named = ~repeats.alike | work.name_all
                firsts[repeats.place[named]] = repeats.first[named]
                fates[repeats.first[named]] |= _NEEDED
                fates[repeats.spellings["place"]] |= _NEEDED
                write_all(spellings, repeats.spellings.tobytes())
                state.runs.append((state.runs or [0])[-1] + len(repeats.spellings))
                if work.report:
                    self._note_sizes(repeats)
                state.partitions += 1
                if state.sizes:
                    spellings.flush()
                    self._save()
        return fates, firsts

    def _fates_of_others(self, fates: Fates) -> None:
        """Set the fates of lines that are no URL."""
        with (self._folder / "others").open("rb") as others:
            while part := others.read(16 * _ODD):
                rows = np.frombuffer(part, "<u8").reshape(-1, 2)
                fates[rows[:, 0]] = rows[:, 1]

    def _note_sizes(self, repeats: Repeats) -> None:
        """Keep which lines stand for the most others."""
        firsts, sizes = np.unique(repeats.first, return_counts=True)
        found = [(int(n) + 1, int(f)) for f, n in zip(firsts, sizes, strict=True)]
        self._state.largest = heapq.nlargest(_LARGEST, [*self._state.largest, *found])

    def note_largest(self, block: blocks.Block, place: int) -> None:
        """Keep the texts of those lines of a block that stand for the most others."""
        for size, first in self._state.largest:
            if place <= first < place + block.size:
                text = block.lines()[first - place].decode("utf-8", "replace")
                self.largest.append((size, redact(text)))

    def _write(
        self, results: Results, second: "_SecondPass", block: blocks.Block, here: Fates
    ) -> None:
        """Write what became of the lines of a block."""
        kept = results.kept
        if kept is not None:
            mask = (here & ~np.uint8(_NEEDED)) == _FIRST
            if kept.is_plain and mask.all():
                kept.lines(block.data + b"\n")
            elif mask.any():
                numbers = (np.flatnonzero(mask) + block.first).tolist()
                kept.write(block.source, numbers, list(compress(block.lines(), mask.tolist())))
        if self.work.name_all:
            results.map(second.rows(block, here))

    def _groups(self, texts: "_Texts") -> Iterator[tuple[str, str, int]]:
        """Yield each spelling of the resources that have several lines, in order of the first."""
        if not self._state.runs[-1]:
            return
        found = np.memmap(self._folder / "spellings", SPELLING, "r")
        runs = zip([0, *self._state.runs], self._state.runs, strict=False)
        for first, place, lines in heapq.merge(*(_run(found, start, end) for start, end in runs)):
            one, other = texts.get(first), texts.get(place)
            yield as_read(one), as_read(other), lines

    def merged(self, line: bytes, first: bytes) -> str:
        """Count a merge under its rules; return their names."""
        summary = self.summary
        if sum(summary.merged.values()) >= _NAMED and not self.work.name_all:
            rules = NOT_EXAMINED
        else:
            rules = merging_rules(self._canonicalizer, to_text(line), to_text(first))
        if rules:
            texts = (text.decode("utf-8", "replace") for text in (line, first))
            summary.merge(rules, *texts)
        else:  # spelled alike but for what no rule counts
            summary.exact += 1
        return rules

    def refused(self, block: blocks.Block) -> dict[int, str]:
        """Return which lines of a block are no URL, and why."""
        return dict(keying.keyed(block, self._canonicalizer).refused)


class _SecondPass:
    """Reads the files again, with the fates of their lines."""

    def __init__(
        self, job: Dedup, fates: Fates, firsts: npt.NDArray[np.uint64], texts: "_Texts"
    ) -> None:
        self._job = job
        self._fates = fates
        self._firsts = firsts
        self._texts = texts
        self._place = 0  # of the first line of the block that was yielded last

    def read(self) -> Iterator[tuple[blocks.Block, Fates]]:
        """Yield each block with its lines' fates, and name what was merged on the way."""
        job = self._job
        summary = job.summary
        place, count = 0, summary.lines
        for block in job.once_more():
            here = np.array(self._fates[place : min(place + block.size, count)])
            if len(here) != block.size:
                break
            plain = here & ~np.uint8(_NEEDED)
            summary.distinct += int((plain == _FIRST).sum())
            summary.exact += int((plain == _ALIKE).sum())
            if not job.work.name_all:
                self._name(block, here, place)
            self._place = place
            job.note_largest(block, place)
            yield block, here
            place += block.size
        if place != count:
            raise OSError("the input has changed while it was read; run it again")

    def _name(self, block: blocks.Block, here: Fates, place: int) -> None:
        """Name the rules that merged the lines of a block."""
        needed, merged = here & _NEEDED, (here & ~np.uint8(_NEEDED)) == _MERGED
        looked_at = np.flatnonzero(needed | merged)
        if not len(looked_at):
            return
        lines = block.lines()
        for n in map(int, looked_at):
            if needed[n]:
                self._texts.put(place + n, lines[n])
            if merged[n]:
                self._job.merged(lines[n], self._texts.get(int(self._firsts[place + n])))

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
                refused = refused or self._job.refused(block)
                yield Answer(entry, None, "", refused[n])
            elif kind in {_ALIKE, _MERGED}:
                first = self._texts.get(int(self._firsts[place + n]))
                rules = self._job.merged(line, first) if kind == _MERGED else ""
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
        write_all(self._file, text)
        self._places.append(place)
        self._starts.append(self._starts[-1] + len(text))

    def get(self, place: int) -> bytes:
        """Return a line."""
        self._file.flush()
        n = bisect_left(self._places, place)
        return os.pread(self._file.fileno(), self._starts[n + 1] - self._starts[n], self._starts[n])


def _reserve(path: Path, size: int) -> None:
    """Make a file of zeros that has its place on the disk: a map of a full one kills the process.

    Raises:
        OSError: when the disk has no room for it.
    """
    with path.open("wb") as file:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file.fileno(), 0, max(size, 8))
        file.truncate(max(size, 8))


def _run(found: npt.NDArray[np.void], start: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Yield some rows of a table in a file."""
    for at in range(start, end, 4096):
        yield from found[at : min(at + 4096, end)].tolist()


def _rows_in(files: Sequence[str]) -> int:
    """Return how many lines there may be, by the size of the files; packed ones hold more."""
    if "-" in files:
        return 1 << 26
    return sum(Path(file).stat().st_size for file in files) // 10
