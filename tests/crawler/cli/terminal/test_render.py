"""What the command prints for people: tables, long lines, and merges by rule."""

import io
from collections.abc import Sequence

import pytest
from rich.cells import cell_len
from rich.console import Console

from canonry.crawler.cli.terminal import render
from canonry.crawler.plurals import merged_by_rule

MERGED = [
    {"rules": "host-case + fragment", "links": 5, "link": "HTTP://A/#x", "same_as": "http://a/"},
    {"rules": "fragment", "links": 2, "link": "http://a/#y", "same_as": "http://a/"},
    {"rules": "tracking", "links": 1, "link": "http://a/?utm_source=z", "same_as": "http://a/"},
]


def test_a_link_counts_for_each_rule_that_it_needed() -> None:
    rows = merged_by_rule(MERGED)
    assert [(row["rules"], row["links"]) for row in rows] == [
        ("fragment", 7),
        ("host-case", 5),
        ("tracking", 1),
    ]
    assert rows[0]["link"] == "http://a/#y", "the example needed one rule only"


COLUMNS = ("rule", "links", "link", "it says")
SHORT = ("fragment", 1234, "http://a/#y", "")
LONG = ("host", 5, f"http://a/{'x' * 90}", "a sentence of words that are not too long")


def printed(rows: Sequence[Sequence[object]], width: int, *, is_terminal: bool = True) -> list[str]:
    """Return the lines of a table."""
    file = io.StringIO()
    console = Console(
        file=file, force_terminal=is_terminal, width=width, soft_wrap=True, color_system=None
    )
    render.table("A table", COLUMNS, rows, console)
    return file.getvalue().splitlines()


def test_a_table_that_fits_is_in_a_box_without_its_empty_columns() -> None:
    assert printed([SHORT, ("host", 5, "http://a/", "")], 40) == [
        "A table",
        "┌──────────┬───────┬─────────────┐",
        "│ rule     │ links │ link        │",
        "├──────────┼───────┼─────────────┤",
        "│ fragment │ 1,234 │ http://a/#y │",
        "│ host     │     5 │ http://a/   │",
        "└──────────┴───────┴─────────────┘",
        "",
    ]


def test_a_row_that_does_not_fit_is_a_block_and_in_a_pipe_it_is_a_line() -> None:
    assert printed([SHORT, LONG], 80)[1:] == [
        "  rule     fragment",
        "  links    1,234",
        "  link     http://a/#y",
        "",
        "  rule     host",
        "  links    5",
        "  link",
        f"    {LONG[2]}",
        f"  it says  {LONG[3]}",
        "",
    ]
    heading, *rows = printed([SHORT, LONG], 80, is_terminal=False)[1:-1]
    assert heading.split()[:3] == ["rule", "links", "link"]
    assert [row.split()[:3] for row in rows] == [
        ["fragment", "1,234", SHORT[2]],
        ["host", "5", LONG[2]],
    ]


@pytest.mark.parametrize("width", [20, 50, 80, 110, 145, 300])
def test_no_cell_is_cut_and_only_sentences_are_broken(width: int) -> None:
    rows = [SHORT, LONG, ("", 1_000_000, "http://例え.example/", "")]
    lines = printed(rows, width)
    words = {word for line in lines for word in line.split()}
    assert {"1,234", "1,000,000", LONG[2], rows[2][2], *LONG[3].split()} <= words
    assert all(cell_len(line) <= width for line in lines if "│" in line)
    assert any("│" in line for line in lines) == (width >= 145)


def test_foreign_texts_cannot_change_the_lines() -> None:
    assert "a  b⟨U+001B⟩[2K" in printed([("a\n\tb\x1b[2K", 1, "", "")], 80)[4]


def test_only_a_terminal_cuts_a_link_of_a_megabyte() -> None:
    link = f"http://a/#{'y' * 1_000_000}"
    shown = {}
    for is_terminal in (True, False):
        file = io.StringIO()
        console = Console(file=file, force_terminal=is_terminal, width=80, soft_wrap=True)
        render.table("", ("link", "links"), [(link, 2)], console)
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
