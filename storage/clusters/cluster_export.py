"""Export of clusters, all or only the changed ones, and of merges with their evidence."""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection, select

from canonry.canon import redact
from canonry.storage.clusters import export_log
from canonry.storage.clusters.cluster_rows import (
    Batch,
    ClusterRow,
    NameRules,
    PageRelations,
    tombstone,
)
from canonry.storage.clusters.clustering import (
    Clustering,
    Ids,
    cluster,
    no_keys,
    read_keys,
)
from canonry.storage.clusters.equivalences import CONTENT
from canonry.storage.clusters.export_log import LoggedPair, PairChanges
from canonry.storage.sql.bulk import rows_of
from canonry.storage.sql.tables.figure_tables import merges
from canonry.storage.timestamps import utc

_ROWS = 5_000  # in memory at once; a larger cluster is read whole
Pairs = dict[int, dict[int, LoggedPair]]
POLICY = "policy"  # the reason of merges by the policy's rules
_SAYS = {
    "redirect": "the URL redirects for good, and the end of the chain answered 200",
    "canonical": "the page names the other one, which answered 200 and names itself or nothing",
}


class Reading(NamedTuple):
    """The last export that a reader has, and the changes that this export finds."""

    since: int  # the number of the last export that the reader has
    last: int  # the number of the last export
    changes: PairChanges

    @classmethod
    def begin(cls, connection: Connection, since: str) -> "Reading":
        """Start from a reader's cursor; see `export_log.number_of`."""
        number = export_log.number_of(connection, since)
        return cls(number, export_log.last_number(connection), PairChanges())


def batches(url_ids: Ids, roots: Ids) -> Iterator[Ids]:
    """Split the ids of URLs that are sorted by cluster into batches of whole clusters."""
    starts = np.flatnonzero(np.diff(roots, prepend=-1))
    at = 0
    while at < len(url_ids):
        after = np.searchsorted(starts, at + _ROWS)
        end = int(starts[after]) if after < len(starts) else len(url_ids)
        yield url_ids[at:end]
        at = end


def clusters(
    connection: Connection,
    name_rules: NameRules,
    reading: Reading | None = None,
    relations: Mapping[int, PageRelations] = MappingProxyType({}),
) -> Iterator[ClusterRow]:
    """Yield the clusters of a store; with a reading, only those that its reader lacks.

    Args:
        connection: to a snapshot of the store.
        name_rules: returns the ids of the learned rules that merge two URLs.
        reading: collects what has changed, for `export_log.write`.
        relations: what pages are to others, by the ids of their URLs.
    """
    clustering = cluster(connection)
    keys = read_keys(connection, len(clustering.root))
    url_ids = clustering.url_ids()
    last = 0
    for part in batches(url_ids, clustering.root[url_ids]):
        batch = Batch(connection, clustering, part, keys, name_rules, relations)
        if reading is None:
            yield from (batch.row(root, members, []) for root, members in batch.clusters())
            continue
        logged = export_log.pairs_of(connection, last, batch.roots[-1])
        last = batch.roots[-1]
        yield from _changed(connection, clustering, keys, batch, logged, reading)
    if reading is not None:
        logged = export_log.pairs_of(connection, last, None)
        yield from _changed(connection, clustering, keys, None, logged, reading)


def _changed(
    connection: Connection,
    clustering: Clustering,
    keys: npt.NDArray[np.void],
    batch: Batch | None,
    logged: Pairs,
    reading: Reading,
) -> Iterator[ClusterRow]:
    """Yield the clusters and tombstones of a batch that a reader lacks."""
    changed = _compare(batch, logged, reading)
    gone = {
        root: [
            url_id for url_id, pair in pairs.items() if pair.gone and pair.changed > reading.since
        ]
        for root, pairs in logged.items()
    }
    texts = _texts(connection, clustering, gone) if reading.since else {}
    for root, members in batch.clusters() if batch is not None else ():
        if root in changed:
            left = [texts[url_id] for url_id in gone.get(root, ()) if url_id in texts]
            yield batch.row(root, members, sorted(map(redact, left)))  # type: ignore[union-attr]
    if not reading.since:
        return
    for root, url_ids in gone.items():
        if root in url_ids:
            left = sorted(redact(texts[url_id]) for url_id in url_ids if url_id != root)
            now = int(clustering.root[root]) if clustering.clustered[root] else 0
            key = keys[root].tobytes()
            yield tombstone(texts[root], key, left, texts[now] if now else None)


def _compare(batch: Batch | None, logged: Pairs, reading: Reading) -> set[int]:
    """Compare a batch with the log: note what has changed, and mark in ``logged`` what has gone.

    Returns:
        The representatives of the clusters that a reader does not have.
    """
    changed: set[int] = set()
    number = reading.last + 1
    current: set[tuple[int, int]] = set()
    for root, url_id, said in batch.said() if batch is not None else ():
        current.add((root, url_id))
        old = logged.get(root, {}).get(url_id)
        if old is None or old.gone or old.said != said:
            reading.changes.add(root, url_id, said, gone=False, known=old is not None)
            changed.add(root)
        elif old.changed > reading.since:
            changed.add(root)
        if old is not None and old.gone:
            logged[root][url_id] = old._replace(gone=False)
    for root, pairs in logged.items():
        for url_id, old in pairs.items():
            if not old.gone and (root, url_id) not in current:
                reading.changes.add(root, url_id, old.said, gone=True, known=True)
                pairs[url_id] = old._replace(gone=True, changed=number)
            if pairs[url_id].gone and pairs[url_id].changed > reading.since:
                changed.add(root)
    return changed


def _texts(
    connection: Connection, clustering: Clustering, gone: dict[int, list[int]]
) -> dict[int, str]:
    """Return the URLs of removed pairs, and of their present representatives."""
    wanted = {url_id for root, url_ids in gone.items() for url_id in (root, *url_ids)}
    wanted |= {int(clustering.root[root]) for root, url_ids in gone.items() if root in url_ids}
    return dict(rows_of(connection, "SELECT id, url FROM urls WHERE id", sorted(wanted)))


class MergedPair(NamedTuple):
    """A URL that is merged into another, with the reason."""

    url: str
    same_as: str  # the representative of its cluster
    reason: str  # redirect, canonical, rule, content or policy
    via: str  # the URL that it leads to directly
    status: int | None  # HTTP status of a redirect
    rules: list[str]  # ids of learned rules, or names of the policy's rules
    evidence: str
    times: int  # how often it was seen; for a policy's rules: links
    first_seen: datetime | None
    last_seen: datetime | None


def merged_pairs(
    connection: Connection, name_rules: NameRules, evidence_of: Callable[[str], str]
) -> Iterator[MergedPair]:
    """Yield the merges of a store.

    Links that only the policy's rules merged are counted in a store, not kept. For each set of
    rules there is one row: an example, with the number of links.

    Args:
        connection: to the store.
        name_rules: returns the ids of the learned rules that merge two URLs.
        evidence_of: describes a learned rule and its evidence, by its id.
    """
    found = cluster(connection)
    url_ids = found.url_ids()
    for part in batches(url_ids, found.root[url_ids]):
        batch = Batch(connection, found, part, no_keys(), name_rules)
        for root, members in batch.clusters():
            yield from (_pair(batch, root, url_id, evidence_of) for url_id in members)
    for merged in connection.execute(select(merges).order_by(merges.c.count.desc())).mappings():
        other = redact(merged["same_as"])
        yield MergedPair(
            url=redact(merged["raw_url"]),
            same_as=other,
            reason=POLICY,
            via=other,
            status=None,
            rules=merged["rules"].split(" + "),
            evidence="rules of the policy give both one identity; this is one of the links",
            times=merged["count"],
            first_seen=None,
            last_seen=None,
        )


def _pair(batch: Batch, root: int, url_id: int, evidence_of: Callable[[str], str]) -> MergedPair:
    """Return the export row of a cluster member."""
    step = batch.step(url_id)
    rules = batch.rules_of(url_id)
    if step.kind == CONTENT:
        evidence = f"both bodies have the digest {batch.digest_of(url_id)}"
    elif step.kind == "rule":
        evidence = " | ".join(map(evidence_of, rules))
    else:
        evidence = _SAYS[step.kind]
    return MergedPair(
        url=batch.shown(url_id),
        same_as=batch.shown(root),
        reason=step.kind,
        via=batch.shown(batch.next_of(url_id)),
        status=step.status if step.kind == "redirect" else None,
        rules=list(rules),
        evidence=evidence,
        times=step.times,
        first_seen=utc(step.first_seen),
        last_seen=utc(step.last_seen),
    )
