"""The page about RFC 9309: made from its rows, which the tests run."""

from itertools import groupby

from generators.rfc9309 import FETCHED, ROWS


def robots_page() -> str:
    """Return the page about RFC 9309, section by section."""
    lines = [
        "# robots.txt",
        "",
        "How RFC 9309 is obeyed. `make docs` makes this page from",
        "[rfc9309.py](../generators/rfc9309.py), which has a file, a path and the answer for each",
        "sentence; the tests run all of them, with the product token `canonry`.",
        "",
        "## Fetching the file",
        "",
        *(f"- {row.says}{f' ({row.section})' if row.section else ''}" for row in FETCHED),
        "",
        "## Reading the file",
    ]
    for section, rows in groupby(
        sorted(ROWS, key=lambda row: row.section), lambda row: row.section
    ):
        lines += ["", f"**Section {section}**: {'; '.join(row.says for row in rows)}."]
    lines += [
        "",
        "A group for `canon` is not for `canonry` (section 2.2.1); many parsers take it so.",
    ]
    return "\n".join(lines) + "\n"
