"""The table of input formats: how each is detected, and which function finds its URLs.

A format is detected by a file's first bytes, never by its name.
"""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from canonry.crawler.compression import Stream
from canonry.crawler.documents import feeds
from canonry.crawler.files import line_formats, warc_records
from canonry.crawler.files.line_formats import LinePicks, among
from canonry.crawler.files.sniffing import (
    DELIMITERS,
    columns_in,
    delimiter_for,
    has_quoted_names,
    key_of_urls,
    maybe_delimiter,
    missing_key,
    sniff,
)
from canonry.crawler.settings import SettingsError

HEAD = 1 << 16  # bytes in which a format is detected; rows of a wide table have thousands


class FileFormat(NamedTuple):
    """A format of files."""

    detect: Callable[[bytes], bool]  # from a file's first bytes
    # Set if every line is a record, see `line_formats`.
    pick: Callable[[bytes, str | None], LinePicks] | None = None
    # Yields the URL of each record, or None if it has none. Without either: a table with a module.
    read: Callable[[Stream], Iterator[bytes | None]] | None = None
    takes_column: bool = False
    needs_column: bool = False  # it is detected only if a column is named


def first_line(head: bytes) -> bytes:
    """Return the first line of a file without its line end."""
    return head.partition(b"\n")[0].rstrip(b"\r")


def _starts(pattern: bytes) -> Callable[[bytes], bool]:
    """Return a test of whether the first line of a file begins with a pattern."""
    compiled = re.compile(pattern)
    return lambda head: compiled.match(first_line(head)) is not None


_TABLE = re.compile(r"\.(?:csv|tsv)(?:\.\w+)?$", re.IGNORECASE)  # how names of tables end
_SITEMAP = re.compile(rb"<(?:\w+:)?(?:urlset|sitemapindex)\b")
_CDX = re.compile(rb"\S+ [0-9]{14} \S+ \S+ \S+ \S+ \S+")


def _is_sitemap(head: bytes) -> bool:
    is_markup = head.lstrip().startswith(b"<")
    return is_markup and _SITEMAP.search(head) is not None


def _is_cdx(head: bytes) -> bool:
    line = first_line(head)
    return bool(line_formats.CDX_LEGEND.fullmatch(line) or _CDX.match(line))


def _is_quoted(head: bytes) -> bool:
    return has_quoted_names(first_line(head).decode("utf-8", "replace"))


def _read_sitemap(stream: Stream) -> Iterator[bytes | None]:
    """Yield the ``loc`` of each page and sitemap (sitemaps.org); None if it has unknown entities.

    Raises:
        OSError: it cannot be read further.
    """
    reader = feeds.FeedReader()
    try:
        while part := stream.read1(1 << 20):
            yield from map(_url, reader.feed(part))
        reader.feed(b"", last=True)
    except OSError:
        yield from map(_url, reader.take())
        raise


def _url(listed: feeds.ListedURL) -> bytes | None:
    return line_formats.as_bytes(listed.reference) if listed.is_whole else None


# The first one that detects a file reads it.
INPUT_FORMATS: dict[str, FileFormat] = {
    "parquet": FileFormat(lambda head: head.startswith(b"PAR1"), takes_column=True),
    "warc": FileFormat(lambda head: head.startswith(b"WARC/"), read=warc_records.read_targets),
    "sitemap": FileFormat(_is_sitemap, read=_read_sitemap),
    "cdx": FileFormat(_is_cdx, line_formats.of_cdx),
    "cdxj": FileFormat(_starts(rb"!OpenWayback-CDXJ|\S+ [0-9]{1,17} \{"), line_formats.of_cdxj),
    "jsonl": FileFormat(_starts(rb'\s*\{\s*"'), line_formats.of_jsonl, takes_column=True),
    "tsv": FileFormat(
        lambda head: b"\t" in first_line(head) and not _is_quoted(head),
        line_formats.of_tsv,
        takes_column=True,
        needs_column=True,
    ),
    "csv": FileFormat(lambda _head: True, takes_column=True, needs_column=True),
    "log": FileFormat(lambda _head: False, line_formats.of_log),
    "lines": FileFormat(lambda _head: True, lambda _first, _column: LinePicks(lambda line: line)),
}


class FoundFormat(NamedTuple):
    """The format of one file."""

    name: str  # a row of `INPUT_FORMATS`
    column: str | None = None  # as named, or as found
    delimiter: str = ","  # of CSV
    note: str | None = None  # what people should know, such as which column was found

    @property
    def reads(self) -> FileFormat:
        """Return the row of `INPUT_FORMATS`."""
        return INPUT_FORMATS[self.name]


class InputFormat(NamedTuple):
    """What is known of the format of files before they are opened."""

    name: str | None = None  # a row of `INPUT_FORMATS`; None: detect it
    column: str | None = None  # its name, or its number from 1
    delimiter: str | None = None  # a character; such a file is CSV
    keep_rows: bool = False  # read whole rows, too
    base: str | None = None  # the URL of the site that wrote a log

    def find(self, head: bytes, source: str = "") -> FoundFormat:
        """Return the format of a file with these first bytes.

        If no column is named, a table with a column of URLs is recognized.

        Args:
            head: the first bytes, without a BOM.
            source: the name of the file, which decides only whether lines that begin with URLs are
                rows of a table.

        Raises:
            OSError: the format cannot be read; the error says what to do.
        """
        advice = None if self.name or self.delimiter else _advice_for(head)
        if advice is not None:
            raise OSError(advice)
        name = self.name or ("csv" if self.delimiter is not None else self._detect(head))
        if name == "log":
            return FoundFormat(name, self.base)
        if name == "jsonl":
            return self._of_jsonl(head)
        if self.column is None and name in _SNIFFED and self.name != "lines":
            return self._sniffed(name, head, source)
        delimiter = self.delimiter or delimiter_for(head, self.column or "1")
        self._check_number(name, head, delimiter)
        return FoundFormat(name, self.column, delimiter)

    def _of_jsonl(self, head: bytes) -> FoundFormat:
        key = self.column or key_of_urls(head)
        wanted = key or "url"
        missing = [] if "." in wanted else missing_key(head, wanted)
        note = None
        if missing:
            shown = among(missing, wanted)
            note = f"its first records have no key {wanted!r}; they have {shown}"
        elif self.column is None and key not in {None, "url"}:
            note = found_in("key", key)
        return FoundFormat("jsonl", key, note=note)

    def _sniffed(self, name: str, head: bytes, source: str) -> FoundFormat:
        """Return the format of a file that may be a table, with its column of URLs."""
        allowed = DELIMITERS if self.name is None else _SNIFFED[name]
        delimiters = allowed if self.delimiter is None else (self.delimiter,)
        sniffed = sniff(head, delimiters, is_table=_TABLE.search(source) is not None)
        if sniffed is not None:
            sign, column = sniffed
            is_tsv = sign == "\t" and self.delimiter is None and not _is_quoted(head)
            between = "tabs" if sign == "\t" else repr(sign)
            return FoundFormat(
                "tsv" if is_tsv else "csv",
                column,
                sign,
                f"a table with {between} between its columns, and URLs in column {column!r}; "
                "--column and --delimiter name others, --input lines reads whole lines",
            )
        doubt = maybe_delimiter(head) if name == "lines" else None
        shown = "tab" if doubt == "\t" else doubt
        note = (
            f"whole lines are read as URLs, and all have as many {shown!r}; if these separate "
            f"columns, add --column 1 --delimiter {shown!r}"
        )
        return FoundFormat(name, None, self.delimiter or ",", note if doubt else None)

    def _check_number(self, name: str, head: bytes, delimiter: str) -> None:
        """Refuse the number of a column that no row of a table has."""
        if name in {"csv", "tsv"} and self.column is not None and self.column.isdecimal():
            most = columns_in(head, "\t" if name == "tsv" else delimiter)
            if int(self.column) > most > 0:
                raise OSError(f"no column {self.column}; its rows have {most}")

    def _detect(self, head: bytes) -> str:
        """Return the name of the first format that detects a file."""
        return next(
            name
            for name, found in INPUT_FORMATS.items()
            if (self.column is not None or not found.needs_column) and found.detect(head)
        )

    def check(self) -> None:
        """Refuse a column or a delimiter for a format that has none.

        Raises:
            SettingsError: naming the formats that have columns.
        """
        if self.delimiter is not None and self.name not in {None, "csv"}:
            raise SettingsError(f"--delimiter: {self.name} has none; csv has")
        if self.delimiter is not None and (len(self.delimiter) != 1 or self.delimiter in '"\r\n'):
            raise SettingsError(
                f"--delimiter {self.delimiter!r}: write one character, such as ';', or 'tab'"
            )
        if self.column is not None and self.name and not INPUT_FORMATS[self.name].takes_column:
            allowed = ", ".join(name for name, row in INPUT_FORMATS.items() if row.takes_column)
            raise SettingsError(f"--column: {self.name} has none; these have: {allowed}")
        if self.name == "log" and self.base is None:
            raise SettingsError("--input log: add --base URL, the site that wrote the log")
        if self.base is not None and self.name != "log":
            raise SettingsError("--base: it is for --input log; leave it out, or add that")
        if self.base is not None and line_formats.origin_of(self.base) is None:
            raise SettingsError(f"--base {self.base}: write a URL such as https://example.com")
        if self.column == "0":
            raise SettingsError("--column 0: columns are counted from 1 on")


def found_in(kind: str, name: object) -> str:
    """Return a sentence about a key or a column that was found."""
    return f"records with URLs in the {kind} {name!r}; --column names another"


# Formats in which a table is sniffed, each with its possible delimiters.
_SNIFFED = {"lines": DELIMITERS, "csv": (",", ";", "|"), "tsv": ("\t",)}
ANY, LINES = InputFormat(), InputFormat("lines")


# How files without lines begin, and how to get at their URLs.
_FOREIGN = {
    rb"PK\x03\x04": "a ZIP archive or a workbook; unpack it (unzip -p FILE | canonry …), or save "
    "it as CSV",
    rb"(?s:.{257})ustar": "a tar archive; unpack it (tar -xOf FILE | canonry …)",
    rb"7z\xbc\xaf\x27\x1c": "a 7z archive; unpack it",
    rb"ARROW1\0\0": "an Arrow file; write it as Parquet",
    rb"SQLite format 3\0": "a database; export its URLs",
    line_formats.LOG_LINE.pattern: "an access log; --input log --base URL reads it, with the URL "
    "of the site that wrote it",
    rb"\s*\[\s*[{\"]": "one array of JSON; write a record a line (jq -c '.[]' FILE | canonry …)",
}


def _advice_for(head: bytes) -> str | None:
    """Return what to do with a file in a known but unreadable format; None for other files."""
    return next((said for begin, said in _FOREIGN.items() if re.match(begin, head)), None)
