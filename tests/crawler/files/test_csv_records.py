"""Records of CSV: as the library reads them, but no line disappears in a quote."""

import csv
import io
import json
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.sites import run_command
from support.strategies import tries

from canonry.crawler.files.csv_records import CSVRecord, csv_records

_TEXT = st.lists(
    st.sampled_from(["a", ",", '"', '""', "\n", "\r\n", "\r", " ", '",', ',"']), max_size=30
).map("".join)


def lines_of(text: str) -> list[str]:
    return list(io.StringIO(text, newline=""))


@given(_TEXT)
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


@given(_TEXT)
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
    if delimiter != "þ":
        done = run_command(*words, "--keep-rows", "-o", "kept", folder=tmp_path)
        assert done.returncode == 1
        assert (tmp_path / "kept").read_bytes() == (tmp_path / "stray.csv").read_bytes()
    data = (tmp_path / "stray.csv").read_bytes()
    words[1] = "-"
    done = run_command(*words, folder=tmp_path, data=data)
    assert (done.returncode, done.stdout.decode().split()) == (1, urls)
