"""Which samples are kept."""

from itertools import pairwise

from canonry.storage.samples import superfluous

YEAR = 365 * 86_400


def kept(times: list[float], now: float) -> list[float]:
    gone = set(superfluous(times, now))
    return [at for at in times if at not in gone]


def test_what_is_recent_stays_whole() -> None:
    times = [1_000.0 + n for n in range(100)]
    assert superfluous(times, times[-1]) == []
    assert superfluous([], 1.0) == []
    assert superfluous([5.0], 1e9) == []


def test_a_year_takes_as_little_room_as_a_day_needs() -> None:
    times: list[float] = []
    now = 0.0
    step = 600.0  # a crawl of a year, with a sample every ten minutes
    while now < YEAR:
        now += step
        times.append(now)
        if len(times) % 100 == 0:
            times = kept(times, now)
    assert len(times) < 1_500
    assert times[-1] == now
    assert times[0] < YEAR / 50


def test_old_samples_stay_apart_by_a_share_of_their_age() -> None:
    times = [float(n) for n in range(100_000)]
    left = kept(times, times[-1])
    assert (left[0], left[-1]) == (0.0, times[-1])
    assert len(left) < 1_500
    gaps = [(times[-1] - b, b - a) for a, b in pairwise(left)]
    assert all(gap <= max(1.0, age / 25) for age, gap in gaps[:-1])


def test_thinning_again_takes_nothing_away() -> None:
    times = [float(n) for n in range(10_000)]
    left = kept(times, times[-1])
    assert kept(left, times[-1]) == left
