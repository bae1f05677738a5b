"""The second pass of a dedup: read the files again, and write what became of their lines."""

import heapq
import os
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from canonry.canon import redact
from canonry.canon.pipeline import merging_rules
from canonry.canon.syntax import to_text
from canonry.crawler.batch import keying
from canonry.crawler.batch.checkpoint import Workplace
from canonry.crawler.batch.first_pass import ALIKE, FIRST, MERGED, NEEDED, REFUSED, Fates, Kinds
from canonry.crawler.batch.partition import SPELLING
from canonry.crawler.batch.plan import Plan
from canonry.crawler.batch.results import Results, as_read
from canonry.crawler.batch.summary import NOT_EXAMINED, Answer, Summary
from canonry.crawler.compression import write_all
from canonry.crawler.files.blocks import Block
from canonry.crawler.files.lines import Line

_MOST_NAMED = 200_000  # merges that are examined without a map


class Deduplicated(NamedTuple):
    """What a job found."""

    summary: Summary
    hosts: Counter[str]  # lines of each
    largest: list[tuple[int, str]]  # of the resources with the most lines: how many, and the first


class _Part(NamedTuple):
    """A block, and the fates of its lines."""

    block: Block
    place: int  # of its first line, among all lines
    kinds: Kinds

    def kinds_alone(self) -> Kinds:
        """Return the fates without the flag `NEEDED`."""
        return self.kinds & ~np.uint8(NEEDED)


class SecondPass:
    """Writes results, and names the rules that merged lines."""

    def __init__(self, plan: Plan, workplace: Workplace, fates: Fates) -> None:
        """Continue after the first pass."""
        self._plan = plan
        self._workplace = workplace
        self._fates = fates
        self._checkpoint = fates.checkpoint
        self._summary = fates.checkpoint.summary
        self._largest: list[tuple[int, str]] = []
        self._texts = _Texts(workplace.folder / "texts")

    def run(self, results: Results) -> Deduplicated:
        """Write the lines that are kept, the fate of every line, and the groups.

        Raises:
            OSError: the input has changed since the first pass.
        """
        with self._texts:
            for part in self._parts():
                self._count(part)
                if results.distinct is not None:
                    results.distinct.write_block(part.block, part.kinds_alone() == FIRST)
                if self._plan.mapped:
                    results.map(self._answers(part))
                else:
                    self._name_merges(part)
            if results.groups is not None:
                for group in self._groups():
                    results.groups.write([group])
        return Deduplicated(self._summary, Counter(self._checkpoint.hosts), self._largest)

    def _parts(self) -> Iterator[_Part]:
        """Yield each block with the fates of its lines."""
        place, count = 0, self._checkpoint.lines
        for block in self._plan.blocks(self._summary, self._workplace.open):
            kinds = np.array(self._fates.kinds[place : min(place + block.size, count)])
            if len(kinds) != block.size:
                break
            yield _Part(block, place, kinds)
            place += block.size
        if place != count:
            raise OSError("the input has changed while it was read; run it again")

    def _count(self, part: _Part) -> None:
        """Count lines, and keep the first lines of the largest resources."""
        kinds = part.kinds_alone()
        self._summary.distinct += int((kinds == FIRST).sum())
        self._summary.exact += int((kinds == ALIKE).sum())
        for size, first in self._checkpoint.largest:
            if part.place <= first < part.place + part.block.size:
                text = part.block.lines()[first - part.place].decode("utf-8", "replace")
                self._largest.append((size, redact(text)))

    def _name_merges(self, part: _Part) -> None:
        """Name the rules that merged the lines of a block."""
        needed, merged = part.kinds & NEEDED, part.kinds_alone() == MERGED
        examined = np.flatnonzero(needed | merged)
        if not len(examined):
            return
        lines = part.block.lines()
        for n in map(int, examined):
            if needed[n]:
                self._texts.put(part.place + n, lines[n])
            if merged[n]:
                self._merge(lines[n], self._first_of(part.place + n))

    def _answers(self, part: _Part) -> Iterator[Answer]:
        """Yield what became of each line of a block that is not blank."""
        block, place = part.block, part.place
        refused: dict[int, str] = {}
        for n, (text, fate) in enumerate(zip(block.lines(), part.kinds.tolist(), strict=True)):
            line = Line(block.source, block.first + n, text)
            if fate & NEEDED:
                self._texts.put(place + n, text)
            kind = fate & ~NEEDED
            if kind == FIRST:
                yield Answer(line, None, "")
            elif kind == REFUSED:
                refused = refused or dict(keying.keyed(block, self._plan.canonicalizer).refused)
                yield Answer(line, None, "", refused[n])
            elif kind in {ALIKE, MERGED}:
                first = self._first_of(place + n)
                rules = self._merge(text, first) if kind == MERGED else ""
                yield Answer(line, to_text(first), rules)

    def _first_of(self, place: int) -> bytes:
        """Return the text of the first line of a repeated one's resource."""
        return self._texts.get(int(self._fates.firsts[place]))

    def _merge(self, line: bytes, first: bytes) -> str:
        """Count a merge, and return the names of its rules."""
        summary = self._summary
        if sum(summary.merged.values()) >= _MOST_NAMED and not self._plan.mapped:
            rules = NOT_EXAMINED
        else:
            rules = merging_rules(self._plan.canonicalizer, to_text(line), to_text(first))
        if rules:
            texts = (text.decode("utf-8", "replace") for text in (line, first))
            summary.merge(rules, *texts)
        else:  # the spellings differ only in what no rule counts
            summary.exact += 1
        return rules

    def _groups(self) -> Iterator[tuple[str, str, int]]:
        """Yield each spelling of the resources with several lines, in order of the first line."""
        ends = self._checkpoint.runs
        if not ends[-1]:
            return
        found = np.memmap(self._workplace.folder / "spellings", SPELLING, "r")
        runs = zip([0, *ends], ends, strict=False)
        for first, place, lines in heapq.merge(*(_run(found, start, end) for start, end in runs)):
            one, other = self._texts.get(first), self._texts.get(place)
            yield as_read(one), as_read(other), lines


class _Texts:
    """Lines by their place, on disk: they are put in ascending order, and got in any."""

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


def _run(found: npt.NDArray[np.void], start: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Yield some rows of a table in a file."""
    for at in range(start, end, 4096):
        yield from found[at : min(at + 4096, end)].tolist()
