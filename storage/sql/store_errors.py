"""Why a store cannot be used: errors that commands without one know, too."""

from canonry.canon import redaction


class StoreError(Exception):
    """A store that cannot be used; the message says what to do, and has no passwords."""

    def __str__(self) -> str:
        """Return the message; what the database's library says may name a password."""
        return redaction.redact_message(super().__str__())


class StoreRewoundError(StoreError):
    """The database lacks what was committed to it: an older copy of it was restored, for example.

    What a process remembers of such a store is wrong. It has to be opened anew.
    """


class StoreURLError(StoreError):
    """A text that names no store; the message says what is allowed."""
