"""The judge of a crawl: reads the log of a simulated web, and says what was fetched in vain."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from support.simweb.web import Line, Spec, Web, sites
from support.simweb.websites import Site

WARM = 200  # requests to a host; later ones for what was fetched before could be avoided

_REDIRECTS = frozenset({301, 302, 308})


@dataclass
class Tally:
    """What a crawler did on one site; numbers of requests, if not said otherwise."""

    site: Site
    fetches: int = 0
    again: int = 0  # of resources that were fetched before
    again_late: int = 0  # of these, after the first `WARM`
    missing: int = 0  # for what is not there
    shown: int = 0  # URLs that were linked in answers
    fetched_names: set[str] = field(default_factory=set)  # URLs of these
    fetched: set[str] = field(default_factory=set)  # resources, by any answer
    seen: set[str] = field(default_factory=set)  # those whose page was the answer

    def add(self, line: Line) -> None:
        """Count a line of the log.

        The first answer at a URL that no page links could not be avoided, though a redirect to it
        was requested before: only that redirect has named it.
        """
        self.fetches += 1
        self.shown += line.shown
        if line.listed:
            self.fetched_names.add(line.url)
        is_page = line.status not in _REDIRECTS or line.resource == line.url
        needed = is_page and not line.listed and line.resource not in self.seen
        if line.resource == "-":
            self.missing += 1
        elif line.resource in self.fetched and not needed:
            self.again += 1
            self.again_late += self.fetches > WARM
        self.fetched.add(line.resource)
        if is_page:
            self.seen.add(line.resource)

    @property
    def lost(self) -> list[str]:
        """Return the resources that are linked, and whose page was never fetched."""
        return sorted(self.site.must - self.seen)

    @property
    def suppressed(self) -> int:
        """Return how many URLs were linked, and not fetched, as their resource was."""
        home = self.site.home in self.fetched_names
        return max(0, self.shown + home - len(self.fetched_names) - len(self.lost))


class Figures(NamedTuple):
    """The figures of a row of the judge's table."""

    sites: int
    resources: int
    fetches: int
    avoidable: int  # fetches of what was fetched before
    late: int  # of these, after a host's first `WARM` requests
    suppressed: int  # URLs that were linked and not fetched, on hosts with more requests than these
    lost: int

    @property
    def avoided(self) -> float | None:
        """Return the share of what could be avoided after a host's first requests."""
        possible = self.suppressed + self.late
        return self.suppressed / possible if possible else None

    @property
    def wasted(self) -> float:
        """Return the avoidable fetches for each resource."""
        return self.avoidable / max(1, self.resources)


def judge(given: Iterable[Site], lines: Iterable[Line]) -> list[Tally]:
    """Return what a crawler did on each site, by the log alone."""
    tallies = {site.home: Tally(site) for site in given}
    by_host = {host: tally for tally in tallies.values() for host in tally.site.hosts}
    for line in lines:
        tally = by_host.get(line.host)
        if tally is not None and line.resource != "robots":
            tally.add(line)
    return list(tallies.values())


def figures(tallies: Iterable[Tally]) -> Figures:
    """Return the sums of some sites."""
    rows = [
        (
            1,
            len(t.site.must),
            t.fetches,
            t.again,
            t.again_late,
            t.suppressed if t.fetches > WARM else 0,
            len(t.lost),
        )
        for t in tallies
    ]
    return (
        Figures(*(sum(column) for column in zip(*rows, strict=True))) if rows else Figures(*[0] * 7)
    )


def by_kind(tallies: Iterable[Tally]) -> dict[tuple[str, bool], list[Tally]]:
    """Return tallies by the kind of their site, and whether it is dynamic."""
    found: dict[tuple[str, bool], list[Tally]] = defaultdict(list)
    for tally in tallies:
        found[tally.site.kind, tally.site.frame.dynamic].append(tally)
    return found


def table(tallies: list[Tally]) -> Iterator[str]:
    """Yield the lines of the judge's table."""
    head = ("pages", "fetches", "avoidable", "avoided", "wasted a page", "lost")
    yield f"{'':28}{'':9}" + "".join(f"{word:>14}" for word in head)
    rows = by_kind(tallies)
    for (kind, dynamic), found in rows.items():
        yield _row(kind, "dynamic" if dynamic else "static", figures(found))
    for honest in (True, False):
        for dynamic in (False, True):
            found = [
                t for t in tallies if t.site.honest is honest and t.site.frame.dynamic is dynamic
            ]
            name = "all honest" if honest else "all adversaries"
            if found:
                yield _row(name, "dynamic" if dynamic else "static", figures(found))


def _row(kind: str, how: str, sums: Figures) -> str:
    cells = (
        f"{sums.resources:,}",
        f"{sums.fetches:,}",
        f"{sums.avoidable:,}",
        "-" if sums.avoided is None else f"{100 * sums.avoided:.1f} %",
        f"{sums.wasted:.2f}",
        f"{sums.lost:,}",
    )
    return f"{kind:28}{how:9}" + "".join(f"{cell:>14}" for cell in cells)


def write_head(spec: Spec) -> str:
    """Return the first line of a log: what makes the web."""
    return "#" + "\t".join(f"{name}={int(value)}" for name, value in spec._asdict().items()) + "\n"


def write(line: Line) -> str:
    """Return a line of a log as text."""
    return "\t".join((f"{line.time:.6f}", *map(str, line[1:]))) + "\n"


def read(lines: Iterable[str]) -> tuple[Spec, Iterator[Line]]:
    """Read a log; return what makes its web, and its lines.

    Raises:
        ValueError: if it is no such log; for a broken line, when that is read.
    """
    given = iter(lines)
    head = next(given, "")
    pairs = dict(pair.split("=") for pair in head[1:].split() if pair.count("=") == 1)
    known = "seed" in pairs and pairs.keys() <= set(Spec._fields)
    if not (head.startswith("#") and known and all(map(str.isdecimal, pairs.values()))):
        raise ValueError("the first line of a log begins with '#' and says what makes its web")
    spec = Spec(**{name: int(value) for name, value in pairs.items()})
    return spec, (_line(number, text) for number, text in enumerate(given, 2))


def _line(number: int, text: str) -> Line:
    try:
        at, scheme, host, target, status, resource, listed, shown = text.rstrip("\n").split("\t")
        return Line(float(at), scheme, host, target, int(status), resource, int(listed), int(shown))
    except ValueError:
        wanted = ", ".join(Line._fields)
        raise ValueError(f"line {number} is no request: {wanted}, with tabs between") from None


def judge_log(lines: Iterable[str]) -> list[Tally]:
    """Judge a log whose first line says what makes its web."""
    spec, requests = read(lines)
    return judge(list(sites(spec)), requests)


def replayed(given: list[Site], urls: Iterable[str]) -> list[Tally]:
    """Judge a crawler that requests these URLs, without a server."""
    lines: list[Line] = []
    web = Web(given, lines.append)
    for url in urls:
        web.answer_url(url)
    return judge(given, lines)
