"""Dedup in one pass, while the keys fit into memory: each line is decided when it is read.

Lines are written as they are read, so that it works as a filter on a pipe that never ends. When the
memory limit is reached, `FirstPass` continues with the blocks that are left.
"""

import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import chain, count
from typing import IO

import numpy as np

from canonry.crawler.batch import keying
from canonry.crawler.batch.checkpoint import Workplace
from canonry.crawler.batch.first_pass import Start, count_block
from canonry.crawler.batch.key_set import KeySet, is_compiled
from canonry.crawler.batch.part_writer import BLANK, REFUSED, KeptTexts, Part, PartWriter
from canonry.crawler.batch.partition import Partitions
from canonry.crawler.batch.plan import Plan
from canonry.crawler.batch.results import Results
from canonry.crawler.batch.summary import Summary
from canonry.crawler.compression import write_all
from canonry.crawler.files.blocks import Block

_SHARE = 3 / 4  # of the memory, for keys; the rest is for blocks and for Python itself


def fits(plan: Plan, start: Start) -> bool:
    """Return True if a job can be done in one pass, for as long as its keys fit into memory."""
    return is_compiled and start.checkpoint.lines == 0 and not plan.report and not plan.groups


class OnePass:
    """Decides and writes lines as they are read."""

    def __init__(self, plan: Plan, workplace: Workplace, start: Start, texts: KeptTexts) -> None:
        """Start a job at its beginning.

        Args:
            plan: what to do.
            workplace: for the job's own files.
            start: its beginning.
            texts: for the first lines that are not canonical.
        """
        self.counted = Summary()  # of the lines that are URLs
        self._plan = plan
        self._workplace = workplace
        self._checkpoint, self._partitions = start
        self._keys = KeySet(int(plan.memory * _SHARE))
        self._writer = PartWriter(plan, self.counted, texts)
        self._numbers = count(1)  # of folders of partitions
        self._files = ExitStack()
        self._fates: list[IO[bytes]] = []  # two files, for a run that resumes this one

    def run(self, results: Results) -> tuple[Start, Iterator[tuple[Block, keying.Keyed]]] | None:
        """Write results, and return what is left to do when memory is used up.

        Returns:
            None if all is done; else where the job is now, and the blocks that are left.
        """
        checkpoint = self._checkpoint
        stream = keying.in_order(self._plan.blocks(checkpoint.summary), self._plan)
        with self._files:
            if self._workplace.lasting:
                names = (self._workplace.folder / name for name in ("fates", "firsts"))
                self._fates = [self._files.enter_context(name.open("wb")) for name in names]
            for block, found in stream:
                part = self._part(block, found)
                if part is None:
                    self._give_up()
                    return Start(checkpoint, self._partitions), chain([(block, found)], stream)
                count_block(checkpoint, block, found)
                self._writer.write(part, results)
                if self._fates:
                    write_all(self._fates[0], part.kinds.tobytes())
                    write_all(self._fates[1], part.firsts.tobytes())
                if self._workplace.save_is_due():
                    self._save()
        checkpoint.summary.lines = checkpoint.lines
        return None

    def _part(self, block: Block, found: keying.Keyed) -> Part | None:
        """Decide the lines of a block; None if memory is used up."""
        place = self._checkpoint.lines
        added = self._keys.add(found.keys, found.texts, found.places + np.uint64(place))
        if added is None:
            return None
        if len(found.places) == block.size:
            return Part(block, place, *added)
        kinds = np.full(block.size, BLANK, np.uint8)
        firsts = np.zeros(block.size, np.uint64)
        kinds[found.places], firsts[found.places] = added
        kinds[[n for n, _reason in found.refused]] = REFUSED
        return Part(block, place, kinds, firsts)

    def _give_up(self) -> None:
        """Hand the keys over to partitions, and free their memory."""
        self._plan.notify(
            f"the keys of {len(self._keys):,} resources fill --memory: from here on, keys go to "
            "disk and the rest of the input is read twice"
        )
        if self._workplace.lasting:
            self._save()
        else:
            self._spread()
            self._checkpoint.decided = self._checkpoint.lines
        self._keys = KeySet(1)

    def _save(self) -> None:
        """Save a checkpoint, with the keys in partitions of their own."""
        for file in self._fates:
            file.flush()
        before = self._partitions.folder
        self._spread()
        checkpoint = self._checkpoint
        checkpoint.decided = checkpoint.lines
        checkpoint.keys = self._partitions.folder.name
        checkpoint.sizes = self._partitions.sizes()
        self._workplace.save(checkpoint)
        shutil.rmtree(before, ignore_errors=True)

    def _spread(self) -> None:
        """Spread the keys over partitions in a new folder."""
        folder = self._workplace.folder / f"keys-{next(self._numbers)}"
        self._partitions = Partitions(folder, self._plan.memory // 4, self._partitions.count)
        for keys, texts, places in self._keys.rows():
            self._partitions.add(keys, texts, places)
        self._partitions.spill()
