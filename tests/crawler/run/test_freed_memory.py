"""What is freed between things that stay in use goes back to the system."""

import subprocess
import sys
from pathlib import Path

import pytest

from canonry.crawler.run.process import FreedMemory

STATUS = Path("/proc/self/status")
BLOCK = 30_000  # bytes: the C library does not map such a block by itself


def resident() -> int:
    """Return the bytes of memory that this process has of the system."""
    [line] = (row for row in STATUS.read_text().splitlines() if row.startswith("VmRSS"))
    return int(line.split()[1]) * 1024


@pytest.mark.skipif(sys.platform != "linux", reason="needs glibc's malloc_trim")
def test_gaps_go_back_to_the_system_once_enough_was_read() -> None:
    freed = FreedMemory()
    pages = [bytes(BLOCK) for _ in range(3000)]
    kept = pages[::50]
    del pages
    before = resident()
    freed.done_with(1000)
    assert before - resident() < 10 * BLOCK, "it waits until there is more"
    freed.done_with(60 << 20)
    assert before - resident() > 1500 * BLOCK
    assert len(kept) == 60


ROUNDS = f"""
from test_freed_memory import FreedMemory, resident

FreedMemory()
kept = []
for _ in range(2):
    bodies = []
    for _ in range(20):
        bodies.append(b"x" * (1 << 20))
        kept.append(b"x" * {BLOCK})
    before = resident()
    bodies.clear()
    print(before - resident())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs glibc's mallopt")
def test_large_bodies_go_back_at_once_though_others_were_freed_before() -> None:
    """In a process of its own: in one with large gaps, bodies would be put there."""
    here = Path(__file__).parent
    done = subprocess.run([sys.executable, "-c", ROUNDS], cwd=here, capture_output=True, check=True)
    assert [int(size) > 15 << 20 for size in done.stdout.split()] == [True, True]
