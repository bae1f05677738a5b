"""How much longer does a URL take without the compiled kernel, by the change that it needs?"""

import timeit
from collections.abc import Callable
from functools import partial

from measure import arguments, keep

import canonry
from canonry.canon.pipeline import native

_CALLS = 200  # few, so that the best round is one without interruptions
_PLAIN = "www.site1.example.com/news/item/123.html"
CASES = {
    "nothing: it is canonical": f"http://{_PLAIN}?id=5",
    "drop the fragment": f"http://{_PLAIN}?id=5#top",
    "drop a tracking parameter": f"http://{_PLAIN}?id=5&utm_source=x",
    "lower the host's case": "http://WWW.site1.example.com/news/item/123.html?id=5",
    "drop the default port": "http://www.site1.example.com:80/news/item/123.html?id=5",
    "decode an unreserved character": "http://www.site1.example.com/news/%7Eitem/123.html?id=5",
    "remove dot segments": "http://www.site1.example.com/news/x/../item/123.html?id=5",
}


def canonicalizers() -> tuple[canonry.Canonicalizer, canonry.Canonicalizer]:
    """Return a canonicalizer with the kernel, and one without."""
    compiled = canonry.Canonicalizer("web")
    version, native.VERSION = native.VERSION, 0
    pure = canonry.Canonicalizer("web")
    native.VERSION = version
    return compiled, pure


def micros(call: Callable[[str], object], url: str, rounds: int) -> float:
    """Return the microseconds that one call takes, of the best round."""
    return min(timeit.repeat(partial(call, url), number=_CALLS, repeat=rounds)) / _CALLS * 1e6


def main() -> None:
    """Measure and print."""
    given = arguments(str(__doc__))
    if not native.VERSION:
        raise SystemExit("there is no kernel here to compare with: it was not compiled")
    compiled, pure = canonicalizers()
    found = {}
    calls: dict[str, tuple[Callable[[str], object], Callable[[str], object]]] = {
        "identity": (compiled.identity, pure.identity),
        "url, identity and key": (compiled, pure),
    }
    for wanted, (with_kernel, without) in calls.items():
        print(f"{'µs for the ' + wanted:32} {'kernel':>7} {'none':>7} {'times':>6}")
        for name, url in CASES.items():
            fast = micros(with_kernel, url, given.rounds)
            slow = micros(without, url, given.rounds)
            found[f"{wanted}: {name}"] = {"kernel": fast, "no kernel": slow}
            print(f"{name:32} {fast:7.2f} {slow:7.2f} {slow / fast:6.0f}")
    keep(given, "kernel", list(CASES.values()), {"microseconds": found})


if __name__ == "__main__":
    main()
