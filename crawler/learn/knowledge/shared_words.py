"""Shared words: pages of several names that say the same in all words, as walls do. Pure.

A body that several resources have says nothing of two URLs with it. Where each answer has another
token or time, no two bodies are equal; but their words are.
"""

from bisect import insort
from collections.abc import Callable
from typing import TypeAlias
from zlib import crc32

_MOST = 16  # pages with the same words, each of another name
_Page: TypeAlias = tuple[int, str, str]  # a hash of its name, the name, the URL


class SharedWords:
    """The pages of a site by their words: one page of each name, whatever order they come in.

    Nearly all words belong to one name. Then its URL stands there alone.
    """

    def __init__(self, name_of: Callable[[str], str]) -> None:
        """Start without pages.

        Args:
            name_of: from an identity to what its path names, which no rule changes.
        """
        self._name_of = name_of
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
        new = self._page(url)
        if isinstance(known, str):
            known = self._pages[words] = [self._page(known)]
        elif len(known) == _MOST and new > known[-1]:
            return
        for place, (*name, _url) in enumerate(known):
            if name == [*new[:2]]:
                known[place] = min(known[place], new)
                return
        insort(known, new)
        del known[_MOST:]

    def pages(self, words: bytes) -> list[str]:
        """Return one page of each name that says the same in all words, up to some."""
        found = self._pages.get(words, [])
        return [found] if isinstance(found, str) else [url for *_name, url in found]

    def _page(self, url: str) -> _Page:
        name = self._name_of(url)
        return crc32(name.encode()), name, url
