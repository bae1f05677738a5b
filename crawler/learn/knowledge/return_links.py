"""Return links: parameters that say where to return to, on the page that the link stands on. Pure.

A link to log in says where to return to: `/login?next=/a` on the page `/a`. So one page has as many
names as its site has pages. Links to the comments on a page, to its history or to a page to print
name the page, too, and what they lead to may be nearly always the same, as long as nobody has
commented. So the name of the parameter has to say that it is about a way back. That proves nothing,
but it is worth the question whether all are one page.
"""

import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import unquote_plus

from canonry.canon.learned import Rewrite, site_of
from canonry.canon.syntax import Parts, query

# What names of such parameters have in them, in common software and frameworks.
_WAY_BACK = re.compile(
    r"next|return|redir|back|goto|go_to|dest|continue|came|from|ref|origin|forward|after|service",
    re.IGNORECASE,
)
_PARAMETERS = 6  # of one URL
_LOOKED_AT = 8  # URLs of a page, and of a parameter ...
_FEWEST = 4  # ... of which so many have to name the linking page
_PAGES = 256  # that are remembered
_NAMES = 64  # of parameters
_IN_VAIN = 32  # URLs with a parameter, of which fewer than ...
_SOME = 8  # ... so many name the linking page: then it is not looked at any more


class ReturnLink(NamedTuple):
    """A parameter of a URL that may say where to return to."""

    site: str
    name: str
    value: str
    page: str  # what is left of the URL without it: a path, or a path and a query


@dataclass(slots=True)
class _Seen:
    """How many URLs were looked at, and how many of them name the page that links them."""

    looked: int = 0
    returning: int = 0

    def add(self, *, returns: bool) -> None:
        """Count a URL."""
        self.looked += 1
        self.returning += returns


_NOTHING = _Seen()


class ReturnLinks:
    """Which parameters of which pages seem to say where to return to, on one site."""

    def __init__(self) -> None:
        """Start without pages."""
        self._pages: OrderedDict[tuple[str, str], _Seen] = OrderedDict()
        self._names: dict[str, _Seen] = {}

    def open(self, parts: Parts) -> list[ReturnLink]:
        """Return the parameters of a URL of which it is worth to know whether they name its page.

        A parameter that stands there several times says nothing.
        """
        if not parts.query:
            return []
        names, fields, found = query.names(parts.query), query.fields(parts.query), []
        for place, name in enumerate(names[:_PARAMETERS]):
            of_name = self._names.get(name, _NOTHING)
            in_vain = of_name.looked >= _IN_VAIN and of_name.returning < _SOME
            if _is_way_back(name) and names.count(name) == 1 and not in_vain:
                rest = "&".join([*fields[:place], *fields[place + 1 :]])
                page = f"{parts.path}?{rest}" if rest else parts.path
                seen = self._pages.get((name, page), _NOTHING)
                if seen.looked < _LOOKED_AT and seen.returning < _FEWEST:
                    value = fields[place].partition("=")[2]
                    found.append(ReturnLink(site_of(parts), name, value, page))
        return found

    def add(self, links: Iterable[ReturnLink], source: Parts) -> Iterator[Rewrite]:
        """Note which page a link stands on; yield the rules for which enough such links were seen.

        Args:
            links: what the link may be.
            source: of the page's URL.
        """
        texts = _texts_of(source)
        for site, name, value, page in links:
            returns = _plain(value) in texts
            seen = self._pages.setdefault((name, page), _Seen())
            self._pages.move_to_end((name, page))
            if len(self._pages) > _PAGES:
                self._pages.popitem(last=False)
            seen.add(returns=returns)
            if name in self._names or len(self._names) < _NAMES:
                self._names.setdefault(name, _Seen()).add(returns=returns)
            if seen.returning == _FEWEST and returns:
                yield Rewrite(site, "parameter-of-page", old=name, new=page)


@lru_cache(maxsize=1024)
def _is_way_back(name: str) -> bool:
    """Return True if the name of a parameter says that it is about a way back."""
    return _WAY_BACK.search(name) is not None


def _texts_of(page: Parts) -> frozenset[str]:
    """Return what may name a page in a value: its URL, all or a part of it."""
    where = page.path if page.query is None else f"{page.path}?{page.query}"
    values = [f.partition("=")[2] for f in query.fields(page.query)] if page.query else []
    last = page.path.rpartition("/")[2]
    return frozenset(map(_plain, [str(page), where, page.path, last, *values]))


def _plain(text: str) -> str:
    """Return a text as values and URLs have it in common, however they escape it."""
    return unquote_plus(text).replace("_", " ").removeprefix(".").strip("/")
