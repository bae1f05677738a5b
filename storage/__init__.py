"""The store: the seen set, the queue, pages, aliases and learned rules, in one SQL database.

A name is imported when it is first used: SQLAlchemy takes a while, and most commands use no store.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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
    from canonry.storage.sql.store_errors import StoreError, StoreRewoundError, StoreURLError
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
    "StoreRewoundError",
    "StoreURLError",
]

_PLACES = {
    "State": "sql.schema",
    "Store": "store",
    "StoreError": "sql.store_errors",
    "StoreRewoundError": "sql.store_errors",
    "StoreURLError": "sql.store_errors",
}  # the others are in "records"


if not TYPE_CHECKING:  # a type checker would take every name for one of ours

    def __getattr__(name: str) -> object:
        """Import a name of the store."""
        if name not in __all__:
            raise AttributeError(f"module 'canonry.storage' has no attribute {name!r}")
        place = import_module(f"canonry.storage.{_PLACES.get(name, 'records')}")
        found: object = getattr(place, name)
        globals()[name] = found
        return found
