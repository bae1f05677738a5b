"""Sniffing: detect the delimiter of a table, and which column has the URLs.

A plain list of URLs, which may hold commas, is not taken for a table; tabs are in no URL.
"""

import csv
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

import msgspec

DELIMITERS = ("\t", ",", ";", "|")
# Names of a column of URLs, the likeliest first; others count if their values look like URLs.
_NAMES = ("url", "uri", "link", "href", "loc", "location", "page_url", "page url", "source_url")
_WORDS = frozenset({"url", "uri", "link", "href"})  # in other names, such as target_url
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_URL = re.compile(r"\s*\"?(?:https?|ftp)://\S", re.IGNORECASE)
_MISSING = frozenset({"", "\\N", "NULL"})  # as databases write it
_ROWS = 20  # that are examined
_SURE = 2  # URLs that a first column needs if its name is not in _NAMES


class Sniffed(NamedTuple):
    """A table: its delimiter, and its column of URLs."""

    delimiter: str
    column: str  # its name, or its number from 1


def sniff(head: bytes, delimiters: Sequence[str] = DELIMITERS) -> Sniffed | None:
    """Detect a table with URLs by a file's first bytes; None if it is not one.

    Args:
        head: the beginning of a file in UTF-8, without a BOM. Its last line may not be whole.
        delimiters: the possible delimiters.
    """
    lines = _lines_of(head)
    for delimiter in delimiters if lines else ():
        rows = _rows(lines, delimiter)
        if rows and (len(rows[0]) > 1 or len(delimiters) == 1):
            is_quoted = lines[0].startswith('"')
            if not is_quoted and len(rows) < len(lines) and _URL.match(lines[0]):
                continue  # a quote in a URL was read as the begin of a field of several lines
            column = _column_of(rows, delimiter, is_quoted=is_quoted)
            if column is not None:
                return Sniffed(delimiter, column)
    if lines and lines[0].strip(' "').lower() in _NAMES and len(lines) > 1:  # the only column
        is_quoted = any(line.startswith('"') for line in lines)
        return Sniffed("," if is_quoted else "\t", lines[0].strip('"'))
    return None


def maybe_delimiter(head: bytes) -> str | None:
    """Return what may separate columns after the URLs with which lines begin.

    Such a character may as well belong to the URLs, as in lists in which all have two commas.

    Args:
        head: as for `sniff`.
    """
    lines = _lines_of(head)
    if len(lines) < _SURE or not all(map(_URL.match, lines)):
        return None
    counts = ((sign, {line.count(sign) for line in lines}) for sign in DELIMITERS)
    return next((sign for sign, found in counts if len(found) == 1 and 0 not in found), None)


def delimiter_for(head: bytes, column: str) -> str:
    """Return the delimiter with which a CSV file has a given column; a comma if in doubt.

    Args:
        head: as for `sniff`.
        column: its name, or its number from 1.
    """
    lines = _lines_of(head)[:1]
    for delimiter in (",", ";", "|", "\t"):
        for names in _rows(lines, delimiter):
            if column in names or (column.isdecimal() and int(column) <= len(names)):
                return delimiter
    return ","


def columns_in(head: bytes, delimiter: str) -> int:
    """Return how many columns the first rows of a table have at most; 0 if that is not known.

    Args:
        head: as for `sniff`.
        delimiter: between its columns.
    """
    return max(map(len, _rows(_lines_of(head), delimiter)), default=0)


def missing_key(head: bytes, key: str) -> list[str]:
    """Return the keys of JSONL's first records if all of these lack a wanted key; else [].

    Args:
        head: as for `sniff`.
        key: of a record itself, not of an object in it.
    """
    found: dict[str, None] = {}
    for record in _records_of(head):
        found |= dict.fromkeys(record)
    return [] if key in found else list(found)


def key_of_urls(head: bytes) -> str | None:
    """Return the key that has the URLs in JSONL's first records; None if there is none.

    Args:
        head: as for `sniff`.
    """
    records = _records_of(head)
    names = [name for record in records[:1] for name in record if name and "." not in name]
    named = named_like_a_url(names)
    if named is not None:
        return named
    with_urls = [name for name in names if all(_is_url(record.get(name)) for record in records)]
    return next(filter(_speaks_of_urls, with_urls), with_urls[0] if with_urls else None)


def _is_url(value: object) -> bool:
    return isinstance(value, str) and _URL.match(value) is not None


def _records_of(head: bytes) -> list[dict[str, object]]:
    """Return the first whole records of JSONL."""
    records = []
    for line in _lines_of(head):
        with suppress(msgspec.MsgspecError, RecursionError):
            record = msgspec.json.decode(line)
            if isinstance(record, dict):
                records.append(record)
    return records


def has_quoted_names(line: str) -> bool:
    """Return True if a line has only quoted names between tabs, as CSV with tabs does.

    In other tables with tabs, quotes have no meaning.
    """
    names = line.split("\t")
    return len(names) > 1 and all(len(name) > 1 and name[0] == name[-1] == '"' for name in names)


def named_like_a_url(names: Sequence[str]) -> str | None:
    """Return the likeliest name of a column of URLs; None if no name is typical."""
    by_name = {name.strip().lower(): name for name in reversed(names)}
    return next((by_name[name] for name in _NAMES if name in by_name), None)


def _speaks_of_urls(name: str) -> bool:
    """Return True if a name has a word such as "url", and does not speak of referrers."""
    words = {word.lower() for word in _WORD.findall(name)}
    return bool(words & _WORDS) and not any(word.startswith("refer") for word in words)


def _lines_of(head: bytes) -> list[str]:
    """Return the first lines that are whole and not blank; none if the first one is blank."""
    lines = head.decode("utf-8", "replace").splitlines()
    whole = lines if len(lines) == 1 or head.endswith((b"\n", b"\r")) else lines[:-1] or lines
    if not whole or not whole[0].strip():
        return []
    return [line for line in whole if line.strip()][: _ROWS + 1]


def _rows(lines: Sequence[str], delimiter: str) -> list[list[str]]:
    """Return lines as rows; none if they cannot be parsed."""
    if delimiter == "\t" and not (lines and has_quoted_names(lines[0])):
        return [line.split("\t") for line in lines]
    try:
        return [row for row in csv.reader(lines, delimiter=delimiter) if row]
    except csv.Error:
        return []


def _column_of(rows: Sequence[list[str]], delimiter: str, *, is_quoted: bool) -> str | None:
    """Return the column with the URLs, by its name or by its values.

    The first row has names if it has no URL and the rows below have some.
    """
    names, *body = rows
    has_names = not any(map(_URL.match, names))
    below = body if has_names else rows
    if sum(len(row) == len(names) for row in below) * 2 <= len(below):
        below = []
    places = [place for place in range(len(names)) if _has_urls(below, place)]
    if not has_names:
        is_sure = delimiter == "\t" or is_quoted or len(places) > 1
        return str(places[0] + 1) if places and (places[0] > 0 or is_sure) else None
    named = named_like_a_url([names[place] for place in places] or names)
    if named is not None and body:
        return named
    if places == [0] and not is_quoted and len(body) < _SURE:
        return None
    if not places:
        return None
    place = next((place for place in places if _speaks_of_urls(names[place])), places[0])
    name = names[place]
    is_usable = name and not name.isdecimal() and names.count(name) == 1
    return name if is_usable else str(place + 1)


def _has_urls(rows: Sequence[list[str]], place: int) -> bool:
    """Return True if most values of a column are URLs, without those that are missing."""
    values = [row[place] for row in rows if place < len(row) and row[place] not in _MISSING]
    return 2 * sum(_URL.match(value) is not None for value in values) > len(values)
