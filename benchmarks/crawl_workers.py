"""What do further workers add to a crawl, and where does the store become the limit?

The pages of `crawl.py`, spread over hosts, since a host belongs to one worker at a time. A process
serves them on loopback; one to four workers crawl them, on a SQLite file and on a PostgreSQL server
of the benchmark's own. All have to fetch every page once. ``--pages`` says how many there are.
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
from pathlib import Path
from typing import Any

from crawl import page, served
from measure import arguments, keep
from store import database

_HOSTS = 32
_RUNS = (("sqlite", 1), ("sqlite", 2), ("postgresql", 1), ("postgresql", 2), ("postgresql", 4))
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


def crawl(kind: str, workers: int, where: str, pages: int) -> dict[str, float]:
    """Crawl with so many workers; return the rate, and what the processors did for a page."""
    with tempfile.TemporaryDirectory() as name, database(kind, Path(name)) as store:
        settings = Path(name) / "x.toml"
        settings.write_text("[crawl]\nrequests_per_host = 8\nrequests_per_address = 0\n")
        words = [sys.executable, "-m", "canonry", "crawl", url(0), "--scope", "any", "--delay", "0"]
        words += ["--allow-private", "--connect-to", f"::{where}", "--concurrency", "32", "--json"]
        words += ["--config", str(settings), "--store", store, "--workers", str(workers)]
        before, served_before = os.times(), cpu_of(Path(name))
        start = time.perf_counter()
        done = subprocess.run(words, check=True, capture_output=True)
        seconds = time.perf_counter() - start
        after, served_after = os.times(), cpu_of(Path(name))
    summary: dict[str, Any] = json.loads(done.stdout)
    fetched = summary["pages_by_status"]["200"], summary["run"]["pages"]
    assert fetched == (pages, pages), fetched  # noqa: S101 - else it means nothing
    cpu = (after.children_user + after.children_system) - (
        before.children_user + before.children_system
    )
    return {
        "pages a second, with the start": round(pages / seconds, 1),
        "pages a second": round(pages / summary["seconds"], 1),
        "CPU ms a page": round(1000 * cpu / pages, 3),
        "CPU ms a page, database server": round(1000 * (served_after - served_before) / pages, 3),
    }


def main() -> None:
    """Measure and print medians."""
    given = arguments(str(__doc__), pages=5000)
    runs: dict[str, list[dict[str, float]]] = {}
    with served(partial(site, given.pages)) as where:
        for _ in range(min(given.rounds, 3)):
            for kind, workers in _RUNS:
                name = f"{kind}, {workers} worker(s)"
                runs.setdefault(name, []).append(crawl(kind, workers, where, given.pages))
                print(name, runs[name][-1], flush=True)
    for name, found in runs.items():
        middle = {what: statistics.median(run[what] for run in found) for what in found[0]}
        print(f"{name:24}", ", ".join(f"{value:,.5g} {what}" for what, value in middle.items()))
    cores = os.cpu_count()
    keep(given, "crawl_workers", [url(0)], {"pages": given.pages, "cores": cores, "runs": runs})


if __name__ == "__main__":
    main()
