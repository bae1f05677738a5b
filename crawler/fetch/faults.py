"""Every way a fetch can fail, which faults may pass, and how long a wait for a retry is.

Waits grow, or are read from Retry-After (RFC 9110 section 10.2.3). Whether and when a URL is tried
again is decided in `canonry.crawler.run.visit`; for robots.txt, in `canonry.crawler.fetch.robots`.
"""

import random
from datetime import UTC
from email.utils import parsedate_to_datetime
from enum import Enum

from canonry.storage.records import LONGEST_WAIT

_JITTER = 0.25  # the largest random part that is added to a wait


class Fault(Enum):
    """The reason why a request got no usable response."""

    DNS = "the host name could not be resolved"
    ADDRESS = (
        "the host has no public address (--allow-private), or the port belongs to another protocol"
    )
    CONNECT = "the server could not be reached"
    PROXY = (
        "the proxy could not be reached, or did not accept the request (or wants another password)"
    )
    TLS = "the server's certificate or TLS was not accepted"
    TIMEOUT = "the response took too long"
    PROTOCOL = "the response was not HTTP"
    BODY = "the body was incomplete or could not be decoded"
    TOO_LARGE = "the body was larger than allowed"
    SERVER = "the server kept failing"
    LOOP = "the URL redirects to itself too often"
    OUTAGE = "its site answered with something else in place of many pages, or of all"
    ROBOTS_UNREACHABLE = "robots.txt could not be read, so nothing may be fetched (RFC 9309)"

    @property
    def label(self) -> str:
        """The name in the store, in reports and in metrics."""
        return self.name.lower().replace("_", "-")


# Faults that may go away, so that a retry makes sense.
TRANSIENT = frozenset(
    {
        Fault.DNS,
        Fault.CONNECT,
        Fault.PROXY,
        Fault.TIMEOUT,
        Fault.PROTOCOL,
        Fault.BODY,
        Fault.SERVER,
        Fault.ROBOTS_UNREACHABLE,
    }
)


# The end of the reason of a URL that waits for as long as its server asked.
WITH_RETRY_AFTER = " with Retry-After"


class FetchError(Exception):
    """A request got no usable response."""

    def __init__(
        self,
        fault: Fault,
        detail: str = "",
        *,
        retry_after: float | None = None,
        busy: bool = False,
        final: bool = False,
        retry_at: float | None = None,
        asked: bool = True,
    ) -> None:
        """Create the error.

        Args:
            fault: the reason.
            detail: more about it, for people. For `Fault.ROBOTS_UNREACHABLE` it is the `cause` of
                the error of the request for robots.txt.
            retry_after: seconds to wait, if the server named them.
            busy: True if the server is overloaded, so that all its pages have to wait.
            final: True if another try would fail, too, although such a fault often passes.
            retry_at: when the next try makes sense, in seconds since 1970; None leaves it to the
                visit.
            asked: False if no request was sent: the answer was known from an earlier one.
        """
        super().__init__(fault, detail)
        self.busy = busy
        self.fault = fault
        self.detail = detail
        self.retry_after = retry_after
        self.final = final or fault not in TRANSIENT
        self.retry_at = retry_at
        self.asked = asked

    @property
    def cause(self) -> str:
        """What happened, in a few words from a small set: for counts, reports and the log."""
        if self.detail and self.fault in {Fault.CONNECT, Fault.SERVER}:
            return self.detail
        if self.detail and self.fault is Fault.TLS:
            return f"{self.fault.label}, {self.detail}"
        return self.fault.label

    @property
    def reason(self) -> str:
        """The reason in the store: the fault's label, for robots.txt with the cause."""
        if self.detail and self.fault is Fault.ROBOTS_UNREACHABLE:
            return f"{self.fault.label}: {self.detail}"
        return self.fault.label

    @property
    def retry_reason(self) -> str:
        """The reason of a URL that waits for a retry: it always names the cause."""
        reason = self.reason
        if self.cause != reason == self.fault.label:
            reason = f"{reason}: {self.cause}"
        return reason if self.retry_after is None else reason + WITH_RETRY_AFTER

    def __str__(self) -> str:
        """Return the reason's sentence, with the detail."""
        return f"{self.fault.value} ({self.detail})" if self.detail else self.fault.value


def seconds_to_wait(value: str | None, now: float) -> float | None:
    """Read a Retry-After in either of its forms.

    Args:
        value: of the header; None where there is none.
        now: seconds since 1970.

    Returns:
        Seconds, at most `LONGEST_WAIT`; None if the header is missing or cannot be read.
    """
    if value is None:
        return None
    if value.strip().isdecimal():
        return min(float(value), LONGEST_WAIT)
    try:
        moment = parsedate_to_datetime(value)
        # It has no zone if the date has none, or -0000: dates of HTTP are in UTC (section 5.6.7).
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
        seconds = moment.timestamp() - now
    except (ValueError, OverflowError):
        return None
    return min(max(seconds, 0.0), LONGEST_WAIT)


def seconds_before_retry(first: float, attempts: int) -> float:
    """Return how long a URL waits before its next attempt: each wait is twice the one before.

    A part of it is random, so that not all URLs are retried at once.

    Args:
        first: seconds before the first retry.
        attempts: earlier attempts that failed.
    """
    jitter = _JITTER * random.random()  # noqa: S311 - no secret
    return min(first * 2.0**attempts * (1 + jitter), LONGEST_WAIT)


def longest_retry(first: float, retries: int) -> float:
    """Return the longest time, in seconds, for which `seconds_before_retry` makes a URL wait."""
    return min(first * 2.0**retries * (1 + _JITTER), LONGEST_WAIT)
