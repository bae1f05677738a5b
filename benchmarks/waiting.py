"""How much memory does a crawl take, and how fast is it, when a million URLs wait in its queue?

The stores have more and more queued URLs on a thousand hosts. A crawl of each fetches the same
number of pages from loopback.
"""

import multiprocessing
import resource
import subprocess
import sys
import tempfile
import time
from contextlib import closing

from crawl import served
from measure import arguments, keep

from canonry.canon import Canonicalizer
from canonry.crawler.admission.scope import Scope
from canonry.crawler.admission.url_filter import URLFilter
from canonry.crawler.settings import load
from canonry.storage import Candidate, Store

_PAGES = 3_000
_HOSTS = 1_000
_SEED = "http://h0.example/"


def site() -> dict[str, bytes | str]:
    """Return no pages: every request gets a 404, which is enough here."""
    return {}


def fill(store_url: str, count: int) -> None:
    """Queue URLs."""
    canonicalizer = Canonicalizer("web")
    url_filter = URLFilter(canonicalizer, Scope("any", []), load(None, {}))
    policy = canonicalizer.policy
    store = Store(store_url, policy=policy.label, fingerprint=policy.fingerprint)
    with closing(store):
        for start in range(0, count, 100_000):
            found = [
                url_filter.candidate(
                    f"http://h{n % _HOSTS}.example/a-path/of/usual-length/{n}.html",
                    None,
                    depth=1,
                    hops=0,
                    source=None,
                )
                for n in range(start, min(start + 100_000, count))
            ]
            given = [one for one in found if isinstance(one, Candidate)]
            store.admit(given, 0.0)


def crawled(store_url: str, port: str) -> dict[str, float]:
    """Crawl with the command; return its memory and its rate."""
    words = [sys.executable, "-m", "canonry", "crawl", _SEED, "--store", store_url]
    words += ["--connect-to", f"::127.0.0.1:{port}", "--delay", "0", "--scope", "any", "--json"]
    words += ["--max-pages", str(_PAGES)]
    reader, writer = multiprocessing.Pipe(duplex=False)

    def run() -> None:
        subprocess.run(words, check=True, capture_output=True)
        writer.send(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)

    process = multiprocessing.Process(target=run)
    start = time.perf_counter()
    process.start()
    peak = reader.recv()
    seconds = time.perf_counter() - start
    process.join()
    return {"MiB at most": peak // 1024, "pages a second": round(_PAGES / seconds, 1)}


def main() -> None:
    """Measure and print."""
    given = arguments(str(__doc__))
    found = {}
    with served(site) as where:
        for count in (10_000, 1_000_000, 2_000_000):
            with tempfile.TemporaryDirectory() as folder:
                store_url = f"sqlite:///{folder}/x.db"
                filling = multiprocessing.Process(target=fill, args=(store_url, count))
                filling.start()  # in its own process, so that its memory does not count
                filling.join()
                found[f"{count:,} queued"] = crawled(store_url, where.partition(":")[2])
    for name, run in found.items():
        print(f"{name:20}", ", ".join(f"{value:,.6g} {what}" for what, value in run.items()))
    keep(given, "waiting", [_SEED], {"runs": found})


if __name__ == "__main__":
    main()
