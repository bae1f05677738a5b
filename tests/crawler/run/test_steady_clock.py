"""The clock of a crawl: it is never set back."""

import time

import pytest

from canonry.crawler.run.process import SteadyClock


def test_it_follows_the_system_but_not_where_that_is_set_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wall, elapsed = 1_000.0, 50.0
    monkeypatch.setattr(time, "time", lambda: wall)
    monkeypatch.setattr(time, "monotonic", lambda: elapsed)
    clock = SteadyClock()
    seen = []
    changes = (1_001.0, 1.0), (1_001.5, 1.0), (501.0, 2.0), (503.0, 2.0), (2_000.0, 1.0), (1.0, 0.5)
    for set_to, passed in changes:
        wall, elapsed = set_to, elapsed + passed
        seen.append(clock())
    assert seen == [1_001.0, 1_001.5, 1_003.5, 1_005.5, 2_000.0, 2_000.5]
