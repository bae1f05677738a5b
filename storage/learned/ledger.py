"""The ledger of learning: pairs of URLs that were compared, and answers that are still needed.

All decisions about rules follow from the pairs. The answers are the text blocks of pages that may
be compared again; if they are missing, such a page is requested once more.
"""

import hashlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from sqlalchemy import Connection, func, select

from canonry.canon import redact
from canonry.storage.sql.bulk import change_rows, chunks, put, rows_of
from canonry.storage.sql.schema import answers, hosts, jobs, pairs, urls

UNKNOWN, SAME, DIFFERENT = range(3)  # verdicts
CONTENT, OWN_WORD, MINED = range(3)  # sources of verdicts


class StoredPair(NamedTuple):
    """Two URLs that a rule merges, and the verdict on them."""

    rule_id: str
    first: str  # the smaller of two identities
    second: str
    class_url: str  # what the rule makes of them
    verdict: int
    source: int
    answers: int  # of the URL that has fewer; more may change the verdict
    at: float  # seconds since 1970


class StoredAnswer(NamedTuple):
    """One of the answers of a URL with status 200."""

    url: str
    url_id: int
    digest: bytes
    blocks: bytes | None  # None: it is no text


_URLS = ("first", "second", "class_url")
_HOST_IDS = "SELECT id, host_id FROM url_rows WHERE id"


def put_pairs(connection: Connection, given: Iterable[StoredPair]) -> None:
    """Record pairs without passwords; each replaces its earlier record."""
    rows = []
    for pair in given:
        row = pair._asdict() | {name: redact(getattr(pair, name)) for name in _URLS}
        both = f"{row['first']}\n{row['second']}".encode()
        rows.append(row | {"pair": hashlib.blake2b(both, digest_size=16).digest()})
    put(connection, pairs, rows, change=("class_url", "verdict", "source", "answers"))


def pairs_of(connection: Connection, rule_ids: Collection[str]) -> Iterator[StoredPair]:
    """Yield the pairs of rules, in the order in which they were recorded first."""
    for part in chunks(list(rule_ids)):
        query = select(*(pairs.c[name] for name in StoredPair._fields))
        query = query.where(pairs.c.rule_id.in_(part)).order_by(pairs.c.at)
        yield from (StoredPair(*row) for row in connection.execute(query))


def put_answers(
    connection: Connection, given: Iterable[tuple[int, int, bytes, bytes | None]]
) -> None:
    """Record answers that may be compared with others later.

    Args:
        connection: in a writing transaction.
        given: for each answer the URL's id, its number, its digest and its blocks.
    """
    found = list(given)
    host_ids = dict(rows_of(connection, _HOST_IDS, list({url_id for url_id, *_ in found})))
    rows = [
        {"url_id": url_id, "number": n, "digest": d, "blocks": b, "host_id": host_ids[url_id]}
        for url_id, n, d, b in found
    ]
    put(connection, answers, rows, change=())


def forget_answers(connection: Connection, url_ids: Collection[int]) -> None:
    """Delete the answers of some URLs."""
    change_rows(connection, "DELETE FROM answers WHERE url_id", list(url_ids))


def answers_of(connection: Connection, names: Sequence[str]) -> Iterator[StoredAnswer]:
    """Yield the stored answers of hosts, by URL and number."""
    query = (
        select(urls.c.url, answers.c.url_id, answers.c.digest, answers.c.blocks)
        .join_from(answers, urls, urls.c.id == answers.c.url_id)
        .where(answers.c.host_id.in_(select(hosts.c.id).where(hosts.c.name.in_(names))))
        .order_by(answers.c.url_id, answers.c.number)
    )
    for url, url_id, digest, blocks in connection.execute(query):
        yield StoredAnswer(url, url_id, bytes(digest), None if blocks is None else bytes(blocks))


def end_of_last_run(connection: Connection, began: float) -> float:
    """Return when the last run ended that began before this one; what is since belongs to this one.

    Args:
        connection: of the store.
        began: when the workers of this run did; seconds since 1970.

    Returns:
        Seconds since 1970; 0 if no run has ended.
    """
    ended = select(func.max(jobs.c.ended_at)).where(jobs.c.state.in_(("finished", "failed")))
    return connection.scalar(ended.where(jobs.c.started_at < began)) or 0.0
