"""CSV: the URLs that the library reads, wherever the file is cut; no line disappears in a quote."""

import csv
import io
import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.sites import run_command
from support.strategies import tries
from support.tables import each

from canonry.crawler.files import delimited
from canonry.crawler.files.delimited import (
    CSVRecord,
    OpenQuoteError,
    csv_batches,
    csv_records,
)
from canonry.crawler.files.line_streams import Rows, URLBatch

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


def urls_of(batch: URLBatch) -> list[bytes | None]:
    """Return the URLs of a batch one by one."""
    urls = batch.data.split(b"\n")
    return [None if n in batch.refused else url for n, url in enumerate(urls)]


def of(batch: URLBatch) -> Rows:
    """Return the rows of a batch."""
    assert batch.rows is not None
    return batch.rows


def rows_of(batch: URLBatch) -> list[bytes]:
    """Return the rows of a batch one by one."""
    return [row + b"\n" for row in of(batch).each()]


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
        cells[place].encode().replace(b"\n", b"") if cells and place < len(cells) else None
        for cells, _open in whole
    ]
    found, said = all_of(csv_batches(pieces(data, size), column, delimiter))
    assert [url for block in found for url in urls_of(block)] == plain
    assert bool(said) == any(is_open for _cells, is_open in whole)
    assert all(len(urls_of(block)) == len(rows_of(block)) for block in found)


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
    st.data(),
)
@settings(max_examples=tries(0.4))
def test_rows_are_kept_byte_for_byte(
    fields: list[tuple[str, str]], size: int, ending: str, last: str, data: st.DataObject
) -> None:
    rows = [f"{written(one)},{written(other)}" for one, other in fields]
    text = ending.join(['"the, name",b', *rows]) + last
    found = list(csv_batches(pieces(text.encode(), size), "the, name", ","))
    assert {of(block).header for block in found} == {b'"the, name",b'}
    kept: list[bytes] = []
    urls: list[bytes | None] = []
    for block in found:
        urls += urls_of(block)
        mask = np.array([data.draw(st.booleans()) for _ in urls_of(block)], np.bool_)
        raw = rows_of(block)
        chosen = [row for row, wanted in zip(raw, mask, strict=True) if wanted]
        assert of(block).of(mask) == b"".join(chosen)
        kept += raw
    if fields:
        assert urls == [one.encode().replace(b"\n", b"") for one, _other in fields]
        assert kept == [row.encode() + b"\n" for row in rows]
    else:
        assert (urls, kept) == ([b""], [b"\n"])


def test_a_wrong_column_names_those_that_there_are() -> None:
    with pytest.raises(OSError, match="no column 'ulr'; it has id, url; did you mean --column url"):
        list(csv_batches(iter([b"id,url\n1,http://a.example/\n"]), "ulr", ","))
    with pytest.raises(OSError, match="no column 'url'"):
        list(csv_batches(iter([]), "url", ","))


def test_what_precedes_a_fault_is_read() -> None:
    def breaks_off() -> Iterator[bytes]:
        yield b"url\nhttp://a.example/1\nhttp://a.exa"
        raise EOFError("it ends too early")

    read = csv_batches(breaks_off(), "url", ",")
    assert urls_of(next(read)) == [b"http://a.example/1"]
    with pytest.raises(EOFError, match="it ends too early"):
        next(read)


def test_a_quote_that_is_never_closed_does_not_fill_the_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(delimited, "LONGEST", 1000)
    data = b'a,"b\n' + b"http://a.example/,x\n" * 500 + b'http://b.example/,"c,d\n'
    found, said = all_of(csv_batches(pieces(data, 300), "1", ","))
    urls = [url for block in found for url in urls_of(block)]
    assert urls == [b"a", *[b"http://a.example/"] * 500, b"http://b.example/"]
    assert max(len(of(block).data) for block in found) < 3000
    assert said == (
        "line 1: the quote is never closed; the line was read without it, as 1 more line of this "
        "kind"
    )


def test_a_whole_row_is_kept_where_a_quote_is_never_closed() -> None:
    data = b'n,url\n1,http://a.example/1\n2,"http://a.example/2\n3,http://a.example/3\n'
    for size in (1, 7, 1000):
        found, said = all_of(csv_batches(pieces(data, size), "url", ","))
        urls = [url for block in found for url in urls_of(block)]
        assert urls == [b"http://a.example/%d" % n for n in (1, 2, 3)]
        rows = [row for block in found for row in rows_of(block)]
        assert rows == [line + b"\n" for line in data.split(b"\n")[1:-1]]
        assert said.startswith("line 3: the quote is never closed")


@each(
    ("data", "urls"),
    [
        (b"a,b\nc,d\ne", [b"b", b"d"]),
        (b'a,"b"\nc,"d"\n', [b"b", b"d"]),
        (b'"x, y",b\n"say ""no""",d\n', [b"b", b"d"]),
        (b'"x\ny",b\n1,d\n"z\n', [b"b", b"d"]),
        (b'"",\n"""",d\n', [b"", b"d"]),
        (b"\na,b\n\nc,d\n\n", [b"b", b"d"]),
        (b'a,b\nc\n"x"\n', [b"b", None, None]),
        (b'a,b\r\n\r\nc,"d"\r\ne,f,g\r\n', [b"b", b"d", b"f"]),
        (b'1,"b""c"\n', [b'b"c']),
        (b'1,"b\nc"\n', [b"b\nc"]),
        (b'1,"b\r\nc"\n', [b"b\r\nc"]),
        (b"a\0,b\n", [b"b"]),
        (b'a "x",b\n', None),
        (b'"a"x,b\n', None),
        (b'"a,b\n', None),
        (b"a\rc,b\n", None),
        (b"", None),
    ],
)
def test_rows_are_found_without_the_library_unless_something_is_odd(
    data: bytes, urls: list[bytes | None] | None
) -> None:
    """The library takes three times as long, so nobody would tell by what is read."""
    found = delimited._by_bytes(data, ",", 1)  # noqa: SLF001 - as above
    assert (found and found.urls) == urls


_ODD = st.lists(
    st.sampled_from(["a", ",", '"', '""', "\n", "\r\n", "\r", " ", '",', ',"']), max_size=30
).map("".join)


def lines_of(text: str) -> list[str]:
    return list(io.StringIO(text, newline=""))


@given(_ODD)
@settings(max_examples=tries(0.5))
def test_each_line_is_in_one_record(text: str) -> None:
    lines = lines_of(text)
    records = list(csv_records(lines, ","))
    assert sum(record.lines for record in records) == len(lines)
    assert all(record.lines == 1 for record in records if record.is_open)
    with suppress(csv.Error):
        expected = list(csv.reader(lines, strict=True))
        assert records == [
            CSVRecord(cells, record.lines) for cells, record in zip(expected, records, strict=True)
        ]


@given(_ODD)
@settings(max_examples=tries(0.5))
def test_only_records_that_are_whole_are_read_while_more_follows(text: str) -> None:
    lines = lines_of(text)
    read = list(csv_records(lines, ",", is_over=False))
    left = lines[sum(record.lines for record in read) :]
    assert [*read, *csv_records(left, ",")] == list(csv_records(lines, ","))


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        ('1,"a\n2,b\n', [["1", "a"], ["2", "b"]]),
        ('1,"a,c\n2,b\n', [["1", "a", "c"], ["2", "b"]]),
        ('"x,y","a\n2,b\n', [["x,y", "a"], ["2", "b"]]),
        ('1,"a\n2,"b"\n3,c\n', [["1", "a"], ["2", "b"], ["3", "c"]]),
        ('"1","a\n"2","b"\n', [["1", "a"], ["2", "b"]]),
        ('1,"a\nb",c\n', [["1", "a\nb", "c"]]),
        ('1,"a"b,c\n', [["1", "ab", "c"]]),
    ],
)
def test_a_quote_that_is_never_closed_is_left_out(text: str, cells: list[list[str]]) -> None:
    assert [record.cells for record in csv_records(lines_of(text), ",")] == cells


@pytest.mark.parametrize("delimiter", [",", ";", "þ"])
def test_dedup_loses_no_line_in_a_quote(tmp_path: Path, delimiter: str) -> None:
    urls = [f"http://a.example/{n}" for n in range(2000)]
    rows = [f"{n}{delimiter}{url}\n" for n, url in enumerate(urls)]
    rows[100] = f'100{delimiter}"{urls[100]}\n'
    (tmp_path / "stray.csv").write_text("".join([f"id{delimiter}url\n", *rows]))
    words = ["dedup", "stray.csv", "--column", "url", "--delimiter", delimiter]
    done = run_command(*words, "-o", "out", "--json", folder=tmp_path)
    assert done.returncode == 1
    assert (tmp_path / "out").read_text().split() == urls
    sentence = "stray.csv: line 102: the quote is never closed; the line was read without it"
    assert json.loads(done.stdout)["cut"] == [sentence]
    done = run_command(*words, "-o", "out", folder=tmp_path)
    assert sentence in done.stderr.decode()
    done = run_command(*words, "--keep-rows", "-o", "kept", folder=tmp_path)
    assert done.returncode == 1
    assert (tmp_path / "kept").read_bytes() == (tmp_path / "stray.csv").read_bytes()
    data = (tmp_path / "stray.csv").read_bytes()
    words[1] = "-"
    done = run_command(*words, folder=tmp_path, data=data)
    assert (done.returncode, done.stdout.decode().split()) == (1, urls)
