"""Pages and aliases: the results of fetching URLs; and tallies of links."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from types import MappingProxyType

from sqlalchemy import Connection, bindparam, update

from canonry.storage.http_status import OK
from canonry.storage.records import Hop, Page
from canonry.storage.sql import counts
from canonry.storage.sql.bulk import change_rows, join, put, rows_of, upsert
from canonry.storage.sql.prepared import Prepared
from canonry.storage.sql.schema import aliases, pages
from canonry.storage.sql.tables.figure_tables import merges, refusals

_CONFIRM = Prepared(
    update(pages).where(pages.c.url_id == bindparam("page")).values(fetched_at=bindparam("now"))
)


def put_pages(
    connection: Connection,
    answers: Iterable[tuple[int, Page]],
    now: float,
    at: Mapping[int, float] = MappingProxyType({}),
) -> None:
    """Write the pages of URLs; a later page of a URL replaces an earlier one.

    Args:
        connection: in a writing transaction.
        answers: the ids of URLs, with their pages.
        now: when they were fetched; seconds since 1970.
        at: other times, by the ids of the URLs.
    """
    latest = dict(answers)
    rows = [
        {"url_id": url_id, "fetched_at": at.get(url_id, now), **page._asdict()}
        for url_id, page in latest.items()
    ]
    if not rows:
        return
    changes = Counter(counts.page(page.status) for page in latest.values())
    changes.update(one for page in latest.values() for one in counts.reserved(page.use_reserved))
    changes.subtract(_delete(connection, list(latest)))
    bodies = [p.digest for p in latest.values() if p.status == OK and p.size]
    changes[counts.REPEATED] += _repeated(connection, bodies)
    put(connection, pages, rows)
    counts.add(connection, changes)


def _repeated(connection: Connection, digests: Sequence[bytes]) -> int:
    """Return how many of some bodies repeat a stored one, or an earlier one among them."""
    wanted = set(digests)
    question = "SELECT DISTINCT digest FROM pages WHERE status = 200 AND size > 0 AND digest"
    known = {bytes(found) for (found,) in rows_of(connection, question, list(wanted))}
    return len(digests) - len(wanted - known)


def _delete(connection: Connection, url_ids: Sequence[int]) -> Counter[counts.Counted]:
    """Delete pages; return the counts to subtract."""
    question = "SELECT status, digest, size, use_reserved FROM pages WHERE url_id"
    gone = list(rows_of(connection, question, url_ids))
    changes = Counter(counts.page(status) for status, *_rest in gone)
    changes.update(one for *_rest, uses in gone for one in counts.reserved(uses))
    if gone:
        change_rows(connection, "DELETE FROM pages WHERE url_id", url_ids)
        digests = [bytes(digest) for status, digest, size, _uses in gone if status == OK and size]
        changes[counts.REPEATED] += _repeated(connection, digests)
    return changes


def remove(connection: Connection, url_ids: Sequence[int]) -> None:
    """Delete the pages of URLs that no longer have one."""
    if url_ids:
        counts.add(connection, Counter({k: -n for k, n in _delete(connection, url_ids).items()}))


def confirm(connection: Connection, url_ids: Sequence[int], now: float) -> None:
    """Record that pages are unchanged as of now."""
    _CONFIRM.run_many(connection, [{"page": url_id, "now": now} for url_id in url_ids])


def put_aliases(connection: Connection, edges: Iterable[tuple[int, Hop, int]], now: float) -> None:
    """Write where URLs lead; an edge that is known counts once more.

    Args:
        connection: in a writing transaction.
        edges: the id of a URL, how it leads to another one, and the id of that.
        now: seconds since 1970.
    """
    changes: Counter[counts.Counted] = Counter()
    for from_id, hop, to_id in edges:
        edge = {
            "from_id": from_id,
            "to_id": to_id,
            "kind": hop.kind,
            "status": hop.status,
            "target_url": hop.target.url,
            "now": now,
        }
        [(seen,)] = _putting_aliases(connection.dialect.name).run(connection, edge)
        changes[counts.alias(hop.kind, hop.status)] += seen == 1
    counts.add(connection, changes)


@cache
def _putting_aliases(dialect: str) -> Prepared:
    """Return the statement that writes an alias, and returns how often it was seen."""
    edge = ("from_id", "to_id", "kind", "status")
    new = (
        upsert(dialect, aliases)
        .inline()
        .values(
            {name: bindparam(name) for name in (*edge, "target_url")}
            | dict.fromkeys(("first_seen", "last_seen"), bindparam("now"))
            | {"count": 1}
        )
    )
    latest = {name: new.excluded[name] for name in ("target_url", "last_seen")}
    again = {**latest, "count": aliases.c.count + 1}
    return Prepared(
        new.on_conflict_do_update(index_elements=edge, set_=again).returning(aliases.c.count)
    )


class Tally:
    """Counts by name, each with one example; collected, then added to a table at once."""

    def __init__(self) -> None:
        """Start empty."""
        self.counts: dict[str, int] = {}
        self.samples: dict[str, tuple[str, ...]] = {}

    def add(self, name: str, *sample: str, count: int = 1) -> None:
        """Add to a count; its first example is kept."""
        self.counts[name] = self.counts.get(name, 0) + count
        self.samples.setdefault(name, sample)

    def rows(self) -> Iterator[tuple[str, int, tuple[str, ...]]]:
        """Yield each name with its count and example."""
        for name, count in self.counts.items():
            yield name, count, self.samples[name]


def put_merges(connection: Connection, tally: Tally) -> None:
    """Add to the counts of merged links, by rules."""
    rows = [
        {"rules": rules, "count": count, "raw_url": raw_url, "same_as": same_as}
        for rules, count, (raw_url, same_as) in tally.rows()
    ]
    join(connection, merges, rows)


def add_merges(connection: Connection, more: Mapping[str, int]) -> None:
    """Add to the counts of merged links, for rules that already have a row."""
    rows = [
        {"rules": rules, "count": count, "raw_url": "", "same_as": ""}
        for rules, count in more.items()
    ]
    join(connection, merges, rows)


def put_refusals(connection: Connection, tally: Tally) -> None:
    """Add to the counts of refused links, by reason."""
    rows = [
        {"reason": reason, "count": count, "sample": link}
        for reason, count, (link,) in tally.rows()
    ]
    join(connection, refusals, rows)
