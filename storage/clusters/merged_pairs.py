"""The export of merges: each URL that is another one, with the reason and its evidence."""

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection, select

from canonry.canon import redact
from canonry.storage.clusters.cluster_export import batches
from canonry.storage.clusters.cluster_rows import Batch, NameRules
from canonry.storage.clusters.clustering import cluster
from canonry.storage.clusters.known_rows import no_keys
from canonry.storage.clusters.one_cluster import CONTENT
from canonry.storage.sql.tables.figure_tables import merges
from canonry.storage.timestamps import utc

POLICY = "policy"  # the reason of spellings that rules of the policy merge
_SAYS = {
    "redirect": "the URL redirects for good, and the end of the chain answered 200",
    "canonical": "the page names the other one, which answered 200 and names itself or nothing",
}


class MergedPair(NamedTuple):
    """A URL, and the one that it is the same as."""

    url: str
    same_as: str  # the representative of its cluster
    reason: str  # redirect, canonical, rule, content or policy
    via: str  # the URL that it leads to, one step
    status: int | None  # of a redirect
    rules: list[str]  # ids of learned rules, or names of the policy's rules
    evidence: str
    times: int  # how many times it was seen; of a policy's rules: links
    first_seen: datetime | None
    last_seen: datetime | None


def pairs(
    connection: Connection, name_rules: NameRules, evidence_of: Callable[[str], str]
) -> Iterator[MergedPair]:
    """Yield the merges of a store.

    Links that only the policy's rules merged are counted in a store, not kept. For each set of
    rules there is one row: an example, with the number of links.

    Args:
        connection: to the store.
        name_rules: names the learned rules that made one URL another.
        evidence_of: describes a learned rule and its evidence, by its id.
    """
    found = cluster(connection)
    rows = found.rows()
    for part in batches(rows, found.root[rows]):
        batch = Batch(connection, found, part, no_keys(), name_rules)
        for root, members in batch.clusters():
            yield from (_pair(batch, root, row, evidence_of) for row in members)
    for merged in connection.execute(select(merges).order_by(merges.c.count.desc())).mappings():
        other = redact(merged["same_as"])
        yield MergedPair(
            url=redact(merged["spelling"]),
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


def _pair(batch: Batch, root: int, row: int, evidence_of: Callable[[str], str]) -> MergedPair:
    """Return what is exported of a member of a cluster."""
    step = batch.step(row)
    rules = batch.rules_of(row)
    if step.kind == CONTENT:
        evidence = f"both bodies have the digest {batch.digest_of(row)}"
    elif step.kind == "rule":
        evidence = " | ".join(map(evidence_of, rules))
    else:
        evidence = _SAYS[step.kind]
    return MergedPair(
        url=batch.shown(row),
        same_as=batch.shown(root),
        reason=step.kind,
        via=batch.shown(batch.next_of(row)),
        status=step.status if step.kind == "redirect" else None,
        rules=list(rules),
        evidence=evidence,
        times=step.times,
        first_seen=utc(step.first_seen),
        last_seen=utc(step.last_seen),
    )
