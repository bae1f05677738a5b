"""Canonry's memory: the seen set, the frontier's rows, pages and aliases, in one SQL store."""

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
from canonry.storage.sql.schema import State
from canonry.storage.store import Store
from canonry.storage.store_errors import StoreError

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
]
