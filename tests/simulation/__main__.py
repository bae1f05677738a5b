"""Run simulated nights: ``python tests/simulation --seeds 0 10 --nights 30``."""

import argparse
import logging
import multiprocessing
import os
import sys
import time
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

if os.environ.get("PYTHONHASHSEED") != "0":  # one seed gives one history
    os.execve(  # noqa: S606 - this program again
        sys.executable, [sys.executable, *sys.orig_argv[1:]], {**os.environ, "PYTHONHASHSEED": "0"}
    )
sys.path.insert(0, str(Path(__file__).parents[1]))

from simulation.history import play
from support import databases


def main() -> int:
    """Play histories, and print what was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", nargs=2, type=int, default=(0, 10), metavar=("FIRST", "END"))
    parser.add_argument("--nights", type=int, default=3)
    parser.add_argument("--pages", type=int, default=40)
    parser.add_argument("--sites", type=int, default=2)
    parser.add_argument("--verbose", action="store_true", help="a line for each night")
    parser.add_argument("--database", choices=("sqlite", "postgresql"), default="sqlite")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    given = parser.parse_args()
    began, failed = time.perf_counter(), 0
    plan = Plan(given.nights, given.pages, given.sites, given.verbose)
    seeds = range(*given.seeds)
    with ExitStack() as stack:
        if given.database == "postgresql":
            folder = Path(stack.enter_context(TemporaryDirectory(dir=databases.quick_folder())))
            os.environ[databases.SERVER] = stack.enter_context(databases.server(folder))
        # What was killed is never let go, so a process plays a few seeds.
        pool = stack.enter_context(multiprocessing.Pool(given.processes, maxtasksperchild=8))
        for seed, faults, seconds, told in pool.imap_unordered(partial(_play, plan), seeds):
            failed += bool(faults)
            print(*told, sep="\n", end="\n" if told else "")
            print(f"seed {seed}: {len(faults)} faults, {seconds:.1f} s", flush=True)
            for fault in faults[:20]:
                print(f"  {fault}")
            if faults:
                print(f"  python tests/simulation --seeds {seed} {seed + 1} --nights {plan.nights} "
                      f"--pages {plan.pages} --sites {plan.sites} --verbose "
                      f"--database {given.database}")  # fmt: skip
    print(f"{failed} of {len(seeds)} seeds failed, {time.perf_counter() - began:.0f} s")
    return int(failed > 0)


class Plan(NamedTuple):
    """What each seed is played with."""

    nights: int
    pages: int
    sites: int
    verbose: bool


def _play(plan: Plan, seed: int) -> tuple[int, list[str], float, list[str]]:
    """Play a seed; return it, what was wrong, how long it took, and what was told."""
    logging.getLogger("sqlalchemy").setLevel(logging.CRITICAL)  # it tells of what was killed
    began, told = time.perf_counter(), list[str]()
    faults = play(str(seed), *plan[:3], told.append if plan.verbose else None)
    return seed, list(map(str, faults)), time.perf_counter() - began, told


if __name__ == "__main__":
    sys.exit(main())
