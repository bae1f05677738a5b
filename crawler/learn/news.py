"""News: what servers answered, as the learner is told."""

from typing import NamedTuple


class Answered(NamedTuple):
    """An answer that is no redirect: status 200, or 404 or 410."""

    url: str  # its identity
    digest: bytes  # of the decoded body
    at: float  # seconds since 1970
    hsts: bool = False  # it came with Strict-Transport-Security over https
    sketch: bytes | None = None  # of the text
    missing: bool = False  # True for 404 and 410
    names: str | None = None  # the identity that its canonical link leads to


class Moved(NamedTuple):
    """A permanent redirect, or a ``rel=canonical``, whose end answered with 200."""

    source: str  # identities under the policy, without learned rules
    target: str
    at: float  # seconds since 1970
    kind: str = "redirect"
