"""Does the time grow only linearly with the length, for shapes that break other libraries?"""

import time
from collections.abc import Callable
from contextlib import suppress

from measure import arguments, keep

import canonry
from canonry.canon.policies import preset_names

SIZES = (62_500, 250_000, 1_000_000)
SHAPES: dict[str, Callable[[int], str]] = {
    "dot segments": lambda n: "http://a.example/" + "../" * (n // 3),
    "segments": lambda n: "http://a.example/" + "a/" * (n // 2),
    "slashes": lambda n: "http://a.example/" + "/" * n,
    "percent signs": lambda n: "http://a.example/" + "%" * n,
    "escapes": lambda n: "http://a.example/" + "%41" * (n // 3),
    "spaces": lambda n: "http://a.example/" + " " * n,
    "not ASCII": lambda n: "http://a.example/" + "é" * n,
    "labels": lambda n: "http://" + "a." * (n // 2) + "b/",
    "one label": lambda n: "http://" + "a" * n + "/",
    "one label, not ASCII": lambda n: "http://" + "é" * n + "/",
    "labels, not ASCII": lambda n: "http://" + "é." * (n // 2) + "b/",
    "punycode": lambda n: "http://xn--" + "a" * n + "/",
    "escaped host": lambda n: "http://" + "%C3%A9" * (n // 6) + "/",
    "at signs": lambda n: "http://" + "@" * n + "a/",
    "colons": lambda n: "http://" + ":" * n + "/",
    "colons in brackets": lambda n: "http://[" + ":" * n + "]/",
    "fields": lambda n: "http://a.example/?" + "a=1&" * (n // 4),
    "tracking fields": lambda n: "http://a.example/?" + "utm_a=1&" * (n // 8),
    "sessions": lambda n: "http://a.example/" + ";jsessionid=" * (n // 12),
    "hashes": lambda n: "http://a.example/" + "#" * n,
    "mailto": lambda n: "mailto:" + "a@B," * (n // 4),
    "data": lambda n: "data:" + "a/b;" * (n // 4) + ",",
    "ftp types": lambda n: "ftp://a.example/" + ";type=a" * (n // 7),
}


def seconds(make: canonry.Canonicalizer, url: str) -> float:
    """Return the seconds that one URL takes."""
    start = time.perf_counter()
    with suppress(canonry.InvalidURL):
        make(url)
    return time.perf_counter() - start


def main() -> None:
    """Measure and print."""
    given = arguments(str(__doc__))
    found: dict[str, dict[str, list[float]]] = {}
    print(f"{'ms for':30} {'62 KB':>9} {'250 KB':>9} {'1 MB':>9}   worst policy")
    for shape, url in SHAPES.items():
        taken = {
            name: [
                min(seconds(canonry.Canonicalizer(name), url(size)) for _ in range(given.rounds))
                for size in SIZES
            ]
            for name in preset_names()
        }
        worst = max(taken, key=lambda name: taken[name][-1])
        figures = " ".join(f"{t * 1e3:9.1f}" for t in taken[worst])
        print(f"{shape:30} {figures}   {worst}")
        found[shape] = taken
    keep(given, "linear", list(SHAPES), {"sizes": SIZES, "seconds": found})


if __name__ == "__main__":
    main()
