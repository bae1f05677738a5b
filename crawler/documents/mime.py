"""MIME multipart documents and MHTML: each part has its own base."""

from collections.abc import Iterator
from email.feedparser import BytesFeedParser
from email.message import Message
from email.policy import Policy, compat32
from typing import NamedTuple

from canonry.crawler.media_types import media_type

_TYPES = frozenset({"message/rfc822", "application/x-mimearchive"})
_BASES = ("Content-Base", "Content-Location")  # in this order (url-syntax-05 section 5.1.1)
_MAX_PARTS = 1_000  # read from one document
_MAX_DEPTH = 20  # of nested multiparts


class BodyPart(NamedTuple):
    """A part that contains no other parts."""

    content_type: str
    body: bytes
    bases: tuple[
        str | None, ...
    ]  # of the enclosing entities, innermost first; without the retrieval URL


def is_multipart(content_type: str | None) -> bool:
    """Return True if a content type says that the body has parts."""
    kind = media_type(content_type)
    return kind.startswith("multipart/") or kind in _TYPES


def body_parts(body: bytes, content_type: str) -> Iterator[BodyPart]:
    """Yield the parts of a document and of nested multiparts, as far as they are readable.

    Args:
        body: the decoded body. If it begins with its own headers, it is a file that a browser
            saved; otherwise the boundary comes from the response's header.
        content_type: that header.

    Source: RFC 2046 section 5.1; RFC 2557 sections 4 and 5 for the bases of the parts.
    """
    head = b"" if _has_headers(body) else f"Content-Type: {content_type}\r\n\r\n".encode()
    try:
        message = _parsed(head + body)
    except _TooDeepError:  # an attack: real documents do not nest dozens of levels
        return
    for number, part in enumerate(_leaves(message, (), 0)):
        if number == _MAX_PARTS:
            return
        yield part


class _TooDeepError(Exception):
    """The parts of a document are nested too deeply; reading it would take too long."""


def _parsed(document: bytes) -> Message:
    """Parse a document."""
    around: list[Message] = []

    def message(policy: Policy = compat32) -> Message:
        if len(around) > _MAX_DEPTH:
            raise _TooDeepError
        return Message(policy)

    parser = BytesFeedParser(message, policy=compat32)
    around = parser._msgstack  # type: ignore[attr-defined]  # noqa: SLF001 - no other way
    parser.feed(document)
    return parser.close()


def _has_headers(body: bytes) -> bool:
    """Return True if a body begins with message headers and not with a boundary."""
    line = body.lstrip(b"\r\n").partition(b"\n")[0]
    name, colon, _ = line.partition(b":")
    return bool(colon) and name.replace(b"-", b"").isalnum() and not line.startswith(b"--")


def _leaves(message: Message, around: tuple[str | None, ...], depth: int) -> Iterator[BodyPart]:
    """Yield the innermost parts of a message."""
    bases = (*(_header(message, name) for name in _BASES), *around)
    inner = message.get_payload()
    if isinstance(inner, list):
        if depth < _MAX_DEPTH:
            for part in inner:
                if isinstance(part, Message):
                    yield from _leaves(part, bases, depth + 1)
        return
    body = message.get_payload(decode=True)
    if isinstance(body, bytes):
        yield BodyPart(_header(message, "Content-Type") or "text/plain", body, bases)


def _header(message: Message, name: str) -> str | None:
    """Return an unfolded header; all except Content-Type are URLs and lose their white space."""
    value = message.get(name)
    if value is None:
        return None
    text = str(value)
    return " ".join(text.split()) if name == "Content-Type" else "".join(text.split())
