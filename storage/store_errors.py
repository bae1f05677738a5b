"""What can be wrong with a store as a whole."""


class StoreError(Exception):
    """A store that cannot be used; the message says what to do."""
