"""How much memory does the dupefilter take while a million URLs are seen inside Scrapy?"""

import json
import subprocess
import sys
import tempfile
import time
from typing import Any

from measure import arguments, keep

_STEPS = 10
_MEMORY = """
import resource, sys
import scrapy
from scrapy.utils.test import get_crawler
own = {"ADDONS": {"canonry.scrapy.Canonry": 500}} if sys.argv[1] == "canonry" else {}
crawler = get_crawler(None, {"JOBDIR": sys.argv[2], "LOG_LEVEL": "ERROR", **own})
crawler.spider = scrapy.Spider("site")
filter_class = scrapy.utils.misc.load_object(crawler.settings["DUPEFILTER_CLASS"])
seen = scrapy.utils.misc.build_from_crawler(filter_class, crawler)
crawler.request_fingerprinter = scrapy.utils.misc.build_from_crawler(
    scrapy.utils.misc.load_object(crawler.settings["REQUEST_FINGERPRINTER_CLASS"]), crawler)
seen.fingerprinter = crawler.request_fingerprinter
seen.open()
count, step = int(sys.argv[3]), int(sys.argv[3]) // int(sys.argv[4])
for n in range(1, count + 1):
    url = f"https://www.site{n % 1000}.example.com/a-path/of/usual-length/{n}.html"
    assert not seen.request_seen(scrapy.Request(url))
    assert seen.request_seen(scrapy.Request(url))
    if n % step == 0:
        print(n, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024, flush=True)
seen.close("finished")
"""


def memory(which: str, count: int) -> dict[str, int]:
    """Return MiB at most after each tenth of so many URLs, each asked for twice.

    A folder in memory (``TMPDIR=/dev/shm``) keeps a slow disk out of it.
    """
    with tempfile.TemporaryDirectory() as folder:
        words = [sys.executable, "-c", _MEMORY, which, folder, str(count), str(_STEPS)]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=folder) as run:
            found = {}
            for line in run.stdout or ():
                n, size = line.split()
                found[n] = int(size)
                print(which, n, size, flush=True)
    assert len(found) == _STEPS, "it ended before its time"  # noqa: S101 - no figures
    return found


def main() -> None:
    """Run the benchmark."""
    given = arguments(__doc__, seen=1_000_000)
    result: dict[str, Any] = {"seen": given.seen}
    for which in ("canonry", "Scrapy with JOBDIR"):
        start = time.perf_counter()
        result[f"{which}: MiB at most, by URLs seen"] = memory(which, given.seen)
        result[f"{which}: seconds"] = round(time.perf_counter() - start, 1)
        print(json.dumps(result), flush=True)
    keep(given, "scrapy_seen", [], result)


if __name__ == "__main__":
    main()
