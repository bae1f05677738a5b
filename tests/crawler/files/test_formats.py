"""Files of URLs of every format: detected by content, and read to the end whatever is in them."""

import bz2
import csv
import gzip
import io
import json
import lzma
import os
import tempfile
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet
from support.sites import run_command
from support.strategies import tries
from support.tables import each

from canonry.crawler.files import blocks
from canonry.crawler.files.formats import ANY, INPUT_FORMATS, LINES, InputFormat
from canonry.crawler.files.line_streams import LONGEST, Cut, Line
from canonry.crawler.settings import SettingsError

A, B, C = "http://a.example/1", "http://a.example/2?x=%C3%A9", "http://c.example/é"
_SITEMAP = "http://www.sitemaps.org/schemas/sitemap/0.9"


def warc(*, by_record: bool = False) -> bytes:
    """Return a WARC with three captures, one of them a redirect, among other records."""
    records = []
    for kind, url in (
        ("warcinfo", ""),
        ("request", "http://request.example/"),
        ("response", A),
        ("metadata", "http://metadata.example/"),
        ("revisit", B),
        ("resource", f"<{C}>"),
    ):
        body = "HTTP/1.1 301 Moved\r\nLocation: http://e.example/\r\n\r\nWARC/1.0\r\n" * 9
        target = f"WARC-Target-URI: {url}\r\n" if url else ""
        head = f"WARC/1.0\r\nWARC-Type: {kind}\r\n{target}Content-Length: {len(body)}\r\n\r\n"
        records.append(f"{head}{body}\r\n\r\n".encode())
    return b"".join(map(gzip.compress, records) if by_record else records)


def arrow(kind: pa.DataType, *names: str) -> bytes:
    """Return a Parquet file with the URLs in its last column."""
    file = io.BytesIO()
    columns = {name: pa.array([1, 2, 3]) for name in names[:-1]}
    columns[names[-1]] = pa.array([A, B, C]).cast(kind)
    parquet.write_table(pa.table(columns), file)
    return file.getvalue()


def jsonl(*objects: object) -> bytes:
    return b"".join(json.dumps(one, ensure_ascii=False).encode() + b"\n" for one in objects)


CASES: dict[str, tuple[bytes, str | None]] = {
    "lines": (f"{A}\r\n{B}\n{C}".encode(), None),
    "csv": (f'n,url\r\n1,{A}\r\n2,"{B}"\r\n3,{C}'.encode(), "url"),
    "csv by number": (f'1,{A}\n2,"{B}"\n3,{C}\n'.encode(), "2"),
    "csv with a BOM": (f"\ufeffurl,n\n{A},1\n{B},2\n{C},3\n".encode(), "url"),
    "tsv": (f'n\turl\r\n1\t{A}\r\n"2\t{B}\r\n3\t{C}'.encode(), "url"),
    "tsv by number": (f"{A}\t1\n{B}\n{C}\t3\n".encode(), "1"),
    "jsonl": (jsonl({"url": A, "n": [1]}, {"n": {}, "url": B}, {"url": C}), None),
    "jsonl, nested": (jsonl(*({"a": {"to": {"b": url}}} for url in (A, B, C))), "a.to.b"),
    "cdx": (
        f" CDX N b a m\nx 2024 {A} -\nx - {B} -\n CDX N b a m\nx - {C} text/html".encode(),
        None,
    ),
    "cdx with tabs": (f"\tCDX\ta\tb\n{A}\t1\n{B}\t2\n{C}\t3".encode(), None),
    "cdx without a legend": (
        "".join(
            f"com,a)/ 20240101000000 {url} text/html 200 AAA 1\n" for url in (A, B, C)
        ).encode(),
        None,
    ),
    "cdxj": (
        b"!OpenWayback-CDXJ 1.0\n"
        + b"".join(b"com,a)/ 20240101000000 " + jsonl({"mime": "x", "url": u}) for u in (A, B, C)),
        None,
    ),
    "warc": (warc(), None),
    "warc, compressed by record": (warc(by_record=True), None),
    "sitemap": (
        f'<?xml version="1.0"?><urlset xmlns="{_SITEMAP}" xmlns:i="http://www.google.com/i">'
        f"<url><loc>{A}</loc><i:image><i:loc>{A}.png</i:loc></i:image></url>"
        f"<url><lastmod>2024</lastmod><loc>\n {B}</loc></url><url><loc><![CDATA[{C}]]></loc></url>"
        "</urlset>".encode(),
        None,
    ),
    "sitemap index": (
        f'<s:sitemapindex xmlns:s="{_SITEMAP}">'
        + "".join(f"<s:sitemap><s:loc>{url}</s:loc></s:sitemap>" for url in (A, B, C))
        + "</s:sitemapindex>",
        None,
    ),
    "sitemap without a namespace": (
        f"<urlset><url><loc>{A}</loc></url><url><loc>{B}</loc></url><url><loc>{C}</loc></url></urlset>",
        None,
    ),
    "sitemap in Latin 1": (
        f"<?xml version='1.0' encoding='iso-8859-1'?><urlset><url><loc>{A}</loc></url>"
        f"<url><loc>{B}</loc></url><url><loc>{C}</loc></url></urlset>".encode("latin-1"),
        None,
    ),
    "parquet": (arrow(pa.string(), "n", "url"), None),
    "parquet, the only text": (arrow(pa.large_string(), "n", "where"), None),
    "parquet, named": (arrow(pa.string(), "n", "url", "link"), "link"),
    "parquet, dictionary": (arrow(pa.dictionary(pa.int32(), pa.string()), "url"), None),
    "parquet, bytes": (arrow(pa.binary(), "url"), None),
}  # type: ignore[dict-item]


def read(path: Path, form: InputFormat = ANY) -> tuple[list[Line], list[Cut]]:
    """Return the lines of a file that are not blank, and where it is cut."""
    found = list(blocks.lines_of(blocks.read([str(path)], input_format=form)))
    lines = [one for one in found if isinstance(one, Line) and (one.text or one.refused)]
    return lines, [one for one in found if isinstance(one, Cut)]


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("compress", [bytes, gzip.compress, bz2.compress, lzma.compress])
def test_a_format_is_detected_by_content(tmp_path: Path, name: str, compress: object) -> None:
    content, column = CASES[name]
    data = content.encode() if isinstance(content, str) else content
    if compress is not bytes and "compressed" in name:
        pytest.skip("compressed already")
    path = tmp_path / "no-ending"
    path.write_bytes(compress(data))  # type: ignore[operator]
    lines, cut = read(path, InputFormat(column=column))
    assert not cut
    assert [line.text.decode() for line in lines] == [A, B, C]
    assert all(line.refused is None for line in lines)


@pytest.mark.parametrize("name", ["parquet", "warc", "csv", "jsonl"])
def test_standard_input_is_read_in_the_same_way(tmp_path: Path, name: str) -> None:
    content, column = CASES[name]
    words = ["--column", column] if column else []
    done = run_command("dedup", "-", *words, folder=tmp_path, data=content)
    assert done.returncode == 0, done.stderr
    assert done.stdout.decode().splitlines() == [A, B, C]


def test_csv_without_its_rows_is_read_in_the_same_way(tmp_path: Path) -> None:
    """Only a reader of text knows a delimiter beyond ASCII; a header alone has no line."""
    csv_of = ("csv", "url")
    (tmp_path / "x").write_text(f"nþurl\n1þ{A}\n2þ{B}\n", "utf-8")
    found = read(tmp_path / "x", InputFormat(*csv_of, "þ"))[0]
    assert [line.text.decode() for line in found] == [A, B]
    (tmp_path / "x").write_text(f'n;url\n1;{A}\n"2;\n";"{B}"\n3\n4;"{A[:9]}\n{A[9:]}"\n')
    found = read(tmp_path / "x", InputFormat(*csv_of, ";"))[0]
    assert [(line.number, line.text.decode()) for line in found] == [
        (2, A),
        (3, B),
        (4, ""),
        (5, A),
    ]
    assert [line.refused for line in found] == [None, None, "record", None]
    (tmp_path / "x").write_text("n,url\n")
    assert list(blocks.read([str(tmp_path / "x")], input_format=InputFormat(*csv_of))) == []
    assert [
        one.rows is None
        for one in blocks.read([str(tmp_path / "x")], input_format=InputFormat("csv", "1"))
        if not isinstance(one, Cut)
    ] == [True]


def test_every_format_can_be_named(tmp_path: Path) -> None:
    """A name goes before detection; every row of the table that is detected has one of `CASES`."""
    assert {name.partition(" ")[0].rstrip(",") for name in CASES} | {"log"} == INPUT_FORMATS.keys()
    (tmp_path / "x").write_bytes(f"{A};1\n".encode())
    assert read(tmp_path / "x", InputFormat("csv", "1"))[0][0].text == f"{A};1".encode()
    (tmp_path / "x").write_bytes(f'{{"url":"{A}"}}'.encode())
    assert read(tmp_path / "x", InputFormat("lines"))[0][0].text.startswith(b"{")


def test_a_column_for_a_format_without_columns_is_refused(tmp_path: Path) -> None:
    for name in ("warc", "sitemap", "cdx", "cdxj", "lines"):
        with pytest.raises(SettingsError, match=f"{name} has none; these have: parquet, jsonl"):
            InputFormat(name, "url").check()
    with pytest.raises(SettingsError, match="counted from 1"):
        InputFormat(None, "0").check()
    done = run_command("dedup", "x", "--column", "0", folder=tmp_path)
    assert done.returncode == 2


_BAD: dict[str, tuple[bytes, str | None, list[str], int]] = {
    # The content, the column, the URLs in it, and how many records are refused.
    "json": (
        b'{"url":"%s"}\nnull\n{"url":1}\n{"u":1}\n{"url":"\xff"}\n\n{"url":"\\ud800"}\n'
        % A.encode(),
        None,
        [A],
        5,
    ),
    "csv, short rows": (f"n,url\n1,{A}\n2\n\n3,{B}\n".encode(), "url", [A, B], 1),
    "csv, an endless field": (b"url\n" + A.encode() + b'\n"' + b"x" * (LONGEST + 9), "url", [A], 1),
    "tsv, short rows": (f"n\turl\n1\t{A}\n2\n\n3\t{B}\n".encode(), "url", [A, B], 1),
    "cdx": (f" CDX N b a\nx 1 {A}\nx\nx 2 {B}\n".encode(), None, [A, B], 1),
    "cdxj": (b'a 1 {"url": "%s"}\nb 2 {\nc\n' % A.encode(), None, [A], 2),
    "parquet": (b"", "url", [A], 1),
    "a long value": (jsonl({"url": "x" * (LONGEST + 1)}, {"url": A}), None, [A], 1),
}


@pytest.mark.parametrize("name", _BAD)
def test_bad_records_are_counted_and_the_rest_is_read(tmp_path: Path, name: str) -> None:
    content, column, expected, bad = _BAD[name]
    if name == "parquet":
        file = io.BytesIO()
        parquet.write_table(pa.table({"url": [None, A]}), file)
        content = file.getvalue()
    (tmp_path / "x").write_bytes(content)
    lines, cut = read(tmp_path / "x", InputFormat(column=column))
    assert not cut
    assert [line.text.decode() for line in lines if line.refused is None] == expected
    refused = [line.refused for line in lines if line.refused]
    assert len(refused) == bad
    assert set(refused) <= {"record", "too-long"}


def test_a_line_end_inside_a_value_is_removed(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b'url\n"http://a.example/\r\n1"\n"http://a.example/\n2"\n')
    lines, _ = read(tmp_path / "x", InputFormat(column="url"))
    assert [line.text for line in lines] == [b"http://a.example/\r1", b"http://a.example/2"]


_BROKEN = {
    "no column": (b"a,b\n1,2\n", "url", "no column 'url'; it has a, b"),
    "no column in tsv": (b"a\tb\n1\t2\n", "url", "no column 'url'; it has a, b"),
    "no column in Parquet": (arrow(pa.string(), "n", "x", "y"), "z", "no column 'z'; it has y"),
    "half a Parquet": (arrow(pa.string(), "url")[:-20], None, "x: cannot be read"),
    "no legend": (b" CDX N b m\n", None, "its legend names no field 'a'"),
    "half a sitemap": (f"<urlset><url><loc>{A}</loc></url><url>".encode(), None, "x: breaks off"),
    "entities": (
        b'<!DOCTYPE x [<!ENTITY a "aaa"><!ENTITY b "&a;&a;">]><urlset/>',
        None,
        "declares entities",
    ),
    "half a WARC": (warc()[:-900], None, ""),
}


@pytest.mark.parametrize("name", _BROKEN)
def test_an_unreadable_file_is_reported_and_the_next_one_is_read(tmp_path: Path, name: str) -> None:
    content, column, says = _BROKEN[name]
    (tmp_path / "x").write_bytes(content)
    (tmp_path / "y").write_bytes(f"{column},n\n{C},2\n".encode() if column else C.encode())
    words = ["--column", column] if column else []
    done = run_command("dedup", "x", "y", *words, folder=tmp_path)
    assert done.stdout.decode().splitlines()[-1:] == [C]
    assert says in done.stderr.decode()
    assert b"Traceback" not in done.stderr
    if says:
        assert done.returncode == 1


@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=30), max_size=12))
@settings(max_examples=tries(0.2), deadline=None)
def test_values_of_csv_and_json_are_read_unchanged(urls: list[str]) -> None:
    rows = io.StringIO()
    csv.writer(rows).writerows([["n", "url"], *(["1", url] for url in urls)])
    lines = jsonl(*({"url": url} for url in urls))
    columns = (("csv", rows.getvalue().encode()), ("jsonl", lines))
    expected = [url.replace("\n", "").encode() for url in urls]
    for name, data in columns:
        with tempfile.NamedTemporaryFile() as file:
            file.write(data)
            file.flush()
            given_blocks = blocks.read([file.name], input_format=InputFormat(name, "url"))
            found = [one for one in blocks.lines_of(given_blocks) if isinstance(one, Line)]
        texts = [line.text for line in found]
        assert texts[-len(expected) or len(texts) :] == expected, name
        assert not any(line.refused for line in found)


def test_folders_and_patterns_name_all_their_files(tmp_path: Path) -> None:
    for name in ("d/b.txt", "d/a/z.txt", "d/.hidden", "d/.git/x", "e1.txt", "e2.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"http://a.example/{name}\n")
    done = run_command("dedup", "d", "e*.txt", folder=tmp_path)
    expected = ["d/a/z.txt", "d/b.txt", "e1.txt", "e2.txt"]
    assert done.stdout.decode().split() == [f"http://a.example/{name}" for name in expected]
    (tmp_path / "empty").mkdir()
    for name, says in (("empty", b"no file in it"), ("z*", b"there is no such file")):
        done = run_command("dedup", name, folder=tmp_path)
        assert done.returncode == 2
        assert says in done.stderr


def test_an_unreadable_file_in_the_middle_of_a_pattern(tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / name).write_text(f"http://a.example/{name}\n")
    (tmp_path / "b").unlink()
    (tmp_path / "b").symlink_to("/proc/self/mem")  # it opens, but not even root can read it
    done = run_command("dedup", "a", "b", "c", folder=tmp_path)
    assert done.returncode == 1
    assert done.stdout.split() == [b"http://a.example/a", b"http://a.example/c"]
    assert b"b: cannot be read" in done.stderr


def test_lines_are_read_as_soon_as_they_arrive() -> None:
    reader, writer = os.pipe()
    name = f"/dev/fd/{reader}"
    lines = blocks.lines_of(blocks.read([name], input_format=LINES))
    os.write(writer, b"\xef\xbb\xbfhttp://a.example/\nhttp")
    assert next(lines) == Line(name, 1, b"http://a.example/")
    os.write(writer, b"://b.example/\r\n\n")
    assert next(lines) == Line(name, 2, b"http://b.example/")
    assert next(lines) == Line(name, 3, b"")
    os.write(writer, b"z" * 10)
    os.close(writer)
    assert list(lines) == [Line(name, 4, b"z" * 10)]


@each("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-8"])
@each("end", ["\r", "\n", "\r\n"])
def test_lines_of_other_systems_are_read_as_soon_as_they_arrive(encoding: str, end: str) -> None:
    reader, writer = os.pipe()
    name = f"/dev/fd/{reader}"
    lines = blocks.lines_of(blocks.read([name], input_format=LINES))
    os.write(writer, f"http://a.example/{end}http://b.example/é{end}http".encode(encoding))
    assert next(lines) == Line(name, 1, b"http://a.example/")
    assert next(lines) == Line(name, 2, "http://b.example/é".encode())
    os.write(writer, f"://c.example/{end}".encode({"utf-16": "utf-16-le"}.get(encoding, encoding)))
    os.close(writer)
    assert list(lines) == [Line(name, 3, b"http://c.example/")]
