"""Exclusions: the patterns that people exclude, as the store keeps them."""

from collections.abc import Callable

from sqlalchemy import Connection

from canonry.canon.syntax import Parts
from canonry.crawler.admission.url_filter import budget_key, patterns_of, shape
from canonry.crawler.settings import SettingsError
from canonry.storage.rows.budgets import EXCLUDING, INCLUDING
from canonry.storage.steering import steered_patterns
from canonry.storage.steering.steered_patterns import URLPattern


def named(text: str) -> URLPattern:
    """Return the pattern that a text means: the text itself, or the shape of a URL.

    Args:
        text: such as ``a.example/calendar/*/``, ``a.example/find?order&page``, or
            ``a.example/find?`` for any query; or the URL of one of their pages.

    Raises:
        SettingsError: if it has no host, or any.
    """
    url = text if "://" in text else f"http://{text}"
    host = Parts.of(url).host
    if not host:
        raise SettingsError(
            f"{text!r} has no host; give a pattern or a URL, as 'canonry patterns list'"
        )
    if "*" in host:
        raise SettingsError(
            f"{text!r} is for any host, and a pattern is for one, as 'canonry patterns list' has "
            "it; globs are for 'canonry crawl --exclude'"
        )
    found = shape(url)
    _, slash, path = found.partition("?")[0].partition("/")
    part = f"{slash}{path}".partition("*")[0]
    return URLPattern(budget_key(found), found, host, part, patterns_of)


def keeps(connection: Connection) -> Callable[[str], bool]:
    """Return a function that is True for the URLs that excluded patterns hold."""
    texts = steered_patterns.holding(connection)
    return lambda url: bool(texts) and not texts.isdisjoint(patterns_of(url))


def finish(connection: Connection, *, every: bool) -> int:
    """Finish interrupted exclusions and inclusions; return how many URLs were changed.

    Args:
        connection: in a writing transaction.
        every: also hold URLs of finished exclusions that have been queued since.
    """
    return sum(
        steered_patterns.finish(
            connection, named(row.pattern), INCLUDING if row.excluded == INCLUDING else EXCLUDING
        )
        for row in steered_patterns.excluded(connection)
        if every or row.excluded in {EXCLUDING, INCLUDING}
    )
