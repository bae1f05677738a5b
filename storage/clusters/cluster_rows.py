"""Cluster rows: the exported data of clusters and their members, read in batches."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from hashlib import blake2b
from types import MappingProxyType
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection

from canonry.canon import redact
from canonry.storage.clusters.clustering import Clustering, Ids
from canonry.storage.clusters.equivalences import CONTENT
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
    status: int | None  # HTTP status of a redirect
    rules: list[str]  # the ids of the learned rules, if the reason is a rule
    last_seen: datetime | None


class PageRelations(NamedTuple):
    """What a page is to other pages, which are not the same."""

    release_of: str | None = None  # the preferred release of it
    releases: Sequence[str] = ()  # of the preferred one: the others, the newest first
    translation_of: str | None = None
    view_of: str | None = None  # the page of which it is a view, as for phones or printers
    moved_from: str | None = None  # the URL that had this page, and has none now
    relation_evidence: str | None = None


class ClusterRow(NamedTuple):
    """A resource, or a tombstone for one."""

    action: str  # upsert or delete
    id: str  # the representative's key, in hexadecimal
    url: str  # the representative
    status: int | None = None  # HTTP status of its page
    title: str | None = None
    content_type: str | None = None
    digest: str | None = None  # BLAKE2b-128 of the decoded body
    last_seen: datetime | None = None  # when it was last fetched
    reason: str | None = None  # why its page could not be fetched again: it is held, or failed
    members: Sequence[ClusterMember] = ()
    left: Sequence[str] = ()  # URLs that are no longer members
    same_as: str | None = None  # of a tombstone: the representative that its URL has now
    use_reserved: str | None = None  # the uses that its site reserves: search, ai-train ...
    release_of: str | None = None  # with --prefer: the preferred release of its page
    releases: Sequence[str] = ()  # of the preferred one: the others, the newest first
    translation_of: str | None = None
    view_of: str | None = None  # the page of which it is a view, as for phones or printers
    moved_from: str | None = None  # the URL that had this page, and has none now
    relation_evidence: str | None = None


class _KnownName(NamedTuple):
    url: str
    reason: str | None


class _AnsweredPage(NamedTuple):
    status: int
    title: str | None
    content_type: str | None
    digest: bytes | None
    use_reserved: str | None
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
        url_ids: Ids,
        keys: npt.NDArray[np.void],
        name_rules: NameRules,
        relations: Mapping[int, PageRelations] = MappingProxyType({}),
    ) -> None:
        """Read the data of some clusters.

        Args:
            connection: to the store.
            clustering: of the store.
            url_ids: of whole clusters, in the order of `Clustering.url_ids`.
            keys: of all URLs, indexed by the URLs' ids.
            name_rules: returns the ids of the learned rules that merge two URLs.
            relations: what pages are to others, by the ids of their URLs.
        """
        self._relations = relations
        self._clustering = clustering
        self._keys = keys
        self._name_rules = name_rules
        wanted = url_ids.tolist()
        self.roots: list[int] = clustering.root[url_ids].tolist()
        self.url_ids: list[int] = wanted
        self._urls = _urls(connection, wanted)
        self._pages = _pages(connection, wanted)
        aliases = clustering.alias[url_ids]
        self._steps = _steps(connection, aliases[aliases > 0].tolist())
        self._rules: dict[int, tuple[str, ...]] = {}

    def said(self) -> Iterator[tuple[int, int, bytes]]:
        """Yield each pair of a representative and a member, with a hash of its exported data.

        The hash leaves out times: seeing a page again does not change it.
        """
        for root, url_id in zip(self.roots, self.url_ids, strict=True):
            facts: tuple[object, ...]
            if root == url_id:
                *shown, uses, _fetched_at = self._pages[url_id]
                facts = (*shown, self._urls[url_id].reason, *([uses] if uses else []))
                if (related := self._relations.get(url_id)) is not None:
                    facts += related[:-1]  # its evidence may differ in each crawl
            else:
                step = self.step(url_id)
                facts = (step.kind, step.status, self.next_of(url_id), self.rules_of(url_id))
            yield root, url_id, blake2b(msgspec.msgpack.encode(facts), digest_size=16).digest()

    def clusters(self) -> Iterator[tuple[int, list[int]]]:
        """Yield each representative's id, with the ids of the other members."""
        root, members = 0, list[int]()
        for one, url_id in zip(self.roots, self.url_ids, strict=True):
            if one == url_id:
                if root:
                    yield root, members
                root, members = url_id, []
            else:
                members.append(url_id)
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
            members=[self._member(url_id) for url_id in members],
            left=left,
            use_reserved=page.use_reserved,
            **self._relations.get(root, PageRelations())._asdict(),
        )

    def _member(self, url_id: int) -> ClusterMember:
        step = self.step(url_id)
        return ClusterMember(
            url=self.shown(url_id),
            reason=step.kind,
            via=self.shown(self.next_of(url_id)),
            status=step.status if step.kind == "redirect" else None,
            rules=list(self.rules_of(url_id)),
            last_seen=utc(step.last_seen),
        )

    def shown(self, url_id: int) -> str:
        """Return a URL of the batch, without its password."""
        return redact(self._urls[url_id].url)

    def digest_of(self, url_id: int) -> str | None:
        """Return the digest of a page's body, in hexadecimal; None if it was not read."""
        digest = self._pages[url_id].digest
        return None if digest is None else digest.hex()

    def next_of(self, url_id: int) -> int:
        """Return the id of the URL that a member leads to directly."""
        return int(self._clustering.to[url_id])

    def step(self, url_id: int) -> MergingStep:
        """Return the step that a member takes towards its representative."""
        alias = int(self._clustering.alias[url_id])
        return (
            self._steps[alias]
            if alias
            else MergingStep(CONTENT, 0, 0.0, self._pages[url_id].fetched_at, 1)
        )

    def rules_of(self, url_id: int) -> tuple[str, ...]:
        """Return the ids of the rules that merge a member."""
        if self.step(url_id).kind != "rule":
            return ()
        if url_id not in self._rules:
            there = self._urls[self.next_of(url_id)].url
            self._rules[url_id] = self._name_rules(self._urls[url_id].url, there)
        return self._rules[url_id]


def tombstone(url: str, key: bytes, left: list[str], same_as: str | None) -> ClusterRow:
    """Return the row that says that a URL no longer represents a cluster."""
    now = None if same_as is None else redact(same_as)
    return ClusterRow("delete", key.hex(), redact(url), left=left, same_as=now)


def _urls(connection: Connection, url_ids: list[int]) -> Mapping[int, _KnownName]:
    question = f"""
        SELECT id, url, CASE WHEN state IN ({State.FAILED:d}, {State.HELD:d}) THEN reason END
        FROM urls WHERE id"""  # noqa: S608 - our own numbers
    return {
        url_id: _KnownName._make(name) for url_id, *name in rows_of(connection, question, url_ids)
    }


def _pages(connection: Connection, url_ids: list[int]) -> Mapping[int, _AnsweredPage]:
    question = f"""
        SELECT url_id, status, title, content_type, CASE WHEN links <> {UNREAD} THEN digest END,
            use_reserved, fetched_at
        FROM pages WHERE url_id"""  # noqa: S608 - our own number
    return {
        url_id: _AnsweredPage._make(page)
        for url_id, *page in rows_of(connection, question, url_ids)
    }


def _steps(connection: Connection, ids: list[int]) -> Mapping[int, MergingStep]:
    question = "SELECT id, kind, status, first_seen, last_seen, count FROM aliases WHERE id"
    return {alias: MergingStep._make(step) for alias, *step in rows_of(connection, question, ids)}
