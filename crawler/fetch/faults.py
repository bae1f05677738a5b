"""Every way a fetch can fail; the enum's value is the sentence that people read."""

from enum import Enum


class Fault(Enum):
    """The reason why a request got no usable response."""

    DNS = "the host name could not be resolved"
    ADDRESS = (
        "the host has no public address (--allow-private), or the port belongs to another protocol"
    )
    CONNECT = "the server could not be reached"
    TLS = "the server's certificate or TLS was not accepted"
    TIMEOUT = "the response took too long"
    PROTOCOL = "the response was not HTTP"
    BODY = "the body was incomplete or could not be decoded"
    TOO_LARGE = "the body was larger than allowed"
    SERVER = "the server kept failing"
    LOOP = "the redirect leads back to itself"
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
        Fault.TIMEOUT,
        Fault.PROTOCOL,
        Fault.BODY,
        Fault.SERVER,
        Fault.ROBOTS_UNREACHABLE,
    }
)


class FetchError(Exception):
    """A request got no usable response."""

    def __init__(
        self,
        fault: Fault,
        detail: str = "",
        *,
        retry_after: float | None = None,
        busy: bool = False,
    ) -> None:
        """Create the error.

        Args:
            fault: the reason.
            detail: more about it, for people.
            retry_after: seconds to wait, if the server named them.
            busy: True if the server is overloaded, so that all its pages have to wait.
        """
        super().__init__(fault, detail)
        self.busy = busy
        self.fault = fault
        self.detail = detail
        self.retry_after = retry_after

    def __str__(self) -> str:
        """Return the reason's sentence, with the detail."""
        return f"{self.fault.value} ({self.detail})" if self.detail else self.fault.value
