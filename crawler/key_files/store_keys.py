"""Copy keys from a file into a store's seen set, and from a store into a file."""

import time
from collections.abc import Iterator, Sequence

from sqlalchemy import select

from canonry.canon import Policy
from canonry.crawler import opening
from canonry.crawler.hold_reason import HoldReason
from canonry.crawler.key_files.key_file import KeyFile, KeyHeader
from canonry.crawler.key_files.sorted_keys import Keys, as_keys
from canonry.storage import Candidate
from canonry.storage.facts import read_facts
from canonry.storage.reading import report
from canonry.storage.rows.urls import admit
from canonry.storage.sql.schema import keys

_BATCH = 50_000  # keys that are claimed at once


def to_store(file: KeyFile, url: str, policy: Policy) -> Iterator[tuple[int, int]]:
    """Claim all keys of a file in a store; yield for each batch its size, and how many were new.

    The URLs of these keys are unknown. So their rows have the URL ``urn:canonry:key:`` with the
    key in hexadecimal and no host, and they are held for their scheme.

    Args:
        file: of keys.
        url: of the store; it is made if there is none.
        policy: of the keys.

    Raises:
        StoreError: the store has keys of another policy, or fails; what was claimed stays.
    """
    store = opening.open_store(url, policy, _silent)
    try:
        for chunk in file.chunks():
            for at in range(0, len(chunk), _BATCH):
                some = chunk[at : at + _BATCH]
                with store.claiming() as connection:
                    claims = admit(connection, store.seen, _candidates(some), time.time())
                yield len(some), sum(claim.new for claim in claims)
    finally:
        store.close()


def _silent(_message: str) -> None:
    """Notify nobody."""


def _candidates(some: Keys) -> Sequence[Candidate]:
    """Return the URLs to claim for some keys."""
    held = HoldReason.SCHEME.label
    found = [(f"urn:canonry:key:{key.hex()}", key) for key in (one.tobytes() for one in some)]
    return [Candidate(name, name, key, "", 0, held=held, listed=True) for name, key in found]


def header_of_store(url: str) -> KeyHeader:
    """Return the header for a file with a store's keys."""
    with report.reading(url) as connection:
        facts = read_facts(connection)
    return KeyHeader(facts["policy"], facts["fingerprint"])


def keys_of_store(url: str) -> Iterator[Keys]:
    """Yield all keys of a store, sorted."""
    with report.reading(url) as connection:
        found = connection.execution_options(yield_per=_BATCH).execute(
            select(keys.c.key).order_by(keys.c.key)
        )
        for part in found.partitions():
            yield as_keys(b"".join(key for (key,) in part))
