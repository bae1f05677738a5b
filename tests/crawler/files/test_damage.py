"""Damaged and unusual files: what is whole counts, the rest is told, and nothing stops a job."""

import gzip
import io
import os
import zlib
from pathlib import Path

import pytest

from canonry.crawler.compression import decompressed
from canonry.crawler.files import blocks
from canonry.crawler.files.formats import InputFormat
from canonry.crawler.files.line_streams import Cut, Line

URLS = [b"http://a.example/%d" % n for n in range(100)]
LINES = b"".join(url + b"\n" for url in URLS)


_RECORD = b"""WARC/1.1\r
WARC-Type: response\r
WARC-Record-ID: <urn:uuid:00000000-0000-0000-0000-000000000000>\r
WARC-Date: 2026-01-01T00:00:00Z\r
WARC-Target-URI: %b\r
Content-Type: application/http; msgtype=response\r
Content-Length: %d\r
\r
%b\r
\r
"""


def warc(*, compressed: bool) -> tuple[bytes, list[int]]:
    """Return a WARC file of 100 records, and where each ends."""
    data, ends = b"", []
    for url in URLS:
        body = b"HTTP/1.1 200 OK\r\n\r\n" + os.urandom(400)
        record = _RECORD % (url, len(body), body)
        data += gzip.compress(record) if compressed else record
        ends.append(len(data))
    return data, ends


def read(path: Path, data: bytes, column: str | None = None) -> tuple[list[bytes], list[str]]:
    """Return the URLs in a file, and the reasons for which it breaks off."""
    path.write_bytes(data)
    found = list(blocks.lines_of(blocks.read([str(path)], input_format=InputFormat(None, column))))
    lines = [one.text for one in found if isinstance(one, Line) and one.text]
    return lines, [one.reason for one in found if isinstance(one, Cut)]


@pytest.mark.parametrize("compressed", [True, False])
@pytest.mark.parametrize("cut", [0.1034, 0.3361, 0.5078, 0.6657, 0.9013, 0.9987])
def test_every_record_before_the_cut_of_a_warc_counts(
    tmp_path: Path, cut: float, *, compressed: bool
) -> None:
    data, ends = warc(compressed=compressed)
    size = int(len(data) * cut)
    lines, reasons = read(tmp_path / "x", data[:size])
    whole = sum(end <= size for end in ends)
    assert lines in (URLS[:whole], URLS[: whole + 1])  # of the last one, the head may be whole
    assert len(reasons) == 1
    assert "in the middle" in reasons[0]


@pytest.mark.parametrize("place", [5, 60, 150, 180, 190, 200, 230, 235])
def test_half_a_head_of_a_warc_record_names_no_url(tmp_path: Path, place: int) -> None:
    data, ends = warc(compressed=False)
    lines, reasons = read(tmp_path / "x", data[: ends[49] + place])
    assert lines == URLS[:50]
    assert len(reasons) == 1


@pytest.mark.parametrize("compressed", [True, False])
@pytest.mark.parametrize(
    ("wrong", "swallowed"), [(b"25", 0), (b"-7", 0), (b"ten", 0), (b"", 0), (b"470", 1)]
)
def test_a_wrong_length_of_a_warc_record_loses_no_other(
    tmp_path: Path, wrong: bytes, swallowed: int, *, compressed: bool
) -> None:
    records = []
    for url in URLS:
        body = b"HTTP/1.1 200 OK\r\n\r\n" + b"words\r\n" * 50
        records.append(_RECORD % (url, len(body), body))
    records[7] = records[7].replace(b"Content-Length: 369", b"Content-Length: " + wrong)
    path = tmp_path / "x"
    path.write_bytes(b"".join(map(gzip.compress, records) if compressed else records))
    found = list(blocks.lines_of(blocks.read([str(path)])))
    lines = [line for line in found if isinstance(line, Line)]
    assert [line.text for line in lines] == [*URLS[:8], b"", *URLS[8 + swallowed :]]
    assert [line.number for line in lines if line.refused == "record"] == [9]
    assert len(lines) == len(found)  # it does not break off


def test_what_stands_between_records_of_a_warc_is_told(tmp_path: Path) -> None:
    record = _RECORD % (URLS[0], 2, b"ok")
    lines, reasons = read(tmp_path / "x", record + b"junk\n\0\n" * 9 + record + b"\r\n" * 9)
    assert (lines, reasons) == ([URLS[0]] * 2, [])
    folded = record.replace(b"URI: ", b"URI:\r\n ").replace(b"WARC-Type", b"warc-type")
    assert read(tmp_path / "x", folded) == ([URLS[0]], [])
    endless = b"WARC/1.0\r\n" + b"a: b\r\n" * 300_000
    assert read(tmp_path / "x", record + endless + b"\r\n" + record) == ([URLS[0]] * 2, [])


def test_a_warc_that_is_one_gzip_member_is_read(tmp_path: Path) -> None:
    data, _ = warc(compressed=False)
    assert read(tmp_path / "x", gzip.compress(data)) == (URLS, [])
    lines, reasons = read(tmp_path / "x", gzip.compress(data)[:-3])
    assert lines == URLS
    assert reasons == ["it ends in the middle of a gzip member"]


@pytest.mark.parametrize("column", [None, "1"], ids=["lines", "csv"])
def test_a_wrong_checksum_is_told_and_loses_nothing(tmp_path: Path, column: str | None) -> None:
    data = bytearray(gzip.compress(LINES))
    data[-6] ^= 1
    lines, reasons = read(tmp_path / "x", bytes(data), column)
    assert lines == URLS
    assert reasons == ["the checksum of a gzip member is wrong"]


def test_a_csv_that_breaks_off_loses_its_half_record_only(tmp_path: Path) -> None:
    packer = zlib.compressobj(wbits=31)
    data = packer.compress(LINES + b"http://a.example/ha") + packer.flush(zlib.Z_FULL_FLUSH)
    lines, reasons = read(tmp_path / "x", data, "1")
    assert lines == URLS
    assert reasons == ["it ends in the middle of a gzip member"]


def test_gzip_members_with_every_field_of_a_header(tmp_path: Path) -> None:
    body = gzip.compress(b"http://a.example/\n", mtime=0)[10:]
    head = b"\x1f\x8b\x08%c\0\0\0\0\0\xff"
    fields = {4: b"\x03\0abc", 8: b"name\0", 16: b"a comment\0", 2: b"\0\0"}
    members = []
    for flags in range(0, 32, 2):
        found = b"".join(part for flag, part in fields.items() if flags & flag)
        members.append(head % flags + found + body)
    data = b"".join(members) + b"\0" * 100_000
    assert read(tmp_path / "x", data) == ([b"http://a.example/"] * 16, [])
    lines, reasons = read(tmp_path / "x", b"".join(members) + b"something else")
    assert lines == [b"http://a.example/"] * 16
    assert reasons == ["after a gzip member there is something else"]


@pytest.mark.parametrize("size", [1, 3, 17, 4096])
def test_a_gzip_file_is_read_in_any_steps(size: int) -> None:
    class Slow(io.BytesIO):
        def read1(self, _size: int | None = -1, /) -> bytes:
            return super().read1(size)

        def peek(self, count: int) -> bytes:
            return self.getvalue()[self.tell() : self.tell() + count]

    stream = decompressed(Slow(gzip.compress(LINES) * 3))
    assert b"".join(iter(lambda: stream.read1(1 << 20), b"")) == LINES * 3


@pytest.mark.parametrize("column", [None, "1"], ids=["lines", "csv"])
def test_carriage_returns_alone_end_lines(tmp_path: Path, column: str | None) -> None:
    assert read(tmp_path / "x", LINES.replace(b"\n", b"\r"), column) == (URLS, [])
    data = b'{"url":"http://a.example/1"}\r{"url":"http://a.example/2"}\r'
    assert read(tmp_path / "x", data) == (URLS[1:3], [])


def test_a_carriage_return_inside_a_line_ends_none(tmp_path: Path) -> None:
    assert read(tmp_path / "x", b"http://a.example/\rb\nx\n")[0] == [b"http://a.example/\rb", b"x"]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=repr)
@pytest.mark.parametrize("column", [None, "1"], ids=["lines", "csv"])
def test_utf_16_is_recognized(tmp_path: Path, encoding: str, end: str, column: str | None) -> None:
    text = LINES.decode().replace("\n", end) + f"http://a.example/é\U0001f600{end}"
    lines, reasons = read(tmp_path / "x", text.encode(encoding), column)
    assert lines == [*URLS, "http://a.example/é\U0001f600".encode()]
    assert reasons == []


@pytest.mark.parametrize("line", ['{"url":' + "[" * 100_000, '{"x":' * 100_000])
def test_deep_json_is_a_bad_record_and_no_more(tmp_path: Path, line: str) -> None:
    data = f'{{"url":"http://a.example/1"}}\n{line}\n{{"url":"http://a.example/2"}}\n'
    lines, reasons = read(tmp_path / "x", data.encode())
    assert [one for one in lines if one.startswith(b"http")] == URLS[1:3]
    assert reasons == []
