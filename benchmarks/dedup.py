"""How long does a dedup take, compared with w3lib and a set, sort -u, and DuckDB?

``--times 5`` makes five lines of each URL, each with another query, in random order: as many as a
crawl of some weeks finds. ``--exact 1`` compares the lines with those that DuckDB computes over the
canonical forms, for several numbers of workers and sizes of memory.
"""

import gzip
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from measure import arguments, best, corpus, is_here, keep

_SCRIPT = """
import sys
from w3lib.url import canonicalize_url
seen = set()
with open(sys.argv[1]) as given, open(sys.argv[2], "w") as kept:
    for line in given:
        url = canonicalize_url(line.rstrip())
        if url not in seen:
            seen.add(url)
            kept.write(line)
"""

# The same canonicalizer as an Arrow function. It keeps any line of each form, in no order.
_DUCKDB = """
import sys
import duckdb, pyarrow
from canonry.canon import columns
def identity(urls):
    return columns.canonicalize(urls, columns=["identity"])["identity"].combine_chunks()
duck = duckdb.connect(config={"threads": 2})
duck.create_function(
    "identity", identity, ["VARCHAR"], "VARCHAR", type="arrow", null_handling="special"
)
lines = "read_csv(?, header=false, delim='\\x01', quote='', escape='', columns={'u': 'VARCHAR'})"
duck.execute(sys.argv[3].replace("LINES", lines).replace("OUT", sys.argv[2]), [sys.argv[1]])
"""
_ANY = (
    "COPY (SELECT any_value(u) FROM LINES GROUP BY identity(u)) TO 'OUT' (HEADER false, QUOTE '')"
)
_FIRST = (
    "COPY (SELECT arg_min(u, n) AS u FROM (SELECT u, row_number() OVER () AS n, identity(u) AS i "
    "FROM LINES) WHERE i IS NOT NULL GROUP BY i ORDER BY min(n)) TO 'OUT' (HEADER false, QUOTE '')"
)


def exactness(path: str, ours: list[str], folder: str) -> int:
    """Check that the lines are DuckDB's, byte for byte; return in how many settings."""
    run([sys.executable, "-c", _DUCKDB, path, f"{folder}/duck.txt", _FIRST])
    expected = Path(folder, "duck.txt").read_bytes()
    runs = [(w, m) for w in (1, 2, 4) for m in ("16MiB", "128MiB", "1GiB")]
    for workers, memory in runs:
        out = f"{folder}/exact.txt"
        run([*ours, path, "-o", out, "--workers", str(workers), "--memory", memory])
        if Path(out).read_bytes() != expected:
            raise SystemExit(f"the lines differ from DuckDB's, with {workers} workers and {memory}")
    print(f"{expected.count(10):,} lines kept, the same as DuckDB's in {len(runs)} settings")
    return len(runs)


# What each peer needs: modules and programs.
_NEEDS = {
    "w3lib and a set": "w3lib",
    "DuckDB, our function": "duckdb pyarrow",
    "sort -u (canonicalizes nothing)": "sort",
    "gz to text: zcat | sort -u": "zcat sort",
    "gz to gz: zcat | sort -u | gzip": "zcat sort gzip",
}


def main() -> None:
    """Measure whole processes and print."""
    given = arguments(str(__doc__), times=1, exact=0)
    urls = corpus(given)
    if given.times > 1:
        urls = [f"{url}?v={n}" for url in urls for n in range(given.times)]
    random.Random(1).shuffle(urls)
    with tempfile.TemporaryDirectory() as folder:
        path, out = Path(folder, "urls.txt"), Path(folder, "out.txt")
        path.write_text("\n".join(urls) + "\n", encoding="utf-8", errors="surrogateescape")
        compressed, recompressed = f"{path}.gz", f"{out}.gz"
        Path(compressed).write_bytes(gzip.compress(path.read_bytes(), 6))
        ours = [sys.executable, "-m", "canonry", "dedup"]
        commands = {
            "canonry dedup": [*ours, str(path), "-o", str(out)],
            "w3lib and a set": [sys.executable, "-c", _SCRIPT, str(path), str(out)],
            "DuckDB, our function": [sys.executable, "-c", _DUCKDB, str(path), str(out), _ANY],
            "sort -u (canonicalizes nothing)": ["sort", "-u", str(path), "-o", str(out)],
            "gz to text: canonry": [*ours, compressed, "-o", str(out)],
            "gz to text: zcat | sort -u": ["sh", "-c", f"zcat {compressed} | sort -u > {out}"],
            "gz to gz: canonry": [*ours, compressed, "-o", recompressed],
            "gz to gz: zcat | sort -u | gzip": [
                "sh",
                "-c",
                f"zcat {compressed} | sort -u | gzip > {recompressed}",
            ],
        }
        seconds = {
            name: best(lambda words=words: run(words), min(given.rounds, 3))
            for name, words in commands.items()
            if is_here(name, _NEEDS.get(name, ""))
        }
        exact = exactness(str(path), ours, folder) if given.exact else 0
    print(f"{len(urls):,} lines")
    for name, taken in seconds.items():
        ratio = taken / seconds["canonry dedup"]
        print(f"{name:32} {taken:7.2f} s {len(urls) / taken:10,.0f}/s {ratio:6.2f} times canonry")
    keep(given, "dedup", urls, {"seconds": seconds, "settings_equal_to_duckdb": exact})


def run(words: list[str]) -> None:
    """Run a command in the C locale."""
    env = os.environ | {"LC_ALL": "C", "PYTHONUTF8": "1"}
    subprocess.run(words, check=True, capture_output=True, env=env)


if __name__ == "__main__":
    main()
