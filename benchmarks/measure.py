"""Shared by the benchmarks: a corpus, the best time of several rounds, and the raw run."""

import argparse
import gzip
import hashlib
import importlib.util
import json
import platform
import random
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

_RUNS = Path(__file__).parent / "runs"


def arguments(question: str, **more: int) -> argparse.Namespace:
    """Parse the command line of a benchmark; ``more`` are its own numbers, with their defaults."""
    parser = argparse.ArgumentParser(description=question)
    parser.add_argument(
        "--corpus", help="a file of URLs, plain or gzip; tab-separated: last column"
    )
    parser.add_argument(
        "--count", type=int, default=100_000, help="URLs to generate without a corpus"
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--keep", action="store_true", help="write the raw run to benchmarks/runs/")
    for name, default in more.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    return parser.parse_args()


def corpus(given: argparse.Namespace) -> list[str]:
    """Return the absolute http URLs of a corpus, or generate URLs like a crawl's."""
    if given.corpus is None:
        return made(given.count)
    opened = gzip.open if given.corpus.endswith(".gz") else open
    with opened(given.corpus, "rt", encoding="utf-8", errors="surrogateescape") as file:
        urls = [line.rstrip("\n").rpartition("\t")[2] for line in file]
    return [url for url in urls if url.lower().startswith(("http://", "https://"))]


def made(count: int, seed: int = 1) -> list[str]:
    """Generate URLs: nine of ten are canonical, the rest are messy as real ones are."""
    rng = random.Random(seed)
    messy = ("{u}#top", "{u}&utm_source=x", "HTTPS{r}", "https://WWW{h}", "{u}%7Ex", "{u}/../y")
    urls = []
    for _ in range(count):
        host = f".site{int(rng.paretovariate(1)) % 5000}.example.com"
        path = "/".join(rng.choice(("news", "item", "a-page", "2024", "img")) for _ in range(3))
        rest = f"://www{host}/{path}/{rng.randrange(count)}.html?id={rng.randrange(100)}"
        url = f"https{rest}"
        if rng.random() < 0.1:
            tail = url.partition("www")[2]
            url = rng.choice(messy).format(u=url, r=rest, h=tail)
        urls.append(url)
    return urls


def best(work: Callable[[], object], rounds: int) -> float:
    """Return the seconds of the fastest round."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def whole_process(words: Sequence[str], rounds: int) -> tuple[float, float]:
    """Return the seconds of a command's fastest run, and the processor seconds of its mean one."""

    def run() -> None:
        subprocess.run(words, check=True, capture_output=True)

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = best(run, rounds)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return seconds, used / rounds


def is_here(peer: str, needs: str) -> bool:
    """Return True if a peer can run; else say that it is left out, and why.

    Args:
        peer: its name, for people.
        needs: modules and programs, in one text.
    """
    missing = [
        name
        for name in needs.split()
        if importlib.util.find_spec(name) is None and shutil.which(name) is None
    ]
    if missing:
        print(f"left out: {peer} (not installed: {', '.join(missing)})", file=sys.stderr)
    return not missing


def _versions(packages: Iterable[str]) -> dict[str, str]:
    """Return the versions of those packages that are installed."""
    found = {}
    for package in packages:
        with suppress(PackageNotFoundError):
            found[package] = version(package)
    return found


def keep(given: argparse.Namespace, name: str, urls: Sequence[str], result: dict[str, Any]) -> None:
    """With ``--keep``, write the raw run to a file."""
    packages = ("canonry", "ada-url", "can-ada", "w3lib", "url-normalize", "yarl", "aiohttp")
    packages += ("courlan", "surt", "urlcanon")
    run = {
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": " ".join(Path(word).name if "/" in word else word for word in sys.argv),
        "python": platform.python_version(),
        "machine": f"{platform.machine()}, {platform.system()}",
        "versions": _versions(packages),
        "urls": len(urls),
        "sha256": hashlib.sha256("\n".join(urls).encode("utf-8", "surrogateescape")).hexdigest(),
        **result,
    }
    if given.keep:
        folder = _RUNS / run["when"][:10]
        folder.mkdir(parents=True, exist_ok=True)
        corpus_name = "made" if given.corpus is None else Path(given.corpus).name.split(".")[0]
        path = folder / f"{name}-{corpus_name}.json"
        path.write_text(json.dumps(run, indent=2) + "\n", encoding="utf-8")
        print(f"kept in {path.relative_to(_RUNS.parent)}")
