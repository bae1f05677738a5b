"""THE table of input formats: how each is detected, and which function finds its URLs.

A format is detected by a file's first bytes, never by its name. The functions are in `line_formats`
and `record_formats`.
"""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from canonry.crawler.compression import Stream
from canonry.crawler.files import line_formats, record_formats
from canonry.crawler.files.line_formats import Pick
from canonry.crawler.settings import SettingsError

HEAD = 4096  # bytes that are looked at
BOM = b"\xef\xbb\xbf"


class LineFormat(NamedTuple):
    """A format of which every line is a record."""

    detect: Callable[[bytes], bool]  # from a file's first bytes
    pick: Callable[[bytes, str | None], tuple[Pick, bool]]  # see `line_formats`
    takes_column: bool = False
    needs_column: bool = False  # it is detected only where a column was asked for
    is_plain: bool = False  # the line is the URL


class RecordFormat(NamedTuple):
    """A format that is read as a whole."""

    detect: Callable[[bytes], bool]
    read: Callable[[Stream, str | None], Iterator[bytes | None]]  # see `record_formats`
    takes_column: bool = False
    needs_column: bool = False


def first_line(head: bytes) -> bytes:
    """Return the first line of a file without a BOM and its end."""
    return head.removeprefix(BOM).partition(b"\n")[0].rstrip(b"\r")


def _starts(pattern: bytes) -> Callable[[bytes], bool]:
    """Return a test of whether the first line of a file begins with a pattern."""
    compiled = re.compile(pattern)
    return lambda head: compiled.match(first_line(head)) is not None


_SITEMAP = re.compile(rb"<(?:\w+:)?(?:urlset|sitemapindex)\b")
_CDX = re.compile(rb"\S+ [0-9]{14} \S+ \S+ \S+ \S+ \S+")


def _is_sitemap(head: bytes) -> bool:
    is_markup = head.removeprefix(BOM).lstrip().startswith(b"<")
    return is_markup and _SITEMAP.search(head) is not None


def _is_cdx(head: bytes) -> bool:
    line = first_line(head)
    return bool(line_formats.CDX_LEGEND.fullmatch(line) or _CDX.match(line))


# The first one that detects a file reads it.
INPUT_FORMATS: dict[str, LineFormat | RecordFormat] = {
    "parquet": RecordFormat(
        lambda head: head.startswith(b"PAR1"), record_formats.read_parquet, takes_column=True
    ),
    "warc": RecordFormat(lambda head: head.startswith(b"WARC/"), record_formats.read_warc),
    "sitemap": RecordFormat(_is_sitemap, record_formats.read_sitemap),
    "cdx": LineFormat(_is_cdx, line_formats.of_cdx),
    "cdxj": LineFormat(_starts(rb"!OpenWayback-CDXJ|\S+ [0-9]{1,17} \{"), line_formats.of_cdxj),
    "jsonl": LineFormat(_starts(rb'\s*\{\s*"'), line_formats.of_jsonl, takes_column=True),
    "tsv": LineFormat(
        lambda head: b"\t" in first_line(head),
        line_formats.of_tsv,
        takes_column=True,
        needs_column=True,
    ),
    "csv": RecordFormat(
        lambda _head: True, record_formats.read_csv, takes_column=True, needs_column=True
    ),
    "lines": LineFormat(lambda _head: True, line_formats.of_lines, is_plain=True),
}


class InputFormat(NamedTuple):
    """What is known of the format of files before they are opened."""

    name: str | None = None  # a row of `INPUT_FORMATS`; None: detect it
    column: str | None = None  # its name, or its number from 1

    def find(self, head: bytes) -> LineFormat | RecordFormat:
        """Return the format of a file with these first bytes."""
        if self.name is not None:
            return INPUT_FORMATS[self.name]
        return next(
            found
            for found in INPUT_FORMATS.values()
            if (self.column is not None or not found.needs_column) and found.detect(head)
        )

    def check(self) -> None:
        """Refuse a column for a format that has none.

        Raises:
            SettingsError: naming the formats that have columns.
        """
        if self.column is not None and self.name and not INPUT_FORMATS[self.name].takes_column:
            allowed = ", ".join(name for name, row in INPUT_FORMATS.items() if row.takes_column)
            raise SettingsError(f"--column: {self.name} has none; these have: {allowed}")
        if self.column == "0":
            raise SettingsError("--column 0: columns are counted from 1 on")


ANY = InputFormat()
