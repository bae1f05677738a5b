"""The merges of a store, for display: counts by rule, and the latest examples of each.

Everything is read by keys and indexes: as fast in a store of any size.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, Select, bindparam, func, select

from canonry.storage.clusters.equivalences import Equivalences
from canonry.storage.http_status import OK, PERMANENT_REDIRECTS
from canonry.storage.records import UNREAD
from canonry.storage.sql import counts
from canonry.storage.sql.bulk import chunks, rows_of
from canonry.storage.sql.schema import aliases, pages, urls
from canonry.storage.sql.tables.figure_tables import merge_examples, merges

_PAGES = 400  # the latest pages, which are searched for repeated bodies
_AT_ONCE = 20  # aliases whose classes are read at once
LOOKED_AT = 200  # the latest aliases of a kind, which are searched for merges
_EXAMPLES = select(
    *(merge_examples.c[name] for name in ("id", "rules", "raw_url", "url_id", "source_id")),
    merge_examples.c.seen_at,
)
_other = pages.alias("other")
_FIRST_OF_BODY = (
    select(_other.c.url_id)
    .where(_other.c.digest == pages.c.digest, _other.c.url_id < pages.c.url_id)
    .where(_other.c.status == OK, _other.c.size > 0, _other.c.links != UNREAD)
    .order_by(_other.c.url_id)
    .limit(1)
    .correlate(pages)
    .scalar_subquery()
)
_RECENT = (
    select(urls.c.id, urls.c.url, urls.c.host_id, pages.c.fetched_at, _FIRST_OF_BODY)
    .join_from(pages, urls, pages.c.url_id == urls.c.id)
    .where(pages.c.status == OK, pages.c.size > 0, pages.c.links != UNREAD)
    .order_by(pages.c.url_id.desc())
    .limit(_PAGES)
)
_PLACE = select(urls.c.url, urls.c.host_id).where(urls.c.id == bindparam("url_id"))


class MergedLink(NamedTuple):
    """A link that rules of the policy merged with a known URL."""

    rules: str
    raw_url: str
    same_as: str  # that URL, as first written
    url_id: int | None  # of the URL that it is the same as; None: not kept
    found_on: str | None  # the page of the link
    seen_at: float | None  # seconds since 1970


class LatestMerge(NamedTuple):
    """A URL that an answer or a learned rule merged with another."""

    url_id: int
    url: str
    same_as: str  # the URL that it leads to directly
    represented_by: str  # the end of the chain
    kind: str  # redirect, canonical, rule or content
    status: int  # HTTP status of a redirect, else 0
    times: int
    seen_at: float  # seconds since 1970, when it was last seen


class KindCounts(NamedTuple):
    """How many aliases of each kind a store has, and how many pages with a repeated body.

    All redirects and canonical links count, whether they merge or not; `latest` tells which do.
    """

    redirect: int  # permanent; temporary ones never merge
    temporary: int
    canonical: int
    rule: int
    content: int


def by_rules(connection: Connection) -> dict[str, int]:
    """Return how many links each set of rules merged."""
    query = select(merges.c.rules, merges.c.count).order_by(merges.c.count.desc(), merges.c.rules)
    return {str(rules): int(count) for rules, count in connection.execute(query)}


def kind_counts(connection: Connection) -> KindCounts:
    """Return the counts of all that merges URLs, without the policy's rules."""
    found = dict.fromkeys(("redirect", "temporary", "canonical", "rule"), 0)
    for kind, status, count in counts.alias_counts(connection):
        is_temporary = kind == "redirect" and status not in PERMANENT_REDIRECTS
        found["temporary" if is_temporary else kind] += count
    return KindCounts(**found, content=counts.total_of(connection, counts.REPEATED))


def examples(connection: Connection, sets: Sequence[str], most: int) -> list[MergedLink]:
    """Return links that some sets of rules merged, the latest first.

    For a set without a kept example, its first link stands in.

    Args:
        connection: to a store.
        sets: of rules, as `by_rules` names them.
        most: how many.
    """
    found: list[MergedLink] = []
    for part in chunks(sets):
        query = _EXAMPLES.where(merge_examples.c.rules.in_(part))
        found += _links(connection, query.order_by(merge_examples.c.id.desc()).limit(most))
    found.sort(key=lambda link: -(link.seen_at or 0.0))
    return [*found, *_first(connection, sets, found)][:most]


def example_of_each(connection: Connection) -> dict[str, MergedLink]:
    """Return by set of rules the latest link that it merged."""
    last = select(func.max(merge_examples.c.id)).group_by(merge_examples.c.rules)
    found = _links(connection, _EXAMPLES.where(merge_examples.c.id.in_(last)))
    return {link.rules: link for link in [*found, *_first(connection, None, found)]}


def _links(connection: Connection, query: Select[Any]) -> list[MergedLink]:
    """Return the links that a query for examples finds."""
    chosen = connection.execute(query).all()
    first = _raw_urls(connection, {row.url_id for row in chosen})
    pages_of = {row.source_id for row in chosen if row.source_id is not None}
    on = _raw_urls(connection, pages_of)
    return [
        MergedLink(
            row.rules,
            row.raw_url,
            first.get(row.url_id, ""),
            row.url_id,
            on.get(row.source_id),
            row.seen_at,
        )
        for row in chosen
    ]


def _first(
    connection: Connection, sets: Sequence[str] | None, known: Iterable[MergedLink]
) -> list[MergedLink]:
    """Return the first link of each set of rules of which no later one is known.

    Args:
        connection: to a store.
        sets: of rules; None for all.
        known: the later ones.
    """
    has_one = {link.rules for link in known}
    rows = connection.execute(select(merges.c.rules, merges.c.raw_url, merges.c.same_as))
    return [
        MergedLink(rules, link, same_as, None, None, None)
        for rules, link, same_as in rows
        if rules not in has_one and (sets is None or rules in sets)
    ]


def _raw_urls(connection: Connection, url_ids: Collection[int]) -> dict[int, str]:
    question = "SELECT id, coalesce(raw_url, url) FROM urls WHERE id"
    return {} if not url_ids else dict(rows_of(connection, question, list(url_ids)))


def latest(connection: Connection, kind: str, most: int = LOOKED_AT) -> list[LatestMerge]:
    """Return the URLs that were merged last by one kind of evidence, the latest first.

    Redirects and canonical links that merge nothing are left out, such as those that lead to a
    sink, or whose end did not answer 200.

    Args:
        connection: to a store.
        kind: redirect, canonical or rule.
        most: how many, of the latest `LOOKED_AT` aliases.
    """
    edges: list[tuple[int, int, int, int, int, float]] = []
    for status in _statuses(connection, kind):
        query = (
            select(*(aliases.c[n] for n in ("id", "from_id", "to_id", "status", "count")))
            .add_columns(aliases.c.last_seen)
            .where(aliases.c.kind == kind, aliases.c.status == status)
            .order_by(aliases.c.id.desc())
            .limit(LOOKED_AT)
        )
        edges += [tuple(row) for row in connection.execute(query)]
    edges = sorted(edges, reverse=True)[:LOOKED_AT]
    equivalences = Equivalences(connection)
    latest_merges: list[LatestMerge] = []
    for start in range(0, len(edges), _AT_ONCE):
        part = edges[start : start + _AT_ONCE]
        equivalences.prepare({url_id for _id, url_id, *_rest in part})
        for _id, url_id, _to, status_of, times, seen in part:
            end = equivalences.representative(url_id, awaited=True)
            if end.steps and end.steps[0].kind == kind:
                step = end.steps[0]
                latest_merges.append(
                    LatestMerge(url_id, step.url, step.to, end.url, kind, status_of, times, seen)
                )
        if len(latest_merges) >= most:
            break
    return latest_merges[:most]


def _statuses(connection: Connection, kind: str) -> list[int]:
    """Return the HTTP statuses of a kind of aliases; of redirects, the permanent ones."""
    found = {one.status for one in counts.alias_counts(connection) if one.kind == kind}
    return sorted(found & PERMANENT_REDIRECTS if kind == "redirect" else found)


def equal_pages(connection: Connection, most: int) -> list[LatestMerge]:
    """Return those of the latest pages that repeat the body of an earlier page of their host."""
    if not counts.total_of(connection, counts.REPEATED):
        return []
    repeats: list[LatestMerge] = []
    for url_id, url, host, at, first in connection.execute(_RECENT):
        if first is None:
            continue
        other, host_of_other = connection.execute(_PLACE, {"url_id": first}).one()
        if host == host_of_other:
            repeats.append(LatestMerge(url_id, url, other, other, "content", 0, 1, at))
        if len(repeats) == most:
            break
    return repeats
