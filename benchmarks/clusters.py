"""How long does an export of clusters take, in how much memory, and what does ``--since`` save?"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from measure import arguments, keep

import canonry
from canonry.crawler.named_policies import find_policy
from canonry.crawler.opening import open_store
from canonry.storage.sql.bulk import insert_rows
from canonry.storage.sql.schema import State, aliases, keys, pages, url_rows
from canonry.storage.sql.url_suffixes import suffix_of

_STEP = 100_000


def fill(store_url: str, count: int) -> None:
    """Make a store of that many URLs; three in ten lead to the page before them."""
    store = open_store(store_url, find_policy("web"), print)
    make = canonry.Canonicalizer("web")
    with store.transaction() as connection:
        connection.exec_driver_sql(
            "INSERT INTO hosts (id, name, pending, ready_at, held_until) "
            "VALUES (1, 'h.example', 0, 0, 0)"
        )
        for start in range(1, count + 1, _STEP):
            url_ids = range(start, min(start + _STEP, count + 1))
            write(connection, make, url_ids)
    store.close()


def write(connection: Any, make: canonry.Canonicalizer, url_ids: range) -> None:  # noqa: ANN401
    """Write the URLs of some ids."""
    of_urls, of_keys, of_pages, edges = [], [], [], []
    for url_id in url_ids:
        kind = url_id % 10 if url_id % 10 in {1, 2, 3} else 0
        page = url_id - kind
        url = f"https://h.example/section/{page % 97}/a-page-of-the-site-{page}"
        url += ("", "/old", "/", "?print=1")[kind] if page else f"/first{url_id}"
        kind = kind if page else 0
        state = (State.FETCHED, State.REDIRECTED, State.HELD, State.FETCHED)[kind]
        reason = "learned" if kind == 2 else None
        of_urls.append(
            (url_id, suffix_of(url, "h.example"), 1, int(state), reason, 1, 0, 0, 1.0, 1.0, 0)
        )
        of_keys.append((make(url).key, url_id))
        if kind in {0, 3}:
            named = None if kind == 0 else f"https://h.example/section/{page % 97}/"
            named = named and f"{named}a-page-of-the-site-{page}"
            body = make.key_of(str(url_id))
            of_pages.append(
                (url_id, 200, 1e9, 0.1, "text/html", 9000, body, f"Page {page}", named, 9)
            )
        if kind:
            name = ("", "redirect", "rule", "canonical")[kind]
            target = f"https://h.example/section/{page % 97}/a-page-of-the-site-{page}"
            code = (0, 301, 0, 200)[kind]
            edges.append((url_id, url_id, page, name, code, target, 1e9, 1e9, 1))
    names = [
        "id",
        "suffix",
        "host_id",
        "state",
        "reason",
        "depth",
        "hops",
        "attempts",
        "due",
        "found_at",
        "priority",
    ]
    insert_rows(connection, url_rows, names, of_urls)
    insert_rows(connection, keys, ("key", "url_id"), of_keys)
    names = "url_id status fetched_at elapsed content_type size digest title canonical links"
    insert_rows(connection, pages, names.split(), of_pages)
    names = "id from_id to_id kind status target_url first_seen last_seen count"
    insert_rows(connection, aliases, names.split(), edges)


def export(folder: Path, *words: str) -> dict[str, Any]:
    """Export with the command; return the seconds, those of the processor, and the peak memory."""
    command = [sys.executable, "-c", _CHILD, "export", *words, "--store", "store.db"]
    start = time.perf_counter()
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    seconds = time.perf_counter() - start
    busy, peak = done.stderr.split()[-2:]
    return {
        "seconds": round(seconds, 1),
        "processor seconds": round(float(busy), 1),
        "peak MiB": round(int(peak) / 1024),
    }


_CHILD = """
import atexit, resource, sys
def show():
    lines = open("/proc/self/status").read().splitlines()  # Linux: of this program alone
    [peak] = [line.split()[1] for line in lines if line.startswith("VmHWM")]
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(used.ru_utime + used.ru_stime, peak, file=sys.stderr)
atexit.register(show)
from canonry.crawler.cli.commands import main
main()
"""


def main() -> None:
    """Measure and print."""
    given = arguments(str(__doc__))
    result: dict[str, Any] = {"urls": given.count}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        fill(f"sqlite:///{folder}/store.db", given.count)
        result["store MB"] = round((folder / "store.db").stat().st_size / 1e6)
        for what, words in {
            "pages": ("pages", "-o", "pages.jsonl"),
            "clusters": ("clusters", "-o", "all.jsonl"),
            "clusters as Parquet": ("clusters", "-o", "all.parquet"),
            "merges": ("merges", "-o", "merges.jsonl"),
            "first export with a cursor": ("clusters", "--cursor", "c", "-o", "first.jsonl"),
            "nothing changed": ("clusters", "--cursor", "c", "-o", "second.jsonl"),
        }.items():
            result[what] = export(folder, *words)
            print(what, result[what])
        result["bytes"] = {f.name: f.stat().st_size for f in sorted(folder.glob("*.jsonl"))}
    print(result["bytes"])
    keep(given, "clusters", [], result)


if __name__ == "__main__":
    main()
