"""The ledger of learning: pairs of URLs that were compared, and answers that are still needed.

All decisions about rules follow from the pairs. The answers are the text blocks of pages that may
be compared again; if they are missing, such a page is requested once more.
"""

import hashlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from sqlalchemy import Connection, delete, func, select

from canonry.canon import redact
from canonry.storage.http_status import OK, PERMANENT_REDIRECTS
from canonry.storage.learned.tracked_rule import SAMPLES, URLPair
from canonry.storage.sql.bulk import chunks, put, rows_of
from canonry.storage.sql.schema import (
    State,
    aliases,
    answers,
    hosts,
    jobs,
    pages,
    pairs,
    url_rows,
    urls,
)

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


class PastURL(NamedTuple):
    """A URL of a site, and what became of it."""

    url_id: int
    url: str
    state: int
    status: int | None  # of its page
    canonical: str | None  # of its page
    asked: float  # when it was asked last; seconds since 1970


class PastHop(NamedTuple):
    """A permanent redirect or canonical link whose target has not answered yet."""

    url: str
    target: str


_URLS = ("first", "second", "class_url")


def put_pairs(connection: Connection, given: Iterable[StoredPair]) -> None:
    """Record pairs without passwords; each replaces its earlier record."""
    rows = [
        pair._asdict() | {name: redact(getattr(pair, name)) for name in _URLS} for pair in given
    ]
    for row in rows:
        both = f"{row['first']}\n{row['second']}".encode()
        row["pair"] = hashlib.blake2b(both, digest_size=16).digest()
    put(connection, pairs, rows, change=("class_url", "verdict", "source", "answers"))


def pairs_of(connection: Connection, rule_ids: Collection[str]) -> Iterator[StoredPair]:
    """Yield the pairs of rules, in the order in which they were recorded first."""
    for part in chunks(list(rule_ids)):
        query = select(*(pairs.c[name] for name in StoredPair._fields))
        query = query.where(pairs.c.rule_id.in_(part)).order_by(pairs.c.at)
        yield from (StoredPair(*row) for row in connection.execute(query))


def samples_of(
    connection: Connection, rule_ids: Collection[str], verdict: int
) -> dict[str, list[URLPair]]:
    """Return by rule id the earliest few pairs with a verdict."""
    samples: dict[str, list[URLPair]] = {}
    for part in chunks(list(rule_ids)):
        query = (
            select(pairs.c.rule_id, pairs.c.first, pairs.c.second)
            .where(pairs.c.rule_id.in_(part), pairs.c.verdict == verdict)
            .order_by(pairs.c.at, pairs.c.first, pairs.c.second)
        )
        for rule_id, first, second in connection.execute(query):
            shown = samples.setdefault(rule_id, [])
            if len(shown) < SAMPLES:
                shown.append((first, second))
    return samples


def put_answers(
    connection: Connection, given: Iterable[tuple[int, int, bytes, bytes | None]]
) -> None:
    """Record answers that may be compared with others later.

    Args:
        connection: in a writing transaction.
        given: for each answer the URL's id, its number, its digest and its blocks.
    """
    names = ("url_id", "number", "digest", "blocks")
    rows = [dict(zip(names, answer, strict=True)) for answer in given]
    ids = list({row["url_id"] for row in rows})
    host_ids = dict(rows_of(connection, "SELECT id, host_id FROM url_rows WHERE id", ids))
    put(
        connection, answers, [row | {"host_id": host_ids[row["url_id"]]} for row in rows], change=()
    )


def forget_answers(connection: Connection, url_ids: Collection[int]) -> None:
    """Delete the answers of some URLs."""
    for part in chunks(list(url_ids)):
        connection.execute(delete(answers).where(answers.c.url_id.in_(part)))


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


def first_pages_of(
    connection: Connection, names: Sequence[str], until: float, most: int
) -> list[str]:
    """Return the URLs of pages of hosts that were found first, and that show no wall.

    Args:
        connection: to a store with the index of `host_urls`.
        names: of the hosts, without ports.
        until: those fetched before this time; seconds since 1970.
        most: how many.
    """
    query = (
        select(urls.c.url)
        .join_from(urls, pages, pages.c.url_id == urls.c.id)
        .where(urls.c.host_id.in_(select(hosts.c.id).where(hosts.c.name.in_(names))))
        .where(urls.c.state == State.FETCHED, urls.c.reason.is_(None), pages.c.status == OK)
        .where(pages.c.fetched_at < until)
        .order_by(urls.c.id)
        .limit(most)
    )
    return list(connection.scalars(query))


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


def urls_of(connection: Connection, names: Sequence[str], most: int) -> list[PastURL]:
    """Return the latest URLs of hosts that are queued or have answered; the latest last.

    Args:
        connection: to a store with the index of `host_urls`.
        names: of the hosts, without ports.
        most: how many.
    """
    query = (
        select(urls.c.id, urls.c.url, urls.c.state, pages.c.status, pages.c.canonical, urls.c.due)
        .join_from(urls, hosts, hosts.c.id == urls.c.host_id)
        .outerjoin(pages, pages.c.url_id == urls.c.id)
        .where(hosts.c.name.in_(names))
        .where(urls.c.state.in_((State.QUEUED, State.FETCHED, State.REDIRECTED)))
        .order_by(urls.c.id.desc())
        .limit(most)
    )
    return [PastURL(*row) for row in connection.execute(query)][::-1]


def open_hops_of(connection: Connection, url_ids: Sequence[int]) -> Iterator[PastHop]:
    """Yield the permanent redirects and canonical links of URLs whose targets are queued.

    Args:
        connection: of the store.
        url_ids: of the URLs.
    """
    target = urls.alias("target")
    query = (
        select(urls.c.url, target.c.url, aliases.c.kind, aliases.c.status)
        .join_from(aliases, urls, urls.c.id == aliases.c.from_id)
        .join(target, target.c.id == aliases.c.to_id)
        .where(target.c.state == State.QUEUED)
    )
    for part in chunks(list(url_ids)):
        for url, to, kind, status in connection.execute(query.where(aliases.c.from_id.in_(part))):
            if kind == "canonical" or (kind == "redirect" and status in PERMANENT_REDIRECTS):
                yield PastHop(url, to)


def number_answered(connection: Connection, names: Sequence[str], most: int) -> int:
    """Return how many URLs of hosts were fetched or redirected, counting up to ``most``."""
    some = (
        select(url_rows.c.id)
        .join(hosts, hosts.c.id == url_rows.c.host_id)
        .where(hosts.c.name.in_(names), url_rows.c.state.in_((State.FETCHED, State.REDIRECTED)))
        .limit(most)
    )
    return connection.scalar(select(func.count()).select_from(some.subquery())) or 0
