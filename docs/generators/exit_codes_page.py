"""The page of exit codes and streams: made from the table of codes."""

from canonry.crawler.cli.exit_codes import EXIT_CODES

_HEAD = """# Exit codes and streams

What scripts may rely on. `make docs` makes this page from `crawler/cli/ending.py`. The promises
are those of [compatibility](compatibility.md#the-command).

| code | meaning |
|---|---|
"""
_REST = """
Code 1 also means that a part failed: an input file was truncated, or an argument is not a URL. A
file or folder that is not there is wrong usage. After code 3, the same command resumes a crawl
or a dedup; other commands start again. Code 1 is also the code when the reader of a
pipe has gone, as with `head`; there is no message then. If several commands are one pipe,
`set -o pipefail` makes the pipe fail when one of them does.

## Streams

Results go to standard output, messages to standard error. Messages that begin with `canonry: ` are
about something that went wrong; with `-q`, the others are not said, and no progress is shown. With
`-v`, the versions, the exit code and the times follow at the end, and an error is preceded by the
place where it arose.

Colours, lines broken between words and progress are for terminals: a pipe or a file gets none of
them. `NO_COLOR` turns colours off. Tables are made for the width of the terminal, and in a pipe for
80 columns, unless `COLUMNS` is set. URLs, names and numbers are always whole: a column for which
there is no room is on lines of its own, below its row or above it. Only an example of a dedup that
has more than 2,000 characters is cut. A command whose results go to a closed standard output
(`>&-`) fails with code 1.
"""


def exit_codes_page() -> str:
    """Return the page."""
    rows = "".join(f"| {code} | {meaning} |\n" for code, meaning in EXIT_CODES.items())
    return _HEAD + rows + _REST
