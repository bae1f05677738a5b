"""What do more cores add to a dedup, and to whole columns of URLs?

With one worker or thread, two, four, … up to the cores of the machine; by the clock. Beside ours,
with as many threads: DuckDB's distinct of the lines as they are, and `sort -u`. ``--times 5`` makes
five lines of each URL, each with another query, in random order.
"""

import os
import random
import sys
import tempfile
from pathlib import Path

import pyarrow as pa
from columns import of_arrow
from dedup import run
from measure import arguments, best, corpus, is_here, keep

_DISTINCT = """
import sys
import duckdb
duck = duckdb.connect(config={"threads": int(sys.argv[3])})
lines = "read_csv(?, header=false, delim='\\x01', quote='', escape='', columns={'u': 'VARCHAR'})"
duck.execute(
    f"COPY (SELECT DISTINCT u FROM {lines}) TO '{sys.argv[2]}' (HEADER false, QUOTE '')",
    [sys.argv[1]],
)
"""


def commands(path: Path, out: Path, threads: int) -> dict[str, list[str]]:
    """Return what is to be timed as a whole process."""
    count = str(threads)
    ours = [sys.executable, "-m", "canonry", "dedup", "-o", str(out), "--workers", count]
    found = {"canonry dedup": [*ours, str(path)], "canonry dedup, gz": [*ours, f"{path}.gz"]}
    found["canonry dedup --map"] = [*ours, "--map", f"{out}.map", str(path)]
    if is_here("DuckDB, distinct", "duckdb"):
        words = [sys.executable, "-c", _DISTINCT, str(path), str(out), count]
        found["DuckDB, distinct of lines"] = words
    found["sort -u"] = ["sort", "-u", f"--parallel={count}", str(path), "-o", str(out)]
    return found


def main() -> None:
    """Measure and print."""
    given = arguments(str(__doc__), times=1)
    urls = corpus(given)
    column = pa.array([url.encode("utf-8", "surrogateescape") for url in urls], pa.binary())
    lines = [f"{url}?v={n}" for url in urls for n in range(given.times)]
    random.Random(1).shuffle(lines)
    cores = os.cpu_count() or 1
    seconds: dict[str, dict[int, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        path, out = Path(folder, "urls.txt"), Path(folder, "out.txt")
        path.write_text("\n".join(lines) + "\n", encoding="utf-8", errors="surrogateescape")
        run(["sh", "-c", f"gzip -k {path}"])
        for threads in (2**n for n in range(cores.bit_length())):
            for name, words in commands(path, out, threads).items():
                taken = best(lambda words=words: run(words), min(given.rounds, 3))
                seconds.setdefault(name, {})[threads] = taken
            for wanted in (["identity"], ["identity", "key"]):
                name = f"columns, {' and '.join(wanted)}"
                taken = best(lambda w=wanted, t=threads: of_arrow(column, w, t), given.rounds)
                seconds.setdefault(name, {})[threads] = taken
    print(f"{len(lines):,} lines, {len(urls):,} URLs in the column, {cores} cores; seconds")
    for name, taken in seconds.items():
        print(f"{name:32}", *(f"{count}: {taken[count]:.3f}" for count in taken))
    keep(given, "cores", urls, {"lines": len(lines), "cores": cores, "seconds": seconds})


if __name__ == "__main__":
    main()
