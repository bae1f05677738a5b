"""Rows beside their URLs: the same URLs as without rows, wherever the file is cut."""

import io
from collections.abc import Iterator
from typing import TypeVar

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.strategies import tries

from canonry.crawler.files.csv_records import OpenQuoteError, csv_records
from canonry.crawler.files.rows import csv_table
from canonry.crawler.files.rows.csv_table import RowBlock, csv_rows

T = TypeVar("T")
_TOKENS = [
    "a",
    "http://a.example/",
    ",",
    ";",
    '"',
    '""',
    "\n",
    "\r\n",
    "\r",
    "\n\n",
    "é",
    "x,y",
    " ",
]
_TEXT = st.lists(st.sampled_from(_TOKENS), max_size=30).map("".join)


def urls_of(block: RowBlock) -> list[bytes | None]:
    """Return the URLs of a block one by one."""
    return block.urls if isinstance(block.urls, list) else list(block.urls.split(b"\n"))


def rows_of(block: RowBlock) -> list[bytes]:
    """Return the rows of a block one by one."""
    count = len(urls_of(block))
    if block.rows.ends:
        return [block.rows.of(np.arange(count) == n) for n in range(count)]
    return [line + b"\n" for line in block.rows.data.split(b"\n")]


def all_of(found: Iterator[T]) -> tuple[list[T], str]:
    """Return what an iterator yields, and what it raises about quotes, if it does."""
    items: list[T] = []
    try:
        items += found
    except OpenQuoteError as error:
        return items, str(error)
    return items, ""


def pieces(data: bytes, size: int) -> Iterator[bytes]:
    return iter([data[at : at + size] for at in range(0, len(data), size)])


@given(_TEXT, st.sampled_from([1, 3, 8, 1000]), st.sampled_from(",;é"), st.sampled_from("12"))
@example('"é"', 1, "é", "1")  # a quoted delimiter of several bytes
@settings(max_examples=tries(0.5))
def test_any_text_has_the_urls_that_it_has_without_rows(
    text: str, size: int, delimiter: str, column: str
) -> None:
    """Also a text that is no CSV: the reader's answer stands."""
    data = text.encode()
    records = csv_records(io.StringIO(text, newline=""), delimiter)
    whole = [(one.cells, one.is_open) for one in records if one.cells != []]
    place = int(column) - 1
    plain = [
        cells[place].encode() if cells and place < len(cells) else None for cells, _open in whole
    ]
    found, said = all_of(csv_rows(pieces(data, size), column, delimiter))
    assert [url for block in found for url in urls_of(block)] == plain
    assert bool(said) == any(is_open for _cells, is_open in whole)
    for block in found:
        if block.rows.ends:
            assert len(urls_of(block)) == len(block.rows.ends) // 8


_FIELD = st.lists(
    st.sampled_from(["a", "é", ",", '"', "\n", "\r\n", " ", "http://"]), max_size=4
).map("".join)


def written(field: str) -> str:
    """Return a field as CSV."""
    needs = any(sign in field for sign in ',"\r\n') or field == ""
    return '"' + field.replace('"', '""') + '"' if needs else field


@given(
    st.lists(st.tuples(_FIELD, _FIELD), max_size=8),
    st.sampled_from([1, 5, 64, 1000]),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from(["", "\n"]),
    st.booleans(),
    st.data(),
)
@settings(max_examples=tries(0.4))
def test_rows_are_kept_byte_for_byte(
    fields: list[tuple[str, str]], size: int, ending: str, last: str, bom: bool, data: st.DataObject
) -> None:
    rows = [f"{written(one)},{written(other)}" for one, other in fields]
    text = ending.join(['"the, name",b', *rows]) + last
    whole = b"\xef\xbb\xbf" * bom + text.encode()
    found = list(csv_rows(pieces(whole, size), "the, name", ","))
    assert {block.rows.header for block in found} == {b'"the, name",b'}
    kept: list[bytes] = []
    urls: list[bytes | None] = []
    for block in found:
        urls += urls_of(block)
        mask = np.array([data.draw(st.booleans()) for _ in urls_of(block)], np.bool_)
        raw = rows_of(block)
        if block.rows.ends:
            chosen = [row for row, wanted in zip(raw, mask, strict=True) if wanted]
            assert block.rows.of(mask) == b"".join(chosen)
        kept += raw
    if fields:
        assert urls == [one.encode() for one, _other in fields]
        assert kept == [row.encode() + b"\n" for row in rows]
    else:
        assert (urls, kept) == ([b""], [b"\n"])


def test_a_wrong_column_names_those_that_there_are() -> None:
    with pytest.raises(OSError, match="no column 'ulr'; it has id, url; did you mean --column url"):
        list(csv_rows(iter([b"id,url\n1,http://a.example/\n"]), "ulr", ","))
    with pytest.raises(OSError, match="no column 'url'"):
        list(csv_rows(iter([]), "url", ","))


def test_what_precedes_a_fault_is_read() -> None:
    def breaks_off() -> Iterator[bytes]:
        yield b"url\nhttp://a.example/1\nhttp://a.exa"
        raise EOFError("it ends too early")

    read = csv_rows(breaks_off(), "url", ",")
    assert urls_of(next(read)) == [b"http://a.example/1"]
    with pytest.raises(EOFError, match="it ends too early"):
        next(read)


def test_a_quote_that_is_never_closed_does_not_fill_the_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(csv_table, "LONGEST", 1000)
    data = b'a,"b\n' + b"http://a.example/,x\n" * 500 + b'http://b.example/,"c,d\n'
    found, said = all_of(csv_rows(pieces(data, 300), "1", ","))
    urls = [url for block in found for url in urls_of(block)]
    assert urls == [b"a", *[b"http://a.example/"] * 500, b"http://b.example/"]
    assert max(len(block.rows.data) for block in found) < 3000
    assert said == (
        "line 1: the quote is never closed; the line was read without it, as 1 more line of this "
        "kind"
    )


def test_a_whole_row_is_kept_where_a_quote_is_never_closed() -> None:
    data = b'n,url\n1,http://a.example/1\n2,"http://a.example/2\n3,http://a.example/3\n'
    for size in (1, 7, 1000):
        found, said = all_of(csv_rows(pieces(data, size), "url", ","))
        urls = [url for block in found for url in urls_of(block)]
        assert urls == [b"http://a.example/%d" % n for n in (1, 2, 3)]
        rows = [row for block in found for row in rows_of(block)]
        assert rows == [line + b"\n" for line in data.split(b"\n")[1:-1]]
        assert said.startswith("line 3: the quote is never closed")


@pytest.mark.parametrize(
    ("data", "urls"),
    [
        (b"a,b\nc,d\ne", b"b\nd"),
        (b'a,"b"\nc,"d"\n', b"b\nd"),
        (b'"x, y",b\n"say ""no""",d\n', b"b\nd"),
        (b'"x\ny",b\n1,d\n"z\n', b"b\nd"),
        (b'"",\n"""",d\n', b"\nd"),
        (b"a,b\n\nc,d\n", None),
        (b"a,b\nc\n", None),
        (b"a,b\r\n", None),
        (b'a "x",b\n', None),
        (b'"a"x,b\n', None),
        (b'1,"b""c"\n', None),
        (b'1,"b\nc"\n', None),
        (b'"a,b\n', None),
        (b"", None),
    ],
)
def test_rows_are_found_without_the_reader_where_they_are_plain(
    data: bytes, urls: bytes | None
) -> None:
    found = csv_table._plain_rows(data, ",", 1)  # noqa: SLF001 - else nobody could tell
    assert (found and found.urls) == urls
    if found is not None:
        rows = found.rows_of(data, b"")
        assert rows.data == data[: len(rows.data)]
        assert len(rows.ends) == (0 if found.lines == 2 else 16)
