"""Texts of a simulated web: words by Zipf's law, frames of sites, and what changes by itself."""

import random
import zlib
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from html import escape
from itertools import accumulate
from typing import Any, NamedTuple

_SYLLABLES = tuple(
    f"{c}{v}" for c in "bdfghklmnprstvz" for v in ("a", "e", "i", "o", "u", "ar", "en")
)
_VOCABULARY, _DRAWN = 5000, 100_000
_LONGEST = 16  # words of a sentence
_A_PARAGRAPH = 5  # sentences
_HEX, _LETTERS = "0123456789abcdef", "abcdefghijklmnopqrstuvwxyz"


class Page(NamedTuple):
    """What an answer shows: a resource's own text, and its links."""

    title: str
    heading: str
    blocks: Sequence[str]  # HTML of its main part
    links: tuple[str, ...] = ()  # URLs
    canonical: str | None = None
    framed: bool = True  # False for a printer page


def number_of(*words: object) -> int:
    """Return a number that words always make, on every machine."""
    return zlib.crc32("|".join(map(str, words)).encode())


@cache
def _words() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the vocabulary, and words drawn from it, where the n-th has a share of about 1/n."""
    rng = random.Random(14)
    found: dict[str, None] = {}
    while len(found) < _VOCABULARY:
        found["".join(rng.choices(_SYLLABLES, k=rng.choice((1, 2, 2, 3, 3, 4))))] = None
    vocabulary = tuple(found)
    weights = list(accumulate(1 / (rank + 2.7) for rank in range(_VOCABULARY)))
    return vocabulary, tuple(rng.choices(vocabulary, cum_weights=weights, k=_DRAWN))


def words(rng: random.Random, count: int) -> list[str]:
    """Return so many words, frequent ones more often."""
    return rng.choices(_words()[1], k=count)


def rare_words(rng: random.Random, count: int) -> list[str]:
    """Return so many words, each as likely as any other."""
    return rng.choices(_words()[0], k=count)


def sentences(rng: random.Random, count: int) -> Iterator[str]:
    """Yield sentences of so many words in all; one in six has a number in it."""
    left = words(rng, count)
    while left:
        size = rng.randrange(6, _LONGEST)
        here, left = left[:size], left[size:]
        if rng.random() < 1 / 6:
            here.insert(
                len(here) // 2, str(rng.choice((rng.randrange(1900, 2027), rng.randrange(500))))
            )
        yield f"{' '.join(here).capitalize()}."


@lru_cache(maxsize=20_000)
def _paragraphs(number: int) -> tuple[str, ...]:
    """Return HTML paragraphs of 100 to 600 words in all; a number always gives the same ones."""
    rng = random.Random(number)
    said = list(sentences(rng, rng.randrange(100, 600)))
    return tuple(
        f"<p>{' '.join(said[start : start + _A_PARAGRAPH])}</p>"
        for start in range(0, len(said), _A_PARAGRAPH)
    )


class _Paragraphs(Sequence[str]):
    """Paragraphs that are made when somebody reads them: asking for the truth needs none."""

    __slots__ = ("_number",)

    def __init__(self, number: int) -> None:
        self._number = number

    def __len__(self) -> int:
        return len(_paragraphs(self._number))

    def __getitem__(self, place: Any) -> Any:  # noqa: ANN401 - an index or a slice, as in a tuple
        return _paragraphs(self._number)[place]


def own_text(site: str, resource: str) -> Page:
    """Return the text of a resource: 100 to 600 words, a title and a heading of its own."""
    number = number_of(site, resource)
    rng = random.Random(number)
    title = " ".join(rare_words(rng, rng.randrange(2, 5))).capitalize()
    heading = title if rng.random() < 0.7 else " ".join(rare_words(rng, 3)).capitalize()
    return Page(title, heading, _Paragraphs(number))


class Frame:
    """What all pages of a site have around them, and what changes there with each answer."""

    def __init__(self, site: str, *, dynamic: bool) -> None:
        """Make a frame of 50 to 300 words."""
        rng = random.Random(number_of("frame", site))
        count = rng.randrange(50, 300)
        self.site = site
        self.dynamic = dynamic
        self._name = " ".join(rare_words(rng, 2)).capitalize()
        entries = rare_words(rng, count // 8)
        self._nav = "".join(f"<li><span>{word.capitalize()}</span></li>" for word in entries)
        self._header = " ".join(sentences(rng, count // 4))
        self._footer = " ".join(sentences(rng, count // 2))
        self._teasers = [" ".join(sentences(rng, rng.randrange(8, 25))) for _ in range(7)]
        self._alphabet = _LETTERS if rng.random() < 0.25 else _HEX
        self._counts_views = rng.random() < 0.5
        self._has_form = rng.random() < 0.6

    def html(self, page: Page, rng: random.Random) -> bytes:
        """Return a page as HTML; on a dynamic site no two answers are alike.

        Args:
            page: what it shows.
            rng: makes tokens, and sets the clock.
        """
        token = clock = teaser = views = form = ""
        if self.dynamic:
            value = "".join(rng.choices(self._alphabet, k=24))
            token = f'<meta name="request-id" content="{value}">\n'
            seconds = rng.randrange(86_400)
            at = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
            clock = f"<p>Served at {at}, request {value[:12]}</p>"
            teaser = f'<aside class="teaser"><p>{rng.choice(self._teasers)}</p></aside>\n'
            if self._counts_views:
                views = f"<p>Read {rng.randrange(10, 100_000):,} times</p>\n"
            if self._has_form:
                secret = "".join(rng.choices(self._alphabet, k=32))
                form = f'<form><input type="hidden" name="csrf" value="{secret}"></form>\n'
        canonical = ""
        if page.canonical is not None:
            canonical = f'<link rel="canonical" href="{escape(page.canonical)}">\n'
        main = "\n".join(page.blocks)
        head = f"<title>{page.title} | {self._name}</title>\n{canonical}{token}"
        if not page.framed:
            body = f"<h1>{page.heading}</h1>\n{main}"
            return f"<!doctype html>\n<html><head>{head}</head><body>{body}</body></html>".encode()
        text = (
            f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">{head}</head>\n<body>'
            f"<header><b>{self._name}</b> {self._header}</header>\n"
            f"<nav><ul>{self._nav}</ul></nav>\n"
            f"{teaser}<main><h1>{page.heading}</h1>\n{views}{main}\n{form}"
            f"<ul>{_list(page.links)}</ul></main>\n"
            f"<footer>{self._footer}{clock}</footer></body></html>"
        )
        return text.encode()


def _list(links: Sequence[str]) -> str:
    """Return links as the entries of a list."""
    return "\n".join(f'<li><a href="{escape(url)}">{_anchor(url)}</a></li>' for url in links)


def _anchor(url: str) -> str:
    """Return the words of a URL's last segment."""
    path = url.partition("?")[0].partition(";")[0].rstrip("/")
    return path[path.rindex("/") + 1 :].replace("-", " ")
