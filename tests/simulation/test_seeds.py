"""Short histories of nights on PostgreSQL, each from a seed, with all that may happen in them."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.postgresql, pytest.mark.slow]


@pytest.mark.parametrize("seed", range(4))
def test_nothing_is_wrong_after_some_nights(seed: int) -> None:
    """In a process of its own: the seed of Python's hashes is a part of a history."""
    seeds = ["--seeds", str(seed), str(seed + 1), "--nights", "3", "--pages", "10"]
    more = ["--sites", "1", "--database", "postgresql", "--processes", "1"]
    command = [sys.executable, str(Path(__file__).parent), *seeds, *more]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=280)
    assert done.returncode == 0, done.stdout + done.stderr
