"""Logs of redirects: lines of columns, CDX, CDXJ, and the redirects in WARC files."""

import csv
import io
from collections.abc import Iterable, Iterator
from typing import IO, NamedTuple

import msgspec

from canonry.extras import require


class LoggedRedirect(NamedTuple):
    """A line of a log: a URL, its redirect target, and the status."""

    number: int
    old: str
    new: str
    status: str


def read(lines: Iterable[str]) -> Iterator[LoggedRedirect]:
    """Yield the redirects of a log, whose format is recognized line by line.

    Lines of CDX (eleven or nine fields after a SURT and a timestamp) and CDXJ are recognized by
    their shape. Other lines are columns, separated by tabs or commas: the first two URLs are old
    and new, the first status code is the status; without one the redirect counts as permanent.
    """
    for number, line in enumerate(lines, 1):
        text = line.rstrip("\r\n")
        if text:
            yield _pair(number, text)


def read_warc(file: IO[bytes]) -> Iterator[LoggedRedirect]:
    """Yield a row for each response in a WARC file; the target is empty if it is no redirect.

    Args:
        file: WARC, plain or gzip by record.

    Raises:
        MissingExtraError: if warcio is not installed.
        OSError: if the file is truncated.
    """
    require("warc", "WARC")
    from warcio.archiveiterator import ArchiveIterator  # noqa: PLC0415 - optional
    from warcio.exceptions import ArchiveLoadFailed  # noqa: PLC0415 - optional

    try:
        for number, record in enumerate(ArchiveIterator(file), 1):
            if record.rec_type == "response" and record.http_headers is not None:
                old = record.rec_headers.get_header("WARC-Target-URI") or ""
                new = record.http_headers.get_header("Location") or ""
                yield LoggedRedirect(number, old, new, record.http_headers.get_statuscode())
    except ArchiveLoadFailed as error:
        raise OSError(str(error)) from None


def _pair(number: int, text: str) -> LoggedRedirect:
    """Read one line."""
    key, _, rest = text.partition(" ")
    timestamp, _, record = rest.partition(" ")
    if len(timestamp) == len("20240131120000") and timestamp.isdecimal() and ")" in key:
        return _cdxj(number, record) if record.startswith("{") else _cdx(number, record)
    mark = "\t" if "\t" in text else ","
    try:
        columns = next(csv.reader(io.StringIO(text), delimiter=mark), [])
    except csv.Error:  # a line break inside a line, or a column of 128 KiB
        return LoggedRedirect(number, "", "", "")
    found = [column for column in columns if "://" in column[:12]]
    statuses = [c for c in columns if len(c) == 3 and c.isdecimal()]  # noqa: PLR2004 - HTTP's format
    old, new = (*found[:2], "", "")[:2]
    return LoggedRedirect(number, old, new, statuses[0] if statuses else "301")


def _cdx(number: int, record: str) -> LoggedRedirect:
    """Read the fields after a CDX line's timestamp: URL, type, status, digest, redirect."""
    fields = record.split(" ")
    redirect = fields[4] if len(fields) > 4 else "-"  # noqa: PLR2004 - the fifth
    status = fields[2] if len(fields) > 2 else ""  # noqa: PLR2004 - the third
    return LoggedRedirect(number, fields[0], "" if redirect == "-" else redirect, status)


def _cdxj(number: int, record: str) -> LoggedRedirect:
    """Read the JSON of a CDXJ line, as Common Crawl and pywb write it."""
    try:
        given = msgspec.json.decode(record)
    except msgspec.DecodeError:
        return LoggedRedirect(number, "", "", "")
    old, new = str(given.get("url", "")), str(given.get("redirect", ""))
    return LoggedRedirect(number, old, "" if new == "-" else new, str(given.get("status", "")))
