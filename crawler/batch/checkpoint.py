"""The progress of a dedup on disk, from which a killed job resumes."""

import hashlib
import os
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import IO, NamedTuple

import msgspec

from canonry.crawler import owned_files
from canonry.crawler.batch.dedup_job import Job
from canonry.crawler.batch.summary import Summary
from canonry.crawler.compression import gz
from canonry.crawler.files import output
from canonry.crawler.locations import version_of
from canonry.crawler.settings import SettingsError

_VERSION = 9  # of the files in the folder
_CHECKPOINT, _LOCK = "state.json", "lock"
_SAVE_EVERY = 30.0  # seconds
_SAVING = 20  # the pause between checkpoints is at least this many times the time to save one
_SOME = 1 << 20  # bytes at once


class Saved(NamedTuple):
    """The part of a file that a checkpoint needs; the rest was written later."""

    size: int  # bytes at its beginning
    checksum: int  # CRC-32 of these


class Checkpoint(msgspec.Struct):
    """What is done of a job: first lines are keyed, then partitions are made unique."""

    job: str  # a hash of its options and its files
    lines: int = 0
    keys: str = "keys"  # the folder of the partitions
    all_keyed: bool = False
    all_decided: bool = False
    files: dict[str, Saved] = {}  # that it needs, in the folder; empty: nothing was saved yet
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
        except (ValueError, msgspec.DecodeError) as error:
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
        if not self.has_checkpoint:
            return None
        content, _, told = (self.folder / _CHECKPOINT).read_bytes().rpartition(b"\n")
        if told != _line_for(content):
            raise ValueError(f"{_CHECKPOINT} has a wrong checksum")
        checkpoint = msgspec.json.decode(content, type=Checkpoint)
        if checkpoint.job != job:
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

        with interruptible(interrupt):
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
        content = msgspec.json.encode(checkpoint)
        with output.atomic(str(self.folder / _CHECKPOINT)) as state:
            state.write(content + b"\n" + _line_for(content))
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


def fingerprint(job: Job, partitions: int, seen: str) -> str:
    """Return a hash of a job, its files as they are now, and the number of partitions.

    A checkpoint with another hash is useless.

    Args:
        job: what to do.
        partitions: their number.
        seen: the id of the state of the file of keys; "" for none.
    """
    rules = job.canonicalizer.rules
    asked = (
        [(file, *version_of(file)) for file in job.files],
        job.canonicalizer.policy.fingerprint,
        rules and rules.dumps(),
        (*job.input_format, job.keep_rows, job.prefer, job.map is None, job.report is None),
        seen,
        partitions,
    )
    return hashlib.blake2b(repr((_VERSION, asked)).encode(), digest_size=16).hexdigest()


@contextmanager
def interruptible(note: Callable[[], None] | None = None) -> Iterator[None]:
    """Raise KeyboardInterrupt for Ctrl-C and for SIGTERM, unless these are ignored.

    Args:
        note: called on the first of them; KeyboardInterrupt then comes at the end of the block, or
            at once on the second one. None: it comes at once.
    """
    if threading.current_thread() is not threading.main_thread():  # which alone has signals
        yield
        return
    is_noted = False

    def handle(number: int, frame: FrameType | None) -> None:
        nonlocal is_noted
        if note is None or is_noted:
            signal.default_int_handler(number, frame)
        is_noted = True
        note()

    numbers = (signal.SIGINT, signal.SIGTERM)
    heeded = [number for number in numbers if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, handle) for number in heeded}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)
    if is_noted:
        raise KeyboardInterrupt
