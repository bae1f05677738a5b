"""Nights: a store that is crawled night after night, with kills, and an index that follows it."""

import asyncio
import json
import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest
from aiohttp import web
from click.testing import CliRunner
from simulation.machine import Machine
from simulation.world import Site

from canonry.crawler.cli.store.export_command import export
from canonry.crawler.run.wiring import CrawlResult, crawl
from canonry.crawler.settings import load
from canonry.storage import StoreError

_DAY = 86_400
_START = 1_800_000_000.0  # seconds since 1970, of night 0
JUMPS_AT = 12.5  # seconds of a night: a request then may be too soon by the clock of before
DELAY = 1.0


class Faults(NamedTuple):
    """What goes wrong in a night, beside the sites."""

    kills: int = 0
    cut_share: float = 0.0  # of connections
    workers: int = 1
    set_back: float = 0.0  # seconds that the clock is behind
    jump: float = 0.0  # seconds that the clock jumps ahead, or back, within the night
    room: int = 0  # pages of its file that a process may add to the database; 0: the disk has room


class Index:
    """A search index that follows a store by its cursor, as the documentation says."""

    def __init__(self, store: str, folder: Path) -> None:
        """Start with nothing."""
        self._store, self._folder = store, folder
        self._cursor = "start"
        self.documents: dict[str, dict[str, Any]] = {}  # by id

    def follow(self, now: float) -> None:
        """Apply what has changed since the last time; now is in seconds since 1970."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(time, "time", lambda: now)
            rows = self._export("--cursor", str(self._folder / "cursor"))
        for row in rows:
            self.documents.pop(row["id"], None)
            if row["action"] == "upsert":
                self.documents[row["id"]] = row

    def all(self) -> dict[str, dict[str, Any]]:
        """Return the documents of a new index."""
        return {row["id"]: row for row in self._export() if row["action"] == "upsert"}

    def _export(self, *words: str) -> list[dict[str, Any]]:
        file = self._folder / "rows.jsonl"
        given = ["clusters", "--store", self._store, "-o", str(file), "--quiet", *words]
        done = CliRunner().invoke(export, given)
        assert done.exit_code == 0, (done.output, done.exception)
        return [json.loads(line) for line in file.read_text().splitlines()]


class Night(NamedTuple):
    """How a night went."""

    number: int
    seconds: float  # of the world
    requests: int
    killed: int
    said: list[str]  # to people
    result: CrawlResult | None

    @property
    def ended_at(self) -> float:
        """Return when it ended, in seconds since 1970."""
        return _START + self.number * _DAY + self.seconds


def live(
    number: int,
    sites: Sequence[Site],
    store: str,
    seed: str,
    faults: Faults,
    settings: dict[str, Any] | None = None,
) -> Night:
    """Crawl for a night; what is killed is run again.

    Args:
        number: of the night.
        sites: to crawl, from their home pages.
        store: a SQLAlchemy URL.
        seed: of all that is chance.
        faults: of this night.
        settings: of the crawl.
    """
    machine = Machine(f"{seed}/{number}", _START + number * _DAY - faults.set_back)
    machine.cut_share = faults.cut_share
    machine.room = faults.room
    machine.call_later(JUMPS_AT, machine.jump, faults.jump)
    hosts = {site.host: site for site in sites}
    chance = random.Random(f"{seed}/{number}/chance")
    for site in sites:
        site.night = number
        site.requests.clear()

    async def answer(request: web.BaseRequest, origin: str) -> web.StreamResponse:
        host = urlsplit(origin).hostname or ""
        return await hosts[host].answer(origin + request.path_qs, machine.now, chance)

    machine.answer = answer
    machine.is_up = lambda host: host in hosts and not hosts[host].has("down")
    usual: dict[str, dict[str, Any]] = {
        "crawl": {"recrawl_after": "20h", "delay": DELAY, "contact": "mailto:a@b.example"},
        "fetch": {"allow_private": True, "retry_wait": 5.0, "timeout": 30.0},
    }
    for section, values in (settings or {}).items():
        usual[section] = usual.get(section, {}) | values
    given = load(None, usual)
    said: list[str] = []

    async def one() -> CrawlResult | None:
        seeds = [f"http://{site.host}/" for site in sites]
        try:
            return await crawl(seeds, store, given, notify=said.append)
        except StoreError as error:  # the disk is full, once
            said.append(str(error))
            machine.room = 0
            return None

    async def night() -> tuple[int, CrawlResult | None]:
        killed, result = 0, None
        while result is None:
            limits = [(0, 0)] * faults.workers
            if killed < faults.kills:
                limits[0] = chance.choice(
                    [(chance.randrange(20, 4_000), 0), (0, chance.randrange(1, 60))]
                )
            runs = [machine.run_process(one(), steps=steps, begins=n) for steps, n in limits]
            results = await asyncio.gather(*runs)
            killed += results.count(None)
            result = next((found for found in results if found is not None), None)
            if None in results and killed <= faults.kills + bool(faults.room):
                result = None  # what the killed one had leased is asked for again
        return killed, result

    with machine.running():
        killed, result = machine.run_until_complete(night())
    requests = sum(len(site.requests) for site in sites)
    return Night(number, machine.now, requests, killed, said, result)
