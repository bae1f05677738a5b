"""The keys of web archives' indexes, as the package surt makes them."""

from functools import cache

from canonry.canon import Canonicalizer


def surt(url: str | bytes) -> str:
    """Return the key of a URL in the indexes of web archives: its SURT under the policy `archive`.

    Raises:
        InvalidURL: no browser could request the URL.
    """
    return _archive().surt(url)


@cache
def _archive() -> Canonicalizer:
    """Compile the policy once."""
    return Canonicalizer("archive")
