"""Probes: requests for URLs that were fetched before, whose answers only the learning needs."""

from typing import NamedTuple

from canonry.storage.records import QUESTION


class Probe(NamedTuple):
    """A request whose answer only the learning needs."""

    url: str
    priority: int = QUESTION  # as of a queued URL: its answer decides something
