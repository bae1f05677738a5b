"""Decide what each line is: in memory as it is read, while keys fit there, and beyond it on disk.

Lines that are decided in memory can be written at once, so that dedup works as a filter on an
endless pipe. Once the memory limit is reached, keys go to partitions on disk; these are decided one
by one, and the lines are read a second time, to be written.
"""

import os
import shutil
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from canonry.canon.pipeline import rule_bit
from canonry.crawler.batch import keying
from canonry.crawler.batch.checkpoint import Checkpoint, Workplace, fingerprint
from canonry.crawler.batch.dedup_job import Job
from canonry.crawler.batch.key_set import (
    ALIKE,
    BLANK,
    FIRST,
    MERGED,
    NEEDED,
    REFUSED,
    SEEN,
    KeySet,
    RuleBits,
    chosen,
    ends_of,
)
from canonry.crawler.batch.partition import Numbers, Partitions
from canonry.crawler.compression import naming_file, write_all
from canonry.crawler.files.blocks import Block, BlockSpool
from canonry.crawler.key_files.seen_file import SeenFile
from canonry.crawler.key_files.sorted_keys import Keys, as_keys
from canonry.crawler.locations import is_stream, version_of
from canonry.crawler.plurals import counted

_SHARE = 3 / 4  # of the memory, for keys; the rest is for blocks and for Python itself
_SEEN_SHARE = 1 / 4  # of the memory: the most that keys seen before may take
_FRAGMENT = rule_bit("fragment")


_T = TypeVar("_T", bound=np.generic)
_Mapped = np.memmap[Any, np.dtype[_T]]


class Part(NamedTuple):
    """A block, and what its lines are."""

    block: Block
    place: int  # of its first line, among all lines
    kinds: npt.NDArray[np.uint8]
    firsts: Numbers  # the place of the first line of a merged one's resource
    rules: RuleBits | None = None  # those that merged each line, or UNTOLD; None: not known

    def of_kind(self, kind: int) -> npt.NDArray[np.bool_]:
        """Return a mask of the lines of a kind."""
        found: npt.NDArray[np.bool_] = (self.kinds & ~np.uint8(NEEDED)) == kind
        return found


class Decider:
    """Decides the lines of a job, and resumes it where its checkpoint says."""

    def __init__(self, job: Job, workplace: Workplace, seen: SeenFile | None) -> None:
        """Start a job.

        Args:
            job: what to do.
            workplace: for its own files.
            seen: keys seen before.
        """
        self._job, self._workplace, self._seen = job, workplace, seen
        rank = 0 if job.prefer is None else job.prefer.width
        parts = Partitions.count_for(job.memory, rows_in(job.files), rank)
        self.checkpoint = Checkpoint("")
        if workplace.lasting:
            state = "" if seen is None else seen.state.id
            self.checkpoint = workplace.start(fingerprint(job, parts, state), job.notify)
        folder = workplace.folder
        self._partitions = Partitions(folder / self.checkpoint.keys, job.memory, parts, rank)
        self._begun = folder / "fates-begun", folder / "firsts-begun"
        self._decided = folder / "fates", folder / "firsts"
        self._spool = BlockSpool(folder / "blocks") if job.reads_streams else None
        self._written = 0  # lines that were decided and written as they were read
        self._folders = count(1)  # of keys that were in memory
        self._keys: KeySet | None = None  # None: they are in the partitions
        if self.checkpoint.lines == 0 and job.prefer is None and self._is_seen_fast():
            limit = int(job.memory * _SHARE)
            if seen is not None and self._is_held():
                seen.hold()
                limit -= seen.held
            self._keys = KeySet(limit)

    def _is_seen_fast(self) -> bool:
        """Return True if looking up the lines is less work than reading all keys seen before.

        A stream may never end, so its lines are looked up in any case.
        """
        if self._seen is None or self._is_held() or self._job.reads_streams:
            return True
        return rows_in(self._job.files) < self._seen.pages

    def _is_held(self) -> bool:
        """Return True if the keys seen before are to be held in memory."""
        return self._seen is not None and self._seen.held <= self._job.memory * _SEEN_SHARE

    def read(self) -> Iterator[Part]:
        """Key all lines, and yield those that are decided as they are read."""
        checkpoint, workplace = self.checkpoint, self._workplace
        if checkpoint.all_keyed:
            return
        blocks = keying.in_order(self._after(checkpoint.lines), self._job)
        with self._begun[0].open("ab") as kinds, self._begun[1].open("ab") as firsts:
            for block, keyed in blocks:
                part = None if self._keys is None else self._held(self._keys, block, keyed)
                if part is not None:
                    self._count(block, keyed)
                    yield part
                    self._written = checkpoint.lines
                    if workplace.lasting:
                        write_all(kinds, part.kinds.tobytes())
                        write_all(firsts, part.firsts.tobytes())
                else:
                    if self._keys is not None:
                        self._give_up(self._keys)
                        kinds.truncate(checkpoint.lines)
                    write_all(kinds, self._spread(block, keyed))
                    self._count(block, keyed)
                if workplace.save_is_due():
                    kinds.flush()
                    firsts.flush()
                    self._save()
        checkpoint.summary.lines = checkpoint.lines
        if self._keys is None:
            checkpoint.all_keyed = True
            if workplace.save_is_due():
                self._save()

    def _count(self, block: Block, keyed: keying.Keyed) -> None:
        """Count the lines of a block that are not URLs, with a sample for each reason."""
        summary = self.checkpoint.summary
        if keyed.refused:
            is_refused = np.zeros(block.size, np.bool_)
            is_refused[[n for n, _reason in keyed.refused]] = True
            for (n, reason), line in zip(keyed.refused, chosen(block, is_refused), strict=True):
                summary.refuse(reason, block.source, block.first + n, line)
        summary.blank += len(keyed.blank)
        self.checkpoint.lines += block.size

    def _held(self, held: KeySet, block: Block, keyed: keying.Keyed) -> Part | None:
        """Decide the lines of a block in memory; None if it is used up."""
        place = self.checkpoint.lines
        keys, texts, places, rules = keyed.keys, keyed.texts, keyed.places, keyed.rules
        seen_here = places[:0]
        if self._seen is not None:
            seen = self._seen.among(as_keys(keys))
            seen_here, places, rules = places[seen], places[~seen], rules[~seen]
            keys = as_keys(keys)[~seen].tobytes()
            texts = np.frombuffer(texts, "V8")[~seen].tobytes()
        added = held.add(keys, texts, rules, places + np.uint64(place))
        if added is None:
            return None
        merges = _merging_bits(rules, added.rules)
        if len(places) == block.size:
            return Part(block, place, added.kinds, added.firsts, merges)
        kinds = np.full(block.size, BLANK, np.uint8)
        firsts = np.zeros(block.size, np.uint64)
        found = np.zeros(block.size, np.int32)
        kinds[seen_here] = SEEN
        kinds[places], firsts[places], found[places] = added.kinds, added.firsts, merges
        kinds[[n for n, _reason in keyed.refused]] = REFUSED
        return Part(block, place, kinds, firsts, found)

    def _spread(self, block: Block, keyed: keying.Keyed) -> bytes:
        """Put the keys of a block into the partitions; return what its lines are by themselves."""
        prefer, places = self._job.prefer, keyed.places + np.uint64(self.checkpoint.lines)
        ranks = None if prefer is None else prefer.placed(keyed.ranks, places)
        self._partitions.add(keyed.keys, keyed.texts, places, ranks)
        if self._spool is not None:
            self._spool.put(block)
        kinds = np.full(block.size, FIRST, np.uint8)
        kinds[keyed.blank] = BLANK
        kinds[[n for n, _reason in keyed.refused]] = REFUSED
        return kinds.tobytes()

    def _give_up(self, held: KeySet) -> None:
        """Hand the keys in memory over to partitions, and free their memory."""
        full = f"the keys of {counted(len(held), 'resource')} fill --memory: from here on"
        where = full if len(held) else "--memory has no room for the keys of the first lines"
        self._job.notify(f"{where}, keys go to disk and the rest of the input is read twice")
        self._put_on_disk(held)
        self._keys = None

    def _put_on_disk(self, held: KeySet) -> None:
        """Write the keys in memory to partitions in a folder of their own."""
        self.checkpoint.keys = f"keys-{next(self._folders)}"
        self._partitions = self._keys_in(held, self.checkpoint.keys, self.checkpoint.lines)
        self._partitions.spill()

    def _keys_in(self, held: KeySet, name: str, lines: int) -> Partitions:
        """Return the keys of the first lines in partitions."""
        folder = self._workplace.folder / name
        partitions = Partitions(folder, self._job.memory // 4, self._partitions.count)
        for keys, texts, places in held.rows():
            early = places < lines
            some = as_keys(keys)[early].tobytes(), np.frombuffer(texts, "V8")[early].tobytes()
            partitions.add(*some, places[early])
        return partitions

    def _save(self) -> None:
        """Write all keys to disk, and save the checkpoint."""
        if self._keys is not None:
            self._put_on_disk(self._keys)
        self._partitions.spill()
        self._workplace.save(self.checkpoint, [*self._partitions.files(), *self._begun])

    def write_fresh(self) -> bool:
        """Write the keys of all lines that were written, sorted, and free the memory of all keys.

        Keys seen before are not among them.

        Returns:
            False if there is no file for them, or they are on disk.
        """
        if self._keys is None or self._seen is None or not self._seen.is_extended:
            return False
        partitions = self._keys_in(self._keys, "fresh-keys", self._written)
        self._keys = KeySet(1)
        with self._workplace.fresh.open("wb") as file:
            for found in partitions.unique(_none):
                write_all(file, found.fresh.tobytes())
        partitions.delete()
        return True

    def settle(self) -> None:
        """Decide the lines whose keys are on disk; `again` yields these."""
        if self._keys is not None:
            self.write_fresh()
            return
        checkpoint, workplace = self.checkpoint, self._workplace
        if checkpoint.all_decided:
            return
        for name, begun, width in zip(self._decided, self._begun, (1, 8), strict=True):
            _reserve(name, begun, width * checkpoint.lines)
        kinds, firsts = self._fates()
        among = None if self._seen is None else self._seen.among
        with workplace.fresh.open("wb") as fresh:
            for repeats in self._partitions.unique(among):
                kinds[repeats.seen] = SEEN
                kinds[repeats.place] = np.where(repeats.alike, ALIKE, MERGED)
                merged = ~repeats.alike
                firsts[repeats.place[merged]] = repeats.first[merged]
                kinds[repeats.first[merged]] |= NEEDED
                write_all(fresh, repeats.fresh.tobytes())
        checkpoint.all_decided = True
        is_due = workplace.save_is_due()
        if is_due:
            kinds.flush()
            firsts.flush()
            workplace.save(checkpoint, [*self._decided, workplace.fresh])
        if is_due or not checkpoint.files:  # else a checkpoint needs them
            self._partitions.delete()

    def again(self) -> Iterator[Part]:
        """Read the lines again that were not written when they were read, and yield them.

        Raises:
            OSError: the input has changed since it was first read.
        """
        if self._keys is not None:
            return
        place, lines = self._written, self.checkpoint.lines
        all_kinds, all_firsts = self._fates()
        for block in self._after(place) if self._spool is None else self._spool.blocks():
            here = slice(place, min(place + block.size, lines))
            kinds = np.array(all_kinds[here])
            if len(kinds) != block.size:
                break
            block = block._replace(ends=ends_of(block).tobytes())  # noqa: PLW2901 - found once
            yield Part(block, place, kinds, np.array(all_firsts[here]))
            place += block.size
        if place != lines:
            raise OSError("the input has changed while it was read; run it again")

    def _fates(self) -> "tuple[_Mapped[np.uint8], _Mapped[np.uint64]]":
        """Return what each line is, and the first line of each merged one; both are mapped."""
        kinds, firsts = self._decided
        return np.memmap(kinds, np.uint8, "r+"), np.memmap(firsts, np.uint64, "r+")

    def _after(self, lines: int) -> Iterator[Block]:
        """Yield the blocks after this many lines.

        Raises:
            OSError: no block ends there, so the input has changed.
        """
        for block in self._job.blocks(self.checkpoint.summary):
            if lines <= 0:
                yield block
            lines -= block.size if lines > 0 else 0
            if lines < 0:
                raise OSError("the input is not cut as it was; run it again")


def _none(keys: Keys) -> npt.NDArray[np.bool_]:
    """Return for each key that it was not seen before."""
    return np.zeros(len(keys), np.bool_)


def _merging_bits(mine: RuleBits, theirs: RuleBits) -> RuleBits:
    """Return the rules that merged lines with their first ones, as far as these tell.

    They are the rules that acted on one of two spellings alone. Where a rule acted on both, it may
    have changed them in the same way, and only their texts tell; but not if it was the only one,
    and drops fragments.

    Args:
        mine: the rules that gave each line its identity.
        theirs: those of the first line with this identity.
    """
    is_told = ((mine | theirs) >= 0) & ((mine & theirs) == 0)
    rules = np.where(is_told, mine ^ theirs, np.int32(keying.UNTOLD))
    rules[(mine == theirs) & (mine == _FRAGMENT)] = _FRAGMENT
    return rules


def _reserve(path: Path, begun: Path, size: int) -> None:
    """Make a file of zeros with allocated blocks, since a full disk would kill a mapping process.

    Args:
        path: of the file; it need not exist.
        begun: a file with its first bytes, which is kept, as a checkpoint may need it.
        size: of the file afterwards.

    Raises:
        OSError: the disk has no room for it.
    """
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
