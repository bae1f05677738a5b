"""Every way a fetch can fail; the value is the sentence that people read."""

from enum import Enum


class Fault(Enum):
    """Why no answer came of a request."""

    DNS = "the host name could not be resolved"
    ADDRESS = (
        "the host has no address that may be asked (--allow-private), or the port is not the web's"
    )
    CONNECT = "the server could not be reached"
    TLS = "the server's certificate or its TLS was not acceptable"
    TIMEOUT = "the answer took too long"
    PROTOCOL = "the answer was not HTTP"
    BODY = "the body broke off or could not be decoded"
    TOO_LARGE = "the body was larger than allowed"
    SERVER = "the server kept failing"
    LOOP = "the redirect leads back to itself"
    ROBOTS_UNREACHABLE = "robots.txt could not be read, so nothing may be asked (RFC 9309)"

    @property
    def label(self) -> str:
        """Return the name under which it is stored and counted."""
        return self.name.lower().replace("_", "-")


# What may pass, so that another try is worth it.
PASSING = frozenset(
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
    """A request that got no answer."""

    def __init__(
        self,
        fault: Fault,
        detail: str = "",
        *,
        retry_after: float | None = None,
        busy: bool = False,
    ) -> None:
        """Keep what happened.

        Args:
            fault: of which kind.
            detail: for people.
            retry_after: seconds, when the server named them.
            busy: the server has too much to do, so that all its pages have to wait.
        """
        super().__init__(fault, detail)
        self.busy = busy
        self.fault = fault
        self.detail = detail
        self.retry_after = retry_after

    def __str__(self) -> str:
        """Return the sentence, and the detail."""
        return f"{self.fault.value} ({self.detail})" if self.detail else self.fault.value
