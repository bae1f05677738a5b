"""How long does a dedup take whose lines are spellings of few resources?

Four of five lines are another spelling of an earlier one, with what shared and copied links have:
tracking parameters, fragments, escapes, capital letters, ports, dot segments.
Compared with the same number of lines that are spelled alike, where no rule has to be named.
"""

import os
import random
import sys
import tempfile
from pathlib import Path

from measure import arguments, corpus, keep, whole_process

_OTHERS = 4  # spellings of each URL, besides its own


def respelled(url: str, rng: random.Random) -> str:
    """Return another spelling of a URL, with one or two differences that the policy ignores."""
    bare, _, _ = url.partition("#")
    origin_end = bare.find("/", 8)
    if origin_end < 0:
        origin_end = len(bare)
    origin, rest = bare[:origin_end], bare[origin_end:]
    sign = "&" if "?" in rest else "?"
    default = ":443" if origin.startswith("https") else ":80"
    ways = (
        lambda: f"{origin}{rest}{sign}utm_source=mail&utm_campaign={rng.randrange(10**6)}",
        lambda: f"{origin}{rest}{sign}fbclid={rng.randrange(10**12):x}",
        lambda: f"{origin}{rest}#part-{rng.randrange(100)}",
        lambda: f"{origin.upper()}{rest}",
        lambda: f"{origin}{default if origin.count(':') == 1 else ''}{rest}",
        lambda: f"{origin}/x/..{rest}",
        lambda: f"{origin}{rest.replace('e', '%65', 1)}{sign}utm_medium=x",
        lambda: f"{origin.upper()}{rest}#top",
    )
    return rng.choice(ways)()


def main() -> None:
    """Measure whole processes and print."""
    given = arguments(str(__doc__))
    rng = random.Random(1)
    urls = corpus(given)
    rng.shuffle(urls)
    lines = {
        "spelled alike": [url for url in urls for _ in range(_OTHERS + 1)],
        "other spellings": [
            line for url in urls for line in (url, *(respelled(url, rng) for _ in range(_OTHERS)))
        ],
    }
    seconds: dict[str, float] = {}
    processor: dict[str, float] = {}  # seconds of processors, of the mean round
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        for name, some in lines.items():
            rng.shuffle(some)
            path = Path(folder, "urls.txt")
            path.write_text("\n".join(some) + "\n", encoding="utf-8", errors="surrogateescape")
            command = [sys.executable, "-m", "canonry", "dedup", str(path), "-o", f"{folder}/out"]
            for kind, words in (
                (name, command),
                (f"{name}, map", [*command, "--map", f"{folder}/m"]),
            ):
                seconds[kind], processor[kind] = whole_process(words, given.rounds)
    count = len(lines["spelled alike"])
    print(f"{count:,} lines, {len(urls):,} URLs")
    for kind, taken in seconds.items():
        busy = f"{processor[kind]:7.2f} s of processors"
        print(f"{kind:22} {taken:7.2f} s {count / taken:12,.0f}/s {busy}")
    keep(
        given,
        "spellings",
        urls,
        {"lines": count, "seconds": seconds, "processor_seconds": processor},
    )


if __name__ == "__main__":
    main()
