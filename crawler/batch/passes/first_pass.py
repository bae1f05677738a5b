"""Dedup in two passes: key every line and decide its fate, then read the lines again."""

import os
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from canonry.crawler.batch import keying
from canonry.crawler.batch.checkpoint import Checkpoint, Workplace, fingerprint
from canonry.crawler.batch.dedup_job import Plan
from canonry.crawler.batch.key_set import ALIKE, BLANK, MERGED, NEEDED, REFUSED, SEEN, chosen
from canonry.crawler.batch.partition import Numbers, Partitions
from canonry.crawler.batch.passes.part_writer import Kinds, Part
from canonry.crawler.compression import naming_file, write_all
from canonry.crawler.files.blocks import Block
from canonry.crawler.locations import is_stream, version_of

_MOST_HOSTS = 200_000  # in memory; beyond that the rarest are forgotten
_SOME = 1 << 20  # rows of lines that are not URLs, in memory at once


KeyedBlocks = Iterator[tuple[Block, keying.Keyed]]


class Fates(NamedTuple):
    """The fate of each line; both arrays are mapped files."""

    kinds: Kinds
    firsts: Numbers  # for a merged line, the place of its resource's first line
    checkpoint: Checkpoint  # of the finished pass, with its counts


class Start(NamedTuple):
    """Where a job starts: at its beginning, at a checkpoint, or where another engine stopped."""

    checkpoint: Checkpoint
    partitions: Partitions  # with the keys of the lines before the checkpoint


def begin(plan: Plan, workplace: Workplace) -> Start:
    """Start a job, or resume it where its checkpoint says."""
    count = partitions_for(plan)
    checkpoint = Checkpoint("")
    if workplace.lasting:
        checkpoint = workplace.start(fingerprint(plan, count), plan.notify)
    rank = 0 if plan.prefer is None else plan.prefer.width
    folder = workplace.folder / checkpoint.keys
    return Start(checkpoint, Partitions(folder, plan.memory, count, rank))


def partitions_for(plan: Plan) -> int:
    """Return how many partitions a plan needs."""
    rank = 0 if plan.prefer is None else plan.prefer.width
    return Partitions.count_for(plan.memory, rows_in(plan.files), rank)


class FirstPass:
    """Keys all lines, spreads the keys over partitions, and deduplicates each partition."""

    def __init__(
        self,
        plan: Plan,
        workplace: Workplace,
        start: Start,
        rest: KeyedBlocks | None = None,
    ) -> None:
        """Continue a job.

        Args:
            plan: what to do.
            workplace: for the job's own files.
            start: where the job starts.
            rest: the remaining blocks; None: read the files again and skip the lines before.
        """
        self._plan = plan
        self._workplace = workplace
        self._folder = workplace.folder
        self._checkpoint, self._partitions = start
        if rest is None:
            again = plan.blocks(self._checkpoint.summary, workplace.open)
            rest = keying.in_order(after(again, self._checkpoint.lines), plan)
        self._rest = rest

    def run(self) -> Fates:
        """Key the remaining lines, then decide all fates if that was not done before."""
        if not self._checkpoint.all_keyed:
            self._key()
        return self._decide()

    def _key(self) -> None:
        """Key all lines."""
        checkpoint, partitions = self._checkpoint, self._partitions
        with (self._folder / "others").open("ab") as others:
            for block, keyed in self._rest:
                lines = checkpoint.lines
                places = keyed.places + np.uint64(lines)
                prefer = self._plan.prefer
                ranks = None if prefer is None else prefer.placed(keyed.ranks, places)
                partitions.add(keyed.keys, keyed.texts, places, ranks)
                odd = [(lines + n, BLANK) for n in keyed.blank]
                odd += [(lines + n, REFUSED) for n, _reason in keyed.refused]
                write_all(others, np.array(odd, "<u8").tobytes())
                count_block(checkpoint, block, keyed)
                if self._workplace.save_is_due():
                    others.flush()
                    self._save_keyed()
        checkpoint.summary.lines = checkpoint.lines
        checkpoint.all_keyed = True
        if self._workplace.save_is_due():
            self._save_keyed()

    def _save_keyed(self) -> None:
        """Write the partitions to disk, and save the checkpoint."""
        self._partitions.spill()
        begun = [file for file in begun_in(self._folder) if file.exists()]
        files = [*self._partitions.files(), self._folder / "others", *begun]
        self._workplace.save(self._checkpoint, files)

    def _decide(self) -> Fates:
        """Decide the fate of every line, and find the first line of each repeated one."""
        checkpoint, workplace = self._checkpoint, self._workplace
        names = self._folder / "fates", self._folder / "firsts"
        if not checkpoint.all_decided:
            for name, begun, width in zip(names, begun_in(self._folder), (1, 8), strict=True):
                _reserve(name, begun, width * checkpoint.lines)
        kinds = np.memmap(names[0], np.uint8, "r+")
        firsts = np.memmap(names[1], np.uint64, "r+")
        if not checkpoint.all_decided:
            self._decide_others(kinds)
            self._decide_keyed(kinds, firsts)
            checkpoint.all_decided = True
            is_due = workplace.save_is_due()
            if is_due:
                kinds.flush()
                firsts.flush()
                workplace.save(checkpoint, [*names, workplace.fresh])
            if is_due or not checkpoint.files:  # else a checkpoint needs them
                self._partitions.delete()
        return Fates(kinds, firsts, checkpoint)

    def _decide_keyed(self, kinds: Kinds, firsts: Numbers) -> None:
        """Deduplicate each partition, and set the fates of its lines."""
        plan = self._plan
        seen = None if plan.seen is None else plan.seen.among
        todo = self._partitions.unique(seen)
        with self._workplace.fresh.open("wb") as fresh:
            for repeats in todo:
                kinds[repeats.seen] = SEEN
                kinds[repeats.place] = np.where(repeats.alike, ALIKE, MERGED)
                named = ~repeats.alike | plan.report  # a report shows those that are alike, too
                firsts[repeats.place[named]] = repeats.first[named]
                kinds[repeats.first[named]] |= NEEDED
                write_all(fresh, repeats.fresh.tobytes())

    def _decide_others(self, kinds: Kinds) -> None:
        """Set the fates of lines that are not URLs."""
        with (self._folder / "others").open("rb") as others:
            while part := others.read(16 * _SOME):
                rows = np.frombuffer(part, "<u8").reshape(-1, 2)
                kinds[rows[:, 0]] = rows[:, 1]


def decided(fates: Fates, blocks: Iterator[Block], place: int = 0) -> Iterator[Part]:
    """Yield blocks that are read again, each with the fates of its lines.

    Args:
        fates: of all lines.
        blocks: the last ones.
        place: of their first line, among all lines.

    Raises:
        OSError: the input has changed since the first pass.
    """
    count = fates.checkpoint.lines
    for block in blocks:
        here = slice(place, min(place + block.size, count))
        kinds = np.array(fates.kinds[here])
        if len(kinds) != block.size:
            break
        yield Part(block, place, kinds, np.array(fates.firsts[here]))
        place += block.size
    if place != count:
        raise OSError("the input has changed while it was read; run it again")


def after(blocks: Iterator[Block], lines: int) -> Iterator[Block]:
    """Yield the blocks after this many lines.

    Raises:
        OSError: no block ends there, so the input has changed.
    """
    for block in blocks:
        if lines <= 0:
            yield block
        lines -= block.size if lines > 0 else 0
        if lines < 0:
            raise OSError("the input is not cut as it was; run it again")


def count_block(checkpoint: Checkpoint, block: Block, keyed: keying.Keyed) -> None:
    """Count hosts and the lines of a block that are not URLs, with a sample for each reason."""
    if keyed.refused:
        is_refused = np.zeros(block.size, np.bool_)
        is_refused[[n for n, _reason in keyed.refused]] = True
        for (n, reason), line in zip(keyed.refused, chosen(block, is_refused), strict=True):
            checkpoint.summary.refuse(reason, block.source, block.first + n, line)
    checkpoint.summary.blank += len(keyed.blank)
    checkpoint.lines += block.size
    for host, count in keyed.hosts.items():
        checkpoint.hosts[host] = checkpoint.hosts.get(host, 0) + count
    if len(checkpoint.hosts) > _MOST_HOSTS:
        checkpoint.hosts = dict(Counter(checkpoint.hosts).most_common(_MOST_HOSTS // 2))


def begun_in(folder: Path) -> tuple[Path, Path]:
    """Return the files of fates and first lines that `OnePass` has written before it stopped."""
    return folder / "fates-begun", folder / "firsts-begun"


def _reserve(path: Path, begun: Path, size: int) -> None:
    """Make a file of zeros with allocated blocks, since a full disk would kill a mapping process.

    Args:
        path: of the file; it need not exist.
        begun: a file with its first bytes, which is kept, as a checkpoint may need it.
        size: of the file afterwards.

    Raises:
        OSError: the disk has no room for it.
    """
    path.unlink(missing_ok=True)
    if begun.exists():
        shutil.copyfile(begun, path)
    with naming_file(str(path)), path.open("ab") as file:
        file.truncate(max(size, 8))
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file.fileno(), 0, max(size, 8))


def rows_in(files: Sequence[str]) -> int:
    """Estimate the number of lines from the size of the files; compressed ones hold more."""
    if any(map(is_stream, files)):
        return 1 << 26
    return sum(version_of(file)[0] or 0 for file in files) // 10
