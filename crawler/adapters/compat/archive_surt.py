"""The keys of web archives' indexes, as made by the package surt."""

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
    """Return the canonicalizer of the policy, compiled once."""
    return Canonicalizer("archive")
