"""Errors of stores that cannot be used, in a module that imports no database library."""

from canonry.canon import redaction


class StoreError(Exception):
    """A store that cannot be used; the message says what to do, and has no passwords."""

    def __str__(self) -> str:
        """Return the message without passwords: the database's library may name some."""
        return redaction.redact_message(super().__str__())


class StoreRewoundError(StoreError):
    """The database lacks what was committed to it: an older copy of it was restored, for example.

    What a process remembers of such a store is wrong. It has to be opened anew.
    """


class StoreURLError(StoreError):
    """A text that names no store; the message says what is allowed."""
