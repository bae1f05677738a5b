"""The map from the keys of another program to ours, for users who migrate."""

import hashlib
import json
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from canonry.canon import Canonicalizer
from canonry.crawler.adapters.compat.w3lib import canonicalize_url


class MapRow(NamedTuple):
    """A URL with its old key and its new one."""

    old: str
    new: str  # the identity
    key: str  # its 16 bytes, in hexadecimal digits
    url: str  # to request
    text: str  # the URL as it was given


def fingerprint(url: str | bytes) -> str:
    """Return Scrapy's fingerprint of a plain GET request, as in ``requests.seen``.

    Raises:
        ValueError: where Scrapy raises one.
    """
    said = {"body": "", "headers": {}, "method": "GET", "url": canonicalize_url(url)}
    return hashlib.sha1(json.dumps(said, sort_keys=True).encode()).hexdigest()  # noqa: S324 - theirs


def surt(url: str | bytes) -> str:
    """Return the key of a URL in the indexes of web archives: its SURT under the policy `archive`.

    Raises:
        InvalidURL: no browser could request the URL.
    """
    return _archive().surt(url)


@cache
def _archive() -> Canonicalizer:
    return Canonicalizer("archive")


# By the name of the other program.
OLD_KEYS: dict[str, Callable[[str | bytes], str]] = {
    "scrapy": fingerprint,
    "surt": surt,
    "w3lib": canonicalize_url,
}


def map_url(url: bytes, program: str, canonicalizer: Canonicalizer) -> MapRow:
    """Return the row of a URL; bytes that are not UTF-8 can be restored from its text (PEP 383).

    Raises:
        InvalidURL: it is refused.
        ValueError: the other program has no key for it.
    """
    found = canonicalizer(url)
    text = url.decode("utf-8", "surrogateescape")
    return MapRow(OLD_KEYS[program](url), found.identity, found.key.hex(), found.url, text)
