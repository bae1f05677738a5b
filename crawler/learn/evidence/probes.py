"""Probes: requests for pages that cannot exist, to learn how a host answers for what is missing."""

import hashlib
from typing import NamedTuple


class Probe(NamedTuple):
    """A URL that cannot exist. It has no row in the store; a host gets it at most a few times."""

    url: str
    priority: int = 0  # as of a queued URL


def beside(url: str, now: float) -> Probe:
    """Return a probe for a name that cannot exist, in the directory of a known URL."""
    name = hashlib.blake2b(f"{url} {now}".encode(), digest_size=10).hexdigest()
    bare = url.partition("?")[0]
    return Probe(f"{bare[: bare.rindex('/') + 1]}{name}")
