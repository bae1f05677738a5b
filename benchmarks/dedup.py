"""How long does a dedup of a file take, beside a script of w3lib and a set, and beside sort -u?

``--times 5`` makes five lines of each URL, with another query each, in no order: as many as a crawl
of some weeks finds.
"""

import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from measure import arguments, best, corpus, keep

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


def main() -> None:
    """Measure whole processes and print."""
    given = arguments(str(__doc__), times=1)
    urls = corpus(given)
    if given.times > 1:
        urls = [f"{url}?v={n}" for url in urls for n in range(given.times)]
    random.Random(1).shuffle(urls)
    with tempfile.TemporaryDirectory() as folder:
        path, out = Path(folder, "urls.txt"), Path(folder, "out.txt")
        path.write_text("\n".join(urls) + "\n", encoding="utf-8", errors="surrogateescape")
        packed, repacked = f"{path}.gz", f"{out}.gz"
        _run(["sh", "-c", f"gzip -k {path}"])
        ours = [sys.executable, "-m", "crawler", "dedup"]
        commands = {
            "canonry dedup": [*ours, str(path), "-o", str(out)],
            "w3lib and a set": [sys.executable, "-c", _SCRIPT, str(path), str(out)],
            "sort -u (canonicalizes nothing)": ["sort", "-u", str(path), "-o", str(out)],
            "gz to text: canonry": [*ours, packed, "-o", str(out)],
            "gz to text: zcat | sort -u": ["sh", "-c", f"zcat {packed} | sort -u > {out}"],
            "gz to gz: canonry": [*ours, packed, "-o", repacked],
            "gz to gz: zcat | sort -u | gzip": [
                "sh",
                "-c",
                f"zcat {packed} | sort -u | gzip > {repacked}",
            ],
        }
        seconds = {
            name: best(lambda words=words: _run(words), min(given.rounds, 3))
            for name, words in commands.items()
        }
    print(f"{len(urls):,} lines")
    for name, taken in seconds.items():
        ratio = taken / seconds["canonry dedup"]
        print(f"{name:32} {taken:7.2f} s {len(urls) / taken:10,.0f}/s {ratio:6.2f} times canonry")
    keep(given, "dedup", urls, {"seconds": seconds})


def _run(words: list[str]) -> None:
    """Run a command in the C locale."""
    env = os.environ | {"LC_ALL": "C", "PYTHONUTF8": "1"}
    subprocess.run(words, check=True, capture_output=True, env=env)


if __name__ == "__main__":
    main()
