"""Write the fates of the lines of a block, and name the rules that merged them."""

import mmap
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from canonry.canon import redact
from canonry.canon.pipeline import kernels_rules, merging_rules
from canonry.canon.syntax import to_text
from canonry.crawler.batch import keying
from canonry.crawler.batch.dedup_job import Plan
from canonry.crawler.batch.key_set import (
    ALIKE,
    FIRST,
    MERGED,
    NEEDED,
    REFUSED,
    SEEN,
    chosen,
)
from canonry.crawler.batch.partition import Numbers
from canonry.crawler.batch.results import Fate, Results, as_read
from canonry.crawler.batch.summary import NOT_EXAMINED, Summary
from canonry.crawler.compression import write_all
from canonry.crawler.files.blocks import Block

Kinds = npt.NDArray[np.uint8]  # one for each line
_MOST_TRACED = 200_000  # merges traced without a map; tracing is a hundred times slower


class Part(NamedTuple):
    """A block, and the fates of its lines."""

    block: Block
    place: int  # of its first line, among all lines
    kinds: Kinds
    firsts: Numbers  # the place of the first line of a merged one's resource

    def of_kind(self, kind: int) -> npt.NDArray[np.bool_]:
        """Return a mask of the lines with a given fate."""
        found: npt.NDArray[np.bool_] = (self.kinds & ~np.uint8(NEEDED)) == kind
        return found


class PartWriter:
    """Writes results part by part, in order, and counts them."""

    def __init__(self, plan: Plan, summary: Summary, texts: "KeptTexts") -> None:
        """Write the results of a plan.

        Args:
            plan: with ``mapped`` if the fate of every line is written.
            summary: to count in.
            texts: the kept lines of earlier parts, to which more are added.
        """
        self.counted = summary
        self._plan = plan
        self._texts = texts
        self._traces = 0

    def write(self, part: Part, results: Results) -> None:
        """Write the lines that are kept, and the fate of every line."""
        is_first = part.of_kind(FIRST)
        self.counted.distinct += int(is_first.sum())
        self.counted.exact += int(part.of_kind(ALIKE).sum())
        self.counted.seen += int(part.of_kind(SEEN).sum())
        if self._plan.prefer is None:  # else they are kept already
            self._texts.put_needed(part)
        if results.distinct is not None:
            results.distinct.write_block(part.block, is_first)
        if self._plan.mapped:
            results.map(self._map(part))
        else:
            self._merge(part)

    def first_lines(self, block: Block, numbers: Sequence[int], firsts: Sequence[int]) -> list[str]:
        """Return the first lines of resources, for people.

        Args:
            block: with a later line of each resource.
            numbers: of these lines in the block, ascending and distinct.
            firsts: the places of the first lines, whose blocks were written.
        """
        mask = np.zeros(block.size, np.bool_)
        mask[numbers] = True
        kept = self._texts.get_all(np.array(firsts, np.uint64))
        return [
            redact(self._plan.canonicalizer.identity(line) if first is None else _shown(first))
            for line, first in zip(chosen(block, mask), kept, strict=True)
        ]

    def _map(self, part: Part) -> Iterator[Fate]:
        """Yield the fate of each line of a block that is not blank, as `map_row` returns it."""
        block = part.block
        refused: dict[int, str] = {}
        merges = self._merge(part)
        merged = zip(merges.lines, merges.firsts, merges.rules, strict=True)
        kinds = (part.kinds & ~np.uint8(NEEDED)).tolist()
        lines = zip(as_read(block.data).split("\n"), kinds, strict=True)
        for number, (text, kind) in enumerate(lines, block.first):
            if kind == FIRST:
                same_as, reason = text, "first"
            elif kind == ALIKE:
                same_as, reason = to_text(text), "repeated"
            elif kind == MERGED:
                line, first, rules = next(merged)
                same_as, reason = self._first_text(line, first), rules or "repeated"
            elif kind == SEEN:
                same_as, reason = "", "seen"
            elif kind == REFUSED:
                refused = refused or dict(keying.keyed(block, self._plan.canonicalizer).refused)
                same_as, reason = "", f"refused: {refused[number - block.first]}"
            else:
                continue
            yield text, same_as, reason, block.source, number

    def _merge(self, part: Part) -> "_Merges":
        """Count the merged lines of a block by their rules, and return them."""
        mask = part.of_kind(MERGED)
        lines = chosen(part.block, mask)
        firsts = self._texts.get_all(part.firsts[mask])
        rules = [
            self._traced(line, first) if known is None else known
            for line, first, known in zip(
                lines,
                firsts,
                kernels_rules(self._plan.canonicalizer, lines, firsts),
                strict=True,
            )
        ]
        for rule, count in Counter(rules).items():
            n = rules.index(rule)
            if not rule:  # the spellings differ, but no rule has a name for it
                self.counted.exact += count
            elif rule == NOT_EXAMINED:
                self.counted.merge(rule, _shown(lines[n]), "", count)
            else:
                first = self._first_text(lines[n], firsts[n])
                self.counted.merge(rule, _shown(lines[n]), first, count)
        return _Merges(lines, firsts, rules)

    def _traced(self, line: bytes, first: bytes | None) -> str:
        """Return the rules that merged a line, where the kernel does not know them."""
        if not self._plan.mapped and self._traces >= _MOST_TRACED:
            return NOT_EXAMINED
        self._traces += 1
        make = self._plan.canonicalizer
        return merging_rules(make, to_text(line), self._first_text(line, first))

    def _first_text(self, line: bytes, first: bytes | None) -> str:
        """Return the first line of a resource; one that was not kept is canonical."""
        return self._plan.canonicalizer.identity(line) if first is None else to_text(first)


class _Merges(NamedTuple):
    """The merged lines of a block."""

    lines: list[bytes]
    firsts: list[bytes | None]  # of each, the first line of its resource; None: it is canonical
    rules: list[str]  # of each: those that merged it


def _shown(line: bytes) -> str:
    """Return a line as text for people."""
    return line.decode("utf-8", "replace")


class KeptTexts:
    """Lines on disk by their place; they are put in ascending order, and read in any order."""

    def __init__(self, path: Path) -> None:
        """Use a file, which is emptied."""
        self._file = path.open("w+b")
        self._places = array("Q")
        self._starts = array("Q", [0])

    def __enter__(self) -> Self:
        """Return the texts."""
        return self

    def __exit__(self, *_error: object) -> None:
        """Close the file."""
        self._file.close()

    def put_needed(self, part: Part) -> None:
        """Keep the lines of a block whose text may be needed."""
        needed = (part.kinds & NEEDED) > 0
        self.put(part.place + np.flatnonzero(needed), chosen(part.block, needed))

    def put(self, places: npt.NDArray[np.int64], texts: Sequence[bytes]) -> None:
        """Keep lines."""
        if texts:
            write_all(self._file, b"".join(texts))
            self._places.frombytes(places.astype(np.uint64).tobytes())
            ends = np.cumsum([len(text) for text in texts]) + self._starts[-1]
            self._starts.frombytes(ends.astype(np.uint64).tobytes())

    def get_all(self, places: Numbers) -> list[bytes | None]:
        """Return a line for each place, or None if it was not put."""
        if not len(places) or not self._places:
            return [None] * len(places)
        self._file.flush()
        known = np.frombuffer(self._places, np.uint64)
        starts = np.frombuffer(self._starts, np.uint64)
        at = np.minimum(np.searchsorted(known, places), len(known) - 1)
        spans = zip(
            (known[at] == places).tolist(),
            starts[at].tolist(),
            starts[at + 1].tolist(),
            strict=True,
        )
        with mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ) as texts:
            return [texts[start:end] if is_put else None for is_put, start, end in spans]
