"""How long does a store of a million URLs take to change its policy, and how much memory?

A tenth of the URLs become one with another. The store goes from the policy "web" to "search".
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from measure import arguments, keep

_URLS = 1_000_000
_HOSTS = 5_000


def lines() -> list[str]:
    """Return the URLs; the last tenth of them differs by a doubled slash from others."""
    urls = [f"http://h{n % _HOSTS}.example/section{n % 7}/page{n}" for n in range(_URLS)]
    doubled = [url.replace("/page", "//page") for url in urls[::10]]
    return [f"{url}\n" for url in (*urls, *doubled)]


def main() -> None:
    """Measure and print."""
    given = arguments(str(__doc__))
    command = [sys.executable, "-m", "canonry"]
    with tempfile.TemporaryDirectory() as folder:
        urls, store = Path(folder) / "urls.txt", ["--store", f"{folder}/s.db"]
        urls.write_text("".join(lines()), encoding="utf-8")
        made = [*command, "dedup", str(urls), *store, "-o", f"{folder}/out.txt"]
        subprocess.run(made, check=True, capture_output=True)
        start = time.perf_counter()
        words = [*command, "upgrade", "--policy", "search", *store]
        messages = Path(folder) / "messages"
        with messages.open("w") as errors:
            done = subprocess.Popen(words, stderr=errors)
            _pid, _status, used = os.wait4(done.pid, 0)
        said = messages.read_text(encoding="utf-8")
        found = {
            "seconds": round(time.perf_counter() - start, 1),
            "seconds of CPU": round(used.ru_utime + used.ru_stime, 1),
            "MiB at most": used.ru_maxrss // 1024,
            "said": said.splitlines()[-1],
        }
    for name, value in found.items():
        print(f"{name:16}", value)
    keep(given, "upgrade", ["made"], {"urls": _URLS + _URLS // 10, "run": found})


if __name__ == "__main__":
    main()
