"""Dedup in one pass, while the keys fit into memory: each line is decided when it is read.

Lines are written as they are read, so that it works as a filter on an endless pipe. When the memory
limit is reached, `FirstPass` continues with the remaining blocks.
"""

from contextlib import ExitStack
from itertools import chain, count
from typing import IO

import numpy as np
import numpy.typing as npt

from canonry.crawler.batch import keying
from canonry.crawler.batch.checkpoint import Workplace
from canonry.crawler.batch.dedup_job import Plan
from canonry.crawler.batch.key_set import BLANK, REFUSED, SEEN, KeySet
from canonry.crawler.batch.partition import Partitions
from canonry.crawler.batch.passes.first_pass import (
    KeyedBlocks,
    Start,
    begun_in,
    count_block,
    rows_in,
)
from canonry.crawler.batch.passes.part_writer import Part, PartWriter, merging_bits
from canonry.crawler.batch.results import Results
from canonry.crawler.compression import write_all
from canonry.crawler.files.blocks import Block
from canonry.crawler.key_files.sorted_keys import Keys, as_keys
from canonry.crawler.locations import is_stream
from canonry.crawler.plurals import counted

_SHARE = 3 / 4  # of the memory, for keys; the rest is for blocks and for Python itself
_SEEN_SHARE = 1 / 4  # of the memory: the most that keys seen before may take


def fits(plan: Plan, start: Start) -> bool:
    """Return True if a job can start in one pass, which works while its keys fit into memory."""
    if start.checkpoint.lines or plan.prefer is not None:
        return False
    return plan.seen is None or _is_held(plan) or _is_small(plan)


def _is_held(plan: Plan) -> bool:
    """Return True if the keys seen before are to be held in memory."""
    return plan.seen is not None and plan.seen.held <= plan.memory * _SEEN_SHARE


def _is_small(plan: Plan) -> bool:
    """Return True if looking up the lines is less work than reading all keys seen before.

    A stream may never end, so its lines are looked up in any case.
    """
    if plan.seen is None or any(map(is_stream, plan.files)):
        return True
    return rows_in(plan.files) < plan.seen.pages


class StreamEndedError(KeyboardInterrupt):
    """Ctrl-C has ended a stream; the keys of all printed lines are in the workplace."""


class OnePass:
    """Decides and writes lines as they are read."""

    def __init__(self, plan: Plan, workplace: Workplace, start: Start, writer: PartWriter) -> None:
        """Start a job at its beginning.

        Args:
            plan: what to do.
            workplace: for the job's own files.
            start: its beginning.
            writer: of the results.
        """
        self._writer = writer
        self._plan = plan
        self._workplace = workplace
        self._checkpoint, self._partitions = start
        limit = int(plan.memory * _SHARE)
        if plan.seen is not None and _is_held(plan):
            plan.seen.hold()
            limit -= plan.seen.held
        self._keys = KeySet(limit)
        self._numbers = count(1)  # of folders of partitions
        self._files = ExitStack()
        self._fates: list[IO[bytes]] = []  # two files, for a run that resumes this one

    def run(self, results: Results) -> tuple[Start, KeyedBlocks] | None:
        """Write results until all is done or memory is used up.

        Returns:
            None if all is done; else where the job is now, and the blocks that are left.
        """
        checkpoint = self._checkpoint
        stream = keying.in_order(self._plan.blocks(checkpoint.summary), self._plan)
        printed = 0  # lines
        with self._files:
            if self._workplace.lasting:
                begun = begun_in(self._workplace.folder)
                self._fates = [self._files.enter_context(name.open("wb")) for name in begun]
            try:
                for block, keyed in stream:
                    part = self._part(block, keyed)
                    if part is None:
                        self._give_up()
                        return Start(checkpoint, self._partitions), chain([(block, keyed)], stream)
                    count_block(checkpoint, block, keyed)
                    self._writer.write(part, results)
                    printed = checkpoint.lines
                    if self._fates:
                        write_all(self._fates[0], part.kinds.tobytes())
                        write_all(self._fates[1], part.firsts.tobytes())
                    if self._workplace.save_is_due():
                        self._save()
            except KeyboardInterrupt:
                if self._adds_keys and results.is_live:
                    self._write_fresh(printed)
                    raise StreamEndedError from None
                raise
        checkpoint.summary.lines = checkpoint.lines
        if self._adds_keys:
            self._write_fresh(checkpoint.lines)
        return None

    @property
    def _adds_keys(self) -> bool:
        """Return True if the new keys go to the file of those seen before."""
        return self._plan.seen is not None and self._plan.seen.is_extended

    def _part(self, block: Block, keyed: keying.Keyed) -> Part | None:
        """Decide the lines of a block; None if memory is used up."""
        place = self._checkpoint.lines
        keys, texts, places, rules = keyed.keys, keyed.texts, keyed.places, keyed.rules
        seen_here = places[:0]
        if self._plan.seen is not None:
            seen = self._plan.seen.among(as_keys(keys))
            seen_here, places, rules = places[seen], places[~seen], rules[~seen]
            keys = as_keys(keys)[~seen].tobytes()
            texts = np.frombuffer(texts, "V8")[~seen].tobytes()
        added = self._keys.add(keys, texts, rules, places + np.uint64(place))
        if added is None:
            return None
        merges = merging_bits(rules, added.rules)
        if len(places) == block.size:
            return Part(block, place, added.kinds, added.firsts, merges)
        kinds = np.full(block.size, BLANK, np.uint8)
        firsts = np.zeros(block.size, np.uint64)
        found = np.zeros(block.size, np.int32)
        kinds[seen_here] = SEEN
        kinds[places], firsts[places], found[places] = added.kinds, added.firsts, merges
        kinds[[n for n, _reason in keyed.refused]] = REFUSED
        return Part(block, place, kinds, firsts, found)

    def _give_up(self) -> None:
        """Hand the keys over to partitions, and free their memory."""
        count = len(self._keys)
        full = f"the keys of {counted(count, 'resource')} fill --memory: from here on"
        where = full if count else "--memory has no room for the keys of the first lines"
        self._plan.notify(f"{where}, keys go to disk and the rest of the input is read twice")
        if self._workplace.save_is_due():
            self._save()
        else:
            self._spread()
        self._keys = KeySet(1)

    def _save(self) -> None:
        """Save a checkpoint, with the keys in partitions of their own."""
        for file in self._fates:
            file.flush()
        self._spread()
        files = [*self._partitions.files(), *begun_in(self._workplace.folder)]
        self._workplace.save(self._checkpoint, files)

    def _spread(self) -> None:
        """Spread the keys over partitions in a new folder."""
        name = f"keys-{next(self._numbers)}"
        self._partitions = self._keys_in(name, self._checkpoint.lines)
        self._partitions.spill()
        self._checkpoint.keys = name

    def _write_fresh(self, lines: int) -> None:
        """Write the keys of the first lines, sorted, and free the memory of all keys.

        Keys seen before are not among them.
        """
        partitions = self._keys_in("fresh-keys", lines)
        self._keys = KeySet(1)
        with self._workplace.fresh.open("wb") as file:
            for found in partitions.unique(_none):
                write_all(file, found.fresh.tobytes())
        partitions.delete()

    def _keys_in(self, name: str, lines: int) -> Partitions:
        """Return the keys of the first lines in partitions."""
        folder = self._workplace.folder / name
        partitions = Partitions(folder, self._plan.memory // 4, self._partitions.count)
        for keys, texts, places in self._keys.rows():
            early = places < lines
            some = as_keys(keys)[early].tobytes(), np.frombuffer(texts, "V8")[early].tobytes()
            partitions.add(*some, places[early])
        return partitions


def _none(keys: Keys) -> npt.NDArray[np.bool_]:
    """Return for each key that it was not seen before."""
    return np.zeros(len(keys), np.bool_)
