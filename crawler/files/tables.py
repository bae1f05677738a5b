"""The table of output formats: rows as text with tabs, JSONL, CSV or Parquet."""

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import chain, islice
from pathlib import PurePath
from types import NoneType, UnionType
from typing import IO, Any, get_args, get_origin, get_type_hints

import msgspec

from canonry.canon.syntax import to_text
from canonry.crawler.compression import COMPRESSED_ENDINGS, write_all
from canonry.crawler.markup import escaped
from canonry.crawler.settings import SettingsError
from canonry.extras import require
from canonry.storage.timestamps import text_of

Row = Sequence[Any]
_ROW_GROUP = 50_000
_AT_ONCE = 4096  # rows of CSV
_CELLS = frozenset({str, int, float, NoneType})  # types that need no conversion for CSV
_QUICK = frozenset({int, NoneType})  # those that JSON has, too
_LOOKED_AT = 256  # rows checked at once; escaping is slow, and few rows need it
_SEQUENCES = (list, Sequence)
_ESCAPES = {ord("\\"): "\\\\", ord("\t"): "\\t", ord("\n"): "\\n", ord("\r"): "\\r"}


class Table:
    """Writes rows, whose values are in the order of its columns."""

    def __init__(self, file: IO[bytes], columns: Mapping[str, type]) -> None:
        """Write to a file, given the names and types of the columns."""
        self._file = file
        self._columns = columns

    def write(self, rows: Iterable[Row]) -> None:
        """Write rows."""
        raise NotImplementedError

    def close(self) -> None:
        """Write what is left; the file stays open."""
        self._file.flush()


class _Text(Table):
    """Columns separated by tabs; tabs, line ends and backslashes in them are escaped."""

    def write(self, rows: Iterable[Row]) -> None:
        stream = iter(rows)
        lines: list[str] = []
        while some := list(islice(stream, _LOOKED_AT)):
            shown = [
                value if type(value) is str else str(_plain(value)) for row in some for value in row
            ]
            whole = "\n".join(shown)
            if whole.count("\n") >= len(shown) or any(sign in whole for sign in "\\\t\r"):
                shown = [value.translate(_ESCAPES) for value in shown]
            columns = len(some[0])
            lines += ["\t".join(row) for row in zip(*[iter(shown)] * columns, strict=True)]
        lines.append("")
        write_all(self._file, "\n".join(lines).encode("utf-8", "surrogateescape"))


class _JSONL(Table):
    """One object per line."""

    def write(self, rows: Iterable[Row]) -> None:
        names = list(self._columns)
        encode = msgspec.json.encode
        shown = (map(_whole_plain, row) for row in rows)
        lines = [escaped(encode(dict(zip(names, row, strict=True)))) for row in shown]
        write_all(self._file, b"\n".join([*lines, b""]))


class _CSV(Table):
    """Rows under a row of names (RFC 4180), with plain line ends."""

    def __init__(self, file: IO[bytes], columns: Mapping[str, type]) -> None:
        super().__init__(file, columns)
        self.write([list(columns)])

    def write(self, rows: Iterable[Row]) -> None:
        stream = iter(rows)
        while some := list(islice(stream, _AT_ONCE)):
            kinds = set(map(type, chain.from_iterable(some)))
            if kinds != {str}:
                shown = map(_cell, chain.from_iterable(some))
                cells = ["" if value is None else str(value) for value in shown]
                some = list(zip(*[iter(cells)] * len(some[0]), strict=True))
            text = "".join(map(_csv_line, some))
            write_all(self._file, text.encode("utf-8", "surrogateescape"))


def _csv_line(row: Row) -> str:
    """Return texts as a row of CSV.

    The library's writer, which is five times slower, is used only for rows that need quotes.
    """
    line = ",".join(row)
    if len(row) > line.count(",") and line and not ('"' in line or "\n" in line or "\r" in line):
        return f"{line}\n"
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerow(row)
    return text.getvalue()


class _Parquet(Table):
    """Groups of rows, compressed with zstd."""

    _writer: Any = None  # until pyarrow has made it

    def __init__(self, file: IO[bytes], columns: Mapping[str, type]) -> None:
        super().__init__(file, columns)
        require("arrow", "Parquet")
        import pyarrow as pa  # noqa: PLC0415 - optional
        from pyarrow import parquet  # noqa: PLC0415 - optional

        types = {
            str: pa.string(),
            int: pa.int64(),
            float: pa.float64(),
            bool: pa.bool_(),
            datetime: pa.timestamp("ms", "UTC"),
        }

        def type_of(kind: Any) -> Any:  # noqa: ANN401 - pyarrow ships no types
            if get_origin(kind) in _SEQUENCES:
                return pa.list_(type_of(get_args(kind)[0]))
            if hasattr(kind, "_fields"):
                return pa.struct([(name, type_of(of)) for name, of in column_types(kind).items()])
            return types[kind]

        schema = pa.schema([(name, type_of(kind)) for name, kind in columns.items()])
        self._writer = parquet.ParquetWriter(file, schema, compression="zstd")
        self._waiting: list[Row] = []

        def group(rows: list[Row]) -> Any:  # noqa: ANN401 - pyarrow ships no types
            columns = zip(zip(*rows, strict=True), schema, strict=True)
            return pa.table([array(values, field.type) for values, field in columns], schema)

        def array(values: tuple[Any, ...], kind: Any) -> Any:  # noqa: ANN401 - as above
            if not pa.types.is_nested(kind):
                with suppress(UnicodeEncodeError):  # few texts have bytes that are not UTF-8
                    return pa.array(values, kind)
            return pa.array(map(_whole, values), kind)

        self._group = group

    def write(self, rows: Iterable[Row]) -> None:
        stream = iter(rows)
        while some := list(islice(stream, _ROW_GROUP)):
            self._waiting += some
            if len(self._waiting) >= _ROW_GROUP:
                self._put()

    def _put(self) -> None:
        if self._waiting:
            self._writer.write_table(self._group(self._waiting))
            self._waiting.clear()

    def close(self) -> None:
        self._put()
        self._writer.close()
        super().close()

    def __del__(self) -> None:
        if self._writer is not None:
            self._writer.is_open = False  # after an error, it would try to write a footer


def column_types(row: Any) -> dict[str, Any]:  # noqa: ANN401 - types of types
    """Return the columns of a class of rows, with the type of each without None."""
    return {
        name: next((of for of in get_args(kind) if of is not NoneType), kind)
        if get_origin(kind) is UnionType
        else kind
        for name, kind in get_type_hints(row).items()
    }


def _plain(value: Any) -> Any:  # noqa: ANN401 - whatever a row holds
    """Return a value with times as text, and rows within a row as dicts."""
    return value if isinstance(value, str) else _changed(value, _as_it_is, text_of)


def _whole(value: Any) -> Any:  # noqa: ANN401 - whatever a row holds
    """Percent-encode the bytes in texts that are not UTF-8, which are lone surrogates here."""
    return _changed(value, to_text, _as_it_is)


def _whole_plain(value: Any) -> Any:  # noqa: ANN401 - whatever a row holds
    """Apply `_plain` and `_whole` in one pass."""
    return value if type(value) in _QUICK else _changed(value, to_text, text_of)


def _as_it_is(value: Any) -> Any:  # noqa: ANN401 - whatever a row holds
    return value


def _changed(value: Any, of_text: Callable[[str], str], of_time: Callable[[datetime], Any]) -> Any:  # noqa: ANN401 - whatever a row holds
    """Apply functions to all texts and times in a value; a nested row becomes a dict."""
    if isinstance(value, str):
        return of_text(value)
    if isinstance(value, datetime):
        return of_time(value)
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, dict):
        return {name: _changed(one, of_text, of_time) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_changed(one, of_text, of_time) for one in value]
    return value


def _cell(value: Any) -> Any:  # noqa: ANN401 - whatever a row holds
    """Return a value for a cell of CSV; a list becomes JSON."""
    if type(value) in _CELLS:
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    plain = _plain(value)
    return msgspec.json.encode(_whole(plain)).decode() if isinstance(plain, list) else plain


# By the ending of a file's name; all other endings mean "text".
OUTPUT_FORMATS: dict[str, Callable[[IO[bytes], Mapping[str, type]], Table]] = {
    "text": _Text,
    "jsonl": _JSONL,
    "csv": _CSV,
    "parquet": _Parquet,
}


WORKBOOKS = frozenset({"ods", "xls", "xlsx"})
_OTHER_FORMATS = WORKBOOKS | {"json"}  # that nobody takes for text


def ending_of(path: str | None) -> str:
    """Return the ending of a file's name in lower case, without that of a compressed file."""
    name = PurePath((path or "").lower())
    return (name.with_suffix("") if name.suffix in COMPRESSED_ENDINGS else name).suffix[1:]


def format_of(path: str | None) -> str:
    """Return the output format that the ending of a file's name asks for."""
    ending = ending_of(path)
    return ending if ending in OUTPUT_FORMATS else "text"


def check_ending(option: str, path: str | None) -> None:
    """Refuse the name of an output whose ending asks for a format that is not written.

    Raises:
        SettingsError: naming the option and the formats.
    """
    if ending_of(path) in _OTHER_FORMATS:
        raise SettingsError(
            f"{option} {path}: such files are not written; tables are .jsonl, .csv or .parquet, "
            "and other names are for text"
        )


def table(file: IO[bytes], output_format: str, columns: Mapping[str, type]) -> Table:
    """Return a writer of rows to a file.

    Args:
        file: open for writing.
        output_format: a key of `OUTPUT_FORMATS`.
        columns: names and types: str, int, float, bool, datetime, a named tuple of them, or a list
            of one of these.

    Raises:
        MissingExtraError: for Parquet, if pyarrow is not installed.
    """
    return OUTPUT_FORMATS[output_format](file, columns)
