"""Write the fates of the lines of a block, and name the rules that merged them."""

import mmap
from array import array
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from canonry.canon import redact
from canonry.canon.pipeline import kernels_rules, merging_rules, rule_bit, rules_named
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
    RuleBits,
    chosen,
    ends_of,
    selected,
)
from canonry.crawler.batch.keying import UNTOLD
from canonry.crawler.batch.partition import Numbers
from canonry.crawler.batch.results import Fate, Results, as_read
from canonry.crawler.batch.summary import NOT_EXAMINED, Summary
from canonry.crawler.compression import write_all
from canonry.crawler.files.blocks import Block

Kinds = npt.NDArray[np.uint8]  # one for each line
_MOST_TRACED = 200_000  # merges traced without a map; tracing is a hundred times slower
_MOST_COUNTED = 200_000  # repeated resources in memory; beyond that the rarest are forgotten
_SHOWN = 20  # of the resources with the most lines
_FRAGMENT = rule_bit("fragment")


class Part(NamedTuple):
    """A block, and the fates of its lines."""

    block: Block
    place: int  # of its first line, among all lines
    kinds: Kinds
    firsts: Numbers  # the place of the first line of a merged one's resource
    rules: RuleBits | None = None  # those that merged each line, or UNTOLD; None: not known

    def of_kind(self, kind: int) -> npt.NDArray[np.bool_]:
        """Return a mask of the lines with a given fate."""
        found: npt.NDArray[np.bool_] = (self.kinds & ~np.uint8(NEEDED)) == kind
        return found


def merging_bits(mine: RuleBits, theirs: RuleBits) -> RuleBits:
    """Return the rules that merged lines with their first ones, as far as these tell.

    They are the rules that acted on one of two spellings alone. Where a rule acted on both, it may
    have changed them in the same way, and only their texts tell; but not if it was the only one,
    and drops fragments.

    Args:
        mine: the rules that gave each line its identity.
        theirs: those of the first line with this identity.
    """
    is_told = ((mine | theirs) >= 0) & ((mine & theirs) == 0)
    rules = np.where(is_told, mine ^ theirs, np.int32(UNTOLD))
    rules[(mine == theirs) & (mine == _FRAGMENT)] = _FRAGMENT
    return rules


class PartWriter:
    """Writes results part by part, in order, and counts them."""

    def __init__(self, plan: Plan, texts: "KeptTexts") -> None:
        """Write the results of a plan.

        Args:
            plan: with ``mapped`` if the fate of every line is written.
            texts: the kept lines of earlier parts, to which more are added.
        """
        self.counted = Summary()
        self._plan = plan
        self.texts = texts
        self._traces = 0
        self._repeated = _Repeated()

    def write(self, part: Part, results: Results) -> None:
        """Write the lines that are kept, and the fate of every line."""
        is_first = part.of_kind(FIRST)
        self.counted.distinct += int(is_first.sum())
        self.counted.exact += int(part.of_kind(ALIKE).sum())
        self.counted.seen += int(part.of_kind(SEEN).sum())
        if self._plan.prefer is None:  # else they are kept already
            self.texts.put_needed(part)
        if results.distinct is not None:
            results.distinct.write_block(part.block, is_first)
        if self._plan.report:
            self._repeated.add(part)
        merges = self._merge(part)
        if self._plan.mapped:
            results.map(self._map(part, merges))

    def largest(self) -> list[tuple[int, str]]:
        """Return the resources with the most lines: their number, and the first one for people."""
        make, most = self._plan.canonicalizer, self._repeated.largest()
        firsts = self.texts.get_all(np.array([place for place, *_rest in most], np.uint64))
        return [
            (lines, redact(make.identity(line) if first is None else _shown(first)))
            for (_place, lines, line), first in zip(most, firsts, strict=True)
        ]

    def _map(self, part: Part, merges: "_Merges") -> Iterator[Fate]:
        """Yield the fate of each line of a block that is not blank, as `map_row` returns it."""
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
                refused = refused or dict(keying.keyed(block, self._plan.canonicalizer).refused)
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
        is_needed = (rules == UNTOLD) | self._plan.mapped
        is_needed[samples] = True
        lines = chosen(part.block, _within(mask, np.flatnonzero(is_needed)))
        firsts = self.texts.get_all(places[is_needed])
        names = [rules_named(code) for code in rules[is_needed].tolist()]
        untold = [n for n, name in enumerate(names) if name is None]
        asked = kernels_rules(
            self._plan.canonicalizer, [lines[n] for n in untold], [firsts[n] for n in untold]
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
        line = merges.lines[n]
        if not rules:  # the spellings differ, but no rule has a name for it
            self.counted.exact += count
        elif rules == NOT_EXAMINED:
            self.counted.merge(rules, _shown(line), "", count)
        else:
            first = self._first_text(line, merges.firsts[n])
            self.counted.merge(rules, _shown(line), first, count)

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


class _Repeated:
    """Counts the lines of resources that have several; of many, the rarest are forgotten."""

    def __init__(self) -> None:
        self._firsts = np.empty(0, np.uint64)  # the places of first lines, ascending
        self._lines = np.empty(0, np.int64)  # of each
        self._samples: dict[int, bytes] = {}  # of the largest: another line, by the first's place

    def add(self, part: Part) -> None:
        """Count the lines of a block."""
        again = part.of_kind(ALIKE) | part.of_kind(MERGED)
        firsts, which, counts = np.unique(part.firsts[again], return_index=True, return_counts=True)
        at = np.searchsorted(self._firsts, firsts)
        is_known = np.isin(firsts, self._firsts, assume_unique=True)
        self._lines[at[is_known]] += counts[is_known]
        self._firsts = np.insert(self._firsts, at[~is_known], firsts[~is_known])
        self._lines = np.insert(self._lines, at[~is_known], counts[~is_known] + 1)
        if len(self._firsts) > _MOST_COUNTED:
            kept = np.sort(np.argsort(self._lines, kind="stable")[-_MOST_COUNTED // 2 :])
            self._firsts, self._lines = self._firsts[kept], self._lines[kept]
        # What is among the largest at the end is so when its last line comes.
        top = self._firsts[self._top()]
        risen = np.flatnonzero(np.isin(firsts, top))
        risen = risen[np.argsort(which[risen])]
        lines = chosen(part.block, _within(again, which[risen]))
        found = dict(zip(firsts[risen].tolist(), lines, strict=True)) | self._samples
        self._samples = {first: found[first] for first in top.tolist()}

    def _top(self) -> npt.NDArray[np.intp]:
        """Return which have the most lines; of as many, those that came last."""
        if len(self._lines) <= _SHOWN:
            return np.arange(len(self._lines))
        least = np.partition(self._lines, -_SHOWN)[-_SHOWN]
        more, some = np.flatnonzero(self._lines > least), np.flatnonzero(self._lines == least)
        return np.append(more, some[len(more) - _SHOWN :])

    def largest(self) -> list[tuple[int, int, bytes]]:
        """Return the largest: the place of the first line, how many lines, another line."""
        top = self._top()
        order = top[np.lexsort((self._firsts[top], self._lines[top]))][::-1]
        places = self._firsts[order].tolist()
        return [
            (place, lines, self._samples[place])
            for place, lines in zip(places, self._lines[order].tolist(), strict=True)
        ]


class _Merges(NamedTuple):
    """Merged lines of a block."""

    lines: list[bytes]
    firsts: list[bytes | None]  # of each, the first line of its resource; None: it is canonical
    rules: list[str]  # of each: those that merged it


def _within(
    mask: npt.NDArray[np.bool_], which: npt.NDArray[np.signedinteger]
) -> npt.NDArray[np.bool_]:
    """Return a mask of some of the lines that a mask selects, given their numbers among these."""
    found = np.zeros(len(mask), np.bool_)
    found[np.flatnonzero(mask)[which]] = True
    return found


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
