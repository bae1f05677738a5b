"""Histories: sites, and what happens to them and to their crawls, all from one seed."""

import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from simulation.auditor import Auditor, Fault
from simulation.nights import Faults, Index, live
from simulation.world import ACCIDENTS, Parameter, Site, Span
from support.databases import dropping, url_of

_EVER = 10_000
_MEMORY = Path("/dev/shm")  # noqa: S108 - a folder of its own is made in it


def site_of(seed: str, nights: int, pages: int) -> Site:
    """Make a site, and all that will happen to it."""
    chance = random.Random(f"{seed}/site")
    site = Site(f"s{seed.replace('/', '-')}.example", seed)

    def begins() -> int:
        return chance.randrange(2, max(3, nights))

    for number in range(1, pages + 1):
        born = 0 if chance.random() < 0.9 else begins()
        dies = _EVER if chance.random() < 0.85 else born + chance.randrange(1, nights + 2)
        site.pages[number] = Span(born, dies)
        edited = chance.choice([0, 0, 0, 1, 3])
        site.edits[number] = sorted(chance.randrange(1, nights + 1) for _ in range(edited))
    for name, values in (("lang", ("en", "de")), ("ref", ("a", "b", "c")), ("sid", ())):
        if chance.random() < 0.35:
            start = 0 if chance.random() < 0.7 else begins()
            ends = _EVER if chance.random() < 0.6 else start + chance.randrange(1, 30)
            selects = Span(1, 0)
            if values and chance.random() < 0.4:
                since = 0 if chance.random() < 0.4 else begins()
                selects = Span(
                    since, _EVER if chance.random() < 0.6 else since + chance.randrange(3, 60)
                )
            site.parameters.append(Parameter(name, values, Span(start, ends), selects))
    if chance.random() < 0.25:
        site.styles.append((begins(), "docs"))
        site.kept = chance.choice([0, 2, 30, 300])
    if chance.random() < 0.3:
        site.slashes.append((0, True))
    if chance.random() < 0.2:
        site.slashes.append((begins(), chance.random() < 0.5))
    if chance.random() < 0.2:
        site.secure = begins()
    for _ in range(chance.randrange(1 + nights // 10 + (nights > 2))):
        first = begins()
        site.accidents.append(
            (chance.choice(ACCIDENTS), Span(first, first + chance.choice([0, 0, 0, 1, 4])))
        )
    if chance.random() < 0.15:
        first = begins()
        site.calendar = Span(first, first + 6)
    site.tokens = chance.random() < 0.3
    if chance.random() < 0.15:
        site.mirror = Span(
            0 if chance.random() < 0.5 else begins(), nights + chance.randrange(-2, 3)
        )
    for number in range(1, pages, 8) if chance.random() < 0.2 else ():
        since = 0 if chance.random() < 0.5 else begins()  # else they are split then
        site.merged[number] = Span(since, begins() - 1 if not since else _EVER), number + 1
    return site


def faults_of(seed: str, night: int) -> Faults:
    """Return what goes wrong in a night beside the sites."""
    chance = random.Random(f"{seed}/{night}/faults")
    return Faults(
        kills=chance.choice([0, 0, 0, 1, 3]),
        cut_share=chance.choice([0, 0, 0, 0.03]),
        workers=chance.choice([1, 1, 2]),
        set_back=chance.choice([0] * 9 + [7_200]),
        jump=chance.choice([0] * 17 + [-3_600, 600, 7_200]),
        room=chance.choice([0] * 14 + [3, 30]),
    )


def play(
    seed: str,
    nights: int,
    pages: int,
    sites: int,
    tell: Callable[[str], object] | None = None,
) -> list[Fault]:
    """Play a history, and return all that was wrong."""
    made = [site_of(f"{seed}/{number}", nights, pages) for number in range(sites)]
    place = _MEMORY if _MEMORY.is_dir() else None
    with tempfile.TemporaryDirectory(dir=place) as folder, dropping():
        return follow(made, nights, seed, Path(folder), lambda n: faults_of(seed, n), tell)


def follow(
    sites: list[Site],
    nights: int,
    seed: str,
    folder: Path,
    faults: Callable[[int], Faults] = lambda _night: Faults(),
    tell: Callable[[str], object] | None = None,
    settings: dict[str, Any] | None = None,
) -> list[Fault]:
    """Crawl some sites for some nights, and return what was wrong."""
    store = url_of(folder)
    index, auditor, found = Index(store, folder), Auditor(sites), []
    if tell:
        for site in sites:
            tell(f"{site.host}: {len(site.pages)} pages, {site.parameters}, {site.accidents}")
            tell(f"    {site.styles}, {site.slashes}, https from {site.secure}, {site.calendar}")
    for number in range(1, nights + 1):
        night = live(number, sites, store, seed, faults(number), settings)
        index.follow(night.ended_at)
        wrong = auditor.check(night, index)
        found += wrong
        if tell:
            living = sum(len(site.living()) for site in sites)
            tell(
                f"night {number}: {night.requests} requests for {living} pages, "
                f"{night.seconds:,.0f} s, killed {night.killed}, {len(wrong)} faults"
            )
            for line in night.said:
                tell(f"    {line}")
            for fault in wrong[:5]:
                tell(f"  {fault}")
    return found
