"""The hosts: queue, delay and why, last error, robots.txt; sorted, filtered, in pages."""

from sqlalchemy import Connection

from canonry.crawler.inquiry import host_listing
from canonry.crawler.inquiry.host_listing import HostListing
from canonry.crawler.web.panel import Asked, BadQuestionError
from canonry.storage import StoreError


def view(connection: Connection, asked: Asked) -> HostListing:
    """Return a page of hosts; the query has ``sort``, ``match``, ``show`` and ``after``."""
    try:
        return host_listing.hosts_of(
            connection,
            asked.now,
            order=asked.choice("sort", host_listing.ORDERS),
            part=asked.text("match"),
            blocked=asked.choice("show", ("all", "blocked")) == "blocked",
            after=asked.text("after"),
        )
    except StoreError as error:
        raise BadQuestionError(str(error)) from None
