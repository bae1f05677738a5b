"""The progress of a dedup on disk, from which a killed job resumes."""

import hashlib
import io
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import IO, NamedTuple, TypeVar

import msgspec

from canonry.crawler import owned_files
from canonry.crawler.batch.dedup_job import Plan
from canonry.crawler.batch.interrupts import interrupted_later
from canonry.crawler.batch.summary import Summary
from canonry.crawler.compression import Copied, gz
from canonry.crawler.files import output
from canonry.crawler.locations import is_stream, opened, version_of
from canonry.crawler.settings import SettingsError

_VERSION = 8  # of the files in the folder
_CHECKPOINT, _LOCK = "state.json", "lock"
_SAVE_EVERY = 30.0  # seconds
_SAVING = 20  # the pause between checkpoints is at least this many times the time to save one
_SOME = 1 << 20  # bytes at once
_T = TypeVar("_T")


class Saved(NamedTuple):
    """The part of a file that a checkpoint needs; the rest was written later."""

    size: int  # bytes at its beginning
    checksum: int  # CRC-32 of these


class Checkpoint(msgspec.Struct):
    """What is done of a job: first lines are keyed, then partitions are made unique."""

    job: str  # a hash of the plan and its files
    lines: int = 0
    keys: str = "keys"  # the folder of the partitions
    all_keyed: bool = False
    all_decided: bool = False
    files: dict[str, Saved] = {}  # that it needs, in the folder; empty: nothing was saved yet
    hosts: dict[str, int] = {}
    summary: Summary = msgspec.field(default_factory=Summary)


class Workplace:
    """A folder for a job's files and its checkpoint."""

    def __init__(self, folder: Path, *, lasting: bool) -> None:
        """Use a folder.

        Args:
            folder: an existing one.
            lasting: save checkpoints in it, and start from the one that is there.
        """
        self.folder = folder
        self.lasting = lasting
        self._is_interrupted = False
        self._due = time.monotonic() + _SAVE_EVERY
        self._began = 0.0

    def start(self, job: str, notify: Callable[[str], None]) -> Checkpoint:
        """Return the checkpoint of a job, or a new one if the folder has none of this job.

        All other files in the folder are deleted.
        """
        checkpoint = None
        try:
            checkpoint = self._checked(job)
        except ValueError as error:
            notify(f"the checkpoint is damaged ({error}): starting from the beginning")
        needed = {_LOCK}
        if checkpoint is not None:
            needed |= {_CHECKPOINT, *checkpoint.files}
            after = "the first pass, over " if checkpoint.all_keyed else ""
            notify(f"resuming after {after}{checkpoint.lines:,} lines")
        for file in list(self.folder.rglob("*")):
            if file.is_file() and str(file.relative_to(self.folder)) not in needed:
                file.unlink()
        return Checkpoint(job) if checkpoint is None else checkpoint

    def _checked(self, job: str) -> Checkpoint | None:
        """Return the checkpoint of a job, if there is one, and cut its files to their saved sizes.

        Raises:
            ValueError: something is damaged.
        """
        checkpoint = self._read(_CHECKPOINT, Checkpoint)
        if checkpoint is None or checkpoint.job != job:
            return None
        for name, saved in checkpoint.files.items():
            path = self.folder / name
            size = path.stat().st_size if path.exists() else 0
            if size < saved.size:
                raise ValueError(f"{name} has {size:,} bytes of {saved.size:,}")
            os.truncate(path, saved.size)
            with path.open("rb") as file:
                if _extended(file, Saved(0, 0)) != saved:
                    raise ValueError(f"{name} has a wrong checksum")
        return checkpoint

    def _read(self, name: str, kind: type[_T]) -> _T | None:
        """Return a record that `_write` has written; None if there is no such file.

        Raises:
            ValueError: it is damaged.
        """
        try:
            content, _, told = (self.folder / name).read_bytes().rpartition(b"\n")
            if told != _line_for(content):
                raise ValueError(f"{name} has a wrong checksum")
            return msgspec.json.decode(content, type=kind)
        except FileNotFoundError:
            return None
        except msgspec.DecodeError as error:
            raise ValueError(f"{name}: {error}") from None

    def _write(self, name: str, record: object) -> None:
        """Write a record to disk atomically, with a checksum in its last line."""
        content = msgspec.json.encode(record)
        with output.atomic(str(self.folder / name)) as file:
            file.write(content + b"\n" + _line_for(content))

    def save_is_due(self) -> bool:
        """Return True if a checkpoint should be saved now."""
        self._began = time.monotonic()
        return self.lasting and (self._is_interrupted or self._began > self._due)

    @contextmanager
    def saving_when_interrupted(self, notify: Callable[[str], None]) -> Iterator[None]:
        """Defer Ctrl-C in a block until the next checkpoint, which is due at once then."""
        if not self.lasting:
            yield
            return

        def interrupt() -> None:
            self._is_interrupted = True
            notify("saving a checkpoint; Ctrl-C again stops at once")

        with interrupted_later(interrupt):
            yield

    def save(self, checkpoint: Checkpoint, files: Sequence[Path]) -> None:
        """Sync the files that a checkpoint needs to disk, then write it.

        Args:
            checkpoint: the checkpoint to save.
            files: that it needs. Since the last checkpoint they may only have grown. Files that
                only that one needed are deleted.

        Raises:
            KeyboardInterrupt: it is saved, and Ctrl-C was pressed before.
        """
        before, checkpoint.files = checkpoint.files, {}
        for path in files:
            name = str(path.relative_to(self.folder))
            with path.open("rb") as file:
                checkpoint.files[name] = _extended(file, before.get(name, Saved(0, 0)))
                os.fsync(file.fileno())
        for folder in {self.folder.parent, *(path.parent for path in files)}:
            output.sync_folder(folder)
        self._write(_CHECKPOINT, checkpoint)
        for name in before.keys() - checkpoint.files.keys():
            (self.folder / name).unlink(missing_ok=True)
        now = time.monotonic()
        self._due = now + max(_SAVE_EVERY, _SAVING * (now - self._began))
        if self._is_interrupted:
            raise KeyboardInterrupt

    @property
    def fresh(self) -> Path:
        """Return the path of the sorted new keys that a job has found."""
        return self.folder / "fresh"

    @property
    def has_checkpoint(self) -> bool:
        """Return True if the job can be resumed."""
        return (self.folder / _CHECKPOINT).exists()

    def open(self, source: str) -> AbstractContextManager[IO[bytes]]:
        """Open a source; a stream is copied to disk while it is read, for the second pass.

        The stream is left open, for the reason that `opened` gives.
        """
        if not is_stream(source):
            return opened(source)
        spool = self.folder / f"stream-{hashlib.sha256(os.fsencode(source)).hexdigest()[:16]}"
        if spool.exists():
            return spool.open("rb")
        copied = Copied(opened(source).__enter__(), spool.open("wb", buffering=0))
        return nullcontext(io.BufferedReader(copied))


def _extended(file: IO[bytes], known: Saved) -> Saved:
    """Return the size and checksum of a file, given those of its beginning."""
    size, checksum = known
    file.seek(size)
    while part := file.read(_SOME):
        size, checksum = size + len(part), gz.crc32(part, checksum)
    return Saved(size, checksum)


def _line_for(content: bytes) -> bytes:
    """Return the line with the checksum of a record."""
    return b"%08x" % gz.crc32(content)


@contextmanager
def workplace(out: str | None) -> Iterator[Workplace]:
    """Make a folder next to an output file, or a temporary one if there is no such file.

    The folder next to an output stays if the job is killed, or is interrupted after it has saved a
    checkpoint. It is deleted when the job ends, with or without an error.

    Args:
        out: the name of the output.

    Raises:
        SettingsError: another process works there.
    """
    if out is None:
        with tempfile.TemporaryDirectory(prefix="canonry-") as name:
            yield Workplace(Path(name), lasting=False)
        return
    folder = Path(out).with_name(f".{Path(out).name}.work")
    with _owned(folder, out):
        place = Workplace(folder, lasting=True)
        try:
            yield place
        except KeyboardInterrupt:
            if not place.has_checkpoint:
                _delete(folder)
            raise
        except BaseException:
            _delete(folder)
            raise
        _delete(folder)


def _owned(folder: Path, out: str) -> IO[bytes]:
    """Make a folder if there is none, and lock it for this process."""
    while True:
        try:
            with suppress(FileExistsError):
                folder.mkdir()
            return owned_files.owned(folder / _LOCK)
        except BlockingIOError:
            raise SettingsError(f"{out}: another dedup is writing it; wait until it ends") from None
        except OSError as error:
            is_gone = isinstance(error, FileNotFoundError) and folder.parent.is_dir()
            if not is_gone or folder.is_symlink():
                raise type(error)(error.errno, error.strerror, out) from None
            # Another process has just ended, and deleted the folder.


def _delete(folder: Path) -> None:
    """Delete a folder, its lock last: from then on it may be another process's."""
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        elif path.name != _LOCK:
            path.unlink()
    (folder / _LOCK).unlink()
    with suppress(OSError):
        folder.rmdir()


def fingerprint(plan: Plan, partitions: int, seen: str | None = None) -> str:
    """Return a hash of a plan, its files as they are now, and the number of partitions.

    A checkpoint with another hash is useless.

    Args:
        plan: what to do.
        partitions: their number.
        seen: the id of the state of the file of keys; None for its current one.
    """
    if seen is None and plan.seen is not None:
        seen = plan.seen.state.id
    stats = [(file, *version_of(file)) for file in plan.files]
    rules = plan.canonicalizer.rules
    asked = (
        plan.canonicalizer.policy.fingerprint,
        rules and rules.dumps(),
        tuple(plan.input_format),
        (plan.report, plan.mapped, plan.prefer),
        seen,
        partitions,
    )
    return hashlib.blake2b(repr((_VERSION, stats, asked)).encode(), digest_size=16).hexdigest()
