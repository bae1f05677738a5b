"""The map from the keys of another program to ours, for users who migrate."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from canonry.canon import Canonicalizer, InvalidURL, Refused
from canonry.crawler.adapters.compat.archive_surt import surt
from canonry.crawler.adapters.compat.w3lib import canonicalize_url


class MapRow(NamedTuple):
    """A URL with its old key and its new one."""

    old: str
    new: str  # the identity
    key: str  # its 16 bytes, in hexadecimal digits
    url: str


def fingerprint(url: str | bytes) -> str:
    """Return Scrapy's fingerprint of a plain GET request, as in ``requests.seen``.

    Raises:
        ValueError: where Scrapy raises one.
    """
    said = {"body": "", "headers": {}, "method": "GET", "url": canonicalize_url(url)}
    return hashlib.sha1(json.dumps(said, sort_keys=True).encode()).hexdigest()  # noqa: S324 - theirs


# By the name of the other program.
OLD_KEYS: dict[str, Callable[[str | bytes], str]] = {
    "scrapy": fingerprint,
    "surt": surt,
    "w3lib": canonicalize_url,
}


def map_keys(
    urls: Iterable[str | bytes], program: str, canonicalizer: Canonicalizer
) -> Iterator[MapRow | Refused]:
    """Yield a row for each URL, or the reason why it is refused.

    Args:
        urls: one by one.
        program: a key of `OLD_KEYS`.
        canonicalizer: makes the new keys.
    """
    old = OLD_KEYS[program]
    for url in urls:
        try:
            found = canonicalizer(url)
            yield MapRow(old(url), found.identity, found.key.hex(), found.url)
        except InvalidURL as error:
            yield Refused(error.text, error.reason, error.position)
        except ValueError:  # it has no old key, so there is nothing to map
            continue
