"""The reasons for which a text is refused, and the one error that carries them."""

from enum import Enum

from canonry.canon.redaction import redact_refused


class Reason(Enum):
    """Why a text has no canonical form; the value is the sentence that people read."""

    EMPTY = "the text is empty, and there is no base URL to resolve it against"
    RELATIVE = "the reference is relative, and there is no base URL to resolve it against"
    BASE = "the base is not an absolute URL that a reference can be resolved against"
    SCHEME = "a scheme is a letter, then letters, digits, '+', '-' or '.' (RFC 3986 section 3.1)"
    NO_HOST = "this scheme needs a host, and the authority has none"
    HOST = "the host is neither a domain name, an IPv4 address, nor an IPv6 address in brackets"
    PORT = "a port is a decimal number from 0 to 65535"
    EXCESS = "'..' segments lead above the root of the base, and they are to be refused"
    FORM = "the scheme's own specification does not allow this"
    SURROGATE = "the text holds a lone surrogate, which encodes no character"
    NO_ADDRESS = "the text begins with no host: a name that holds a dot, localhost, or an address"


class InvalidURL(ValueError):  # noqa: N818 - the public name says what is wrong
    """A text that has no canonical form.

    Attributes:
        reason: which rule was broken.
        text: the URL as given; undecodable bytes are already percent-escaped.
        position: index into ``text`` where the fault begins.

    ``str(error)`` shows the sentence, the text and a caret under the position.
    """

    def __init__(self, reason: Reason, text: str, position: int = 0) -> None:
        """Store the parts; `__str__` builds the message on demand."""
        super().__init__(reason, text, position)
        self.reason = reason
        self.text = text
        self.position = position

    def __str__(self) -> str:
        """Return the reason, the text (a window of it if it is long) and a caret.

        What may be meant as a password is hidden.
        """
        text, position = redact_refused(self.text, self.position)
        start = max(0, position - 60)
        window = text[start : position + 60]
        shown = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in window)
        lead = "…" if start else ""
        tail = "…" if position + 60 < len(text) else ""
        caret = " " * (len(lead) + position - start) + "^"
        return f"{self.reason.value}\n  {lead}{shown}{tail}\n  {caret}"
