"""What the command prints for people: plurals, and merges by rule."""

import io

import pytest
from rich.console import Console

from canonry.crawler.cli.terminal import render, summaries

MERGED = [
    {"rules": "host-case + fragment", "links": 5, "link": "HTTP://A/#x", "same_as": "http://a/"},
    {"rules": "fragment", "links": 2, "link": "http://a/#y", "same_as": "http://a/"},
    {"rules": "tracking", "links": 1, "link": "http://a/?utm_source=z", "same_as": "http://a/"},
]


def test_a_link_counts_for_each_rule_that_it_needed() -> None:
    rows = summaries.merged_by_rule(MERGED)
    assert [(row["rules"], row["links"]) for row in rows] == [
        ("fragment", 7),
        ("host-case", 5),
        ("tracking", 1),
    ]
    assert rows[0]["link"] == "http://a/#y", "the example needed one rule only"


def test_long_urls_are_whole_in_tables(capsys: pytest.CaptureFixture[str]) -> None:
    summaries.merged([{**MERGED[1], "link": f"http://a/#\n{'y' * 100}"}])
    shown = capsys.readouterr().out.splitlines()
    assert shown[0] == "Merged, by rule"
    assert f"    http://a/# {'y' * 100}" in shown, "on a line of its own"


def test_only_a_terminal_cuts_a_link_of_a_megabyte() -> None:
    link = f"http://a/#{'y' * 1_000_000}"
    shown = {}
    for is_terminal in (True, False):
        file = io.StringIO()
        console = Console(file=file, force_terminal=is_terminal, width=80, soft_wrap=True)
        summaries.merged([{**MERGED[1], "link": link}], console)
        shown[is_terminal] = file.getvalue()
    assert link[:2_000] in shown[True]
    assert len(shown[True]) < 3_000
    assert link in shown[False]


def test_a_terminal_breaks_lines_between_words_and_never_a_url() -> None:
    url = f"http://a.example/{'x' * 60}"
    text = f"it was found on {url}, which is a page of another host, two weeks ago"
    shown = io.StringIO()
    console = Console(file=shown, force_terminal=True, width=40, color_system=None)
    lines = render.hanging(text, console, 4).split("\n    ")
    assert " ".join(lines) == text
    assert f"{url}," in lines
    assert max(len(line) for line in lines if url not in line) <= 36
    console = Console(file=shown, force_terminal=False, width=40)
    assert render.hanging(text, console, 4) == text, "a pipe gets one line"


def test_a_url_with_no_room_beside_its_name_is_below_it() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=40, color_system=None)
    fits, long = f"http://a.example/{'x' * 10}", f"http://a.example/{'x' * 12}"
    assert render.beside("found", fits, console, 11) == ("found      ", fits)
    assert render.beside("found", f"{long}, by a", console, 11) == ("found", f"\n    {long}, by a")
    assert render.beside("", long, console, 11) == ("", f"  {long}")
    pipe = Console(file=io.StringIO(), force_terminal=False, width=40)
    assert render.beside("found", long, pipe, 11) == ("found      ", long)
