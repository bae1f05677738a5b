"""Documents within documents: MIME multiparts and MHTML, each part with a base of its own."""

import email
import email.policy
from collections.abc import Iterator
from email.message import Message
from typing import NamedTuple

_TYPES = frozenset({"message/rfc822", "application/x-mimearchive"})
_BASES = ("Content-Base", "Content-Location")  # the draft of 1997 has the former before the latter
_PARTS = 1_000  # of one document that are read
_DEPTH = 20  # multiparts within each other that are


class Part(NamedTuple):
    """A part that holds no others."""

    content_type: str
    body: bytes
    bases: tuple[str | None, ...]  # of the entities around it, innermost first; the retrieval aside


def is_one(content_type: str | None) -> bool:
    """Say whether an answer is made of parts, by its type."""
    kind = (content_type or "").partition(";")[0].strip().lower()
    return kind.startswith("multipart/") or kind in _TYPES


def parts(body: bytes, content_type: str) -> Iterator[Part]:
    """Yield the parts of a document, of nested multiparts, too; of a broken one what can be read.

    Args:
        body: the decoded body. One that begins with headers of its own is a file as browsers save
            it; for others the header of the answer says where parts begin.
        content_type: that header.

    Source: RFC 2046 section 5.1; RFC 2557 sections 4 and 5 for what parts are relative to.
    """
    head = b"" if _has_headers(body) else f"Content-Type: {content_type}\r\n\r\n".encode()
    try:
        message = email.message_from_bytes(head + body, policy=email.policy.compat32)
    except RecursionError:  # a hostile one: nobody nests by the hundred
        return
    for number, part in enumerate(_leaves(message, (), 0)):
        if number == _PARTS:
            return
        yield part


def _has_headers(body: bytes) -> bool:
    """Say whether a body begins with the headers of a message, and not with a boundary."""
    line = body.lstrip(b"\r\n").partition(b"\n")[0]
    name, colon, _ = line.partition(b":")
    return bool(colon) and name.replace(b"-", b"").isalnum() and not line.startswith(b"--")


def _leaves(message: Message, around: tuple[str | None, ...], depth: int) -> Iterator[Part]:
    """Yield the parts within a part."""
    bases = (*(_header(message, name) for name in _BASES), *around)
    inner = message.get_payload()
    if isinstance(inner, list):
        if depth < _DEPTH:
            for part in inner:
                if isinstance(part, Message):
                    yield from _leaves(part, bases, depth + 1)
        return
    body = message.get_payload(decode=True)
    if isinstance(body, bytes):
        yield Part(_header(message, "Content-Type") or "text/plain", body, bases)


def _header(message: Message, name: str) -> str | None:
    """Return a header that is a URL or a type: long ones are folded, and have no white space."""
    value = message.get(name)
    if value is None:
        return None
    text = str(value)
    return " ".join(text.split()) if name == "Content-Type" else "".join(text.split())
