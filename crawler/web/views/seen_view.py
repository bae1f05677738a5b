"""The seen set: its number of keys, the error rate of its filter, and the rate of claims."""

import msgspec
from sqlalchemy import Connection

from canonry.crawler.observe.progress import SPAN
from canonry.crawler.web.panel import Asked
from canonry.storage import samples
from canonry.storage.seen.bloom import ERROR_RATE
from canonry.storage.sql import counts

_RECENT = 3 * SPAN  # seconds; an older sample is not current


class SeenKeys(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of the seen set and of the Bloom filter in front of it."""

    keys: int  # in the store
    claims: int  # keys that crawls claimed, since stores count them
    new: int  # of these, those that were new to the filter or to the table
    claims_per_second: float | None  # over about the last ten seconds; null: no crawl is running
    false_positives: int  # new keys that the filter took for perhaps known: each cost a look-up
    false_positive_rate: float | None  # of new keys, measured; null: none was claimed
    false_positive_limit: float  # for which the filter is made
    filter_bytes: int  # in memory, as of the last sample
    filter_keys: int


def view(connection: Connection, asked: Asked) -> SeenKeys:
    """Return the figures of the seen set."""
    numbers = {name: number for name, _reason, number in counts.read(connection, "seen")}
    passed, wrong = numbers.get("passed", 0), numbers.get("wrong", 0)
    return SeenKeys(
        keys=counts.total(connection, "urls"),  # each URL has one key
        claims=numbers.get("claims", 0),
        new=passed + wrong,
        claims_per_second=_rate(connection, asked.now),
        false_positives=wrong,
        false_positive_rate=round(wrong / (passed + wrong), 6) if passed + wrong else None,
        false_positive_limit=ERROR_RATE,
        filter_bytes=numbers.get("bits", 0) // 8,
        filter_keys=numbers.get("keys", 0),
    )


def _rate(connection: Connection, now: float) -> float | None:
    """Return the recent number of claimed keys per second; None if no sample is recent."""
    last = samples.latest(connection, now)
    if last is None or now - last.at > _RECENT:
        return None
    before = samples.latest(connection, last.at - SPAN) or samples.latest(connection, last.at - 1)
    if before is None or before.at == last.at:
        return None
    return round((last.claims - before.claims) / (last.at - before.at), 1)
