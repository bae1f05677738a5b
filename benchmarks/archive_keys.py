"""How often are the SURTs of the policy "archive" those of the package surt, and at what speed?"""

from collections import Counter

import surt
import urlcanon
from measure import arguments, best, corpus, keep

import canonry


def theirs(url: str) -> str | None:
    """Return the key that the package surt makes, or None if it raises an error."""
    try:
        return str(surt.surt(url))
    except Exception:  # noqa: BLE001 - it has no error of its own
        return None


def ours(make: canonry.Canonicalizer, url: str) -> str | None:
    """Return our key, or None if the URL is refused."""
    try:
        return make.surt(url)
    except canonry.InvalidURL:
        return None


def witness(url: str) -> str | None:
    """Return the key of urlcanon's policy for archives."""
    try:
        parsed = urlcanon.aggressive(urlcanon.parse_url(url))
        return parsed.surt(trailing_comma=False, with_scheme=False).decode()
    except Exception:  # noqa: BLE001 - as above
        return None


def kind(url: str, expected: str | None, found: str | None) -> str:
    """Return in which way two keys of a URL differ, or that they are equal."""
    if expected is None:
        return "surt raises, we refuse" if found is None else "surt raises, we give a key"
    if found is None:
        return "we refuse"
    if found == expected:
        return "equal"
    if "\\" in url:
        return "differ: a backslash"
    return "differ: a scheme twice" if url.lower().count("://", 0, 16) > 1 else "differ: other"


def main() -> None:
    """Measure and print."""
    given = arguments(str(__doc__))
    urls = corpus(given)
    make = canonry.Canonicalizer("archive")
    expected = [theirs(url) for url in urls]
    found = [ours(make, url) for url in urls]
    kinds = Counter(map(kind, urls, expected, found))
    keyed = sum(key is not None for key in expected)
    few = urls[:: max(1, len(urls) // 10_000)]
    agree = sum(witness(url) == theirs(url) for url in few) / len(few)
    ratio = best(lambda: [theirs(url) for url in few], given.rounds) / best(
        lambda: [ours(make, url) for url in few], given.rounds
    )
    print(f"{len(urls):,} URLs; of {keyed:,} keys of surt {kinds['equal'] / keyed:.4%} are ours")
    for name, count in kinds.most_common():
        print(f"{count:10,} {name}")
    print(
        f"surt takes {ratio:.1f} times as long; urlcanon.aggressive agrees with it in {agree:.2%}"
    )
    result = {"kinds": kinds, "times": ratio, "urlcanon equals surt": agree}
    keep(given, "archive_keys", urls, result)


if __name__ == "__main__":
    main()
