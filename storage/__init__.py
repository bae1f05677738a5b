"""Canonry's memory: the seen set, the frontier's rows, pages and aliases, in one SQL store."""

from storage.errors import StoreError
from storage.records import Admission, Candidate, Hop, LeasedHost, Outcome, Page, Queued
from storage.schema import State
from storage.store import Store

__all__ = [
    "Admission",
    "Candidate",
    "Hop",
    "LeasedHost",
    "Outcome",
    "Page",
    "Queued",
    "State",
    "Store",
    "StoreError",
]
