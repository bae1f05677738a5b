"""How much memory does a dedup take whose keys do not fit into it, and how fast is it?

Makes ``--count`` lines, five of six of them distinct, in random order, and removes them again.
Needs 150 bytes of disk for each (in $TMPDIR, not in memory). ``--hard 1024`` gives the
process so many MiB and no more: a control group kills it if it needs more.
"""

import os
import random
import re
import subprocess
import sys
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path

from confined import Confined, confined
from measure import arguments, keep

_SOME = 1_000_000  # lines at once


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
    given = arguments(str(__doc__), memory=1024, hard=0)
    limits = confined(given.hard) if given.hard else nullcontext(Confined([], None))
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder, limits as limit:
        path, out = Path(folder, "urls.txt"), Path(folder, "out.txt")
        write(path, given.count)
        words = [*limit.words, sys.executable, "-m", "canonry", "dedup", str(path), "-o", str(out)]
        start = time.perf_counter()
        run = subprocess.Popen([*words, "--memory", f"{given.memory}MiB"], stderr=subprocess.PIPE)
        memory = 0
        while run.poll() is None:
            memory = max(memory, anonymous(run.pid))
            time.sleep(0.05)
        seconds = time.perf_counter() - start
        size, with_files = path.stat().st_size, limit.mebibytes()
    said = run.stderr.read().decode().splitlines() if run.stderr else []
    print(*said[:2], sep="\n")
    if run.returncode:
        raise SystemExit(f"it ended with {run.returncode}")
    print(f"{given.count:,} lines, {size:,} bytes, --memory {given.memory}MiB: {seconds:.1f} s")
    print(f"{given.count / seconds:,.0f} lines a second, {memory:,} MiB, without mapped files")
    if given.hard:
        print(f"hard limit {given.hard:,} MiB: {with_files} MiB used, with page cache")
    result = {"lines": given.count, "bytes": size, "limit": f"{given.memory}MiB"}
    result |= {"hard limit MiB": given.hard, "with page cache MiB": with_files}
    result |= {"seconds": seconds, "mebibytes": memory, "said": said[:2]}
    keep(given, "dedup_memory_hard" if given.hard else "dedup_memory", [], result)


if __name__ == "__main__":
    main()
