"""Write what became of the lines of a block, and name the rules that merged them."""

import os
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from canonry.canon.pipeline import merging_rules
from canonry.canon.syntax import to_text
from canonry.crawler.batch import keying
from canonry.crawler.batch.key_set import chosen
from canonry.crawler.batch.passes.partition import Numbers
from canonry.crawler.batch.plan import Plan
from canonry.crawler.batch.results import Results
from canonry.crawler.batch.summary import NOT_EXAMINED, Answer, Summary
from canonry.crawler.compression import write_all
from canonry.crawler.files.blocks import Block
from canonry.crawler.files.lines import Line

Kinds = npt.NDArray[np.uint8]  # one for each line
FIRST, ALIKE, MERGED, REFUSED, BLANK, SEEN = range(6)
NEEDED = 0x10  # a flag: the text of this line may be needed to name a merge or a group
_MOST_NAMED = 200_000  # merges that are examined without a map


class Part(NamedTuple):
    """A block, and the fates of its lines."""

    block: Block
    place: int  # of its first line, among all lines
    kinds: Kinds
    firsts: Numbers  # the place of the first line of a merged one's resource

    def of_kind(self, kind: int) -> npt.NDArray[np.bool_]:
        """Return a mask of the lines with a fate."""
        found: npt.NDArray[np.bool_] = (self.kinds & ~np.uint8(NEEDED)) == kind
        return found


class PartWriter:
    """Writes results part by part, in order, and counts them."""

    def __init__(self, plan: Plan, summary: Summary, texts: "KeptTexts") -> None:
        """Write the results of a plan.

        Args:
            plan: with ``mapped`` if the fate of every line is written.
            summary: to count in.
            texts: the lines that were needed before the first part, and a place for others.
        """
        self._plan = plan
        self._summary = summary
        self._texts = texts

    def write(self, part: Part, results: Results) -> None:
        """Write the lines that are kept, and the fate of every line."""
        is_first = part.of_kind(FIRST)
        self._summary.distinct += int(is_first.sum())
        self._summary.exact += int(part.of_kind(ALIKE).sum())
        self._summary.seen += int(part.of_kind(SEEN).sum())
        needed = (part.kinds & NEEDED) > 0
        self._texts.put(part.place + np.flatnonzero(needed), chosen(part.block, needed))
        if results.distinct is not None:
            results.distinct.write_block(part.block, is_first)
        if self._plan.mapped:
            results.map(self._answers(part))
        else:
            merged = part.of_kind(MERGED)
            lines = chosen(part.block, merged)
            for line, first in zip(lines, part.firsts[merged].tolist(), strict=True):
                self._merge(line, first)

    def _answers(self, part: Part) -> Iterator[Answer]:
        """Yield what became of each line of a block that is not blank."""
        block = part.block
        refused: dict[int, str] = {}
        kinds = (part.kinds & ~np.uint8(NEEDED)).tolist()
        for n, (text, kind) in enumerate(zip(block.lines(), kinds, strict=True)):
            line = Line(block.source, block.first + n, text)
            if kind == FIRST:
                yield Answer(line, None, "")
            elif kind == REFUSED:
                refused = refused or dict(keying.keyed(block, self._plan.canonicalizer).refused)
                yield Answer(line, None, "", refused[n])
            elif kind == SEEN:
                yield Answer(line, None, "", seen=True)
            elif kind == ALIKE:
                yield Answer(line, to_text(text), "")
            elif kind == MERGED:
                rules, first = self._merge(text, int(part.firsts[n]))
                yield Answer(line, first, rules)

    def _merge(self, line: bytes, place: int) -> tuple[str, str]:
        """Count a merge, and return the names of its rules, and the first line."""
        summary, make = self._summary, self._plan.canonicalizer
        if not self._plan.mapped and sum(summary.merged.values()) >= _MOST_NAMED:
            first, rules = "", NOT_EXAMINED
        else:
            kept = self._texts.get(place)  # a first line that is not kept is canonical
            first = make(line).identity if kept is None else to_text(kept)
            rules = merging_rules(make, to_text(line), first)
        if rules:
            summary.merge(rules, line.decode("utf-8", "replace"), first)
        else:  # the spellings differ only in what no rule counts
            summary.exact += 1
        return rules, first


class KeptTexts:
    """Lines by their place, on disk: they are put in ascending order, and got in any."""

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

    def put(self, places: npt.NDArray[np.int64], texts: Sequence[bytes]) -> None:
        """Keep lines."""
        if texts:
            write_all(self._file, b"".join(texts))
            self._places.frombytes(places.astype(np.uint64).tobytes())
            ends = np.cumsum([len(text) for text in texts]) + self._starts[-1]
            self._starts.frombytes(ends.astype(np.uint64).tobytes())

    def get(self, place: int) -> bytes | None:
        """Return a line, or None if it was not put."""
        n = bisect_left(self._places, place)
        if n == len(self._places) or self._places[n] != place:
            return None
        self._file.flush()
        return os.pread(self._file.fileno(), self._starts[n + 1] - self._starts[n], self._starts[n])
