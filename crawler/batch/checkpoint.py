"""Where a dedup stands, on disk: one that was killed goes on from there."""

import fcntl
import hashlib
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec

from canonry.crawler.settings import SettingsError

_VERSION = 1  # of what lies in the folder
_STATE, _LOCK = "state.json", "lock"


class State(msgspec.Struct):
    """What was done of a job: lines keyed, and then partitions made unique."""

    job: str  # a hash of what was asked for
    lines: int = 0
    others: int = 0  # bytes in the file of lines that are no URL
    sizes: list[int] = []  # bytes in the files of the partitions
    partitions: int = -1  # made unique; -1: not all lines are keyed yet
    runs: list[int] = []  # of spellings: how many there were behind each partition
    largest: list[tuple[int, int]] = []
    hosts: dict[str, int] = {}
    summary: dict[str, Any] = {}


class Workplace:
    """A folder for a job's files, and for where it stands."""

    def __init__(self, folder: Path, *, lasting: bool, resume: bool) -> None:
        """Bind a folder.

        Args:
            folder: that exists.
            lasting: keep in it where the job stands.
            resume: go on from what is there.
        """
        self.folder = folder
        self.lasting = lasting
        self._resume = resume

    def state(self, job: str, notify: Callable[[str], None]) -> State:
        """Return where a job stands; at its beginning, when nothing of it is there."""
        found = None
        if self._resume:
            with suppress(OSError, msgspec.MsgspecError):
                found = msgspec.json.decode((self.folder / _STATE).read_bytes(), type=State)
        if found is not None and found.job == job:
            if found.partitions < 0:
                notify(f"going on behind {found.lines:,} lines")
            else:
                notify(f"going on behind the first pass, over {found.lines:,} lines")
            return found
        if self._resume:
            notify("nothing of this job was left to go on from: from the beginning")
        for file in self.folder.iterdir():
            if file.name != _LOCK:
                file.unlink()
        return State(job)

    def save(self, state: State) -> None:
        """Write down where a job stands, whole or not at all."""
        new = self.folder / "state.new"
        new.write_bytes(msgspec.json.encode(state))
        new.replace(self.folder / _STATE)

    @property
    def has_state(self) -> bool:
        """Say whether there is something to go on from."""
        return (self.folder / _STATE).exists()


@contextmanager
def workplace(out: str | None, *, resume: bool) -> Iterator[Workplace]:
    """Make a folder beside an output, or a temporary one where there is none.

    The one beside an output stays when the job is killed, or interrupted after it has written down
    where it stands; it is gone when the job ends, well or not.

    Args:
        out: the name of the output.
        resume: use what an earlier run left.

    Raises:
        SettingsError: when another process works there.
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
            if not place.has_state:
                shutil.rmtree(folder, ignore_errors=True)
            raise
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        shutil.rmtree(folder, ignore_errors=True)


def fingerprint(files: Sequence[str], *asked: object) -> str:
    """Return a hash of what a job is about: its files as they are now, and all that was asked."""
    stats = [(file, (s := Path(file).stat()).st_size, s.st_mtime_ns) for file in files]
    return hashlib.blake2b(repr((_VERSION, stats, asked)).encode(), digest_size=16).hexdigest()
