"""The table of input formats: how each is detected, and which function finds its URLs.

A format is detected by a file's first bytes, never by its name.
"""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from canonry.crawler.compression import Stream
from canonry.crawler.documents import feeds
from canonry.crawler.files import line_formats, warc_records
from canonry.crawler.files.line_formats import LinePicks
from canonry.crawler.files.sniffing import (
    DELIMITERS,
    Sniffed,
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


class LineFormat(NamedTuple):
    """A format of which every line is a record."""

    detect: Callable[[bytes], bool]  # from a file's first bytes
    pick: Callable[[bytes, str | None], LinePicks]  # see `line_formats`
    takes_column: bool = False
    needs_column: bool = False  # it is detected only if a column is named
    is_plain: bool = False  # the line is the URL


class RecordFormat(NamedTuple):
    """A format that is read as a whole."""

    detect: Callable[[bytes], bool]
    # Yields the URL of each record, or None if it has none; None: a table, whose rows have columns.
    read: Callable[[Stream], Iterator[bytes | None]] | None = None
    takes_column: bool = False
    needs_column: bool = False


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
INPUT_FORMATS: dict[str, LineFormat | RecordFormat] = {
    "parquet": RecordFormat(lambda head: head.startswith(b"PAR1"), takes_column=True),
    "warc": RecordFormat(lambda head: head.startswith(b"WARC/"), warc_records.read_targets),
    "sitemap": RecordFormat(_is_sitemap, _read_sitemap),
    "cdx": LineFormat(_is_cdx, line_formats.of_cdx),
    "cdxj": LineFormat(_starts(rb"!OpenWayback-CDXJ|\S+ [0-9]{1,17} \{"), line_formats.of_cdxj),
    "jsonl": LineFormat(_starts(rb'\s*\{\s*"'), line_formats.of_jsonl, takes_column=True),
    "tsv": LineFormat(
        lambda head: b"\t" in first_line(head) and not _is_quoted(head),
        line_formats.of_tsv,
        takes_column=True,
        needs_column=True,
    ),
    "csv": RecordFormat(lambda _head: True, takes_column=True, needs_column=True),
    "log": LineFormat(lambda _head: False, line_formats.of_log),
    "lines": LineFormat(lambda _head: True, line_formats.of_lines, is_plain=True),
}


class FoundFormat(NamedTuple):
    """The format of one file."""

    name: str  # a row of `INPUT_FORMATS`
    reads: LineFormat | RecordFormat
    column: str | None
    sniffed: Sniffed | None = None  # set if the column of URLs was detected
    key: str | None = None  # the detected key of the URLs in JSONL, or column in Parquet
    other_keys: tuple[str, ...] = ()  # of JSONL: the existing keys, if the wanted one is missing
    delimiter: str = ","  # of CSV
    doubt: str | None = None  # a character after the URLs of lines, which may separate columns


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
            head: the first bytes.
            source: the name of the file, which decides only whether lines that begin with URLs are
                rows of a table.

        Raises:
            OSError: the format cannot be read; the error says what to do.
        """
        advice = None if self.name or self.delimiter else advice_for(head)
        if advice is not None:
            raise OSError(advice)
        name = self.name or ("csv" if self.delimiter is not None else self._detect(head))
        if name == "log":
            return _found(name, self.base, ",")
        if name == "jsonl" and self.column is None:
            key = key_of_urls(head)
            others = tuple(missing_key(head, "url")) if key is None else ()
            found = _found(name, key, ",")._replace(other_keys=others)
            return found if key == "url" else found._replace(key=key)
        if self.column is not None or name not in _SNIFFED or self.name == "lines":
            delimiter = self.delimiter or delimiter_for(head, self.column or "1")
            self._check_number(name, head, delimiter)
            return _found(name, self.column, delimiter)._replace(
                other_keys=self._others(name, head)
            )
        allowed = DELIMITERS if self.name is None else _SNIFFED[name]
        delimiters = allowed if self.delimiter is None else (self.delimiter,)
        is_table = _TABLE.search(source) is not None
        sniffed = sniff(head, delimiters, is_table=is_table)
        if sniffed is None:
            doubt = maybe_delimiter(head) if name == "lines" else None
            return _found(name, None, self.delimiter or ",")._replace(doubt=doubt)
        is_tsv = sniffed.delimiter == "\t" and self.delimiter is None and not _is_quoted(head)
        table = _found("tsv" if is_tsv else "csv", sniffed.column, sniffed.delimiter)
        return table._replace(sniffed=sniffed)

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

    def _others(self, name: str, head: bytes) -> tuple[str, ...]:
        """Return the keys of JSONL's first records if these lack the wanted one."""
        if name != "jsonl" or self.column is None or "." in self.column:
            return ()
        return tuple(missing_key(head, self.column))

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


def _found(name: str, column: str | None, delimiter: str) -> FoundFormat:
    """Return a format with its column and delimiter."""
    return FoundFormat(name, INPUT_FORMATS[name], column, delimiter=delimiter)


# Formats in which a table is sniffed, each with its possible delimiters.
_SNIFFED = {"lines": DELIMITERS, "csv": (",", ";", "|"), "tsv": ("\t",)}
ANY, LINES = InputFormat(), InputFormat("lines")


class ForeignFormat(NamedTuple):
    """A format that holds no lines."""

    pattern: "re.Pattern[bytes]"  # how such a file begins
    advice: str  # what it is, and how to get at its URLs


_FORMATS = (
    ForeignFormat(
        re.compile(rb"PK\x03\x04"),
        "a ZIP archive or a workbook; unpack it (unzip -p FILE | canonry …), or save it as CSV",
    ),
    ForeignFormat(
        re.compile(rb".{257}ustar", re.DOTALL),
        "a tar archive; unpack it (tar -xOf FILE | canonry …)",
    ),
    ForeignFormat(re.compile(rb"7z\xbc\xaf\x27\x1c"), "a 7z archive; unpack it"),
    ForeignFormat(re.compile(rb"ARROW1\0\0"), "an Arrow file; write it as Parquet"),
    ForeignFormat(re.compile(rb"SQLite format 3\0"), "a database; export its URLs"),
    ForeignFormat(
        line_formats.LOG_LINE,
        "an access log; --input log --base URL reads it, with the URL of the site that wrote it",
    ),
    ForeignFormat(
        re.compile(rb"\s*\[\s*[{\"]"),
        "one array of JSON; write a record a line (jq -c '.[]' FILE | canonry …)",
    ),
)


def advice_for(head: bytes) -> str | None:
    """Return what to do with a file in a known but unreadable format; None for other files.

    Args:
        head: the beginning of the file.
    """
    return next((one.advice for one in _FORMATS if one.pattern.match(head)), None)
