"""Probes: requests that tell how a host answers for what is missing, and what changes by itself."""

import hashlib
from typing import Literal, NamedTuple

from canonry.storage.records import QUESTION


class Probe(NamedTuple):
    """A request whose answer only the learning needs. A host gets a few of them at most.

    Of the kind ``missing`` is a URL that cannot exist, and has no row in the store; of the kind
    ``again`` is a URL that was fetched before.
    """

    url: str
    kind: Literal["missing", "again"] = "missing"
    priority: int = QUESTION  # as of a queued URL: its answer decides something


def beside(url: str, now: float) -> Probe:
    """Return a probe for a name that cannot exist, in the directory of a known URL."""
    name = hashlib.blake2b(f"{url} {now}".encode(), digest_size=10).hexdigest()
    bare = url.partition("?")[0]
    return Probe(f"{bare[: bare.rindex('/') + 1]}{name}")


def again(url: str) -> Probe:
    """Return a probe for a page that was fetched before."""
    return Probe(url, "again")
