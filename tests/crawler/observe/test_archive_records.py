"""Records of exchanges: another library reads them, and headers stay as they came."""

from io import BytesIO

from fastwarc import ArchiveIterator, WarcRecord
from multidict import CIMultiDict

from canonry.crawler.fetch.response import Exchange, Response
from canonry.crawler.observe.archive_records import Written, exchange, information, payload_digest

URL = "http://h.example/x?y=1"
DATE = "2026-11-22T10:00:00.000000Z"


def read(*parts: bytes) -> WarcRecord:
    """Return a record as fastwarc reads it, with a verified digest."""
    file = BytesIO(b"".join((*parts, b"\r\n\r\n")))
    record = next(iter(ArchiveIterator(file, parse_http=False)))
    assert record.verify_block_digest()
    record.freeze()
    record.parse_http()
    return record


def response() -> Response:
    sent = CIMultiDict({"Host": "h.example", "Authorization": "Basic x"})
    headers = CIMultiDict(
        [("X-Odd", "caf\udce9"), ("X-Cut", "a\r\n\r\nb"), ("Via", "1"), ("Via", "2")]
    )
    return Response(URL, 200, headers, {}, b"body", 0.1, Exchange("O\nK", "192.0.2.1", sent))


def test_headers_stay_as_they_came_and_end_no_head_early() -> None:
    given = response()
    made = exchange(given, payload_digest(given), DATE, None)
    assert b"\r\nX-Odd: caf\xe9\r\nX-Cut: a b\r\nVia: 1\r\nVia: 2\r\n" in made.response
    found = read(made.response, made.payload)
    assert (found.http_headers.status_line, found.reader.read()) == ("HTTP/1.1 200 O K", b"body")
    assert found.headers["WARC-IP-Address"] == "192.0.2.1"
    assert found.headers["WARC-Date"] == DATE


def test_a_request_names_its_response_and_no_secret() -> None:
    given = response()
    made = exchange(given, payload_digest(given), DATE, None)
    asked = read(made.request)
    assert asked.http_headers.status_line == "GET /x?y=1 HTTP/1.1"
    assert dict(asked.http_headers) == {"Host": "h.example"}
    answer = read(made.response, made.payload)
    assert asked.headers["WARC-Concurrent-To"] == answer.headers["WARC-Record-ID"]
    assert asked.headers["WARC-Record-ID"] != answer.headers["WARC-Record-ID"]


def test_a_body_that_was_written_before_is_only_named() -> None:
    given = response()
    before = Written("http://h.example/before", DATE)
    found = read(*exchange(given, payload_digest(given), DATE, before)[:2])
    assert found.headers["WARC-Type"] == "revisit"
    assert found.headers["WARC-Refers-To-Target-URI"] == before.url
    assert found.headers["WARC-Payload-Digest"] == "sha1:AIED6RLZ4CFGCJBFYDA2C7XEPLOXQO4U"
    assert found.reader.read() == b""


def test_a_file_begins_with_what_wrote_it() -> None:
    found = read(information("a.warc.gz", "canonry/1", DATE))
    assert found.headers["WARC-Filename"] == "a.warc.gz"
    assert b"software: canonry/1\r\n" in found.reader.read()
