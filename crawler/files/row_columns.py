"""Columns of rows by their names: what a choice among rows is made by."""

import csv
from collections.abc import Sequence
from typing import Any

import msgspec

from canonry.crawler.compression import FAULTS
from canonry.crawler.files.line_formats import cdx_fields, tsv_fields
from canonry.crawler.files.line_streams import Rows
from canonry.crawler.files.parquet_rows import field_of

Values = list[Any]  # one for each row: text, a number, a time, or None


def columns_of(rows: Rows | None, names: Sequence[str], source: str) -> list[Values]:
    """Return columns of rows.

    Args:
        rows: as they were read; None: lines that have no columns.
        names: of the columns, or their numbers from 1; ``a.b`` is the field ``b`` of ``a``.
        source: of the rows.

    Raises:
        OSError: there is no such column; names the source and those that it has.
    """
    if rows is not None and rows.batch is not None:
        return [_of_parquet(rows.batch, name, source) for name in names]
    if rows is not None and rows.format in {"jsonl", "cdxj"}:
        records = [_record(row, is_cdxj=rows.format == "cdxj") for row in rows.each()]
        return [[_value(record, name.split(".")) for record in records] for name in names]
    if rows is None or rows.format not in {"csv", "tsv", "cdx"}:
        raise OSError(f"--prefer {names[0]}: {source} has no columns")
    has, cells = _table(rows)
    places = [_place(name, has, source) for name in names]
    return [[row[at] if at < len(row) else None for row in cells] for at in places]


def _table(rows: Rows) -> tuple[list[str], list[list[str]]]:
    """Return the names of columns, and the cells of each row."""
    if rows.format == "cdx":
        mark, names = cdx_fields(rows.header)
        return names, [_text(row).split(mark.decode()) for row in rows.each()]

    def split(row: bytes) -> list[str]:
        if rows.format == "tsv":
            return list(map(_text, tsv_fields(row)))
        text = _text(row)
        if '"' not in text:
            return text.split(rows.delimiter)
        try:
            return next(csv.reader([text], delimiter=rows.delimiter), [])
        except csv.Error:
            return []

    return (split(rows.header) if rows.header else []), list(map(split, rows.each()))


def _record(line: bytes, *, is_cdxj: bool) -> dict[str, object]:
    """Return a record of JSONL, or that of CDXJ with the time before it."""
    times: dict[str, object] = {}
    if is_cdxj:
        times = dict.fromkeys(["timestamp"], *map(_text, line.split(b" ", 2)[1:2]))
        line = line[line.find(b" {") + 1 :]
    try:
        record = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        record = None
    return {**record, **times} if isinstance(record, dict) else times


def _value(record: object, path: Sequence[str]) -> object:
    """Return the value of a key, which need not be in all records."""
    for key in path:
        record = record.get(key) if isinstance(record, dict) else None
    return None if isinstance(record, dict | list) else record


def _of_parquet(batch: Any, name: str, source: str) -> Values:  # noqa: ANN401 - pyarrow has no types
    """Return a column of Parquet."""
    try:
        return list(field_of(batch, name.split(".")).to_pylist())
    except (*FAULTS, KeyError):
        raise _missing(name, batch.schema.names, source) from None


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


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
