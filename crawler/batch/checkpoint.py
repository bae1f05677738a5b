"""The progress of a dedup, on disk: a killed one resumes from there."""

import fcntl
import hashlib
import io
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import IO

import msgspec

from canonry.crawler.batch.largest import Numerous
from canonry.crawler.batch.plan import Plan
from canonry.crawler.batch.summary import Summary
from canonry.crawler.compression import Copied, is_stream, opened
from canonry.crawler.settings import SettingsError

_VERSION = 5  # of the files in the folder
_CHECKPOINT, _DONE, _LOCK = "state.json", "done.json", "lock"
_SAVE_EVERY = 30.0  # seconds
_SAVING = 20  # between two checkpoints pass at least so many times the seconds that one takes


class Checkpoint(msgspec.Struct):
    """What is done of a job: first lines are keyed, then partitions are made unique."""

    job: str  # a hash of the plan and its files
    lines: int = 0
    decided: int = 0  # lines at the beginning whose fates are known without the partitions
    keys: str = "keys"  # the folder of the partitions
    others: int = 0  # bytes in the file of lines that are no URL
    sizes: list[int] = []  # bytes in the files of the partitions; empty: nothing was saved yet
    all_keyed: bool = False
    partitions: int = 0  # made unique
    fresh: int = 0  # bytes in the file of keys that were not seen before
    runs: list[int] = []  # the number of spellings up to each partition
    largest: list[Numerous] = []  # of the resources, if they are counted
    hosts: dict[str, int] = {}
    summary: Summary = msgspec.field(default_factory=Summary)


class Workplace:
    """A folder for a job's files and its checkpoint."""

    def __init__(self, folder: Path, *, lasting: bool, resume: bool) -> None:
        """Use a folder.

        Args:
            folder: an existing one.
            lasting: save checkpoints in it.
            resume: start from the checkpoint that is there.
        """
        self.folder = folder
        self.lasting = lasting
        self._resume = resume
        self._due = time.monotonic() + _SAVE_EVERY
        self._began = 0.0

    def start(self, job: str, notify: Callable[[str], None]) -> Checkpoint:
        """Return the checkpoint of a job, a new one if there is none of this job."""
        found = None
        if self._resume:
            with suppress(OSError, msgspec.MsgspecError):
                found = msgspec.json.decode(
                    (self.folder / _CHECKPOINT).read_bytes(), type=Checkpoint
                )
        if found is not None and found.job == job:
            if found.all_keyed:
                notify(f"resuming after the first pass, over {found.lines:,} lines")
            else:
                notify(f"resuming after {found.lines:,} lines")
            return found
        if self._resume:
            notify("there is nothing of this job to resume: starting from the beginning")
        for file in self.folder.iterdir():
            if file.is_dir():
                shutil.rmtree(file)
            elif file.name != _LOCK:
                file.unlink()
        return Checkpoint(job)

    def save_is_due(self) -> bool:
        """Return True if a checkpoint should be saved now."""
        self._began = time.monotonic()
        return self.lasting and self._began > self._due

    def save(self, checkpoint: Checkpoint) -> None:
        """Write a checkpoint atomically."""
        new = self.folder / "state.new"
        new.write_bytes(msgspec.json.encode(checkpoint))
        new.replace(self.folder / _CHECKPOINT)
        now = time.monotonic()
        self._due = now + max(_SAVE_EVERY, _SAVING * (now - self._began))

    def finish(self, summary: Summary) -> None:
        """Note that the outputs of a job have their names: only the file of keys is left to do."""
        if self.lasting:
            new = self.folder / "done.new"
            new.write_bytes(msgspec.json.encode(summary))
            new.replace(self.folder / _DONE)

    def finished(self) -> Summary | None:
        """Return what an earlier run has noted with `finish`."""
        with suppress(OSError, msgspec.MsgspecError):
            return msgspec.json.decode((self.folder / _DONE).read_bytes(), type=Summary)
        return None

    @property
    def fresh(self) -> Path:
        """Return the file of keys that a job has found and that were not seen before, sorted."""
        return self.folder / "fresh"

    @property
    def has_checkpoint(self) -> bool:
        """Return True if the job can be resumed."""
        return (self.folder / _CHECKPOINT).exists()

    def open(self, source: str) -> AbstractContextManager[IO[bytes]]:
        """Open a file; what can be read only once is copied then, for the second pass.

        It is left open, for the reason that `opened` gives.
        """
        if not is_stream(source):
            return opened(source)
        spool = self.folder / f"stream-{hashlib.sha256(os.fsencode(source)).hexdigest()[:16]}"
        if spool.exists():
            return spool.open("rb")
        copied = Copied(opened(source).__enter__(), spool.open("wb", buffering=0))
        return nullcontext(io.BufferedReader(copied))


@contextmanager
def workplace(out: str | None, *, resume: bool) -> Iterator[Workplace]:
    """Make a folder next to an output file, or a temporary one if there is no such file.

    The folder next to an output stays if the job is killed, or is interrupted after it has saved a
    checkpoint. It is deleted when the job ends, with or without an error.

    Args:
        out: the name of the output.
        resume: use what an earlier run left.

    Raises:
        SettingsError: another process works there.
    """
    if out is None:
        with tempfile.TemporaryDirectory(prefix="canonry-") as name:
            yield Workplace(Path(name), lasting=False, resume=False)
        return
    folder = Path(out).with_name(f".{Path(out).name}.work")
    folder.mkdir(exist_ok=True)
    with (folder / _LOCK).open("wb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise SettingsError(f"{out}: another dedup is writing it; wait until it ends") from None
        place = Workplace(folder, lasting=True, resume=resume)
        try:
            yield place
        except KeyboardInterrupt:
            if not place.has_checkpoint:
                shutil.rmtree(folder, ignore_errors=True)
            raise
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        shutil.rmtree(folder, ignore_errors=True)


def fingerprint(plan: Plan, partitions: int, seen: str | None = None) -> str:
    """Return a hash of a plan with its files as they are now.

    A checkpoint of another number of partitions is useless, too.

    Args:
        plan: what to do.
        partitions: their number.
        seen: the id of the state of the file of keys; None: that which it has now.
    """
    if seen is None and plan.seen is not None:
        seen = plan.seen.state.id
    stats = [(file, (s := Path(file).stat()).st_size, s.st_mtime_ns) for file in plan.files]
    rules = plan.canonicalizer.rules
    asked = (
        plan.canonicalizer.policy.fingerprint,
        rules and rules.dumps(),
        tuple(plan.input_format),
        (plan.report, plan.mapped, plan.groups),
        seen,
        partitions,
    )
    return hashlib.blake2b(repr((_VERSION, stats, asked)).encode(), digest_size=16).hexdigest()
