"""The live display: it fits any terminal, agrees with itself, and leaves messages alone."""

import io
from typing import Any

import pytest
from rich.console import Console
from rich.live import Live

from canonry.crawler.cli.terminal import render
from canonry.crawler.cli.terminal.live import LiveDisplay
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
    max_pages: int = 0,
) -> list[str]:
    """Return the lines of the display on a terminal of some size."""
    console = Console(file=io.StringIO(), width=width, height=height, soft_wrap=True)
    console.print(LiveDisplay(progress, status, speed, max_pages), soft_wrap=False)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    return [line.rstrip() for line in text.splitlines()]


def test_it_shows_the_run_the_queue_the_time_left_and_the_store() -> None:
    lines = [" ".join(line.split()) for line in shown()]
    assert lines[:5] == [
        "run 1,234 pages in 1:02:05, 12.3 a second, 0 B",
        "queue 5,000,000 URLs, at least 3 d 20 h left",
        "now 4 requests in flight, 7 hosts, 3 retried, 449 probes",
        "links 99,000 found, 90,000 of them known",
        "store 1,234 fetched, 7 redirected, 12 failed, 1,045 held",
    ]
    text = "\n".join(lines)
    for words in ("merged by", "errors", "234 status 404", "12 timeout", "1,040 out-of-scope"):
        assert words in text
    assert "status 200" not in text
    assert "4 others" in text, "what has no room is summed up"


@pytest.mark.parametrize("width", [30, 40, 60, 80, 100, 200])
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
    assert queue(max_pages=1384) == "queue 5,000,000 URLs, at least 0:00:10 left"
    assert queue(progress=Progress(), status={}) == "queue 0 URLs"
    assert queue(progress=Progress(), speed=Speed(0.0, 0.0, 0.0)) == "queue 5,000,000 URLs"
    assert queue(progress=Progress(pages=5)) == "queue 0 URLs", "all is done"


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
