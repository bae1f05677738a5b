"""Columns of rows by their names: what a choice among rows is made by."""

import csv
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from canonry.crawler.compression import FAULTS
from canonry.crawler.files.line_formats import CDX_LEGEND
from canonry.crawler.files.line_streams import Rows
from canonry.crawler.files.parquet_rows import field_of

Values = list[Any]  # one for each row: text, a number, a time, or None
# The fields of a CDX line as CDX servers call them, by the letters of its legend.
_CDX = {
    "N": "urlkey",
    "b": "timestamp",
    "a": "original",
    "m": "mimetype",
    "s": "statuscode",
    "k": "digest",
    "r": "redirect",
    "M": "robotflags",
    "S": "length",
    "V": "offset",
    "g": "filename",
}
_WITHOUT_LEGEND = "NbamskS"


def columns_of(rows: Rows | None, names: Sequence[str], source: str) -> list[Values]:
    """Return columns of rows.

    Args:
        rows: as they were read; None: lines that have no columns.
        names: of the columns, or their numbers from 1; ``a.b`` is the field ``b`` of ``a``.
        source: of the rows.

    Raises:
        OSError: there is no such column; names the source and those that it has.
    """
    if rows is None or rows.format not in _READERS:
        raise OSError(f"--prefer {names[0]}: {source} has no columns")
    return [_READERS[rows.format](rows, name, source) for name in names]


def _of_csv(rows: Rows, name: str, source: str) -> Values:
    """Return a column of CSV."""

    def cells(row: str) -> list[str]:
        if '"' not in row:
            return row.split(rows.delimiter)
        try:
            return next(csv.reader([row], delimiter=rows.delimiter), [])
        except csv.Error:
            return []

    place = _place(name, cells(_text(rows.header)) if rows.header else [], source)
    return _cells([cells(_text(row)) for row in rows.each()], place)


def _of_tsv(rows: Rows, name: str, source: str) -> Values:
    """Return a column of TSV."""
    names = _text(rows.header.rstrip(b"\r")).split("\t") if rows.header else []
    place = _place(name, [one.strip('"') for one in names], source)
    found = _cells([_text(row).rstrip("\r").split("\t") for row in rows.each()], place)
    return [None if cell is None else cell.strip('"') for cell in found]


def _of_cdx(rows: Rows, name: str, source: str) -> Values:
    """Return a field of CDX."""
    legend = CDX_LEGEND.fullmatch(rows.header)
    mark = legend["mark"] if legend else b" "
    letters = _text(legend["letters"].replace(mark, b"")) if legend else _WITHOUT_LEGEND
    place = _place(name, [_CDX.get(letter, letter) for letter in letters], source)
    return _cells([_text(row).split(_text(mark)) for row in rows.each()], place)


def _of_jsonl(rows: Rows, name: str, source: str) -> Values:
    """Return the values of a key of JSON."""
    return _of_records(list(rows.each()), name, source)


def _of_cdxj(rows: Rows, name: str, source: str) -> Values:
    """Return the values of a key of CDXJ, or its time."""
    if name == "timestamp":
        return _cells([_text(row).split(" ", 2) for row in rows.each()], 1)
    return _of_records([row[row.find(b" {") + 1 :] for row in rows.each()], name, source)


def _of_records(lines: Sequence[bytes], name: str, _source: str) -> Values:
    """Return the values of a key, which need not be in all records."""
    path = name.split(".")
    decode = msgspec.json.Decoder().decode
    found: Values = []
    for line in lines:
        try:
            value = decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            value = None
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        found.append(None if isinstance(value, dict | list) else value)
    return found


def _of_parquet(rows: Rows, name: str, source: str) -> Values:
    """Return a column of Parquet."""
    batch: Any = None if rows.batch is None else rows.batch.rows
    try:
        return list(field_of(batch, name.split(".")).to_pylist())
    except (*FAULTS, KeyError):
        raise _missing(name, batch.schema.names, source) from None


_READERS: dict[str, Callable[[Rows, str, str], Values]] = {
    "csv": _of_csv,
    "tsv": _of_tsv,
    "jsonl": _of_jsonl,
    "cdx": _of_cdx,
    "cdxj": _of_cdxj,
    "parquet": _of_parquet,
}


def _place(name: str, names: Sequence[str], source: str) -> int:
    """Return the place of a column, by its name or its number."""
    if name in names:
        return names.index(name)
    if name.isdecimal() and name != "0":
        return int(name) - 1
    raise _missing(name, names, source)


def _missing(name: str, names: Sequence[str], source: str) -> OSError:
    """Return an error for a column that a source lacks."""
    has = f"it has {', '.join(names[:20])}" if names else "its columns have no names; give a number"
    return OSError(f"--prefer {name}: {source} has no such column; {has}")


def _cells(rows: Sequence[Sequence[str]], place: int) -> Values:
    """Return one cell of each row."""
    return [row[place] if place < len(row) else None for row in rows]


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
