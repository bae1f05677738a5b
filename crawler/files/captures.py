"""What archives and logs say of answers: lines of columns, CDX, CDXJ, columnar indexes, WARC."""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from typing import IO, Any, NamedTuple

import msgspec

from canonry.crawler.compression import Stream
from canonry.crawler.files import warc_records
from canonry.crawler.files.parquet_rows import opened_parquet

_LARGEST = 1 << 23  # bytes of a body that are read; of a larger one only the digest counts
_INDEX = ("url", "fetch_status", "content_digest", "fetch_redirect")  # columns of an index


class Capture(NamedTuple):
    """One answer: a redirect, a page, or another status."""

    number: int  # of its line, row or record
    url: str
    status: str
    redirect: str = ""  # where it leads
    digest: str = ""  # of the body; equal bodies have equal ones
    headers: Mapping[str, str] | None = None  # None: the body is not in the archive
    body: bytes = b""  # decoded from its content encoding
    date: str = ""  # of a WARC record: WARC-Date


def read(lines: Iterable[str]) -> Iterator[Capture]:
    """Yield the captures of a log or an index, whose format is recognized line by line.

    Lines of CDX (eleven or nine fields after a SURT and a timestamp) and CDXJ are recognized by
    their shape. Other lines are columns, separated by tabs or commas: the first two URLs are old
    and new, the first status code is the status; without one the redirect counts as permanent.
    """
    for number, line in enumerate(lines, 1):
        text = line.rstrip("\r\n")
        if text:
            yield _of_line(number, text)


def read_index(stream: Stream) -> Iterator[Capture]:
    """Yield the captures of a columnar index (Parquet), as Common Crawl publishes it.

    Raises:
        OSError: it is no such index.
    """
    with opened_parquet(stream) as table:
        names = [name for name in _INDEX if name in table.schema_arrow.names]
        if _INDEX[0] not in names or _INDEX[1] not in names:
            raise OSError(
                f"no columns {_INDEX[0]!r} and {_INDEX[1]!r}, as an index of captures has"
            )
        number = 0
        for batch in table.iter_batches(columns=names):
            for row in batch.to_pylist():
                number += 1
                url, status, digest, redirect = (row.get(name) or "" for name in _INDEX)
                yield Capture(number, url, str(status), redirect, digest)


def read_warc(file: IO[bytes]) -> Iterator[Capture]:
    """Yield the responses and revisits of a WARC file.

    A broken record is a capture without URL and status; the next one that is whole follows. A body
    that cannot be decoded is left out.

    Args:
        file: WARC, plain or gzip by record. Where it cannot seek, it ends at a broken record.

    Raises:
        OSError: if the file ends at a broken record.
    """
    from warcio.archiveiterator import ArchiveIterator  # noqa: PLC0415 - only for WARC
    from warcio.exceptions import ArchiveLoadFailed  # noqa: PLC0415 - only for WARC

    number = 0
    fault: Exception | None
    while True:
        records = ArchiveIterator(file)
        try:
            for record in records:
                _check_length(record)
                number += 1
                if record.rec_type in {"response", "revisit"} and record.http_headers is not None:
                    yield _of_record(number, record)
        except Exception as error:  # noqa: BLE001 - warcio raises whatever its parsers meet
            fault = error
        else:
            if not warc_records.has_more(file, records.offset):
                return
            fault = None
        if not warc_records.seek_next(file, records.offset + 1):
            told = str(fault) if isinstance(fault, OSError | ArchiveLoadFailed) else ""
            raise OSError(told or warc_records.CUT) from None
        number += 1
        yield Capture(number, "", "")


def _check_length(record: Any) -> None:  # noqa: ANN401 - warcio ships no types
    """Check that the head of a WARC record has a length; else the file ends in it.

    Raises:
        OSError: it has none.
    """
    if record.length is None:
        raise OSError(warc_records.CUT)


def _of_record(number: int, record: Any) -> Capture:  # noqa: ANN401 - as above
    """Return the capture of a WARC record."""
    url = (record.rec_headers.get_header("WARC-Target-URI") or "").strip("<>")
    redirect = record.http_headers.get_header("Location") or ""
    digest = record.rec_headers.get_header("WARC-Payload-Digest") or ""
    date = record.rec_headers.get_header("WARC-Date") or ""
    status = record.http_headers.get_statuscode()
    body = None
    if record.rec_type != "revisit":
        body = _body_of(record)
    elif status == "304":
        status = "200"
    names = record.http_headers.headers
    headers = None if body is None else {name.title(): value for name, value in names}
    return Capture(number, url, status, redirect, digest, headers, body or b"", date)


def _body_of(record: Any) -> bytes | None:  # noqa: ANN401 - as above
    """Return the body of a WARC record; None if it is too large, or cannot be decoded.

    Raises:
        OSError: the file ends in it.
    """
    try:
        body: bytes = record.content_stream().read(_LARGEST + 1)
    except Exception:  # noqa: BLE001 - decoders of warcio raise whatever they meet
        return None
    if len(body) > _LARGEST:
        return None
    if getattr(record.raw_stream, "limit", 0) > 0 and not record.raw_stream.read(1):
        raise OSError(warc_records.CUT)
    return body


def _of_line(number: int, text: str) -> Capture:
    """Read one line."""
    key, _, rest = text.partition(" ")
    timestamp, _, record = rest.partition(" ")
    if len(timestamp) == len("20240131120000") and timestamp.isdecimal() and ")" in key:
        return _cdxj(number, record) if record.startswith("{") else _cdx(number, record)
    mark = "\t" if "\t" in text else ","
    try:
        columns = next(csv.reader(io.StringIO(text), delimiter=mark), [])
    except csv.Error:  # a line break inside a line, or a column of 128 KiB
        return Capture(number, "", "")
    urls = [column for column in columns if "://" in column[:12]]
    statuses = [c for c in columns if len(c) == 3 and c.isdecimal()]  # noqa: PLR2004 - HTTP's format
    old, new = (*urls[:2], "", "")[:2]
    return Capture(number, old, statuses[0] if statuses else "301", new)


def _cdx(number: int, record: str) -> Capture:
    """Read the fields after a CDX line's timestamp: URL, type, status, digest, redirect."""
    url, _type, status, digest, redirect = (*record.split(" "), "", "", "", "", "")[:5]
    return Capture(number, url, status, _given(redirect), _given(digest))


def _cdxj(number: int, record: str) -> Capture:
    """Read the JSON of a CDXJ line, as Common Crawl and pywb write it."""
    try:
        facts = msgspec.json.decode(record)
    except msgspec.DecodeError:
        return Capture(number, "", "")
    url, status, redirect, digest = (
        str(facts.get(name, "")) for name in ("url", "status", "redirect", "digest")
    )
    return Capture(number, url, status, _given(redirect), _given(digest))


def _given(field: str) -> str:
    """Return a field of an index; a hyphen stands for none."""
    return "" if field == "-" else field
