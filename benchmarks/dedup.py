"""How long does a dedup of a file take, beside a script of w3lib and a set, and beside sort -u?"""

import os
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
    given = arguments(str(__doc__))
    urls = corpus(given)
    with tempfile.TemporaryDirectory() as folder:
        path, out = Path(folder, "urls.txt"), Path(folder, "out.txt")
        path.write_text("\n".join(urls) + "\n", encoding="utf-8", errors="surrogateescape")
        commands = {
            "canonry dedup": [sys.executable, "-m", "crawler", "dedup", str(path), "-o", str(out)],
            "w3lib and a set": [sys.executable, "-c", _SCRIPT, str(path), str(out)],
            "sort -u (canonicalizes nothing)": ["sort", "-u", str(path), "-o", str(out)],
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
