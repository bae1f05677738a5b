"""Preference: which line of a resource stays, if it is not the first one.

Each line has a rank: bytes that sort, and the least one wins. Of equal ranks the first line stays.
"""

import csv
import math
import re
import struct
from collections.abc import Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from canonry.crawler.batch.partition import Numbers
from canonry.crawler.compression import FAULTS
from canonry.crawler.files.blocks import Block
from canonry.crawler.files.line_formats import cdx_fields, tsv_fields
from canonry.crawler.files.line_streams import Rows
from canonry.crawler.files.parquet_rows import field_of
from canonry.crawler.settings import SettingsError

_TEXT = 32  # bytes of a text that are compared
_PLACE = 8  # bytes of a line's place
_NUMBER, _WORDS, _MISSING = b"\0", b"\1", b"\2"  # the first byte of a rank: the least comes first
_DIGITS = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_WHOLE = re.compile(r"[+-]?[0-9]{1,30}")
_INVERTED = bytes(range(255, -1, -1))
_HOW = ("max", "min", "first", "last", "longest")
_OF_URL = ("canonical", "https", "shortest")

Ranks = npt.NDArray[np.bytes_]
_Values = list[Any]  # of a column, one for each row: text, a number, a time, or None


class Criterion(NamedTuple):
    """One thing by which lines are compared."""

    column: str  # its name; "url" for what is said of the URL itself
    how: str  # one of `_HOW` or `_OF_URL`, or "=" with a value
    value: str = ""  # of "="

    @property
    def is_of_url(self) -> bool:
        """Return True if it needs no column."""
        return self.column == "url" and self.how in _OF_URL

    @property
    def width(self) -> int:
        """Return how many bytes its ranks have."""
        if self.how in {"canonical", "https", "="}:
            return 1
        widths = {"shortest": 4, "first": 1, "last": 1 + _PLACE, "longest": 1 + _PLACE}
        return widths.get(self.how, 1 + _TEXT)


class Preference(NamedTuple):
    """What makes a line better than others of its resource; the first criterion counts first."""

    criteria: tuple[Criterion, ...]

    @classmethod
    def of(cls, texts: Sequence[str]) -> "Preference | None":
        """Read criteria: ``COLUMN``, ``COLUMN:max``, ``COLUMN=VALUE``, ``url:https`` and so on.

        Raises:
            SettingsError: one of them is no criterion.
        """
        return cls(tuple(map(_criterion, texts))) if texts else None

    @property
    def has_columns(self) -> bool:
        """Return True if whole rows have to be read."""
        return any(not one.is_of_url for one in self.criteria)

    @property
    def width(self) -> int:
        """Return how many bytes a rank has."""
        return sum(one.width for one in self.criteria)

    def ranks(self, block: Block, places: Numbers, texts: bytes) -> bytes:
        """Return the ranks of some lines, as far as these do not depend on where they are.

        Args:
            block: of lines.
            places: of the lines that are URLs, within the block.
            texts: for each 8 bytes, which are zeros if it is canonical.

        Raises:
            OSError: the source has no such column.
        """
        wanted = [one.column for one in self.criteria if not one.is_of_url]
        columns = iter(_columns_of(block.rows, wanted, block.source) if wanted else ())
        at = places.tolist()
        every = block.lines() if len(wanted) < len(self.criteria) else []
        lines = [every[n] for n in at] if every else []
        parts = []
        for one in self.criteria:
            if one.is_of_url:
                made = _of_urls(one.how, lines, texts)
            else:
                column = next(columns)
                made = [_rank(column[n], one) for n in at]
            parts.append(made)
        return b"".join(map(b"".join, zip(*parts, strict=True)))

    def placed(self, ranks: bytes, places: Numbers) -> Ranks:
        """Return whole ranks, given the places of their lines among all lines."""
        rows = np.frombuffer(ranks, np.uint8).reshape(-1, self.width)
        start = 0
        for one in self.criteria:
            if one.how == "last":
                rows = rows.copy()
                inverted = (~places).astype(">u8")
                rows[:, start + 1 : start + one.width] = inverted.view(np.uint8).reshape(-1, _PLACE)
            start += one.width
        # NumPy ignores zeros at the end of bytes, which changes no order where all are as long.
        return np.ascontiguousarray(rows).view(f"S{self.width}").reshape(-1)


def _criterion(text: str) -> Criterion:
    """Read one criterion.

    Raises:
        SettingsError: it is none.
    """
    column, is_equal, value = text.partition("=")
    if is_equal:
        how = "="
    else:
        column, colon, how = text.rpartition(":")
        if not colon:
            column, how = text, "max"
    if column and (how == "=" or how in _HOW or (column == "url" and how in _OF_URL)):
        return Criterion(column, how, value)
    raise SettingsError(
        f"--prefer {text}: write COLUMN:{'|'.join(_HOW)}, COLUMN=VALUE, or url:{'|'.join(_OF_URL)}"
    )


def _of_urls(how: str, lines: Sequence[bytes], texts: bytes) -> list[bytes]:
    """Return ranks by what is said of the URLs themselves."""
    if how == "canonical":
        return [b"\0" if not text else b"\1" for text in np.frombuffer(texts, "<u8").tolist()]
    if how == "https":
        return [b"\0" if line[:6].lower() == b"https:" else b"\1" for line in lines]
    return [len(line).to_bytes(4) for line in lines]


def _rank(value: object, criterion: Criterion) -> bytes:
    """Return the rank of a value: a number or a time, else a text; a missing one comes last."""
    how = criterion.how
    is_missing = value is None or value == "" or (isinstance(value, float) and math.isnan(value))
    if how == "=":
        return b"\0" if not is_missing and _is_equal(value, criterion.value) else b"\1"
    if is_missing:
        return _MISSING + bytes(criterion.width - 1)
    if how in {"first", "last"}:
        return _NUMBER + bytes(criterion.width - 1)
    if how == "longest":
        return _NUMBER + len(_as_text(value)).to_bytes(_PLACE).translate(_INVERTED)
    number = _as_number(value)
    kind = _WORDS if number is None else _NUMBER
    made = _as_text(value)[:_TEXT] if number is None else number
    made = made.ljust(_TEXT, b"\0")
    return kind + (made.translate(_INVERTED) if how == "max" else made)


def _is_equal(value: object, wanted: str) -> bool:
    """Return True if a value is the wanted one, as text or as a number."""
    if _as_text(value) == wanted.encode("utf-8", "surrogateescape"):
        return True
    number = _as_number(value)
    return number is not None and number == _as_number(wanted)


def _as_text(value: object) -> bytes:
    """Return a value as text."""
    if isinstance(value, bytes):
        return value
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return text.encode("utf-8", "surrogateescape")


def _as_number(value: object) -> bytes | None:
    """Return a number or a time as bytes that sort; None if it is neither.

    Whole numbers are exact. Times count in seconds since 1970; without an offset they are UTC.
    """
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if isinstance(value, str):
        value = _read(value.strip())
    if isinstance(value, datetime):
        value = (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
    elif isinstance(value, date):
        value = datetime.combine(value, time(), UTC).timestamp()
    if isinstance(value, Decimal):
        value = float(value)
    if not isinstance(value, int | float):
        return None
    try:
        near = float(value)
    except OverflowError:
        near = math.inf if value > 0 else -math.inf
    rest = int(value) - int(near) if isinstance(value, int) and math.isfinite(near) else 0
    [bits] = struct.unpack(">Q", struct.pack(">d", near + 0.0))
    bits = bits ^ (2**64 - 1) if bits >> 63 else bits | 1 << 63
    return struct.pack(">QQ", bits, min(max(rest + 2**63, 0), 2**64 - 1))


def _read(text: str) -> float | int | datetime | None:
    """Read a number or a time (ISO 8601); None if a text is neither."""
    if _WHOLE.fullmatch(text):
        return int(text)
    if _DIGITS.fullmatch(text):
        return float(text)
    if text[:4].isdecimal():
        try:
            return datetime.fromisoformat(text)
        except ValueError:
            return None
    return None


def _columns_of(rows: Rows | None, names: Sequence[str], source: str) -> list[_Values]:
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
        return names, [_decoded(row).split(mark.decode()) for row in rows.each()]

    def split(row: bytes) -> list[str]:
        if rows.format == "tsv":
            return list(map(_decoded, tsv_fields(row)))
        text = _decoded(row)
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
        times = dict.fromkeys(["timestamp"], *map(_decoded, line.split(b" ", 2)[1:2]))
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


def _of_parquet(batch: Any, name: str, source: str) -> _Values:  # noqa: ANN401 - pyarrow has no types
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


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
