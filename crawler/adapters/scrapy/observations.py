"""Observations from Scrapy's responses: redirects, pages and failures, as values for the store."""

import hashlib
from collections.abc import Container, Mapping
from typing import NamedTuple

from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response

from canonry.canon import Canonicalizer, InvalidURL
from canonry.crawler.admission.scope import host_of
from canonry.crawler.documents.by_type import read_document
from canonry.crawler.documents.document import Document, absolute, link_headers
from canonry.crawler.fetch.faults import Fault
from canonry.crawler.hold_reason import HoldReason
from canonry.storage import Candidate, Hop, Outcome, Page, Queued, State
from canonry.storage.http_status import FIRST_ERROR, OK, RETRIED
from canonry.storage.requests.request_queue import DoneRequest

_HEAD = 1 << 14  # bytes that are read for the title and the canonical link in the <head>


class Observation(NamedTuple):
    """The responses to one URL so far."""

    url: str = ""  # that was requested
    hops: tuple[Hop, ...] = ()
    page: Page | None = None
    blocks: bytes | None = None  # of its text
    failure: tuple[State, str] | None = None


def hop_to(
    canonicalizer: Canonicalizer, response: Response, kind: str, target: str | bytes
) -> Hop | None:
    """Return a hop from a response to a target; None if the target is not a URL."""
    try:
        found = canonicalizer(target, response.url)
    except InvalidURL:
        return None
    candidate = Candidate(found.url, found.url, found.key, host_of(found.url), depth=0, hops=1)
    return Hop(kind, response.status, candidate)


def page_of(
    canonicalizer: Canonicalizer, response: Response, elapsed: float
) -> tuple[Page, Hop | None]:
    """Return a response as a page, and the hop to its canonical URL, if it names one.

    Args:
        canonicalizer: makes identities.
        response: its body is decoded from the content encoding.
        elapsed: seconds until the response.
    """
    body, status = response.body, response.status
    headers = {
        name: value
        for name in ("Content-Type", "Content-Location", "ETag", "Last-Modified")
        if (value := _header(response, name)) is not None
    }
    document = _document(body, headers, response)
    canonical = _canonical(document, response)
    named = None if canonical is None else hop_to(canonicalizer, response, "canonical", canonical)
    content_type = headers.get("Content-Type")
    is_ok = status == OK
    page = Page(
        status=status,
        elapsed=elapsed,
        content_type=content_type,
        size=len(body),
        digest=hashlib.blake2b(body, digest_size=16).digest(),
        title=document.title if document else None,
        canonical=named.target.url if named else None,
        links=len(document.links) + len(document.unfollowed) if document else 0,  # of its head
        charset=document.charset if document else None,
        etag=headers.get("ETag") if is_ok else None,
        modified=headers.get("Last-Modified") if is_ok else None,
    )
    return page, named


def _document(body: bytes, headers: Mapping[str, str], response: Response) -> Document | None:
    """Return the references of a page to other URLs; None for an error page."""
    if response.status >= FIRST_ERROR:
        return None
    return read_document(body[:_HEAD], headers, response.url, max_unpacked=_HEAD)


def _canonical(document: Document | None, response: Response) -> str | None:
    """Return the canonical URL that a page names, in its document or in a ``Link`` header."""
    if response.status != OK:
        return None
    if document is not None and document.canonical is not None:
        return document.canonical
    values = [value.decode("latin-1") for value in response.headers.getlist("Link")]
    named = (link for link, relations in link_headers(values) if "canonical" in relations)
    return absolute(next(named, None), response.url)


def _header(response: Response, name: str) -> str | None:
    """Return a header's value."""
    value = response.headers.get(name)
    return None if value is None else value.decode("latin-1")


def failure_of(exception: Exception) -> tuple[State, str]:
    """Return the state of a URL that got no response, and the reason."""
    if isinstance(exception, IgnoreRequest):
        if "robots.txt" in str(exception):
            return State.HELD, HoldReason.ROBOTS.label
        return State.FAILED, "ignored"
    name = type(exception).__name__.lower()
    if "timeout" in name or "timedout" in name:
        return State.FAILED, Fault.TIMEOUT.label
    if "dns" in name or "resol" in name:
        return State.FAILED, Fault.DNS.label
    return State.FAILED, Fault.CONNECT.label


def outcome_of(
    done: DoneRequest, url_id: int, seen: Observation, known: Container[bytes]
) -> Outcome:
    """Return the outcome of a request, for the store.

    Args:
        done: the request.
        url_id: of its URL.
        seen: its observation.
        known: the keys that the store has. Hops to other URLs are left out, as none requests them.
    """
    hops = tuple(one for one in seen.hops if one.target.key in known)
    outcome = Outcome(Queued(url_id, done.url, done.depth, done.hops, 0), State.FETCHED, leads=hops)
    if seen.page is not None:
        if seen.page.status in RETRIED:
            return outcome._replace(state=State.FAILED, reason=Fault.SERVER.label)
        return outcome._replace(page=seen.page, blocks=seen.blocks)
    if seen.hops:
        return outcome._replace(state=State.REDIRECTED)
    if seen.failure is not None:
        state, reason = seen.failure
        return outcome._replace(state=state, reason=reason)
    return outcome
