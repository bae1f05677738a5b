"""The second pass of a dedup: write the fates that the first pass has decided."""

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from canonry.canon import redact
from canonry.crawler.batch.dedup_job import Plan
from canonry.crawler.batch.passes.first_pass import Fates
from canonry.crawler.batch.passes.part_writer import KeptTexts, Part, PartWriter
from canonry.crawler.batch.results import Results
from canonry.crawler.batch.summary import Summary
from canonry.crawler.files.blocks import Block


class Deduplicated(NamedTuple):
    """The counts of a finished job."""

    summary: Summary
    hosts: Counter[str]  # lines of each host
    largest: list[tuple[int, str]]  # resources with the most lines: number of lines and first line


class SecondPass:
    """Reads blocks again, and writes results."""

    def __init__(self, plan: Plan, fates: Fates, texts: KeptTexts) -> None:
        """Continue after the first pass."""
        self._plan = plan
        self._fates = fates
        self._checkpoint = fates.checkpoint
        largest = self._checkpoint.largest
        self._largest = [(one.lines, one.text) for one in largest if one.text is not None]
        self._texts = texts

    def run(
        self, blocks: Iterator[Block], place: int, writer: PartWriter, results: Results
    ) -> Deduplicated:
        """Write the lines that are kept, and the fate of every line.

        Args:
            blocks: those that are not written yet.
            place: of their first line, among all lines.
            writer: the writer of the lines before.
            results: where to write.

        Raises:
            OSError: the input has changed since the first pass.
        """
        for part in self._parts(blocks, place):
            writer.write(part, results)
            self._note_largest(part, place, writer)
        summary = self._checkpoint.summary.with_fates(writer.counted)
        return Deduplicated(summary, Counter(self._checkpoint.hosts), self._largest)

    def keep_texts(self, blocks: Iterator[Block]) -> None:
        """Keep the lines that stay, before any line is written: others may come first."""
        for part in self._parts(blocks, 0):
            self._texts.put_needed(part)

    def _parts(self, blocks: Iterator[Block], place: int) -> Iterator[Part]:
        """Yield each block with the fates of its lines."""
        count = self._checkpoint.lines
        for block in blocks:
            here = slice(place, min(place + block.size, count))
            kinds = np.array(self._fates.kinds[here])
            if len(kinds) != block.size:
                break
            yield Part(block, place, kinds, np.array(self._fates.firsts[here]))
            place += block.size
        if place != count:
            raise OSError("the input has changed while it was read; run it again")

    def _note_largest(self, part: Part, start: int, writer: PartWriter) -> None:
        """Keep the first lines of the largest resources.

        A first line before the start of this pass is found by a later line of its resource.
        """
        for resource in self._checkpoint.largest:
            place = resource.first if resource.first >= start else resource.later
            if resource.text is None and part.place <= place < part.place + part.block.size:
                n = place - part.place
                if place == resource.first:
                    text = redact(part.block.lines()[n].decode("utf-8", "replace"))
                else:
                    [text] = writer.first_lines(part.block, [n], [resource.first])
                self._largest.append((resource.lines, text))
