"""The records of an exchange in a WARC file: a response, or a revisit, and its request.

warcio makes the records, but every header is passed to it. To make the missing ones, it would pass
over body and headers again and again, which takes longer than compression.
"""

import io
import uuid
from base64 import b32encode
from functools import lru_cache
from hashlib import sha1
from typing import Any, NamedTuple

from canonry.canon import parse, redact
from canonry.crawler.fetch.faults import Fault
from canonry.crawler.fetch.response import Response
from canonry.crawler.settings.header_lines import is_secret

VERSION = "1.1"
_REVISIT = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"  # section 6.7.2
_OF_THE_TRANSFER = frozenset({"content-encoding", "transfer-encoding", "content-length"})
_Headers = list[tuple[str, str]]
_is_secret = lru_cache(64)(is_secret)  # requests have the same few


class Written(NamedTuple):
    """The earlier record that has a body."""

    url: str
    date: str


def payload_digest(body: bytes) -> bytes:
    """Return the digest by which a repeated body is recognized."""
    return sha1(body, usedforsecurity=False).digest()


def named(digest: bytes) -> str:
    """Return a digest as it is written in records."""
    return f"sha1:{b32encode(digest).decode()}"


_EMPTY = named(payload_digest(b""))


def records_of(
    writer: Any,  # noqa: ANN401 - a warcio.WARCWriter, which has no types
    response: Response,
    digest: bytes,
    date: str,
    before: Written | None,
) -> tuple[Any, Any]:
    """Return the records of a response and its request, as warcio writes them.

    Args:
        writer: makes them.
        response: of which the body is decoded.
        digest: of its body.
        date: in UTC, as in the records.
        before: the record that has the same body; None writes the body.
    """
    url, exchange = redact(response.url), response.exchange
    number = f"<urn:uuid:{uuid.uuid4()}>"
    about = [
        ("WARC-Record-ID", number),
        ("WARC-Target-URI", url),
        ("WARC-Date", date),
        ("WARC-Payload-Digest", named(digest)),
    ]
    if before:
        about += [
            ("WARC-Profile", _REVISIT),
            ("WARC-Refers-To-Target-URI", before.url),
            ("WARC-Refers-To-Date", before.date),
        ]
    if response.unread is not None:
        too_long = response.unread.reason == Fault.TOO_LARGE.label
        about.append(("WARC-Truncated", "length" if too_long else "unspecified"))
    if exchange.address:
        about.append(("WARC-IP-Address", exchange.address))
    asking = [
        ("WARC-Record-ID", f"<urn:uuid:{uuid.uuid4()}>"),
        ("WARC-Target-URI", url),
        ("WARC-Date", date),
        ("WARC-Payload-Digest", _EMPTY),
        ("WARC-Concurrent-To", number),
    ]
    status = f"{response.status} {exchange.reason}".strip()
    kind, body = ("revisit", b"") if before else ("response", response.body)
    return (
        _record(writer, kind, about, ("HTTP/1.1", status), _answered(response), body),
        _record(
            writer,
            "request",
            asking,
            ("GET", f"{_target(response.url)} HTTP/1.1"),
            _asked(response),
        ),
    )


def _record(
    writer: Any,  # noqa: ANN401 - as above
    kind: str,
    about: _Headers,
    first: tuple[str, str],
    headers: _Headers,
    body: bytes = b"",
) -> Any:  # noqa: ANN401 - a warcio.ArcWarcRecord
    """Return a record.

    Args:
        writer: makes it.
        kind: its WARC-Type.
        about: its headers, without those of its block.
        first: the first line of the HTTP message: its first word, and the rest.
        headers: of the message.
        body: of the message.
    """
    from warcio.statusandheaders import StatusAndHeaders  # noqa: PLC0415 - an extra

    head = StatusAndHeaders(first[1], headers, first[0])
    head.compute_headers_buffer()
    block = sha1(head.headers_buff, usedforsecurity=False)
    block.update(body)
    of = "request" if kind == "request" else "response"
    every = [
        ("WARC-Type", kind),
        *about,
        ("WARC-Block-Digest", named(block.digest())),
        ("Content-Type", f"application/http; msgtype={of}"),
        ("Content-Length", str(len(head.headers_buff) + len(body))),
    ]
    return writer.create_warc_record(
        about[1][1],
        kind,
        payload=io.BytesIO(body),
        length=len(body),
        http_headers=head,
        warc_headers=StatusAndHeaders("", every, protocol=f"WARC/{VERSION}"),
    )


def _answered(response: Response) -> _Headers:
    """Return the headers of a response, adapted to its decoded body."""
    headers = [
        (f"X-Crawler-{name}" if name.lower() in _OF_THE_TRANSFER else name, value)
        for name, value in response.headers.items()
    ]
    return [*headers, ("Content-Length", str(len(response.body)))]


def _asked(response: Response) -> _Headers:
    """Return the headers of the request, without secrets."""
    sent = response.exchange.request.items()
    return [(name, value) for name, value in sent if not _is_secret(name)]


def _target(url: str) -> str:
    """Return the request target of a URL (RFC 9112 section 3.2.1)."""
    parts = parse(url)
    return (parts.path or "/") + ("" if parts.query is None else f"?{parts.query}")
