"""Exclusions: the patterns that people exclude, as the store keeps them."""

from collections.abc import Callable

from sqlalchemy import Connection

from canonry.canon.syntax import Parts
from canonry.crawler.admission.url_filter import budget_key, pattern
from canonry.storage.rows.budgets import EXCLUDED, EXCLUDING, INCLUDING
from canonry.storage.steering import excluded_patterns
from canonry.storage.steering.excluded_patterns import URLPattern


def named(text: str) -> URLPattern:
    """Return the pattern that a text means: the text itself, or that of a URL.

    Args:
        text: such as ``a.example/calendar/*/``, or the URL of one of its pages.

    Raises:
        ValueError: if it has no host.
    """
    url = text if "://" in text else f"http://{text}"
    if not Parts.of(url).host:
        raise ValueError(
            f"{text!r} has no host; give a pattern or a URL, as 'canonry patterns list'"
        )
    found = pattern(url)
    host, _, path = found.partition("/")
    part = f"/{path}".partition("*")[0].rstrip("?") if path else ""
    return URLPattern(budget_key(found), found, host.rstrip("?"), part, pattern)


def keeps(connection: Connection) -> Callable[[str], bool]:
    """Return a function that is True for the URLs that excluded patterns hold."""
    held = {text for text, mark in excluded_patterns.excluded(connection) if mark in EXCLUDED}
    return lambda url: bool(held) and pattern(url) in held


def finish(connection: Connection, *, every: bool) -> int:
    """Finish interrupted exclusions and inclusions; return how many URLs were changed.

    Args:
        connection: in a writing transaction.
        every: also hold URLs of finished exclusions that have been queued since.
    """
    return sum(
        excluded_patterns.finish(
            connection, named(text), INCLUDING if mark == INCLUDING else EXCLUDING
        )
        for text, mark in excluded_patterns.excluded(connection)
        if every or mark in {EXCLUDING, INCLUDING}
    )
