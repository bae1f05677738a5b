"""How much memory does a dedup take whose keys do not fit into it, and how fast is it?

Makes ``--count`` lines, five of six of them distinct, in random order, and removes them again.
Needs 150 bytes of disk for each.
"""

import os
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from measure import arguments, keep

_SOME = 1_000_000  # lines at once
_LIMIT = "1GiB"


def write(path: Path, count: int) -> None:
    """Write lines of about sixty bytes."""
    rng = random.Random(1)
    with path.open("w", encoding="ascii") as file:
        for start in range(0, count, _SOME):
            numbers = rng.choices(range(count * 5 // 2), k=min(_SOME, count - start))
            file.writelines(
                f"https://www.site{n % 9973}.example.com/shop/item/{n}.html?id={n % 7}\n"
                for n in numbers
            )


def anonymous(process: int) -> int:
    """Return a process's memory in MiB, without the pages of files, which the system reclaims."""
    try:
        text = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    except OSError:  # it has just ended
        return 0
    found = re.search(r"RssAnon:\s+(\d+) kB", text)
    return int(found[1]) // 1024 if found else 0


def main() -> None:
    """Measure one process and print."""
    given = arguments(str(__doc__))
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        path, out = Path(folder, "urls.txt"), Path(folder, "out.txt")
        write(path, given.count)
        words = [sys.executable, "-m", "canonry", "dedup", str(path), "-o", str(out)]
        start = time.perf_counter()
        run = subprocess.Popen([*words, "--memory", _LIMIT], stderr=subprocess.PIPE)
        memory = 0
        while run.poll() is None:
            memory = max(memory, anonymous(run.pid))
            time.sleep(0.05)
        seconds = time.perf_counter() - start
        size = path.stat().st_size
    said = run.stderr.read().decode().splitlines() if run.stderr else []
    print(*said[:2], sep="\n")
    print(f"{given.count:,} lines, {size:,} bytes, --memory {_LIMIT}: {seconds:.1f} s")
    print(f"{given.count / seconds:,.0f} lines a second, {memory:,} MiB, without mapped files")
    result = {"lines": given.count, "bytes": size, "limit": _LIMIT, "seconds": seconds}
    keep(given, "dedup_memory", [], {**result, "mebibytes": memory, "said": said[:2]})


if __name__ == "__main__":
    main()
