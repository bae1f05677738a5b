"""How tables are laid out: nothing is broken or cut, whatever the width."""

import pytest
from rich.cells import cell_len

from canonry.crawler.cli.terminal.table_layout import lay_out

COLUMNS = ("rule", "links", "link", "is the same as")
SHORT = ("fragment", 1234, "http://a/#y", "http://a/")
LONG = ("tracking", 5, f"http://a/{'x' * 90}?utm_source=z", f"http://a/{'x' * 90}")


def test_a_table_that_fits_has_a_line_for_each_row() -> None:
    heading, body = lay_out(COLUMNS, [SHORT, ("tracking", 5, "http://b/", "")], 80)
    assert heading == ["rule      links  link         is the same as"]
    assert body == [
        "fragment  1,234  http://a/#y  http://a/",
        "tracking      5  http://b/",
    ]


def test_a_column_without_texts_is_left_out() -> None:
    rows = [("a.example", 0, "", "every 1 s"), ("", 2, "", "")]
    heading, body = lay_out(("host", "queued", "waits until", "requests"), rows, 80)
    assert heading == ["host       queued  requests"]
    assert body == ["a.example       0  every 1 s", "                2"]


def test_urls_that_do_not_fit_are_on_lines_of_their_own() -> None:
    heading, body = lay_out(COLUMNS, [SHORT, LONG], 80)
    assert heading == ["rule      links"]
    assert body == [
        "fragment  1,234",
        "  link            http://a/#y",
        "  is the same as  http://a/",
        "tracking      5",
        "  link",
        f"    {LONG[2]}",
        "  is the same as",
        f"    {LONG[3]}",
    ]


def test_a_long_first_column_is_above_the_others() -> None:
    pattern = f"a.example/{'x' * 80}/*"
    heading, body = lay_out(
        ("pattern", "queued", "state"), [(pattern, 12, "counted"), ("b.example/", 3, "spent")], 80
    )
    assert heading == ["pattern", "  queued  state"]
    assert body == [pattern, "      12  counted", "b.example/", "       3  spent"]


def test_words_of_a_name_stand_one_above_the_other_where_there_is_no_room() -> None:
    wide = lay_out(("host", "latest pages"), [("a.example", 7)], 23)
    assert wide.heading == ["host       latest pages"]
    narrow = lay_out(("host", "latest pages"), [("a.example", 7)], 22)
    assert narrow.heading == ["host       latest", "            pages"]
    assert narrow.body == ["a.example       7"]


@pytest.mark.parametrize("width", [1, 20, 50, 80, 300])
def test_cells_are_whole_and_no_line_ends_with_a_blank(width: int) -> None:
    rows = [SHORT, LONG, ("", 1_000_000, "", "http://例え.example/")]
    heading, body = lay_out(COLUMNS, rows, width)
    lines = [*heading, *body]
    assert all(line == line.rstrip() for line in lines)
    words = {word for line in lines for word in line.split()}
    assert {"1,234", "1,000,000", LONG[2], LONG[3], "http://例え.example/", "fragment"} <= words
    alone = {line for line in lines if len(line.split()) < 2}
    assert width < 20 or all(cell_len(line) <= width for line in lines if line not in alone)


def test_foreign_texts_cannot_change_the_lines() -> None:
    [line] = lay_out(("link", "links"), [("a\n\tb\x1b[2K", 1)], 80).body
    assert line == "a  b⟨U+001B⟩[2K      1"
