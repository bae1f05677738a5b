"""Stores and candidates for tests: real SQLite files, real keys."""

from collections.abc import Sequence
from pathlib import Path

from databases import url_of

import canon
from crawler.door import why
from crawler.scope import host_of
from storage import Admission, Candidate, LeasedHost, Store
from storage import frontier as rows

MAKE = canon.Canonicalizer("web")


def open_store(folder: Path, policy: str = "web", say: list[str] | None = None) -> Store:
    """Open the store in a folder; what it says goes to a list."""
    found = canon.policy.preset(policy)
    said = [] if say is None else say
    return Store(url_of(folder), policy=found.label, fingerprint=found.fingerprint, say=said.append)


def candidate(url: str, depth: int = 0, held: str | None = None) -> Candidate:
    """Return a URL as the door would bring it."""
    found = MAKE(url)
    return Candidate(found.url, url, found.key, host_of(found.url), depth, held=held)


def explain(spelling: str, same_as: str) -> str:
    """Name the rules that merged two spellings."""
    return why(MAKE, spelling, same_as)


def admit(store: Store, urls: Sequence[str], now: float = 0.0, depth: int = 0) -> list[Admission]:
    """Let URLs through the door."""
    return store.admit([candidate(url, depth) for url in urls], now, explain)


def lease(
    store: Store,
    owner: str = "me",
    now: float = 0.0,
    loaded: dict[str, set[int]] | None = None,
    *,
    level_by_level: bool = False,
    per_host: int = 100,
) -> list[LeasedHost]:
    """Lease hosts for sixty seconds."""
    with store.transaction() as connection:
        return rows.lease(
            connection,
            owner,
            now=now,
            seconds=60,
            limit=10,
            per_host=per_host,
            loaded=loaded or {},
            level_by_level=level_by_level,
        )
