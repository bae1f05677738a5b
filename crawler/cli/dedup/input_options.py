"""The options that say what the files of a command hold."""

from collections.abc import Callable
from typing import Any

import click

from canonry.crawler.cli.described import once
from canonry.crawler.cli.terminal.render import notify
from canonry.crawler.files.formats import INPUT_FORMATS, InputFormat
from canonry.crawler.plurals import counted

COLUMN_ADVICE = "if they are rows of a table, --column NAME|N says where its URLs are"
_TAB = "\t"
_OPTIONS = (
    click.option(
        "--input",
        "input_format",
        type=click.Choice(["auto", *INPUT_FORMATS]),
        default="auto",
        show_default=True,
        help="Input format; auto recognizes each file by its content. log is an access log.",
    ),
    click.option(
        "--base",
        metavar="URL",
        help="The site that wrote the log, such as https://example.com, with --input log.",
    ),
    click.option(
        "--column",
        metavar="NAME|N",
        multiple=True,
        callback=once,
        help="The column with the URLs, in CSV, TSV, JSONL or Parquet.  [default: by its "
        "values and its name]",
    ),
    click.option(
        "--delimiter",
        metavar="C",
        hidden=True,  # a message names it where it is needed
        help="What separates the columns of CSV: a character, or 'tab'.  [default: , or ; or |]",
    ),
)


def input_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options ``--input``, ``--base``, ``--column`` and ``--delimiter``."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def input_format_of(
    name: str, base: str | None, column: str | None, delimiter: str | None
) -> InputFormat:
    """Return what these options say."""
    return InputFormat(
        name=None if name == "auto" else name,
        column=column,
        delimiter=_TAB if delimiter in {"tab", r"\t"} else delimiter,
        base=base,
    )


def notify_of_blank(blank: int, lines: int) -> None:
    """Notify people if more than a tenth of the lines has no URL, as in a wrong column."""
    if blank * 10 > lines:
        notify(f"canonry: {blank:,} of {counted(lines, 'line')} are blank; {COLUMN_ADVICE}")
