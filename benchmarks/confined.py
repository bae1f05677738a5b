"""A hard limit of memory for a command: the kernel kills what needs more.

A control group of Linux counts all that a command and its children use, page cache included, which
the kernel takes back before it kills. As root the group is made directly (version 2, then version
1); others need ``systemd-run``.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

_ENTER = ["sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"']
# Where groups are, the file of the limit, and the file of the most that was used.
_KINDS = (
    ("/sys/fs/cgroup", "memory.max", "memory.peak"),
    ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.max_usage_in_bytes"),
)


class Confined(NamedTuple):
    """How to start a command under the limit: the words before its own, and a file or None."""

    words: list[str]
    peak: Path | None  # bytes that were used at most

    def mebibytes(self) -> int | None:
        """Return how much was used at most, with page cache; None if nothing tells."""
        return int(self.peak.read_text()) >> 20 if self.peak and self.peak.exists() else None


@contextmanager
def confined(mebibytes: int) -> Iterator[Confined]:
    """Yield how to start commands that get so many MiB together, and no swap beyond them.

    Raises:
        SystemExit: this machine offers no such limit.
    """
    for root, limit, peak in _KINDS:
        group = Path(root, f"canonry-{os.getpid()}")
        if not Path(root).is_dir() or not os.access(root, os.W_OK):
            continue
        group.mkdir()
        try:
            if (group / limit).exists():
                (group / limit).write_text(str(mebibytes << 20))
                yield Confined([*_ENTER, str(group)], group / peak)
                return
        finally:
            group.rmdir()
    if shutil.which("systemd-run") is None:
        raise SystemExit("a hard limit needs root and control groups, or systemd-run")
    limits = ["-p", f"MemoryMax={mebibytes}M", "-p", "MemorySwapMax=0"]
    yield Confined(["systemd-run", "--user", "--scope", "--quiet", *limits], None)
