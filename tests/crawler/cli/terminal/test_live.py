"""The live display: it fits any terminal, agrees with itself, and leaves messages alone."""

import io
from itertools import pairwise
from typing import Any

import pytest
from rich.console import Console
from rich.live import Live

from canonry.crawler.cli.terminal import render
from canonry.crawler.cli.terminal.live import End, Ending, display
from canonry.crawler.observe.progress import Progress, Speed

PROGRESS = Progress(
    pages=1234,
    links=99_000,
    duplicates=90_000,
    hosts=7,
    queued=5_000_000,
    in_flight=4,
    retries=3,
    probes=449,
)
SPEED = Speed(3725.0, 12.345, 15.0)
STATUS: dict[str, Any] = {
    "urls": {"queued": 5_000_000, "fetched": 1234, "redirected": 7, "failed": 12, "held": 1045},
    "merged": [{"rules": "host-case + percent-unreserved + fragment", "links": 4321}]
    + [{"rules": f"rule {n}", "links": n} for n in range(1, 9)],
    "failed": {"timeout": 12, "robots-unreachable: connection refused": 3},
    "pages_by_status": {"200": 1000, "404": 234},
    "held": {"out-of-scope": 1040, "robots": 5},
}


def shown(
    status: dict[str, Any] = STATUS,
    progress: Progress = PROGRESS,
    speed: Speed = SPEED,
    width: int = 80,
    height: int = 24,
    end: End | None = None,
) -> list[str]:
    """Return the lines of the display on a terminal of some size."""
    console = Console(file=io.StringIO(), width=width, height=height, soft_wrap=True)
    console.print(display(progress, status, speed, end, width), soft_wrap=False)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    return [line.rstrip() for line in text.splitlines()]


def test_it_shows_the_run_the_queue_the_time_left_and_the_store() -> None:
    lines = [" ".join(line.split()) for line in shown()]
    assert lines[:5] == [
        "run 1,234 pages in 1:02:05, 12.3 a second, 0 B",
        "queue 5,000,000 URLs, at least 3 d 20 h left",
        "now 7 hosts, 4 requests in flight, 3 retried, 449 probes",
        "links 99,000 found, 90,000 of them known",
        "store 1,234 pages (234 errors), 7 redirected, 12 failed, 1,045 held",
    ]
    text = "\n".join(lines)
    for words in ("merged by 4,321 host-case", "errors 234 status 404, 12 timeout", "1,040 out-of"):
        assert words in text
    assert "status 200" not in text
    assert "8 more" in text, "what has no room is counted"


@pytest.mark.parametrize("width", [40, 60, 80, 100, 200])
@pytest.mark.parametrize("height", [24, 50])
def test_it_fits_the_terminal(width: int, height: int) -> None:
    lines = shown(width=width, height=height)
    assert max(map(len, lines)) <= width
    assert len(lines) <= height
    text = " ".join(" ".join(lines).split())
    for words in ("queue 5,000,000 URLs", "merged by", "errors", "held"):
        assert words in text


def test_no_number_contradicts_another() -> None:
    """What is held by admission is no outcome of this run, but it is held."""
    [store] = [line for line in shown(progress=Progress(held=0)) if line.startswith("store")]
    assert "1,045 held" in store
    assert " 0 held" not in "\n".join(shown(progress=Progress(held=0)))
    assert sum(STATUS["held"].values()) == STATUS["urls"]["held"]


def test_the_time_left_is_told_when_it_is_known() -> None:
    def queue(**about: Any) -> str:  # noqa: ANN401 - arguments of `shown`
        [line] = [line for line in shown(**about) if line.startswith("queue")]
        return " ".join(line.split())

    assert queue(speed=Speed(1.0, 0.0, 0.0)) == "queue 5,000,000 URLs"
    assert queue(end=End(0.5, 10.0)) == "queue 5,000,000 URLs", "the bar tells it"
    assert queue(progress=Progress(), status={}) == "queue 0 URLs"
    assert queue(progress=Progress(), speed=Speed(0.0, 0.0, 0.0)) == "queue 5,000,000 URLs"
    assert queue(progress=Progress(pages=5)) == "queue 0 URLs", "all is done"


def test_what_is_nothing_is_not_told() -> None:
    waiting = Progress(hosts=1, queued=4, pages=3)
    urls = {**dict.fromkeys(STATUS["urls"], 0), "fetched": 3}
    text = "\n".join(shown({"urls": urls, "pages_by_status": {"200": 3}}, waiting))
    assert "in flight" not in text, "between two requests to a host there is none, mostly"
    assert "failed" not in text
    assert " ".join(text.split()).endswith("store 3 pages")


def test_the_host_that_waits_longest_is_named_with_its_reason() -> None:
    waiting = {"host": "a.example", "until": "2026-11-30T04:08:45.963Z", "reason": "status 503"}
    [line] = [line for line in shown({"waiting": [waiting] * 3}) if line.startswith("waits")]
    assert " ".join(line.split()) == (
        "waits a.example until 2026-11-30 04:08Z (status 503), and 2 more"
    )


def test_the_end_is_told_where_it_can_be_estimated_and_does_not_jump() -> None:
    ending, told = Ending(), []
    assert ending.at(Progress(pages=50, queued=9_000), {}, Speed(20.0, 10.0, 10.0, 12.0)) is None
    for second in range(20, 200):
        done, rate = second * 10, (14.0, 6.0)[second // 5 % 2]  # what is measured swings
        queued = 2_000 - done + (60 if second == 100 else 0)  # a page with many links
        speed = Speed(float(second), rate, rate, 0.0)
        end = ending.at(Progress(pages=done, queued=queued), {}, speed)
        assert end is not None
        told.append(end)
    assert all(one.share <= other.share for one, other in pairwise(told)), "the bar goes forward"
    jumps = [abs(one.seconds - other.seconds) for one, other in pairwise(told)]
    assert max(jumps) < 12, "the measured time left swings by more than 100 seconds"
    [line] = [line for line in shown(end=End(0.62, 250.0)) if "62%" in line]
    assert "about 4 minutes left" in line
    assert "less than a minute left" in "\n".join(shown(end=End(0.99, 2.0)))


def test_a_queue_that_hardly_shrank_gives_no_estimate_that_outlasts_the_crawl() -> None:
    ending = Ending()
    for second in range(20, 100):
        plateau = Speed(float(second), 100.0, 100.0, 99.9)
        assert ending.at(Progress(pages=5_000, queued=50_000), {}, plateau) is None
    left = []
    for second in range(100, 200):
        queued = 50_000 - 500 * (second - 100)
        end = ending.at(Progress(pages=5_000, queued=queued), {}, Speed(second, 500.0, 500.0, 0.0))
        assert end is not None
        left.append(end.seconds)
    assert left[-1] < 60


def test_a_limit_of_pages_is_an_end() -> None:
    growing = Speed(60.0, 10.0, 10.0, 100.0)
    job = {"settings": {"settings": {"crawl": {"max_pages": 1_000}}}}
    status = {"urls": {"fetched": 600}, "job": job}
    end = Ending().at(Progress(pages=600, queued=90_000), status, growing)
    assert end is not None
    assert (end.share, round(end.seconds)) == (0.6, 40)


def test_messages_are_printed_above_a_live_display(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    console = Console(file=stream, force_terminal=True, width=60, height=20)
    with Live("the display", console=console, transient=True), render.displaying(console):
        stream.truncate(0)
        render.notify("a message")
        written = stream.getvalue()
    assert "a message\n" in written
    assert written.index("\x1b[2K") < written.index("a message") < written.index("the display")
    assert render.err() is not console
