"""How long does each policy take for a URL of a corpus, with and without the compiled kernel?"""

from collections import deque
from collections.abc import Callable
from functools import partial

from measure import arguments, best, corpus, keep

import canonry
from canonry import Canonical
from canonry.canon.pipeline import native

_POLICIES = ("web", "search", "archive", "rfc3986")
_PURE_EVERY = 10  # of the corpus: without the kernel, a part of it is enough


def without_kernel(policy: str) -> canonry.Canonicalizer:
    """Return a canonicalizer of a policy that does not use the kernel."""
    version, native.VERSION = native.VERSION, 0
    pure = canonry.Canonicalizer(policy)
    native.VERSION = version
    return pure


def main() -> None:
    """Measure and print."""
    given = arguments(str(__doc__))
    urls = accepted(corpus(given))
    some = urls[::_PURE_EVERY]
    print(f"µs a URL, of {len(urls):,}, best of {given.rounds} rounds")
    print(f"{'':10}{'identity':>10} {'with key':>10} {'no kernel':>10} {'with key':>10}")
    found = {}
    for name in _POLICIES:
        fast, slow = canonry.Canonicalizer(name), without_kernel(name)
        row = {
            "identity": micros(partial(each, fast.identity, urls), len(urls), given.rounds),
            "many": micros(partial(all_of, fast, urls), len(urls), given.rounds),
            "identity, no kernel": micros(partial(each, slow.identity, some), len(some), 3),
            "many, no kernel": micros(partial(all_of, slow, some), len(some), 3),
        }
        print(f"{name:10}" + " ".join(f"{value:10.2f}" for value in row.values()))
        found[name] = row
    keep(given, "policies", urls, {"microseconds": found})


def accepted(urls: list[str]) -> list[str]:
    """Return the URLs that all policies accept, so that each does the same work."""
    for name in _POLICIES:
        answers = canonry.Canonicalizer(name).many(urls)
        urls = [u for u, found in zip(urls, answers, strict=True) if isinstance(found, Canonical)]
    return urls


def each(identity: Callable[[str], str], urls: list[str]) -> None:
    """Make the identity of each URL, one call for each."""
    for url in urls:
        identity(url)


def all_of(make: canonry.Canonicalizer, urls: list[str]) -> None:
    """Make what to request, the identity and the key of all URLs."""
    deque(make.many(urls), maxlen=0)


def micros(work: Callable[[], None], count: int, rounds: int) -> float:
    """Return the microseconds that one URL takes in the best round."""
    return best(work, rounds) / count * 1e6


if __name__ == "__main__":
    main()
