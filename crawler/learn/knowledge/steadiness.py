"""Steadiness: whether the pages of one kind on a site seem to change by themselves. Pure.

Pages of text are of two kinds: with a heading, and without. A site's pages may show how long they
took, while its exports are the same to the byte each time. So one kind says nothing of the other.

Pages that are not text are of a kind for each ending of a name: a site may write the date into each
PDF that it makes, and never change an image. They cannot be compared but to the byte. So they seem
steady until one of the kind differs from itself.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain

from canonry.crawler.content.sketch import has_heading

_STEADY = 4  # pages with the body of others, before a page with another body is another page
_VARIED = 2  # pages that differed from themselves, before equal pages prove nothing
_ENDINGS = 16  # of names, on one site
_LONGEST = 5  # characters of an ending


@dataclass(slots=True, eq=False)  # each kind is itself, whatever it counts
class Steadiness:
    """Whether pages change by themselves.

    Attributes:
        is_steady: True if two answers were the same to the byte: nothing seems to change by itself.
        varied: how many pages were asked twice and differed from themselves.
        equal: how many pages were the same to the byte as others.
    """

    is_steady: bool = False
    varied: int = 0
    equal: int = 0

    @property
    def shows_others(self) -> bool:
        """Return True if so many pages are the same to the byte that those that are not are others.

        That is so until some were asked twice, and differed from themselves.
        """
        return self.equal >= _STEADY and self.varied < _VARIED

    def add_equal(self) -> None:
        """Note that a page was the same to the byte as another one."""
        self.is_steady = self.varied < _VARIED
        self.equal += 1

    def add_repeat(self, *, is_same: bool) -> bool:
        """Note that a page was asked twice, and whether both answers were the same to the byte.

        Returns:
            False if what differs may be an edit: where pages are the same to the byte, one page
            that is not does not show what changes by itself.
        """
        self.varied += not is_same
        if self.shows_others:
            return is_same
        self.is_steady = is_same and self.varied < _VARIED
        return True


class KindsOfPages:
    """The steadiness of a site's pages, by kind."""

    def __init__(self) -> None:
        """Start without pages."""
        self._of_text = defaultdict[bool, Steadiness](Steadiness)
        self._files = defaultdict[str, Steadiness](partial(Steadiness, is_steady=True))

    def of(self, url: str, sketch: bytes | None) -> Steadiness:
        """Return the steadiness of the pages that are of the kind of a page.

        Args:
            url: that page's identity.
            sketch: of its text, encoded; None if it is not text.
        """
        if sketch is not None:
            return self._of_text[has_heading(sketch)]
        ending = _ending(url)
        is_known = ending in self._files or len(self._files) < _ENDINGS
        return self._files[ending if is_known else ""]

    def __iter__(self) -> Iterator[Steadiness]:
        """Yield the steadiness of each kind that the site has."""
        return chain(self._of_text.values(), self._files.values())

    @property
    def all_steady(self) -> bool:
        """Return True if no page of text seems to change by itself."""
        return bool(self._of_text) and all(kind.is_steady for kind in self._of_text.values())


def _ending(url: str) -> str:
    """Return what follows the last dot of a URL's last path segment; "" if that is no ending."""
    _name, dot, ending = url.partition("?")[0].rpartition("/")[2].rpartition(".")
    return ending.lower() if dot and ending.isalnum() and len(ending) <= _LONGEST else ""
