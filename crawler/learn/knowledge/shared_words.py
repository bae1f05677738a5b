"""Shared words: pages of several names that say the same in all words, as walls do. Pure.

A body that several resources have says nothing of two URLs with it. Where each answer has another
token or time, no two bodies are equal; but their words are.
"""

from bisect import insort
from typing import NamedTuple
from zlib import crc32

from canonry.canon.syntax import Parts
from canonry.crawler.learn.knowledge.loose_forms import loose_name

_MOST = 16  # pages with the same words, each of another name


class _Page(NamedTuple):
    """A page; those with the smallest hashes are kept."""

    hashed: int  # the hash of its name
    name: str
    url: str


class SharedWords:
    """The pages of a site by their words: one page of each name, whatever order they come in.

    Nearly all words belong to one name. Then its URL stands there alone.
    """

    def __init__(self) -> None:
        """Start without pages."""
        self._pages: dict[bytes, str | list[_Page]] = {}  # by their words

    def add(self, words: bytes, url: str) -> None:
        """Add a page.

        Args:
            words: what it says, without numbers.
            url: its identity.
        """
        known = self._pages.setdefault(words, url)
        if known is url:
            return
        new = _page(url)
        if isinstance(known, str):
            known = self._pages[words] = [_page(known)]
        elif len(known) == _MOST and new > known[-1]:
            return
        for place, page in enumerate(known):
            if page.name == new.name:
                known[place] = min(page, new)
                return
        insort(known, new)
        del known[_MOST:]

    def pages(self, words: bytes) -> list[str]:
        """Return one page of each name that says the same in all words, up to some."""
        found = self._pages.get(words, [])
        return [found] if isinstance(found, str) else [page.url for page in found]


def _page(url: str) -> _Page:
    """Return a page with the name of its path, which no rule changes."""
    name = loose_name(Parts.of(url).path)
    return _Page(crc32(name.encode()), name, url)
