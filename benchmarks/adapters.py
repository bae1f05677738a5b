"""What do the keys of crawlers merge wrongly, what do they miss, and how long do they take?

Needs the peers: ``pip install scrapy crawlee crawl4ai`` beside the group ``bench``.
"""

from collections import Counter
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

from crawl4ai.utils import normalize_url
from crawlee._utils.requests import compute_unique_key  # crawlee has no public name for it
from measure import arguments, best, corpus, keep
from scrapy import Request
from scrapy.utils.request import fingerprint
from w3lib.url import canonicalize_url

import canonry

_VECTORS = Path(__file__).parents[1] / "tests/vectors"
Key = Callable[[str], object]


def scrapy_key(url: str) -> object:
    """Return Scrapy's fingerprint of a GET request."""
    return fingerprint(Request(url))


def crawl4ai_key(url: str) -> object:
    """Return crawl4ai's normal form of a link."""
    return normalize_url(url, url)


def cases(name: str, columns: int) -> list[list[str]]:
    """Return the rows of a file of vectors; escapes as in Python."""
    lines = (_VECTORS / name).read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines if line and not line.startswith("#")]
    return [
        [cell.encode("ascii", "backslashreplace").decode("unicode_escape") for cell in row]
        for row in rows
        if len(row) == columns
    ]


def outcome(key: Key, url: str) -> object:
    """Return a key, or that there is none."""
    try:
        return key(url)
    except Exception:  # noqa: BLE001 - each has errors of its own
        return None


def apart() -> list[tuple[str, str]]:
    """Return the pairs that must stay apart under every policy for crawls."""
    return [(a, b) for policy, a, b in cases("distinct.txt", 3) if policy in {"search", "web"}]


def equal() -> list[tuple[str, str]]:
    """Return the pairs that are equal by the specifications: a URL and its canonical form."""
    rows = cases("canonical.txt", 3)
    pairs = dict.fromkeys((url, identity) for _, url, identity in rows if url != identity)
    return [pair for pair in pairs if pair[0].lower().startswith("http") and are_equal(*pair)]


def are_equal(a: str, b: str) -> bool:
    """Return True if only lossless rules differ between two URLs."""
    try:
        return canonry.equivalent(a, b)
    except canonry.InvalidURL:
        return False


def together(keys: dict[str, Key], urls: list[str], rounds: int) -> dict[str, float]:
    """Return the best time of each key in seconds; the keys take turns, so they share the noise."""
    found = dict.fromkeys(keys, float("inf"))
    for _ in range(rounds):
        for name, key in keys.items():
            taken = best(lambda key=key: [outcome(key, url) for url in urls], 1)
            found[name] = min(found[name], taken)
    return found


def split_by(urls: list[str], key: Key, judge: Key) -> tuple[int, int, int]:
    """Return how many keys there are, and how many URLs a judge would tell apart or put together.

    Args:
        urls: each once.
        key: the key to judge.
        judge: what is held to be right.
    """
    found = [(outcome(key, url), outcome(judge, url)) for url in urls]
    of_key = {(k, j) for k, j in found if k is not None}
    merged = sum(n - 1 for n in Counter(k for k, _ in of_key).values())
    missed = sum(n - 1 for n in Counter(j for _, j in of_key).values())
    return len({k for k, _ in of_key}), merged, missed


def main() -> None:
    """Measure and print."""
    given = arguments(str(__doc__))
    urls = list(dict.fromkeys(corpus(given)))
    web = canonry.Canonicalizer("web")
    lossless = canonry.Canonicalizer("rfc3986")
    keys: dict[str, Key] = {
        "canonry, web": lambda url: web(url).key,
        "canonry, rfc3986": lambda url: lossless(url).key,
        "scrapy fingerprint": scrapy_key,
        "crawlee compute_unique_key": compute_unique_key,
        "crawl4ai normalize_url": crawl4ai_key,
        "w3lib canonicalize_url": canonicalize_url,
    }
    few = urls[:: max(1, len(urls) // 1_000)]
    seconds = together(keys, few, given.rounds)

    def judge(url: str) -> str:
        """Return the lossless form of what is requested, without the fragment."""
        return lossless.identity(lossless(url).url)

    result: dict[str, object] = {
        "peers": {name: version(name) for name in ("Scrapy", "crawlee", "Crawl4AI", "w3lib")},
        "pairs apart": len(apart()),
        "pairs equal": len(equal()),
        "distinct": len(urls),
        "timed": len(few),
    }
    for name, key in keys.items():
        count, merged, missed = split_by(urls, key, judge)
        wrong = [p for p in apart() if outcome(key, p[0]) == outcome(key, p[1]) is not None]
        lost = [p for p in equal() if outcome(key, p[0]) != outcome(key, p[1])]
        result[name] = {
            "µs": round(seconds[name] / len(few) * 1e6, 2),
            "keys": count,
            "merged beyond the specifications": merged,
            "kept apart against the specifications": missed,
            "pairs merged wrongly": len(wrong),
            "pairs missed": len(lost),
            "wrong": wrong,
            "lost": lost,
        }
        print(name, {k: v for k, v in result[name].items() if k not in {"wrong", "lost"}})
    keep(given, "adapters", urls, result)


if __name__ == "__main__":
    main()
