"""Prefilters: quick tests of a URL's text for what a rewrite needs to change it.

A prefilter tests a whole URL's text. A URL that fails it is not changed and need not be split; one
that passes may still not be changed.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import TypeAlias

from canonry.canon.learned.rewrite import Rewrite
from canonry.canon.syntax import query

Prefilter: TypeAlias = Callable[[str], object]  # false for a URL that is not changed

ANY_QUERY = re.compile(r"\?").search
HTTP = re.compile(r"http:").match
CAPITALS = re.compile(r"[A-Z\u0080-\U0010ffff]").search  # beyond ASCII, any may be upper case
DIGITS = re.compile(r"//[^/?#]*/[^?#]*[0-9]").search  # in the path
SLASHES = re.compile(r"//[\s\S]*//").search  # besides those of the host
_NO_FINAL_SLASH = re.compile(r"[^/](?![^?#])").search  # RFC 3986 section 3.3: the end of a path
_FINAL_SLASH = re.compile(r"/(?![^?#])").search


def host(rewrite: Rewrite) -> Prefilter:
    """Return the prefilter of a rewrite that replaces the host name."""
    return re.compile(re.escape(rewrite.host)).search


def old(rewrite: Rewrite) -> Prefilter:
    """Return the prefilter of a rewrite that replaces or removes a text as it is written."""
    return re.compile(re.escape(rewrite.old)).search


def prefix(rewrite: Rewrite) -> Prefilter:
    """Return the prefilter of a rewrite that replaces the beginning of a path."""
    return re.compile(r"[^/]*//[^/?#]*" + re.escape(rewrite.old)).match


@lru_cache(maxsize=16_384)  # each rule of a host tests the same URLs, some thousand at once
def names_in(url: str) -> frozenset[str]:
    """Return the names of the parameters in the query of a URL."""
    return _as_set(query.names(_query_of(url)))


@lru_cache(maxsize=4096)  # most URLs of a host have the same names and share a set
def _as_set(names: tuple[str, ...]) -> frozenset[str]:
    """Return names as a set."""
    return frozenset(names)


def _query_of(url: str) -> str:
    """Return the query of a URL, "" if it has none."""
    return url.partition("#")[0].partition("?")[2]


def final_slash(rewrite: Rewrite) -> Prefilter:
    """Return the prefilter of a rewrite that adds or removes the slash at the end of a path."""
    return _NO_FINAL_SLASH if rewrite.new == "slash" else _FINAL_SLASH


def has_semicolons(url: str) -> bool:
    """Return True if a query has semicolons and no ampersand."""
    text = _query_of(url)
    return ";" in text and "&" not in text


def is_unsorted(url: str) -> bool:
    """Return True if the names of a URL's parameters are not sorted."""
    text = _query_of(url)
    if "&" not in text:
        return False
    names = list(query.names(text))
    return names != sorted(names)
