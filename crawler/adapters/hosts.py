"""The host of an identity, for functions of other tools."""

import re

_HOST = re.compile(r"[^:/?#]*://(?:[^/?#@]*@)?(\[[^\]/?#]*\]|[^/?#:]*)")


def host_of_identity(identity: str | None) -> str | None:
    """Return the host of an identity, without its port; None if it has none, as with mailto:."""
    found = _HOST.match(identity) if identity is not None else None
    return found[1] or None if found else None
