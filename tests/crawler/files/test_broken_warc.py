"""WARC files with broken records: what is whole before and after them is read."""

import gzip
import io
import zlib

import pytest
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from canonry.crawler.files.captures import read_warc
from canonry.crawler.files.warc_records import seek_next

# warcio's writer leaves it to the collector to close its temporary files.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


def archive(*, is_gzip: bool, encoding: str = "identity") -> tuple[bytes, list[int]]:
    """Return a file with five records, and where they begin."""
    file, offsets = io.BytesIO(), []
    writer = WARCWriter(file, gzip=is_gzip)
    for number in range(5):
        offsets.append(file.tell())
        headers = [("Content-Type", "text/html"), ("Content-Encoding", encoding)]
        answer = StatusAndHeaders("200 OK", headers, protocol="HTTP/1.1")
        body = io.BytesIO(b"".join(b"<p>%d hello %d" % (number, n * n) for n in range(200)))
        url = f"http://a.example/{number}"
        writer.write_record(writer.create_warc_record(url, "response", body, http_headers=answer))
    return file.getvalue(), offsets


def read(data: bytes) -> list[str]:
    """Return the end of each URL; "!" for a broken record, "…" if the file breaks off."""
    found = []
    try:
        for capture in read_warc(io.BufferedReader(io.BytesIO(data))):
            found.append(capture.url[-1:] or "!")
            assert bool(capture.url) == bool(capture.status)
    except OSError:
        found.append("…")
    return found


@pytest.mark.parametrize("is_gzip", [True, False])
def test_whole_files(is_gzip: bool) -> None:
    data, _offsets = archive(is_gzip=is_gzip)
    [first, *more] = read_warc(io.BufferedReader(io.BytesIO(data)))
    assert len(more) == 4
    assert first.body.startswith(b"<p>0 hello 0")
    assert first.date.startswith("20")
    assert first.digest.startswith("sha1:")


@pytest.mark.parametrize("is_gzip", [True, False])
def test_garbage_between_records(is_gzip: bool) -> None:
    data, offsets = archive(is_gzip=is_gzip)
    garbage = b"what\r\nis \x1f\x8b\x08 this\r\nWARC/ not\r\n"
    assert read(data[: offsets[2]] + garbage + data[offsets[2] :]) == ["0", "1", "!", "2", "3", "4"]


@pytest.mark.parametrize("is_gzip", [True, False])
def test_a_file_that_is_cut(is_gzip: bool) -> None:
    data, offsets = archive(is_gzip=is_gzip)
    for size in (20, 100, 250, 400, offsets[4] - offsets[3] - 20):  # in the head, and in the body
        assert read(data[: offsets[3] + size]) == ["0", "1", "2", "…"]


def test_a_damaged_member() -> None:
    data, offsets = archive(is_gzip=True)
    damaged = bytearray(data)
    damaged[offsets[2] + 60 : offsets[2] + 90] = b"x" * 30
    found = read(bytes(damaged))
    assert found[:2] == ["0", "1"]
    assert found[-2:] == ["3", "4"]
    assert "!" in found


def test_a_wrong_length() -> None:
    data, offsets = archive(is_gzip=False)
    wrong = data[offsets[1] :].replace(b"Content-Length: ", b"Content-Length: x", 1)
    assert read(data[: offsets[1]] + wrong) == ["0", "!", "2", "3", "4"]


def test_a_body_that_cannot_be_decoded_is_left_out() -> None:
    data, _offsets = archive(is_gzip=True, encoding="br")
    captures = list(read_warc(io.BufferedReader(io.BytesIO(data))))
    assert [capture.headers for capture in captures] == [None] * 5
    assert captures[0].digest


def test_the_next_record_is_found_across_parts() -> None:
    record = gzip.compress(b"WARC/1.0\r\nWARC-Type: response\r\n\r\n")
    for gap in ((1 << 20) - 5, (1 << 20) - 1100, 3 << 20):
        file = io.BytesIO(b"\0" * gap + record)
        assert seek_next(file, 1)
        assert file.tell() == gap
    assert not seek_next(io.BytesIO(zlib.compress(b"WARC/1.0")), 0)
    assert not seek_next(io.BytesIO(gzip.compress(b"no record")), 0)
