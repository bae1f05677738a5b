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
    url: str  # to request
    text: str  # the URL as it was given


def fingerprint(url: str | bytes) -> str:
    """Return Scrapy's fingerprint of a plain GET request, as in ``requests.seen``.

    Raises:
        ValueError: where Scrapy raises one.
    """
    said = {"body": "", "headers": {}, "method": "GET", "url": canonicalize_url(url)}
    return hashlib.sha1(json.dumps(said, sort_keys=True).encode()).hexdigest()  # noqa: S324 - theirs


OldKey = Callable[[str | bytes], str]

# By the name of the other program.
OLD_KEYS: dict[str, OldKey] = {
    "scrapy": fingerprint,
    "surt": surt,
    "w3lib": canonicalize_url,
}


def map_url(url: str | bytes, old: OldKey, canonicalizer: Canonicalizer) -> MapRow:
    """Return the row of a URL.

    Args:
        url: it; bytes that are not UTF-8 can be restored from the row's text (PEP 383).
        old: returns its old key.
        canonicalizer: makes its new key.

    Raises:
        InvalidURL: it is refused.
        ValueError: the other program has no key for it.
    """
    found = canonicalizer(url)
    text = url if isinstance(url, str) else url.decode("utf-8", "surrogateescape")
    return MapRow(old(url), found.identity, found.key.hex(), found.url, text)


def map_keys(
    urls: Iterable[str | bytes], program: str, canonicalizer: Canonicalizer
) -> Iterator[MapRow | Refused]:
    """Yield a row for each URL, or the reason why it is refused.

    Args:
        urls: one by one.
        program: a key of `OLD_KEYS`.
        canonicalizer: makes the new keys.
    """
    for url in urls:
        try:
            yield map_url(url, OLD_KEYS[program], canonicalizer)
        except InvalidURL as error:
            yield Refused(error.text, error.reason, error.position)
        except ValueError:  # it has no old key, so there is nothing to map
            continue
