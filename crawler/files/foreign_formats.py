"""Formats that are not read, but are given at times: what to do with such a file instead."""

import re
from typing import NamedTuple


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
        re.compile(rb"\s*\[\s*[{\"]"),
        "one array of JSON; write a record a line (jq -c '.[]' FILE | canonry …)",
    ),
)


def advice_for(head: bytes) -> str | None:
    """Return what a file is that cannot be read, and what to do; None if nothing speaks for that.

    Args:
        head: the beginning of the file.
    """
    return next((one.advice for one in _FORMATS if one.pattern.match(head)), None)
