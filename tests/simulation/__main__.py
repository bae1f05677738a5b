"""Run simulated nights: ``python tests/simulation --seeds 0 10 --nights 30``."""

import argparse
import os
import sys
import time
from pathlib import Path

if os.environ.get("PYTHONHASHSEED") != "0":  # one seed gives one history
    os.execve(  # noqa: S606 - this program again
        sys.executable, [sys.executable, *sys.orig_argv[1:]], {**os.environ, "PYTHONHASHSEED": "0"}
    )
sys.path.insert(0, str(Path(__file__).parents[1]))

from simulation.history import play


def main() -> int:
    """Play histories, and print what was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", nargs=2, type=int, default=(0, 10), metavar=("FIRST", "END"))
    parser.add_argument("--nights", type=int, default=3)
    parser.add_argument("--pages", type=int, default=40)
    parser.add_argument("--sites", type=int, default=2)
    parser.add_argument("--verbose", action="store_true", help="a line for each night")
    given = parser.parse_args()
    failed = 0
    for seed in range(*given.seeds):
        began = time.perf_counter()
        told = print if given.verbose else None
        faults = play(str(seed), given.nights, given.pages, given.sites, told)
        failed += bool(faults)
        print(f"seed {seed}: {len(faults)} faults, {time.perf_counter() - began:.1f} s", flush=True)
        for fault in faults[:20]:
            print(f"  {fault}")
        if faults:
            print(f"  python tests/simulation --seeds {seed} {seed + 1} --nights {given.nights} "
                  f"--pages {given.pages} --sites {given.sites} --verbose")  # fmt: skip
    print(f"{failed} of {given.seeds[1] - given.seeds[0]} seeds failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
