"""The page about RFC 9309: made from its rows, which the tests run."""

import re

from generators.rfc9309 import FETCHED, ROWS
from generators.table_cells import code


def robots_page() -> str:
    """Return the page about RFC 9309, row by row."""
    lines = [
        "# robots.txt",
        "",
        "RFC 9309 row by row; `make docs` makes this page from `docs/generators/rfc9309.py`. The",
        "tests run every row with the product token `canonry`.",
        "",
        "| section | rule | file | path | |",
        "|---|---|---|---|---|",
    ]
    for row in ROWS:
        file = "<br>".join(code(line) for line in re.split("[\r\n]+", row.file) if line.strip())
        answer = "allowed" if row.allowed else "not allowed"
        lines.append(f"| {row.section} | {row.says} | {file} | {code(row.path)} | {answer} |")
    lines += [
        "",
        "## Fetching the file",
        "",
        "| section | what is done |",
        "|---|---|",
        *(f"| {row.section} | {row.says} |" for row in FETCHED),
        "",
        "A group for `canon` is not for `canonry` (section 2.2.1); many parsers take it so.",
    ]
    return "\n".join(lines) + "\n"
