"""The options that say what the files of a command hold."""

from collections.abc import Callable
from typing import Any

import click

from canonry.crawler.files.formats import INPUT_FORMATS, InputFormat

COLUMN_ADVICE = "if they are rows of a table, --column NAME|N says where its URLs are"
_TAB = "\t"
_OPTIONS = (
    click.option(
        "--input",
        "input_format",
        type=click.Choice(["auto", *INPUT_FORMATS]),
        default="auto",
        show_default=True,
        help="Input format; auto recognizes each file by its content.",
    ),
    click.option(
        "--column",
        metavar="NAME|N",
        help="The column with the URLs, in CSV, TSV, JSONL or Parquet.  [default: by its name, "
        "such as url, or by its values]",
    ),
    click.option(
        "--delimiter",
        metavar="C",
        help="What separates the columns of CSV: a character, or 'tab'.  [default: , or ; or |]",
    ),
)


def input_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options ``--input``, ``--column`` and ``--delimiter``."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def input_format_of(name: str, column: str | None, delimiter: str | None) -> InputFormat:
    """Return what these options say."""
    return InputFormat(
        name=None if name == "auto" else name,
        column=column,
        delimiter=_TAB if delimiter in {"tab", r"\t"} else delimiter,
    )
