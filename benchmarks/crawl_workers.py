"""What do further workers add to a crawl, and where does the store become the limit?

The pages of `crawl.py`, spread over hosts, since a host belongs to one worker at a time. A process
serves them on loopback, each after so many milliseconds (``--answers``), or as many processes as
``--servers`` says; one worker, two, four, … up to ``--most`` crawl them, on a SQLite file and on a
PostgreSQL server of the benchmark's own. All have to fetch every page once. ``--pages`` says how
many there are. What the start of the processes takes is measured with a crawl of one page, and
told apart.
"""

import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from crawl import page, served
from measure import arguments, keep
from store import database

_HOSTS = 32
_ONE_PAGE = ("--max-pages", "1")
_LINK = re.compile(rb'href="/p/(\d+)\.html"')
_TICKS = os.sysconf("SC_CLK_TCK")
_UTIME, _CHILDREN = 11, 15  # the first and the last of four times in /proc/PID/stat, after the name


def _absolute(found: re.Match[bytes]) -> bytes:
    """Return a link with the host of its page."""
    return b'href="%s"' % url(int(found[1])).encode()


def url(n: int) -> str:
    """Return the URL of page n."""
    return f"http://h{n % _HOSTS}.example/p/{n}.html"


def site(pages: int) -> dict[str, bytes | str]:
    """Return the pages of all hosts, by path."""
    return {f"/p/{n}.html": _LINK.sub(_absolute, page(n, pages)) for n in range(pages)}


def cpu_of(folder: Path) -> float:
    """Return the seconds of processor that a PostgreSQL server has taken, with what has ended."""
    pid_file = folder / "data/postmaster.pid"
    if not pid_file.exists():
        return 0.0
    pid = pid_file.read_text(encoding="utf-8").split()[0]
    times = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return sum(map(int, times[_UTIME:_CHILDREN])) / _TICKS


class Run(NamedTuple):
    """A crawl, and the seconds that it took."""

    summary: dict[str, Any]
    wall: float
    cpu: float
    served: float  # of processors, by the database server


def run(kind: str, workers: int, where: str, *more: str) -> Run:
    """Crawl with so many workers."""
    with tempfile.TemporaryDirectory() as name, database(kind, Path(name)) as store:
        settings = Path(name) / "x.toml"
        settings.write_text("[crawl]\nrequests_per_host = 8\n")
        words = [sys.executable, "-m", "canonry", "crawl", url(0), "--scope", "any", "--delay", "0"]
        words += ["--allow-private", "--connect-to", f"::{where}", "--concurrency", "32", "--json"]
        words += [
            "--config",
            str(settings),
            "--store",
            store,
            "--config",
            f"crawl.workers={workers}",
            *more,
        ]
        before, served_before = os.times(), cpu_of(Path(name))
        start = time.perf_counter()
        done = subprocess.run(words, check=True, capture_output=True)
        seconds = time.perf_counter() - start
        after, served_after = os.times(), cpu_of(Path(name))
    cpu = (after.children_user + after.children_system) - (
        before.children_user + before.children_system
    )
    return Run(json.loads(done.stdout), seconds, cpu, served_after - served_before)


def crawl(kind: str, workers: int, where: str, pages: int) -> dict[str, float]:
    """Return the rate of a crawl, and what the processors did for a page."""
    start = run(kind, workers, where, *_ONE_PAGE)
    whole = run(kind, workers, where)
    summary = whole.summary
    fetched = summary["pages_by_status"]["200"], summary["run"]["pages"]
    assert fetched == (pages, pages), fetched  # noqa: S101 - else it means nothing
    return {
        "pages a second, with the start": round(pages / whole.wall, 1),
        "pages a second": round(pages / summary["seconds"], 1),
        "CPU ms a page, with the start": round(1000 * whole.cpu / pages, 3),
        "CPU ms a page": round(1000 * (whole.cpu - start.cpu) / pages, 3),
        "CPU s, start": round(start.cpu, 2),
        "CPU ms a page, database server": round(1000 * (whole.served - start.served) / pages, 3),
    }


def main() -> None:
    """Measure and print medians."""
    given = arguments(str(__doc__), pages=8000, answers=0, servers=1, most=4)
    crews = [2**n for n in range(given.most.bit_length())]
    runs: dict[str, list[dict[str, float]]] = {}
    with served(partial(site, given.pages), given.answers / 1000, given.servers) as where:
        for _ in range(min(given.rounds, 3)):
            for kind, workers in product(("sqlite", "postgresql"), crews):
                name = f"{kind}, {workers} worker(s)"
                runs.setdefault(name, []).append(crawl(kind, workers, where, given.pages))
                print(name, runs[name][-1], flush=True)
    for name, found in runs.items():
        middle = {what: statistics.median(run[what] for run in found) for what in found[0]}
        print(f"{name:24}", ", ".join(f"{value:,.5g} {what}" for what, value in middle.items()))
    cores = os.cpu_count()
    said = {"pages": given.pages, "answer_ms": given.answers, "servers": given.servers}
    said |= {"cores": cores, "runs": runs}
    keep(given, "crawl_workers", [url(0)], said)


if __name__ == "__main__":
    main()
