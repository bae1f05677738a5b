"""Requests as rows of the store, serialized as in Scrapy's own disk queues."""

import pickle
from typing import Any, cast

from scrapy import Request, Spider
from scrapy.utils.request import request_from_dict

from canonry.crawler.adapters.scrapy.fingerprints import RequestKey
from canonry.crawler.adapters.scrapy.request_session import RequestSession
from canonry.storage.requests.request_queue import NewRequest

_PROTOCOL = 4  # as in scrapy.squeues
_CHAIN = "canonry_redirects"  # in meta: the worker, and where its own redirects begin


class UnserializableError(ValueError):
    """A request cannot be serialized, for example as its callback is not a method of the spider."""


def encode(request: Request, spider: Spider) -> bytes:
    """Return a request as bytes.

    Raises:
        UnserializableError: if it cannot be written.
    """
    try:
        return pickle.dumps(request.to_dict(spider=spider), protocol=_PROTOCOL)
    except (ValueError, pickle.PicklingError, AttributeError, TypeError) as error:
        raise UnserializableError(str(error)) from error


def decode(body: bytes, spider: Spider) -> Request:
    """Return the request that `encode` wrote, with the callbacks of a spider.

    Raises:
        ValueError: if the spider has no such callback any more.
    """
    fields = cast("dict[str, Any]", pickle.loads(body))  # noqa: S301 - as Scrapy's disk queues do
    return request_from_dict(fields, spider=spider)


def row_of(
    session: RequestSession, request: Request, request_key: RequestKey, *, is_fifo: bool = False
) -> NewRequest:
    """Return the row with which to claim a request, without its body.

    Args:
        session: of the crawler.
        request: the request.
        request_key: its fingerprint.
        is_fifo: True if requests of one priority are sent in the order in which they came. Start
            requests always are, and after the others.
    """
    is_start = bool(request.meta.get("is_start_request"))
    place = session.next_place()
    return NewRequest(
        spider=session.spider,
        rank=-request.priority,
        place=place if is_fifo or is_start else -place,
        is_start=int(is_start),
        fingerprint=request_key.fingerprint,
        claim=request_key.fingerprint,
        key=request_key.key,
        url=request.url,
        depth=_number(request, "depth"),
        hops=_number(request, "redirect_times"),
        body=None,
    )


def claimed_row(session: RequestSession, request: Request, found: RequestKey) -> NewRequest:
    """Return the row with which to claim a request that is queued by Scrapy and not here."""
    row = row_of(session, request, found)
    return session.done(row)._replace(is_start=0)


def continues(session: RequestSession, request: Request, found: RequestKey) -> bool:
    """Return True if a redirect leads to the same resource under another spelling.

    It must not be dropped as a duplicate of its own source, since the page was not fetched yet. A
    redirect to the very same URL, as of a cookie wall, is followed once in each process, because
    another process has other cookies.
    """
    sources = request.meta.get("redirect_urls")
    if not sources:
        return False
    if session.keys.fingerprint(request.replace(url=sources[-1])) != found.fingerprint:
        return False
    worker, first = request.meta.get(_CHAIN, (session.worker, 0))
    if worker != session.worker:
        first = len(sources) - 1
    request.meta[_CHAIN] = (session.worker, first)
    return list(sources[first:]).count(request.url) <= 1


def _number(request: Request, name: str) -> int:
    """Return a number in a request's ``meta``; 0 if it is missing or not a number."""
    value = request.meta.get(name, 0)
    return value if isinstance(value, int) else 0
