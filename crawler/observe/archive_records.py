"""The records of an exchange in a WARC file (ISO 28500): heads as bytes, and the payload.

A library's objects for headers took longer than compression and digests together.
"""

import re
import uuid
from base64 import b32encode
from collections.abc import Iterable, Mapping
from functools import lru_cache
from hashlib import sha1
from typing import NamedTuple

from canonry.canon import parse, redact
from canonry.crawler.fetch.faults import Fault
from canonry.crawler.fetch.response import Response
from canonry.crawler.settings.header_lines import is_secret

_SPECIFICATION = "https://iipc.github.io/warc-specifications/specifications/warc-format"
_REVISIT = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"  # section 6.7.2
_OF_THE_TRANSFER = frozenset({"content-encoding", "transfer-encoding", "content-length"})
_BREAK = re.compile(r"[\r\n]+")
_MESSAGES = {"response": "response", "revisit": "response", "request": "request"}
_is_secret = lru_cache(64)(is_secret)  # requests have the same few
_Lines = Iterable[tuple[str, str]]


class Written(NamedTuple):
    """The record that has a body."""

    url: str
    date: str


class ExchangeRecords(NamedTuple):
    """The two records of an exchange, without what ends them."""

    response: bytes  # its head, and the head of the answer
    payload: bytes  # empty if another record has it
    request: bytes


def payload_digest(response: Response) -> bytes:
    """Return the digest by which a repeated body is recognized."""
    return sha1(response.body, usedforsecurity=False).digest()


def exchange(
    response: Response, digest: bytes, date: str, before: Written | None
) -> ExchangeRecords:
    """Return the records of a response and its request.

    Args:
        response: of which the body is decoded.
        digest: of its body.
        date: in UTC, as in the records.
        before: the record that has the same body; None writes the body.
    """
    url = redact(response.url)
    number = _number()
    payload = b"" if before else response.body
    answer = _lines(f"HTTP/1.1 {response.status} {response.exchange.reason}", _answered(response))
    about = [
        ("WARC-Record-ID", number),
        ("WARC-Target-URI", url),
        ("WARC-Date", date),
        ("WARC-Payload-Digest", _named(digest)),
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
    if response.exchange.address:
        about.append(("WARC-IP-Address", response.exchange.address))
    asked = _lines(f"GET {_target(response.url)} HTTP/1.1", _asked(response))
    asking = [
        ("WARC-Record-ID", _number()),
        ("WARC-Target-URI", url),
        ("WARC-Date", date),
        ("WARC-Concurrent-To", number),
    ]
    return ExchangeRecords(
        _head("revisit" if before else "response", about, answer, payload),
        payload,
        _head("request", asking, asked),
    )


def information(file: str, agent: str, date: str) -> bytes:
    """Return the record with which a file begins.

    Args:
        file: its final name.
        agent: what writes it.
        date: in UTC, as in the records.
    """
    about = [("WARC-Record-ID", _number()), ("WARC-Filename", file), ("WARC-Date", date)]
    says = {
        "software": agent,
        "format": "WARC File Format 1.1",
        "conformsTo": f"{_SPECIFICATION}/warc-1.1/",
    }
    fields = "".join(f"{name}: {value}\r\n" for name, value in says.items()).encode()
    return _head("warcinfo", about, fields, kind="application/warc-fields")


def _head(
    record: str, about: list[tuple[str, str]], block: bytes, payload: bytes = b"", kind: str = ""
) -> bytes:
    """Return the head of a record, and its block as far as the payload."""
    digest = sha1(block, usedforsecurity=False)
    digest.update(payload)
    ends = [
        ("WARC-Type", record),
        ("WARC-Block-Digest", _named(digest.digest())),
        ("Content-Type", kind or f"application/http; msgtype={_MESSAGES[record]}"),
        ("Content-Length", str(len(block) + len(payload))),
    ]
    return _lines("WARC/1.1", [*about, *ends]) + block


def _lines(first: str, headers: _Lines) -> bytes:
    """Return a first line and headers, up to the empty line; bytes that are no text stay."""
    lines = [first.strip(), *(f"{name}: {value}" for name, value in headers), "\r\n"]
    text = "\r\n".join(lines)
    if text.count("\r") + text.count("\n") != 2 * len(lines):  # a header would end early
        text = "\r\n".join([*(_BREAK.sub(" ", line) for line in lines[:-1]), "\r\n"])
    return text.encode("utf-8", "surrogateescape")


def _number() -> str:
    """Return the name of a new record."""
    return f"<urn:uuid:{uuid.uuid4()}>"


def _named(digest: bytes) -> str:
    """Return a digest as records have it."""
    return f"sha1:{b32encode(digest).decode()}"


def _answered(response: Response) -> _Lines:
    """Yield the headers of a response, adapted to its decoded body."""
    for name, value in response.headers.items():
        yield (f"X-Crawler-{name}" if name.lower() in _OF_THE_TRANSFER else name, value)
    yield "Content-Length", str(len(response.body))


def _asked(response: Response) -> _Lines:
    """Yield the headers of the request, without secrets."""
    sent: Mapping[str, str] = response.exchange.request
    return ((name, value) for name, value in sent.items() if not _is_secret(name))


def _target(url: str) -> str:
    """Return the request target of a URL (RFC 9112 section 3.2.1)."""
    parts = parse(url)
    return (parts.path or "/") + ("" if parts.query is None else f"?{parts.query}")
