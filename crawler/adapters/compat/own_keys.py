"""Tables that hold URLs together with the keys that another program gave them."""

from collections.abc import Iterator, Sequence
from functools import partial

from canonry.crawler.adapters.compat.key_map import OldKey
from canonry.crawler.compression import FAULTS
from canonry.crawler.files import blocks
from canonry.crawler.files.formats import InputFormat
from canonry.crawler.files.line_streams import Cut, Line
from canonry.crawler.files.recognized_files import check_column
from canonry.crawler.locations import is_stream
from canonry.crawler.settings import SettingsError

_OPTION = "--key-column"


def check_keys(files: Sequence[str], input_format: InputFormat, key_column: str) -> None:
    """Refuse files that cannot be read twice, and a column of keys that no file has.

    Raises:
        SettingsError: naming a file.
    """
    for file in filter(is_stream, files):
        raise SettingsError(f"{_OPTION} {file}: it is read twice, so a pipe has to be a file first")
    check_column(_OPTION, files, lambda file: _formats(file, input_format, key_column)[1])


def read_keyed(
    files: Sequence[str], input_format: InputFormat, key_column: str
) -> Iterator[tuple[Line, OldKey] | Cut]:
    """Yield the URLs of tables, each with a function that returns its old key.

    A file is read twice at once, for each of its two columns.

    Args:
        files: names of existing files.
        input_format: what is known of the format of their URLs.
        key_column: the name or the number of the column with the keys.
    """
    for file in files:
        try:
            formats = _formats(file, input_format, key_column)
        except (*FAULTS, SettingsError) as error:
            yield blocks.cut_off(file, 0, error)
            continue
        urls, keys = (blocks.lines_of(blocks.read([file], input_format=one)) for one in formats)
        for url, key in zip(urls, keys, strict=False):  # both break off at the same place
            if isinstance(url, Cut) or isinstance(key, Cut):
                yield url if isinstance(url, Cut) else key  # type: ignore[misc]  # one is a Cut
                break
            yield url, partial(_given, b"" if key.refused else key.text)


def _given(key: bytes, _url: str | bytes) -> str:
    """Return the old key of a row.

    Raises:
        ValueError: the row has none.
    """
    if not key:
        raise ValueError("a row without an old key")
    return key.decode("utf-8", "surrogateescape")


def _formats(
    file: str, input_format: InputFormat, key_column: str
) -> tuple[InputFormat, InputFormat]:
    """Return how to read the URLs of a file, and how to read their keys.

    Raises:
        OSError: the file cannot be read.
        SettingsError: it has no columns, or one of them has a name and the other a number.
    """
    found = blocks.format_of(file, input_format)
    if not found.reads.takes_column:
        raise SettingsError(
            f"{_OPTION}: {file} is read as {found.name}, which has no columns; if it is a table, "
            "say with --column where its URLs are"
        )
    is_table = found.name in {"csv", "tsv"}
    if is_table and (found.column or "1").isdecimal() != key_column.isdecimal():
        other = f"the URLs are in column {found.column or '1'}"
        raise SettingsError(f"{_OPTION} {key_column}: {other}; give two names, or two numbers")
    urls = InputFormat(found.name, found.column, found.delimiter if found.name == "csv" else None)
    return urls, urls._replace(column=key_column)
