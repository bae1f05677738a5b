"""How long does one URL take, beside other libraries, in the same process?"""

from collections.abc import Callable

import ada_url
import can_ada
import w3lib.url
import yarl
from measure import arguments, best, corpus, keep
from url_normalize import url_normalize

import canon


def all_of(function: Callable[[str], object], urls: list[str]) -> Callable[[], None]:
    """Return work that applies a function to every URL, errors included."""

    def work() -> None:
        for url in urls:
            try:  # noqa: SIM105 - a context manager would be timed too
                function(url)
            except Exception:  # noqa: BLE001, S110 - peers raise what they like; all go on
                pass

    return work


def main() -> None:
    """Measure and print."""
    given = arguments(str(__doc__))
    urls = corpus(given)
    make = canon.Canonicalizer("web")
    peers: dict[str, Callable[[str], object]] = {
        "canon web": make,
        "canon web, identity only": make.identity,
        "canon.canonicalize": canon.canonicalize,
        "canon web, plain pipeline": make.plain,
        "can_ada.parse (parses only)": can_ada.parse,
        "ada_url.normalize_url": ada_url.normalize_url,
        "w3lib.canonicalize_url": w3lib.url.canonicalize_url,
        "yarl.URL": yarl.URL,
        "url_normalize": url_normalize,
    }
    seconds = {name: best(all_of(peer, urls), given.rounds) for name, peer in peers.items()}
    messy = [
        url
        for url, found in zip(urls, make.many(urls), strict=True)
        if isinstance(found, canon.Refused) or found.identity != url
    ]
    seconds_messy = best(all_of(make, messy), given.rounds)
    print(f"{len(urls):,} URLs, {1 - len(messy) / len(urls):.0%} of them canonical already")
    print(f"{'':30} {'µs a URL':>9} {'times canon web':>16}")
    for name, taken in seconds.items():
        ratio = taken / seconds["canon web"]
        print(f"{name:30} {taken / len(urls) * 1e6:9.2f} {ratio:16.1f}")
    print(f"{'canon web, messy URLs only':30} {seconds_messy / max(len(messy), 1) * 1e6:9.2f}")
    keep(given, "canonicalize", urls, {"seconds": seconds, "messy": [len(messy), seconds_messy]})


if __name__ == "__main__":
    main()
