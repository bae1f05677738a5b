"""Texts of the press web: prose by a Markov chain, items of a newspaper with a shop, its frame.

The chain is made from the texts of `help()` in Python's standard library, so the prose is another
one with another version of Python.
"""

import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from html import escape
from itertools import pairwise
from pydoc_data import topics
from typing import NamedTuple

from support.simweb.webtexts import Page, number_of

_WORD = re.compile(r"[A-Za-z][a-z']+[.,;]?")
_NUMBERS = (2, 3, 5, 10, 12, 25, 100, 1998, 2003, 2019)
_MATERIALS = (
    "Oak", "Steel", "Classic", "Compact", "Deluxe", "Garden", "Travel", "Junior", "Pro", "Eco",
    "Nordic", "Urban",
)  # fmt: skip
_THINGS = (
    "Lamp", "Chair", "Bottle", "Kettle", "Rake", "Bag", "Clock", "Table", "Jacket", "Drill"
)  # fmt: skip
_NEWSPAPER, _SHOP, _LISTS = (
    ("news", "guides", "culture", "science", "travel"),
    ("shop", "garden"),
    "topics",
)
SECTIONS = (*_NEWSPAPER, *_SHOP, _LISTS)
_SHARED = 12  # paragraphs that products take from each other
_SEVERAL = 7  # teasers of a page that is static but for them


@cache
def _chain() -> tuple[dict[str, list[str]], list[str]]:
    """Return which words follow a word, and words that begin a sentence."""
    said = [word for text in topics.topics.values() for word in _WORD.findall(text)]
    following: dict[str, list[str]] = defaultdict(list)
    for word, after in pairwise(said):
        following[word.lower().strip(".,;")].append(after)
    return dict(following), [word for word in said if word[0].isupper() and word.isalpha()]


def prose(rng: random.Random, count: int) -> str:
    """Return sentences of about so many words, with a number here and there."""
    following, openings = _chain()
    said = [rng.choice(openings).capitalize()]
    while len(said) < count:
        before = said[-1]
        word = rng.choice(following.get(before.lower().strip(".,;"), openings))
        ends = word.isalpha() and rng.random() < 0.06
        said.append(word.capitalize() if before.endswith(".") else word.lower())
        said[-1] += "." * ends
        if rng.random() < 0.012:
            said.append(str(rng.choice((*_NUMBERS, rng.randrange(5000)))))
    return f"{' '.join(said).rstrip('.,;')}."


def title(rng: random.Random, count: int) -> str:
    """Return so many words, as a title has them."""
    return " ".join(word.strip(".,;").capitalize() for word in prose(rng, count).split()[:count])


def slug(text: str) -> str:
    """Return a title as a URL has it."""
    return re.sub("[^a-z0-9]+", "-", text.lower()).strip("-")


class Item(NamedTuple):
    """A page of a newspaper with a shop."""

    kind: str  # article, product, list, short, empty or error
    section: str
    title: str
    blocks: tuple[str, ...]  # HTML


def items(name: str, count: int) -> Iterator[Item]:
    """Yield the pages of a site: most are articles, a quarter products that resemble each other."""
    rng = random.Random(number_of("items", name))
    shared = [prose(rng, rng.randrange(60, 110)) for _ in range(_SHARED)]
    for n in range(count):
        chance = rng.random()
        section = rng.choice(_NEWSPAPER)
        if chance < 0.62:
            yield Item("article", section, title(rng, rng.randrange(4, 9)), _article(rng))
        elif chance < 0.85:
            yield _product(rng, shared[n * 7 % _SHARED], shared[(n * 5 + 1) % _SHARED])
        elif chance < 0.92:
            entries = "".join(f"<li>{title(rng, 5)}</li>" for _ in range(rng.randrange(8, 25)))
            yield Item("list", _LISTS, f"All about {title(rng, 2)}", (f"<ul>{entries}</ul>",))
        elif chance < 0.97:
            yield Item(
                "short", section, title(rng, 3), _paragraphs(prose(rng, rng.randrange(4, 14)))
            )
        elif chance < 0.985:
            yield Item("empty", section, "", ())
        else:
            said = "An internal error has occurred. Please try again later."
            yield Item("error", section, "Error", _paragraphs(said))


def _article(rng: random.Random) -> tuple[str, ...]:
    """Return paragraphs of 50 to 600 words in all."""
    left, found = rng.randrange(50, 600), []
    while left > 0:
        size = min(left, rng.randrange(40, 110))
        found.append(prose(rng, max(size, 8)))
        left -= size
    return _paragraphs(*found)


def _product(rng: random.Random, before: str, after: str) -> Item:
    """Return a product: a code, a price, and words of its own between those of others."""
    name = f"{rng.choice(_MATERIALS)} {rng.choice(_MATERIALS)} {rng.choice(_THINGS)}"
    price = f"{rng.randrange(5, 400)}.{rng.choice(('00', '50', '90', '95', '99'))}"
    code = f"{rng.choice('ABCDEFG')}{rng.randrange(10_000, 99_999)}"
    own = f"Item no. {code}. Price {price} EUR incl. VAT. {prose(rng, rng.randrange(25, 45))}"
    number = rng.randrange(100, 999)
    return Item("product", rng.choice(_SHOP), f"{name} {number}", _paragraphs(before, own, after))


def _paragraphs(*texts: str) -> tuple[str, ...]:
    return tuple(f"<p>{text}</p>" for text in texts)


@lru_cache(maxsize=20_000)
def version(item: Item, kind: str, url: str) -> Page:
    """Return the text of a page that resembles another one.

    Args:
        item: the other page.
        kind: how they differ: "variant" by code and price, "rate" by one number, "sorted" by the
            order, "filtered" and "part" by most of the text, "printed" by what is left out,
            "offer" by one sentence, "other" by everything.
        url: makes another text of the kind.
    """
    rng = random.Random(number_of(kind, url))
    heading, blocks = item.title, item.blocks
    if kind == "variant":
        code = f"{rng.choice('HJKLMN')}{rng.randrange(1000, 9999)}"
        blocks += _paragraphs(f"Variant code {code}, {rng.randrange(5, 500)}.90 EUR")
    elif kind == "rate":
        blocks += _paragraphs(f"Rate of the day: {rng.randrange(1000, 9999)}")
    elif kind == "sorted":
        entries = [prose(random.Random(number_of(item.title, n)), 9) for n in range(9)]
        rng.shuffle(entries)
        blocks = _paragraphs(*entries)
    elif kind == "filtered":
        blocks = blocks[:1] + _paragraphs(prose(rng, 40))
    elif kind == "part":
        blocks = _paragraphs(prose(rng, rng.randrange(80, 300)))
    elif kind == "printed":
        words = " ".join(blocks).split()[:40]
        blocks = _paragraphs(f"{escape(' '.join(words))} (summary) {prose(rng, 20)}")
    elif kind == "offer":
        blocks += _paragraphs(OFFERS[number_of(url) % len(OFFERS)])
    else:
        heading = title(rng, 5)
        blocks = _paragraphs(prose(rng, rng.randrange(60, 300)))
    return Page(heading, heading, blocks)


OFFERS = ("Order now and save!", "Buy today, pay later and get it delivered.")


class PressFrame:
    """What pages of a site have around them: a menu, a column and a footer of 150 words.

    Dynamic ones have a token, a clock, a hidden field, a teaser, which may name a price, a counter
    of visitors and the number of the request.
    """

    def __init__(
        self, site: str, habit: str, anchor: Callable[[str], str], *, dynamic: bool
    ) -> None:
        """Make a frame.

        Args:
            site: the registrable domain.
            habit: "teaser" and "quote" change something by themselves on static sites, too.
            anchor: returns the words of a link.
            dynamic: True if no two answers are alike.
        """
        rng = random.Random(number_of("frame", site))
        self.site = site
        self.dynamic = dynamic
        self._habit = habit
        self._anchor = anchor
        self._menu = " ".join(title(rng, 2) for _ in range(18))
        self._column, self._footer = prose(rng, 60), prose(rng, 70)
        self._teasers = [prose(rng, rng.randrange(8, 30)) for _ in range(9)]
        for n in range(0, 9, 3):
            self._teasers[n] += f" Now {rng.randrange(3, 90)} EUR!"
        self._visitors = rng.randrange(50_000)

    def html(self, page: Page, rng: random.Random) -> bytes:
        """Return a page as HTML.

        Args:
            page: what it shows.
            rng: makes tokens, sets the clock and chooses the teaser.
        """
        head = f"<title>{escape(page.title)}</title>"
        if page.canonical is not None:
            head += f'<link rel="canonical" href="{escape(page.canonical)}">'
        above = below = ""
        if self.dynamic:
            head += f'<meta name="csrf" content="{rng.getrandbits(120):x}">'
            clock = f"{rng.randrange(24):02}:{rng.randrange(60):02}:{rng.randrange(60):02}"
            field = f'<form><input type=hidden name=t value="{rng.getrandbits(90):x}"></form>'
            above = f"<div>{clock} {rng.randrange(1000)} {field} {rng.choice(self._teasers)}</div>"
            visitor = self._visitors + rng.randrange(5000)
            below = f"<p>Visitor no. {visitor}. Request {rng.getrandbits(40):x}</p>"
        if self._habit == "teaser":
            above += f"<div>{rng.choice(self._teasers[:_SEVERAL])}</div>"
        elif self._habit == "quote" and rng.random() < 0.3:
            above += f"<div>{self._teasers[1]}</div>"
        heading = f"<h1>{escape(page.heading)}</h1>" if page.heading else ""
        entries = "\n".join(
            f'<li><a href="{escape(url)}">{escape(self._anchor(url))}</a>' for url in page.links
        )
        links = f"<h2>Related</h2><ul>\n{entries}</ul>" if page.links else ""
        main = "\n".join(page.blocks)
        text = (
            f"<html><head>{head}</head>\n<body><nav>{self._menu}</nav>\n{above}\n{heading}\n{main}"
            f"\n{below}\n{links}\n<aside>{self._column}</aside><footer>{self._footer}</footer></body>"
            "</html>"
        )
        return text.encode()
