"""Cluster rows: the exported data of clusters and their members, read in batches."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from hashlib import blake2b
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection

from canonry.canon import redact
from canonry.storage.clusters.clustering import Clustering
from canonry.storage.clusters.known_rows import Ids
from canonry.storage.clusters.one_cluster import CONTENT
from canonry.storage.http_status import OK
from canonry.storage.records import UNREAD
from canonry.storage.sql.bulk import rows_of
from canonry.storage.sql.schema import State
from canonry.storage.timestamps import utc

NameRules = Callable[[str, str], tuple[str, ...]]  # (URL, URL it leads to) -> rule ids


class ClusterMember(NamedTuple):
    """A URL that is the same resource as the representative of its cluster."""

    url: str
    reason: str  # redirect, canonical, rule or content
    via: str  # the URL that it leads to: the representative, or another member
    status: int | None  # of a redirect
    rules: list[str]  # the ids of the learned rules, if the reason is a rule
    last_seen: datetime | None


class ClusterRow(NamedTuple):
    """A resource, or a tombstone for one."""

    action: str  # upsert or delete
    id: str  # the representative's key, in hexadecimal
    url: str  # the representative
    status: int | None = None  # HTTP status of its page
    title: str | None = None
    content_type: str | None = None
    digest: str | None = None
    last_seen: datetime | None = None
    reason: str | None = None  # why its page could not be fetched again: it is held, or failed
    members: Sequence[ClusterMember] = ()
    left: Sequence[str] = ()  # URLs that are no longer members
    same_as: str | None = None  # of a tombstone: the representative that its URL has now


class _KnownName(NamedTuple):
    url: str
    reason: str | None


class _AnsweredPage(NamedTuple):
    status: int
    title: str | None
    content_type: str | None
    digest: bytes | None
    fetched_at: float


class MergingStep(NamedTuple):
    """The step of a member towards its representative; times are seconds since 1970."""

    kind: str  # redirect, canonical, rule or content
    status: int  # HTTP status of a redirect
    first_seen: float
    last_seen: float
    times: int


class Batch:
    """A batch of whole clusters, with all the data that an export needs."""

    def __init__(
        self,
        connection: Connection,
        clustering: Clustering,
        rows: Ids,
        keys: npt.NDArray[np.void],
        name_rules: NameRules,
    ) -> None:
        """Read the data of some clusters.

        Args:
            connection: to the store.
            clustering: of the store.
            rows: of whole clusters, in the order of `Clustering.rows`.
            keys: of all URLs, indexed by row.
            name_rules: returns the ids of the learned rules that merge two URLs.
        """
        self._clustering = clustering
        self._keys = keys
        self._name_rules = name_rules
        wanted = rows.tolist()
        self.roots: list[int] = clustering.root[rows].tolist()
        self.rows: list[int] = wanted
        self._urls = _urls(connection, wanted)
        self._pages = _pages(connection, wanted)
        aliases = clustering.alias[rows]
        self._steps = _steps(connection, aliases[aliases > 0].tolist())
        self._rules: dict[int, tuple[str, ...]] = {}

    def said(self) -> Iterator[tuple[int, int, bytes]]:
        """Yield each pair of a representative and a member, with a hash of its exported data.

        The hash leaves out times: seeing a page again does not change it.
        """
        for root, row in zip(self.roots, self.rows, strict=True):
            facts: tuple[object, ...]
            if root == row:
                facts = (*self._pages[row][:-1], self._urls[row].reason)
            else:
                step = self.step(row)
                facts = (step.kind, step.status, self.next_of(row), self.rules_of(row))
            yield root, row, blake2b(msgspec.msgpack.encode(facts), digest_size=16).digest()

    def clusters(self) -> Iterator[tuple[int, list[int]]]:
        """Yield each representative's row, with the rows of the other members."""
        root, members = 0, list[int]()
        for one, row in zip(self.roots, self.rows, strict=True):
            if one == row:
                if root:
                    yield root, members
                root, members = row, []
            else:
                members.append(row)
        if root:
            yield root, members

    def row(self, root: int, members: list[int], left: list[str]) -> ClusterRow:
        """Return the export row of a cluster."""
        page = self._pages[root]
        return ClusterRow(
            action="upsert" if page.status == OK else "delete",
            id=self._keys[root].tobytes().hex(),
            url=self.shown(root),
            status=page.status,
            title=page.title,
            content_type=page.content_type,
            digest=self.digest_of(root),
            last_seen=utc(page.fetched_at),
            reason=self._urls[root].reason,
            members=[self._member(row) for row in members],
            left=left,
        )

    def _member(self, row: int) -> ClusterMember:
        step = self.step(row)
        return ClusterMember(
            url=self.shown(row),
            reason=step.kind,
            via=self.shown(self.next_of(row)),
            status=step.status if step.kind == "redirect" else None,
            rules=list(self.rules_of(row)),
            last_seen=utc(step.last_seen),
        )

    def shown(self, row: int) -> str:
        """Return a URL of the batch, without its password."""
        return redact(self._urls[row].url)

    def digest_of(self, row: int) -> str | None:
        """Return the digest of a page's body, in hexadecimal; None if it was not read."""
        digest = self._pages[row].digest
        return None if digest is None else digest.hex()

    def next_of(self, row: int) -> int:
        """Return the row that a member leads to directly."""
        return int(self._clustering.to[row])

    def step(self, row: int) -> MergingStep:
        """Return the step that a member takes towards its representative."""
        alias = int(self._clustering.alias[row])
        return (
            self._steps[alias]
            if alias
            else MergingStep(CONTENT, 0, 0.0, self._pages[row].fetched_at, 1)
        )

    def rules_of(self, row: int) -> tuple[str, ...]:
        """Return the ids of the rules that merge a member."""
        if self.step(row).kind != "rule":
            return ()
        if row not in self._rules:
            there = self._urls[self.next_of(row)].url
            self._rules[row] = self._name_rules(self._urls[row].url, there)
        return self._rules[row]


def tombstone(url: str, key: bytes, left: list[str], same_as: str | None) -> ClusterRow:
    """Return the row that says that a URL no longer represents a cluster."""
    now = None if same_as is None else redact(same_as)
    return ClusterRow("delete", key.hex(), redact(url), left=left, same_as=now)


def _urls(connection: Connection, rows: list[int]) -> Mapping[int, _KnownName]:
    question = f"""
        SELECT id, url, CASE WHEN state IN ({State.FAILED:d}, {State.HELD:d}) THEN reason END
        FROM urls WHERE id"""  # noqa: S608 - our own numbers
    return {row: _KnownName._make(name) for row, *name in rows_of(connection, question, rows)}


def _pages(connection: Connection, rows: list[int]) -> Mapping[int, _AnsweredPage]:
    question = f"""
        SELECT url_id, status, title, content_type, CASE WHEN links <> {UNREAD} THEN digest END,
            fetched_at
        FROM pages WHERE url_id"""  # noqa: S608 - our own number
    return {row: _AnsweredPage._make(page) for row, *page in rows_of(connection, question, rows)}


def _steps(connection: Connection, ids: list[int]) -> Mapping[int, MergingStep]:
    question = "SELECT id, kind, status, first_seen, last_seen, count FROM aliases WHERE id"
    return {alias: MergingStep._make(step) for alias, *step in rows_of(connection, question, ids)}
