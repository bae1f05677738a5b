"""Shared words: pages of several names that say the same in all words, as walls do. Pure.

A body that several resources have says nothing of two URLs with it. Where each answer has another
token or time, no two bodies are equal; but their words are.
"""

from collections.abc import Callable, Sequence
from zlib import crc32

_MOST = 16  # pages with the same words, each of another name


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
        self._pages: dict[bytes, str | tuple[str, ...]] = {}  # by their words

    def add(self, words: bytes, url: str) -> None:
        """Add a page.

        Args:
            words: what it says, without numbers.
            url: its identity.
        """
        known = self._pages.setdefault(words, url)
        if known is url:
            return
        by_name: dict[str, str] = {}
        for one in (url, *((known,) if isinstance(known, str) else known)):
            name = self._name_of(one)
            by_name[name] = min(one, by_name.get(name, one))
        kept = sorted(by_name, key=lambda name: (crc32(name.encode()), name))[:_MOST]
        urls = tuple(by_name[name] for name in kept)
        self._pages[words] = urls if len(urls) > 1 else urls[0]

    def pages(self, words: bytes) -> Sequence[str]:
        """Return one page of each name that says the same in all words, up to some."""
        found = self._pages.get(words, ())
        return (found,) if isinstance(found, str) else found
