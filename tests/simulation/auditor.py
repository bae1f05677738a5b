"""The auditor: compares an index with the truth, after each night."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from simulation.nights import DELAY, JUMPS_AT, Index, Night
from simulation.world import Resource, Site

_GRACE = 1  # nights that the index may be behind the world


class Fault(NamedTuple):
    """Something that must not be."""

    night: int
    kind: str  # lost, replaced, twice, merged, stale, differs, impolite
    host: str
    what: str

    def __str__(self) -> str:
        """Return it as a line."""
        return f"night {self.night}: {self.host}: {self.kind}: {self.what}"


class Auditor:
    """Knows the truth, and how long each thing has been wrong."""

    def __init__(self, sites: Sequence[Site]) -> None:
        """Start before the first night."""
        self._sites = {site.host: site for site in sites}
        self._seen: dict[str, set[Resource]] = {site.host: set() for site in sites}
        self._since: dict[tuple[str, str, str], int] = {}  # when something began to be wrong

    def check(self, night: Night, index: Index) -> list[Fault]:
        """Return what is wrong, and has been for longer than it may be."""
        documents: dict[str, list[dict[str, Any]]] = {host: [] for host in self._sites}
        for row in index.documents.values():
            documents[urlsplit(row["url"]).hostname or ""].append(row)
        wrong = [
            fault
            for host, site in self._sites.items()
            for fault in self._site(night, site, documents[host])
        ]
        if _comparable(index.documents) != _comparable(index.all()):
            wrong.append(Fault(night.number, "differs", "", "the index by cursor from the whole"))
        keys = {(fault.kind, fault.host, fault.what) for fault in wrong}
        self._since = {key: self._since.get(key, night.number) for key in keys}
        at_once = {"lost", "differs", "impolite", "replaced"}
        return [
            fault
            for fault in wrong
            if fault.kind in at_once
            or night.number - self._since[fault.kind, fault.host, fault.what] >= _GRACE
        ]

    def _site(self, night: Night, site: Site, rows: list[dict[str, Any]]) -> Iterator[Fault]:
        """Yield what is wrong with a site."""
        number, living = night.number, site.living()
        shown = [(row, self._shown(site, row)) for row in rows]
        held = Counter(found for _, found in shown if found is not None)
        if not site.is_out:
            self._seen[site.host] |= living  # a crawl could have seen them
        known = self._seen[site.host]
        known &= set() if site.seems_gone else living
        for resource in sorted(known - {*held}):
            yield Fault(number, "lost", site.host, _name(resource))
        out = {*held} if site.is_out else set()  # what cannot be seen may be gone
        instead = [row["url"] for row, found in shown if found is None]
        replaced = [url for url in instead if site.resolve(url) is not None]
        if not site.is_out or len(replaced) > 1:  # a wall keeps one URL, to show what there is
            yield from (Fault(number, "replaced", site.host, url) for url in replaced)
        for row, found in shown:
            is_gone = found is not None and found.number in site.pages and found not in living | out
            if is_gone and site.resolve(row["url"]) != found:  # else nothing links to it, only
                yield Fault(number, "stale", site.host, f"{row['url']}: {_name(found)}")
            for member in row["members"]:
                truth = site.resolve(member["url"])
                if truth not in {None, found} and not (site.is_out or site.has("swapped")):
                    what = f"{member['url']} ({member['reason']}) with {_name(found)}"
                    yield Fault(number, "merged", site.host, what)
        # No rule says which values of a parameter select the same, if others of it do not.
        names = Counter((site.selectors(row["url"]), f) for row, f in shown if f is not None)
        for (_, resource), count in names.items():
            if count > 1 and not site.is_out:
                yield Fault(number, "twice", site.host, _name(resource))
        times = sorted(time for time, url in site.requests if not url.endswith("/robots.txt"))
        between = [
            after - before for before, after in pairwise(times) if not before < JUMPS_AT < after
        ]
        closest = min(between, default=DELAY)
        if closest < DELAY - 0.05:  # what the network's latency may differ
            yield Fault(number, "impolite", site.host, f"two requests within {closest:.3f} s")

    @staticmethod
    def _shown(site: Site, row: dict[str, Any]) -> Resource | None:
        return site.shown.get(bytes.fromhex(row["digest"] or ""))


def _name(resource: Resource | None) -> str:
    return "nothing" if resource is None else f"page {resource.number}{resource.variant}"


def _comparable(documents: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return documents without the times when they were last seen, which are no change."""
    found = {}
    for key, row in documents.items():
        members = sorted((one["url"], one["reason"], one["via"]) for one in row["members"])
        kept = {name: row[name] for name in ("url", "status", "title", "digest", "reason")}
        found[key] = {**kept, "members": members}
    return found
