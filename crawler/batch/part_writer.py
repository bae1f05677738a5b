"""Write the fates of the lines of a block, and name the rules that merged them."""

import mmap
from array import array
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np

from canonry.canon.pipeline import kernels_rules, merging_rules, rules_named
from canonry.canon.syntax import to_text
from canonry.crawler.batch.deciding import Part
from canonry.crawler.batch.dedup_job import Job
from canonry.crawler.batch.key_set import (
    ALIKE,
    FIRST,
    MERGED,
    NEEDED,
    REFUSED,
    SEEN,
    chosen,
    ends_of,
    selected,
)
from canonry.crawler.batch.keying import UNTOLD, keyed
from canonry.crawler.batch.partition import Numbers
from canonry.crawler.batch.results import Fate, Results, as_read
from canonry.crawler.batch.summary import NOT_EXAMINED, Summary
from canonry.crawler.compression import write_all

_MOST_TRACED = 200_000  # merges traced without a map; tracing is a hundred times slower


class PartWriter:
    """Writes results part by part, in order, and counts them."""

    def __init__(self, job: Job, results: Results, texts: "KeptTexts") -> None:
        """Write the results of a job.

        Args:
            job: what to do.
            results: where to write.
            texts: the kept lines of earlier parts, to which more are added.
        """
        self.counted = Summary()
        self._job = job
        self._results = results
        self._texts = texts
        self._traces = 0

    def write(self, part: Part) -> None:
        """Write the lines that are kept, and the fate of every line."""
        is_first = part.of_kind(FIRST)
        self.counted.distinct += int(is_first.sum())
        self.counted.exact += int(part.of_kind(ALIKE).sum())
        self.counted.seen += int(part.of_kind(SEEN).sum())
        if self._job.prefer is None:  # else they are kept already
            self._texts.put_needed(part)
        self._results.keep(part.block, is_first)
        merges = self._merge(part)
        if self._results.mapped is not None:
            self._results.map(self._map(part, merges))

    def _map(self, part: Part, merges: "_Merges") -> Iterator[Fate]:
        """Yield the fate of each line of a block that is not blank."""
        block = part.block
        refused: dict[int, str] = {}
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
                refused = refused or dict(keyed(block, self._job.canonicalizer).refused)
                same_as, reason = "", f"refused: {refused[number - block.first]}"
            else:
                continue
            yield text, same_as, reason, block.source, number

    def _merge(self, part: Part) -> "_Merges":
        """Count the merged lines of a block by their rules; return those whose text was needed."""
        mask = part.of_kind(MERGED)
        places = part.firsts[mask]
        rules = np.full(len(places), UNTOLD, np.int32) if part.rules is None else part.rules[mask]
        codes, samples, counts = np.unique(rules, return_index=True, return_counts=True)
        is_needed = (rules == UNTOLD) | (self._results.mapped is not None)
        is_needed[samples] = True
        needed = np.zeros(len(mask), np.bool_)
        needed[np.flatnonzero(mask)[is_needed]] = True
        lines = chosen(part.block, needed)
        firsts = self._texts.get_all(places[is_needed])
        names = [rules_named(code) for code in rules[is_needed].tolist()]
        untold = [n for n, name in enumerate(names) if name is None]
        asked = kernels_rules(
            self._job.canonicalizer, [lines[n] for n in untold], [firsts[n] for n in untold]
        )
        for n, name in zip(untold, asked, strict=True):
            names[n] = self._traced(lines[n], firsts[n]) if name is None else name
        numbers = Counter(names[n] for n in untold)
        for code, count in zip(codes.tolist(), counts.tolist(), strict=True):
            if code != UNTOLD:
                numbers[rules_named(code)] += count
        found = _Merges(lines, firsts, [name or "" for name in names])
        for name in dict.fromkeys(found.rules):
            self._count(name, numbers[name], found, found.rules.index(name))
        return found

    def _count(self, rules: str, count: int, merges: "_Merges", n: int) -> None:
        """Count lines that rules merged, of which the first has a number among the merges."""
        line, first = merges.lines[n], merges.firsts[n]
        if not rules:  # the spellings differ, but no rule has a name for it
            self.counted.exact += count
        else:
            same_as = "" if rules == NOT_EXAMINED else self._first_text(line, first)
            self.counted.merge(rules, line.decode("utf-8", "replace"), same_as, count)

    def _traced(self, line: bytes, first: bytes | None) -> str:
        """Return the rules that merged a line, where the kernel does not know them."""
        if self._results.mapped is None and self._traces >= _MOST_TRACED:
            return NOT_EXAMINED
        self._traces += 1
        make = self._job.canonicalizer
        return merging_rules(make, to_text(line), self._first_text(line, first))

    def _first_text(self, line: bytes, first: bytes | None) -> str:
        """Return the first line of a resource; one that was not kept is canonical."""
        return self._job.canonicalizer.identity(line) if first is None else to_text(first)


class _Merges(NamedTuple):
    """Merged lines of a block."""

    lines: list[bytes]
    firsts: list[bytes | None]  # of each, the first line of its resource; None: it is canonical
    rules: list[str]  # of each: those that merged it


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
        which = np.flatnonzero(needed)
        if len(which):
            write_all(self._file, selected(part.block, needed))
            self._places.frombytes((part.place + which).astype(np.uint64).tobytes())
            sizes = np.diff(ends_of(part.block).astype(np.int64), prepend=-1)[which]
            ends = np.cumsum(sizes) + self._starts[-1]
            self._starts.frombytes(ends.astype(np.uint64).tobytes())

    def get_all(self, places: Numbers) -> list[bytes | None]:
        """Return a line for each place, or None if it was not put."""
        if not len(places) or not self._places:
            return [None] * len(places)
        self._file.flush()
        known = np.frombuffer(self._places, np.uint64)
        starts = np.frombuffer(self._starts, np.int64)
        at = np.minimum(np.searchsorted(known, places), len(known) - 1)
        is_put = (known[at] == places).tolist()
        spans = zip(is_put, starts[at].tolist(), (starts[at + 1] - 1).tolist(), strict=True)
        with mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ) as texts:
            return [texts[start:end] if put else None for put, start, end in spans]
