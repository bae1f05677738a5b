"""What the commands that change a queue print as JSON."""

import msgspec


class ReleasedJSON(msgspec.Struct, frozen=True, kw_only=True):
    """URLs that were released."""

    reason: str
    host: str | None  # null: on all hosts
    released: int  # URLs that went back to the queue


class BlockedJSON(msgspec.Struct, frozen=True, kw_only=True):
    """A host that is blocked now."""

    host: str
    held: int  # queued URLs


class UnblockedJSON(msgspec.Struct, frozen=True, kw_only=True):
    """A host that is not blocked now."""

    host: str
    released: int  # URLs that went back to the queue


class ExcludedJSON(msgspec.Struct, frozen=True, kw_only=True):
    """A pattern that is excluded now."""

    pattern: str
    held: int  # queued URLs


class IncludedJSON(msgspec.Struct, frozen=True, kw_only=True):
    """A pattern that is not excluded now."""

    pattern: str
    released: int  # URLs that went back to the queue
