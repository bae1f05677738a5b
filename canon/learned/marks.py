"""Marks: what the text of a URL has to have for a rewrite of a family to change it.

Each function returns a test of a whole URL's text. What it finds is necessary and need not be
enough: it only tells, without splitting a URL, that a rewrite does not change it.
"""

import re
from collections.abc import Callable
from typing import TypeAlias

from canonry.canon.learned.rewrite import Rewrite

Mark: TypeAlias = Callable[[str], object]  # true if a URL has it

_QUERY = re.compile(r"\?").search
_HTTP = re.compile(r"http:").match
_CAPITALS = re.compile(r"[A-Z\u0080-\U0010ffff]").search  # beyond ASCII any letter may be one
_SLASHES = re.compile(r"//[\s\S]*//").search  # besides those of the host
_NO_FINAL_SLASH = re.compile(r"[^/](?![^?#])").search  # RFC 3986 section 3.3: the end of a path
_FINAL_SLASH = re.compile(r"/(?![^?#])").search


def http(_rewrite: Rewrite) -> Mark:
    """Return the mark of a rewrite that replaces the scheme."""
    return _HTTP


def host(rewrite: Rewrite) -> Mark:
    """Return the mark of a rewrite that replaces the host name."""
    return re.compile(re.escape(rewrite.host)).search


def old(rewrite: Rewrite) -> Mark:
    """Return the mark of a rewrite that replaces or removes a text as it is written."""
    return re.compile(re.escape(rewrite.old)).search


def slashes(_rewrite: Rewrite) -> Mark:
    """Return the mark of a rewrite that folds slashes."""
    return _SLASHES


def capitals(_rewrite: Rewrite) -> Mark:
    """Return the mark of a rewrite that lowers letters."""
    return _CAPITALS


def final_slash(rewrite: Rewrite) -> Mark:
    """Return the mark of a rewrite that adds or removes the slash at the end of a path."""
    return _NO_FINAL_SLASH if rewrite.new == "slash" else _FINAL_SLASH


def query(_rewrite: Rewrite) -> Mark:
    """Return the mark of a rewrite that changes any query."""
    return _QUERY
