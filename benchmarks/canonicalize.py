"""How long does one URL take, compared with other libraries in the same process?"""

import statistics
from collections import deque
from collections.abc import Callable
from functools import partial
from importlib import import_module

from measure import arguments, best, corpus, is_here, keep

import canonry
from canonry.canon.pipeline import native


def all_of(function: Callable[[str], object], urls: list[str]) -> Callable[[], None]:
    """Return work that applies a function to every URL; errors are ignored."""

    def work() -> None:
        for url in urls:
            try:  # noqa: SIM105 - a context manager would be timed too
                function(url)
            except Exception:  # noqa: BLE001, S110 - each peer has its own errors
                pass

    return work


# Module and function of each peer; "urlcanon" takes two calls.
_PEERS = {
    "can_ada.parse (parses only)": "can_ada parse",
    "ada_url.normalize_url": "ada_url normalize_url",
    "w3lib.canonicalize_url": "w3lib.url canonicalize_url",
    "yarl.URL": "yarl URL",
    "url_normalize": "url_normalize url_normalize",
    "courlan.normalize_url": "courlan normalize_url",
    "surt.surt": "surt surt",
    "urlcanon.whatwg": "urlcanon whatwg",
}


def peers() -> dict[str, Callable[[str], object]]:
    """Return the function of each peer that is installed."""
    found: dict[str, Callable[[str], object]] = {}
    for name, where in _PEERS.items():
        module, function = where.split()
        if is_here(name, module.partition(".")[0]):
            found[name] = getattr(import_module(module), function)
    if whatwg := found.get("urlcanon.whatwg"):
        parse_url = import_module("urlcanon").parse_url
        found["urlcanon.whatwg"] = lambda url: str(whatwg(parse_url(url)))
    return found


def decent(urls: list[str]) -> list[str]:
    """Return the accepted URLs, at most ten thousand."""
    return [url for url in urls if canonry.columns.canonicalize([url]).reason == [None]][:10_000]


def main() -> None:
    """Measure and print."""
    given = arguments(str(__doc__))
    urls = corpus(given)
    make = canonry.Canonicalizer("web")
    version, native.VERSION = native.VERSION, 0
    pure = canonry.Canonicalizer("web")
    native.VERSION = version
    functions: dict[str, Callable[[str], object]] = {
        "canon web": make,
        "canon web, identity only": make.identity,
        "canon.canonicalize": canonry.canonicalize,
        "canon web, no kernel": pure,
        "canon web, identity, no kernel": pure.identity,
        "canon web, plain pipeline": make.plain,
        **peers(),
    }
    seconds = {name: best(all_of(peer, urls), given.rounds) for name, peer in functions.items()}
    columns = partial(canonry.columns.canonicalize, urls, columns=["identity", "reason"])
    seconds["canon.columns, identity"] = best(columns, given.rounds)
    seconds["canon many, with keys"] = best(lambda: deque(make.many(urls), 0), given.rounds)
    messy = [
        url
        for url, found in zip(urls, make.many(urls), strict=True)
        if isinstance(found, canonry.Refused) or found.identity != url
    ]
    seconds_messy = best(all_of(make, messy), given.rounds)
    median = statistics.median(best(partial(make.identity, url), 3) for url in decent(messy))
    print(f"{len(urls):,} URLs, {1 - len(messy) / len(urls):.0%} of them canonical already")
    print(f"{'':30} {'µs a URL':>9} {'times canon web':>16}")
    for name, taken in seconds.items():
        ratio = taken / seconds["canon web"]
        print(f"{name:30} {taken / len(urls) * 1e6:9.2f} {ratio:16.1f}")
    print(f"{'canon web, messy URLs only':30} {seconds_messy / max(len(messy), 1) * 1e6:9.2f}")
    print(f"{'  the median one, identity':30} {median * 1e6:9.2f}")
    result = {"seconds": seconds, "messy": [len(messy), seconds_messy], "messy_median": median}
    keep(given, "canonicalize", urls, result)


if __name__ == "__main__":
    main()
