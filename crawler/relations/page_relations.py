"""The relations of all pages of a store, for the rows of its clusters."""

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
from sqlalchemy import Connection

from canonry.canon import redact
from canonry.crawler.relations.compared_pages import living, went
from canonry.crawler.relations.directories import Related, RelatedSet, related_sets
from canonry.crawler.relations.moved_pages import MovedPages, moved_pages
from canonry.crawler.relations.version_order import place_of, preferred
from canonry.storage.clusters.cluster_rows import PageRelations
from canonry.storage.clusters.clustering import Clustering, cluster

PreferredRelease = Literal["newest", "oldest", "stable"]
_NONE = PageRelations()


def page_relations(connection: Connection, prefer: PreferredRelease) -> Mapping[int, PageRelations]:
    """Return what pages are to each other, by the ids of their URLs; unrelated pages have no entry.

    Equal pages are one: the representative of their cluster, which may be in any directory.

    Args:
        connection: to a store.
        prefer: the release that represents the others.
    """
    clusters = cluster(connection)
    pages = living(connection, np.flatnonzero(clusters.clustered).tolist())
    urls = {page.url_id: redact(page.url) for page in pages}
    found: dict[int, PageRelations] = {}
    for related in related_sets(pages):
        for family in related.families:
            roots = {one.name: int(clusters.root[one.page.url_id]) for one in family}
            if len({*roots.values()}) > 1:
                _relate(found, related, family, roots, urls, prefer)
    moves, _redirected = moves_in(connection, clusters)
    for one in moves.moved:
        relations = found.get(one.to.url_id, _NONE)
        doubt = f", but {one.doubt}" if one.doubt else ""
        evidence = _with(relations, f"moved: by {one.by.value}{doubt}")
        found[one.to.url_id] = evidence._replace(moved_from=redact(one.page.url))
    return found


def moves_in(connection: Connection, clusters: Clustering | None = None) -> tuple[MovedPages, int]:
    """Return where the pages went that recrawls have lost, and how many others redirect now.

    Args:
        connection: to a store.
        clusters: of the store; None computes them.
    """
    lost, redirected = went(connection)
    if not lost:
        return MovedPages((), ()), redirected
    found = cluster(connection) if clusters is None else clusters
    roots = np.flatnonzero(found.clustered & (found.root == np.arange(len(found.root))))
    return moved_pages(lost, living(connection, roots.tolist())), redirected


def _with(relations: PageRelations, evidence: str) -> PageRelations:
    """Add evidence to what a page is to others."""
    before = relations.relation_evidence
    return relations._replace(relation_evidence=f"{before}; {evidence}" if before else evidence)


def _relate(
    found: dict[int, PageRelations],
    related: RelatedSet,
    family: Sequence[Related],
    roots: Mapping[str, int],
    urls: Mapping[int, str],
    prefer: PreferredRelease,
) -> None:
    """Add what the pages of a family are to each other, unless a larger set has said it.

    Args:
        found: relations so far.
        related: the set of directories.
        family: the pages.
        roots: the representative of each page, by the name of its directory.
        urls: those of representatives.
        prefer: the release that represents the others.
    """
    field = f"{related.kind}_of"
    main = roots[_main_of(related, roots, prefer)]
    order = sorted(roots, key=lambda name: place_of(name, roots), reverse=True)
    others = [root for root in dict.fromkeys(roots[name] for name in order) if root != main]
    if main not in urls or any(_is_said(found, root, field) for root in (main, *others)):
        return
    evidence = {roots[one.name]: one.evidence for one in family if one.evidence}
    for root in (main, *others):
        said = evidence.get(root) or next(iter(evidence.values()))
        relations = _with(found.get(root, _NONE), f"{related.kind}: {said}")
        if root != main:
            relations = relations._replace(**{field: urls[main]})
        elif related.kind == "release":
            releases = [urls[other] for other in others if other in urls]
            relations = relations._replace(releases=releases)
        found[root] = relations


def _is_said(found: Mapping[int, PageRelations], root: int, field: str) -> bool:
    relations = found.get(root, _NONE)
    return bool(getattr(relations, field) or (field == "release_of" and relations.releases))


def _main_of(related: RelatedSet, names: Mapping[str, int], prefer: PreferredRelease) -> str:
    """Return the name of the directory whose page represents the others."""
    if related.kind == "release":
        canonical = related.canonical if related.canonical in names else None
        return preferred(names, prefer, canonical)
    return "" if "" in names else max(names, key=lambda name: (related.sizes[name], name))
