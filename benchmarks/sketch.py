"""How well do sketches tell one page from another, what do they cost, and what does noise do?

``--corpus`` is a folder with a folder of HTML files for each site. Each page is compared with
itself under synthetic noise, with variants of itself, and with its siblings. The cost is also told
as a share of the CPU time of a crawl of the same pages, served on loopback.
"""

import os
import random
import re
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import crawl
from measure import arguments, keep

from canonry.crawler.content.host_text import HostText
from canonry.crawler.content.sketch import Sketch, encoded_sketch, sketch

_TEASERS = [
    f"Read more about {a} {b} and why {c} people of {d} love it since they found {e} here"
    for a, b, c, d, e in (
        ("gardens", "roses", "many", "Lyon", "flowers"),
        ("trains", "tracks", "young", "Turin", "timetables"),
        ("cheese", "bread", "old", "Bern", "recipes"),
        ("boats", "rivers", "most", "Riga", "maps"),
        ("chess", "openings", "clever", "Oslo", "puzzles"),
        ("bees", "honey", "busy", "Graz", "hives"),
    )
]
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_END = re.compile(rb"(?i)</body>|\Z")
_TEXT = re.compile(rb">([^<>]{40,})<")


def noisy(body: bytes, kind: str, rng: random.Random) -> bytes:
    """Return a page with what changes in every answer."""
    at = f"{rng.randrange(24):02}:{rng.randrange(60):02}:{rng.randrange(60):02}"
    token = f"{rng.getrandbits(128):032x}"
    word = "".join(rng.choices(_LETTERS, k=20))
    added = {
        "nothing": "",
        "token": f"<p>Request token {token} served</p>",
        "clock": f"<p>It is now {at} in Paris</p>",
        "word": f"<p>Your ticket {word} is valid</p>",
        "teaser": f"<aside><h3>Also read</h3>{rng.choice(_TEASERS)}</aside>",
        "all": f"<p>Token {token} at {at}</p><aside>{rng.choice(_TEASERS)}</aside>",
    }[kind].encode()
    first = body.find(b"<h1")
    first = max(first, 0)
    body = body[:first] + added + body[first:] if kind in {"teaser", "all"} else body
    return _END.sub(lambda found: (b"" if kind in {"teaser", "all"} else added) + found[0], body, 1)


def _product(body: bytes, code: int, price: int, stock: str) -> bytes:
    text = f"<p>Article number {code}. Price: {price}.99 euros, {stock}</p>".encode()
    return _END.sub(lambda found: text + found[0], body, count=1)


def number_variant(body: bytes) -> tuple[bytes, bytes]:
    """Return two variants of a product: another code and price."""
    return _product(body, 48121, 19, "in stock"), _product(body, 48122, 24, "in stock")


def word_variant(body: bytes) -> tuple[bytes, bytes]:
    """Return two variants of a product: in another colour."""
    red, blue = (b"<p>This one is %s all over</p>" % colour for colour in (b"red", b"blue"))
    return (
        _END.sub(lambda found: red + found[0], body, count=1),
        _END.sub(lambda found: blue + found[0], body, count=1),
    )


def half_variant(body: bytes) -> tuple[bytes, bytes]:
    """Return a page, and the same one without half of its paragraphs."""
    spans = [found.span(1) for found in _TEXT.finditer(body)]
    short = body
    for start, end in reversed(spans[len(spans) // 2 :]):
        short = short[:start] + short[end:]
    return body, short


def itself(body: bytes) -> tuple[bytes, bytes]:
    """Return a page twice."""
    return body, body


_CASES: dict[str, tuple[Callable[[bytes], tuple[bytes, bytes]], str]] = {
    "itself": (itself, "True"),
    "number": (number_variant, "not True"),
    "a word": (word_variant, "not True"),
    "half": (half_variant, "not True"),
}


def made(body: bytes) -> Sketch:
    """Return the sketch of a page."""
    found = sketch(body, "text/html")
    if found is None:
        raise ValueError("not text")
    return found


def known(bodies: Sequence[bytes], kind: str, rng: random.Random, again: int) -> HostText:
    """Return what is known of a host after its pages, and some of them twice."""
    host = HostText()
    for body in bodies:
        host.add(made(noisy(body, kind, rng)).encode())
    for body in rng.sample(list(bodies), min(again, len(bodies))):
        host.twice(made(noisy(body, kind, rng)), made(noisy(body, kind, rng)))
    return host


def judged(name: str, bodies: Sequence[bytes], kind: str, again: int) -> dict[str, Counter[str]]:
    """Return the answers for each case on one site."""
    rng = random.Random(f"{name} {kind}")
    host = known(bodies, kind, rng, again)
    answers: dict[str, Counter[str]] = {}

    def ask(case: str, one: bytes, other: bytes) -> None:
        found = host.compare(made(noisy(one, kind, rng)), made(noisy(other, kind, rng))).same
        answers.setdefault(case, Counter())[str(found)] += 1

    for body in bodies:
        for case, (pair, _expected) in _CASES.items():
            ask(case, *pair(body))
    for _ in range(5 * len(bodies)):
        ask("siblings", *rng.sample(list(bodies), 2))
    for number, body in enumerate(bodies[:-1]):
        ask("neighbours", body, bodies[number + 1])
    return answers


def sites(given_corpus: str | None, most: int) -> dict[str, list[bytes]]:
    """Return the pages of each site."""
    if given_corpus is None:
        return {"made": [crawl.page(number) for number in range(40)]}
    found = {}
    for folder in sorted(Path(given_corpus).iterdir()):
        files = sorted(path for path in folder.rglob("*.htm*") if path.is_file())
        step = max(1, len(files) // most)
        bodies = dict.fromkeys(path.read_bytes() for path in files[::step][:most])
        if len(bodies) > 5:
            found[folder.name] = list(bodies)
    return found


def main() -> None:
    """Measure and print."""
    given = arguments(str(__doc__), pages=150, again=3)
    corpus = sites(given.corpus, given.pages)
    bodies = [body for pages in corpus.values() for body in pages]
    best = min(_seconds(bodies) for _ in range(given.rounds)) / len(bodies)
    size = sum(map(len, bodies)) / len(bodies) / 1000
    print(
        f"{len(bodies)} pages of {size:.0f} KB on {len(corpus)} sites: {best * 1e6:.0f} µs a page"
    )
    crawled = _crawled(bodies)
    print(f"a crawl takes {crawled * 1e6:.0f} µs of CPU time a page: {best / crawled:.1%} of it")
    result: dict[str, dict[str, dict[str, int]]] = {}
    for kind in ("nothing", "token", "clock", "word", "teaser", "all"):
        total: dict[str, Counter[str]] = {}
        for name, pages in corpus.items():
            for case, answers in judged(name, pages, kind, given.again).items():
                total.setdefault(case, Counter()).update(answers)
        result[kind] = {case: dict(answers) for case, answers in total.items()}
        print(f"noise: {kind}")
        for case, answers in total.items():
            shown = (
                f"{what} {answers[what] / answers.total():6.1%}"
                for what in ("True", "None", "False")
            )
            print(f"  {case:11} {answers.total():5}  {'  '.join(shown)}")
    keep(
        given,
        "sketch",
        [],
        {
            "µs a page": best * 1e6,
            "µs of CPU time of a crawl, a page": crawled * 1e6,
            "answers": result,
        },
    )


def _seconds(bodies: Sequence[bytes]) -> float:
    """Return the CPU time for the sketches of some pages."""
    start = time.thread_time()
    for body in bodies:
        encoded_sketch(body, "text/html")
    return time.thread_time() - start


def _crawled(bodies: Sequence[bytes]) -> float:
    """Return the CPU time for each page of a crawl that does not follow the links of the pages."""

    def site() -> dict[str, bytes | str]:
        links = "".join(f'<a href="/{number}.html">{number}</a> ' for number in range(len(bodies)))
        pages: dict[str, bytes | str] = {f"/{n}.html": body for n, body in enumerate(bodies)}
        return {**pages, "/": f"<!doctype html><title>all</title>{links}".encode()}

    with crawl.served(site) as where, tempfile.TemporaryDirectory() as folder:
        before = os.times()
        done = crawl.canonry(f"http://{where}/", folder, "--max-depth", "1")
        after = os.times()
    assert done["pages_by_status"]["200"] == len(bodies) + 1, done  # noqa: S101 - else it means nothing
    spent = after.children_user + after.children_system
    return (spent - before.children_user - before.children_system) / len(bodies)


if __name__ == "__main__":
    main()
