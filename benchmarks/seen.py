"""How fast are ten million lines set against a hundred million keys that were seen before?

Makes a file of ``--known`` keys, and ``--count`` lines, half of whose resources it has; then runs
``dedup --seen`` with 512 MiB, once with all lines, once with ten thousand, and once without
``--seen``. Needs 16 bytes of disk for each key and 250 for each line.
"""

import os
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from measure import arguments, keep

from canonry.canon import Canonicalizer
from canonry.crawler.batch.keying import keyed
from canonry.crawler.files.blocks import Block
from canonry.crawler.key_files import key_writer
from canonry.crawler.key_files.key_file import KeyHeader
from canonry.crawler.key_files.sorted_keys import KEY, Keys, as_keys, highs, union

_SOME = 1_000_000  # lines at once
_RANGES = 64  # of keys
_LIMIT = "512MiB"
_FEW = 10_000


def url(n: int) -> str:
    """Return a URL of about sixty bytes."""
    return f"https://www.site{n % 9973}.example.com/shop/item/{n}.html?id={n % 7}"


def write_lines(path: Path, count: int) -> None:
    """Write lines in random order, of resources of which some have several."""
    rng = random.Random(1)
    with path.open("w", encoding="ascii") as file:
        for start in range(0, count, _SOME):
            numbers = rng.choices(range(count * 5 // 2), k=min(_SOME, count - start))
            file.writelines(f"{url(n)}\n" for n in numbers)


def known_keys(count: int, lines: int) -> Iterator[Keys]:
    """Yield sorted keys: those of the lines' URLs with even numbers, and random ones."""
    numbers = range(0, lines * 5 // 2, 2)
    make = Canonicalizer("web")
    parts = []
    for at in range(0, len(numbers), _SOME):
        some = [url(n) for n in numbers[at : at + _SOME]]
        block = Block("", 1, "\n".join(some).encode(), len(some))
        parts.append(keyed(block, make).keys)
    real = np.sort(as_keys(b"".join(parts)))
    rng = np.random.default_rng(1)
    rest = max(count - len(real), 0)
    step = (1 << 64) // _RANGES
    for n in range(_RANGES):
        here = rest * (n + 1) // _RANGES - rest * n // _RANGES
        drawn = np.empty(here, KEY)
        high = rng.integers(n * step, (n + 1) * step - 1, here, np.uint64)
        drawn["high"], drawn["low"] = high, rng.integers(0, 1 << 63, here, np.uint64)
        low, end = np.searchsorted(highs(real), np.array([n * step, (n + 1) * step - 1], np.uint64))
        yield union([np.sort(drawn), real[low:end]])


def processor_seconds() -> float:
    """Return how long the processes that have ended kept processors busy."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measured(words: list[str]) -> dict[str, float]:
    """Run a command; return its seconds, MiB of its own memory, and bytes that it read."""
    start, before = time.perf_counter(), processor_seconds()
    run = subprocess.Popen(words, stderr=subprocess.DEVNULL)
    memory, read = 0, 0
    while run.poll() is None:
        try:
            status = Path(f"/proc/{run.pid}/status").read_text(encoding="ascii")
            io = Path(f"/proc/{run.pid}/io").read_text(encoding="ascii")
        except OSError:  # it has just ended
            break
        if anonymous := re.search(r"RssAnon:\s+(\d+) kB", status):
            memory = max(memory, int(anonymous[1]) // 1024)
        if found := re.search(r"rchar: (\d+)", io):
            read = int(found[1])
        time.sleep(0.02)
    if run.wait():
        raise SystemExit(f"it failed: {words}")
    seconds, processor = time.perf_counter() - start, processor_seconds() - before
    found = {"seconds": seconds, "processor_seconds": processor}
    return {**found, "mebibytes": memory, "bytes_read": read}


def main() -> None:
    """Measure whole processes and print."""
    given = arguments(str(__doc__), known=100_000_000)
    policy = Canonicalizer("web").policy
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        path, few = Path(folder, "urls.txt"), Path(folder, "few.txt")
        keys, out = f"{folder}/seen.keys", f"{folder}/out.txt"
        write_lines(path, given.count)
        with path.open("rb") as lines:
            few.write_bytes(b"".join(line for line, _ in zip(lines, range(_FEW), strict=False)))
        with key_writer.locked(keys) as file:
            header = KeyHeader(policy.label, policy.fingerprint)
            found = known_keys(given.known, given.count)
            known = key_writer.write_new(file, keys, header, [(found, "")])
        size = Path(keys).stat().st_size
        words = [sys.executable, "-m", "canonry", "dedup", "--memory", _LIMIT, "-o", out]
        results = {
            "few lines": measured([*words, str(few), "--seen", keys]),
            "all lines": measured([*words, str(path), "--seen", keys]),
            "without --seen": measured([*words, str(path)]),
        }
    print(f"{given.count:,} lines against {known.keys:,} keys ({size:,} bytes), --memory {_LIMIT}")
    for name, one in results.items():
        count = _FEW if name == "few lines" else given.count
        print(
            f"{name:16} {one['seconds']:7.2f} s {count / one['seconds']:12,.0f}/s "
            f"{one['processor_seconds']:7.2f} s of processors "
            f"{one['mebibytes']:6,.0f} MiB {one['bytes_read']:15,} bytes read"
        )
    keep(given, "seen", [], {"lines": given.count, "keys": known.keys, "bytes": size, **results})


if __name__ == "__main__":
    main()
