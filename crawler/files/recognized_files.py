"""What people should know of their files before these are read: which column has the URLs."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

from canonry.crawler.compression import FAULTS
from canonry.crawler.files import blocks
from canonry.crawler.files.formats import FoundFormat, InputFormat
from canonry.crawler.files.line_formats import among
from canonry.crawler.files.line_streams import Cut
from canonry.crawler.locations import is_stream
from canonry.crawler.settings import SettingsError

_MOST_LOOKED_AT = 1_000  # files whose format is reported


def recognized(all_files: Sequence[str], input_format: InputFormat) -> Iterator[str]:
    """Yield sentences about files: which column has the URLs, if it was detected.

    If the records of JSONL lack the wanted key, name the keys that they have.

    Raises:
        SettingsError: no file has the wanted column.
    """
    files_by_sentence: dict[str, list[str]] = {}
    files = [file for file in all_files if not is_stream(file)][:_MOST_LOOKED_AT]
    if input_format.column is not None:
        check_column("--column", files, lambda _file: input_format)
    for file in files:
        with suppress(*FAULTS):
            sentence = _about(blocks.format_of(file, input_format))
            if sentence is not None:
                files_by_sentence.setdefault(sentence, []).append(file)
    for sentence, files in files_by_sentence.items():
        more = f" and {len(files) - 1:,} more" if len(files) > 1 else ""
        yield f"{files[0]}{more}: {sentence}"


def check_column(
    option: str, files: Sequence[str], format_of: Callable[[str], InputFormat]
) -> None:
    """Refuse a column that no file has.

    Args:
        option: which names the column.
        files: names of existing files, which can be read several times.
        format_of: returns how to read a file, with that column.

    Raises:
        SettingsError: naming the columns of the first file.
    """
    cuts = []
    for file in files:
        with suppress(*FAULTS):
            first = next(blocks.read([file], input_format=format_of(file)), None)
            if not (isinstance(first, Cut) and first.reason.startswith("no column")):
                return
            cuts.append(first)
    if cuts:
        reason = cuts[0].reason.replace("--column", option)
        raise SettingsError(f"{option}: {cuts[0].source}: {reason}")


def _about(file_format: FoundFormat) -> str | None:
    """Return a sentence about the format of a file; None if there is nothing to say."""
    if file_format.sniffed is not None:
        delimiter, column = file_format.sniffed
        between = "tabs" if delimiter == "\t" else repr(delimiter)
        return (
            f"a table with {between} between its columns, and URLs in column {column!r}; "
            "--column and --delimiter name others, --input lines reads whole lines"
        )
    if file_format.key is not None:
        kind = "column" if file_format.name == "parquet" else "key"
        return f"records with URLs in the {kind} {file_format.key!r}; --column names another"
    if file_format.other_keys:
        key = file_format.column or "url"
        return (
            f"its first records have no key {key!r}; they have {among(file_format.other_keys, key)}"
        )
    if file_format.doubt is not None:
        sign = "tab" if file_format.doubt == "\t" else file_format.doubt
        return (
            f"whole lines are read as URLs, and all have as many {sign!r}; if these separate "
            f"columns, add --column 1 --delimiter {sign!r}"
        )
    return None
