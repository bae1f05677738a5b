"""What the answers of adversaries are made from: pages, their texts and lists."""

import random
import re
from collections.abc import Iterable

from support.simweb.websites import SECTIONS, Found, When
from support.simweb.webtexts import Page, number_of, own_text, rare_words

_CORE = re.compile(r"https?://(?:spare-)?([^/]+)(?:/(?:de|fr|us|gb))?(/[^?]*?)/?(?:\?.*)?")
_ITEMS = 12  # of a list


class Ground:
    """The pages of one adversary; they are http URLs."""

    def __init__(self, kind: str, name: str, size: int, *, dynamic: bool) -> None:
        """Make the pages."""
        self.rng = random.Random(number_of(kind, name))
        self.home = f"http://{name}/"
        self.dynamic = dynamic
        self.pages = [self.home + self._slug(n) for n in range(size)]

    def _slug(self, n: int) -> str:
        return f"{self.rng.choice(SECTIONS)}/{'-'.join(rare_words(self.rng, 2))}-{n}"

    def chance(self, url: str, when: When) -> random.Random:
        """Return what chance is for a request for a URL."""
        return random.Random(number_of("chance", url, when.asked))

    def core(self, url: str) -> str:
        """Return the page that a URL is another name of, or seems to be."""
        found = _CORE.fullmatch(url)
        return "" if found is None else f"http://{found[1]}{found[2].lower()}"

    def text(self, resource: str) -> Page:
        """Return the text of a resource."""
        return own_text(self.home, resource)

    def own(self, url: str) -> Found:
        """Return a page of its own."""
        return Found(url, self.text(url))

    def items(self, url: str, start: int = 0) -> list[str]:
        """Return items of the list that a page has; each is a few words and a price."""
        rng = random.Random(number_of("items", self.core(url), start))
        return [
            f"{' '.join(rare_words(rng, rng.randrange(3, 9))).capitalize()}, "
            f"{rng.choice(('red', 'blue'))}, {rng.randrange(100, 9999) / 100:.2f}"
            for _ in range(_ITEMS)
        ]

    def list_of(self, url: str, items: Iterable[str]) -> Found:
        """Return a page of its own with a list of items, under the heading of all such pages."""
        page = self.text(self.core(url))
        shown = "".join(f"<li>{item}</li>" for item in items)
        return Found(url, page._replace(blocks=(page.blocks[0], f"<ol>{shown}</ol>")))
