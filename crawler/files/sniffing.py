"""Sniffing: detect the delimiter of a table, and which column has the URLs.

A plain list of URLs, which may hold commas, is not taken for a table; tabs are in no URL.
"""

import csv
import re
import shlex
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import NamedTuple

import msgspec

DELIMITERS = ("\t", ",", ";", "|")
# Names of a column of URLs, whatever its values are; the likeliest first.
_NAMES = ("url", "uri", "link", "href", "loc", "location", "page_url", "page url", "source_url")
# Names among which columns whose values are URLs are chosen, as words; the likeliest first.
_OF_ROWS = (
    *("address", "url", "uri", "page url", "page", "loc", "location", "link", "href"),
    *("target url", "target", "source url"),
)
_WORDS = frozenset(word for name in _OF_ROWS for word in name.split())  # in other names
# How words begin that tell the URLs of other pages, such as Canonical Link Element 1.
_OF_OTHERS = ("canonical", "redirect", "refer", "image", "img")
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_URL = re.compile(r"\s*\"?(?:https?|ftp)://\S", re.IGNORECASE)
_MISSING = (None, "", "\\N", "NULL")  # as databases write it
ROWS = 20  # that are examined
_DEPTH = 4  # of objects in records
_SURE = 2  # URLs that a first column needs if its name is not in _NAMES


class Column(NamedTuple):
    """A column of a table, or a key of records."""

    name: str  # "" if the table has no names
    values: Sequence[object]  # of the first rows


def sniff(
    head: bytes, delimiters: Sequence[str] = DELIMITERS, *, is_table: bool = False
) -> tuple[str, str] | None:
    """Return the delimiter of a table and its column of URLs; None if it is no table.

    The column is its name, or its number from 1.

    Args:
        head: the beginning of a file in UTF-8, without a BOM. Its last line may not be whole.
        delimiters: the possible delimiters.
        is_table: the file's name says so; then URLs that begin lines end at a delimiter.

    Raises:
        OSError: as `column_of_urls`.
    """
    lines = _lines_of(head)
    for delimiter in delimiters if lines else ():
        rows = _rows(lines, delimiter)
        if rows and (len(rows[0]) > 1 or len(delimiters) == 1):
            is_quoted = lines[0].startswith('"')
            first = lines[: ROWS + 1]
            if not (is_quoted or is_table) and len(rows) < len(first) and _URL.match(lines[0]):
                continue  # a quote in a URL was read as the begin of a field of several lines
            is_sure = is_table or delimiter == "\t" or is_quoted
            column = _column_of(rows, is_sure=is_sure)
            if column is not None:
                return delimiter, column
    if lines and lines[0].strip(' "').lower() in _NAMES and len(lines) > 1:  # the only column
        is_quoted = any(line.startswith('"') for line in lines)
        return "," if is_quoted else "\t", lines[0].strip('"')
    return None


def maybe_delimiter(head: bytes) -> str | None:
    """Return what may separate columns after the URLs with which lines begin.

    Such a character may as well belong to the URLs, as in lists in which all have two commas.

    Args:
        head: as for `sniff`.
    """
    lines = _lines_of(head)[: ROWS + 1]
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

    Returns:
        a key as `line_formats.of_jsonl` takes it, such as ``page.url``.

    Raises:
        OSError: as `column_of_urls`.
    """
    records = [dict(_values_in(record)) for record in _records_of(head)]
    keys = list(dict.fromkeys(key for record in records for key in record))
    place = column_of_urls([Column(key, [one.get(key) for one in records]) for key in keys])
    return None if place is None else keys[place]


def _values_in(record: dict[str, object], depth: int = 0) -> Iterator[tuple[str, object]]:
    """Yield the keys of a record with their values; those of an object in it have dots."""
    for key, value in record.items():
        if not key or "." in key:
            continue
        if isinstance(value, dict) and depth < _DEPTH:
            yield from ((f"{key}.{inner}", one) for inner, one in _values_in(value, depth + 1))
        else:
            yield key, value


def column_of_urls(columns: Sequence[Column]) -> int | None:
    """Return the place of the column with the URL of each row; None if there is none.

    Such a column has a URL in every row, or if none has, in most rows where it has a value. Among
    several, the likeliest name decides, then the first place. If no column has URLs, a name that
    is typical is enough.

    Raises:
        OSError: the only columns with URLs are those of other pages, by their names.
    """
    names = [column.name for column in columns]
    with_urls = [place for place, column in enumerate(columns) if _has_urls(column.values)]
    own = [place for place in with_urls if not _is_of_others(names[place])]
    whole = [place for place in own if all(map(_is_url, columns[place].values))]
    if own:
        return min(whole or own, key=lambda place: _rank(names[place]))
    named = named_like_a_url(names)
    if with_urls and named is None:
        shown = ", ".join(shlex.quote(names[place]) for place in with_urls)
        raise OSError(
            "by its name, no column has the URLs of the rows themselves; if one of these has, name "
            f"it with --column: {shown}"
        )
    return None if named is None else names.index(named)


def _is_url(value: object) -> bool:
    if isinstance(value, bytes):  # as Parquet may have it
        value = value.decode("latin-1")
    return isinstance(value, str) and _URL.match(value) is not None


def _records_of(head: bytes) -> list[dict[str, object]]:
    """Return the first whole records of JSONL."""
    records = []
    for line in _lines_of(head)[:ROWS]:
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


def _words(name: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(name)]


def _is_of_others(name: str) -> bool:
    """Return True if a name says that its URLs are not those of the rows."""
    return any(word.startswith(_OF_OTHERS) for word in _words(name))


def _rank(name: str) -> int:
    """Return how likely the URLs of rows have a name; 0 is the likeliest."""
    words = _words(name)
    whole = " ".join(words)
    if whole in _OF_ROWS:
        return _OF_ROWS.index(whole)
    return len(_OF_ROWS) + _WORDS.isdisjoint(words)


def _lines_of(head: bytes) -> list[str]:
    """Return the first lines that are whole and not blank; none if the first one is blank."""
    lines = head.decode("utf-8", "replace").splitlines()
    whole = lines if len(lines) == 1 or head.endswith((b"\n", b"\r")) else lines[:-1] or lines
    if not whole or not whole[0].strip():
        return []
    return [line for line in whole if line.strip()]


def _rows(lines: Sequence[str], delimiter: str) -> list[list[str]]:
    """Return the first rows of lines; none if they cannot be parsed."""
    if delimiter == "\t" and not (lines and has_quoted_names(lines[0])):
        return [line.split("\t") for line in lines[: ROWS + 1]]
    try:
        return [row for row in islice(csv.reader(lines, delimiter=delimiter), ROWS + 1) if row]
    except csv.Error:
        return []


def _column_of(rows: Sequence[list[str]], *, is_sure: bool) -> str | None:
    """Return the column with the URLs, by its name or by its values.

    The first row has names if it has no URL and the rows below have some.

    Args:
        rows: of a table, or of a list of URLs with a delimiter in them.
        is_sure: it is no list.
    """
    names, *body = rows
    has_names = not any(map(_URL.match, names))
    below = body if has_names else rows
    whole = [row for row in below if len(row) == len(names)]
    if len(whole) * 2 <= len(below):
        whole = []
    columns = [
        Column(name if has_names else "", [row[place] for row in whole])
        for place, name in enumerate(names)
    ]
    if sum(_has_urls(column.values) for column in columns) == 1 and _has_urls(columns[0].values):
        is_sure |= has_names and (len(body) >= _SURE or named_like_a_url(names[:1]) is not None)
        if not is_sure:
            return None
    place = column_of_urls(columns) if below else None
    if place is None:
        return None
    name = columns[place].name
    is_usable = name and not name.isdecimal() and names.index(name) == place
    return name if is_usable else str(place + 1)


def _has_urls(values: Sequence[object]) -> bool:
    """Return True if most values of a column are URLs, without those that are missing."""
    present = [value for value in values if value not in _MISSING]
    return 2 * sum(map(_is_url, present)) > len(present)
