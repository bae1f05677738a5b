"""The store: the seen set, the queue, pages, aliases and learned rules, in one SQL database."""

from canonry.storage.records import (
    Admission,
    Candidate,
    Hop,
    LeasedHost,
    Outcome,
    Page,
    Queued,
    RefusedLink,
)
from canonry.storage.sql.engine import StoreError, StoreURLError
from canonry.storage.sql.schema import State
from canonry.storage.store import Store

__all__ = [
    "Admission",
    "Candidate",
    "Hop",
    "LeasedHost",
    "Outcome",
    "Page",
    "Queued",
    "RefusedLink",
    "State",
    "Store",
    "StoreError",
    "StoreURLError",
]
