"""Simulated nights: the simulation is true to itself, and what never happens in any of them."""

from pathlib import Path

import pytest
from simulation.history import follow
from simulation.nights import Faults
from simulation.world import ALWAYS, Parameter, Span, quiet_site

pytestmark = pytest.mark.sqlite


def test_a_quiet_site_is_in_the_index_each_night(tmp_path: Path) -> None:
    site = quiet_site(20, edits={3: [2], 4: [2, 3]})
    site.pages |= {21: Span(2, 10_000), 22: Span(0, 1)}
    told: list[str] = []
    assert follow([site], 3, "quiet", tmp_path, tell=told.append) == []
    assert [line.split(",")[0] for line in told if line.startswith("night")] == [
        "night 1: 23 requests for 22 pages",
        "night 2: 24 requests for 22 pages",
        "night 3: 24 requests for 22 pages",
    ]


@pytest.mark.parametrize("workers", [1, 2])
def test_kills_and_cut_connections_lose_nothing(tmp_path: Path, workers: int) -> None:
    site = quiet_site(20, parameters=[Parameter("ref", ("a", "b"), ALWAYS, Span(1, 0))])
    faults = Faults(kills=4, cut_share=0.05, workers=workers)
    told: list[str] = []
    found = follow([site], 3, "kills", tmp_path, lambda _night: faults, told.append)
    assert [fault for fault in found if fault.kind != "impolite"] == []
    assert any("killed 0" not in line for line in told if line.startswith("night"))


@pytest.mark.parametrize("jump", [-7_200, 90_000])
def test_a_clock_that_jumps_loses_nothing(tmp_path: Path, jump: float) -> None:
    site = quiet_site(20, parameters=[Parameter("ref", ("a", "b"), ALWAYS, Span(1, 0))])
    assert follow([site], 3, "jumps", tmp_path, lambda night: Faults(jump=jump * (night < 3))) == []


@pytest.mark.parametrize("room", [3, 20])
def test_a_full_disk_loses_nothing(tmp_path: Path, room: int) -> None:
    told: list[str] = []
    site = quiet_site(20)
    assert follow([site], 2, "full", tmp_path, lambda _n: Faults(room=room), told.append) == []
    assert any("disk is full" in line for line in told)


def test_one_seed_gives_one_history(tmp_path: Path) -> None:
    histories = []
    for number in (1, 2):
        site = quiet_site(
            20, parameters=[Parameter("ref", ("a", "b"), ALWAYS, Span(1, 0))], tokens=True
        )
        folder = tmp_path / str(number)
        folder.mkdir()
        follow([site], 2, "same", folder, lambda _night: Faults(kills=2, workers=2))
        histories.append(site.requests)
    assert histories[0] == histories[1]
