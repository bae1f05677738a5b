"""The store as the learner's archive: rules of hosts, and bodies that were fetched."""

from sqlalchemy import Connection

from canonry.canon import Canonicalizer
from canonry.storage.learned import classes, rule_rows
from canonry.storage.learned.tracked_rule import TrackedRule


class StoreArchive:
    """The store as the learner's archive; it answers while a transaction is open."""

    def __init__(self, canonicalizer: Canonicalizer) -> None:
        """Start without a connection: then nothing is known.

        Args:
            canonicalizer: makes identities, without learned rules.
        """
        self._connection: Connection | None = None
        self._canonicalizer = canonicalizer
        self._by_rules: dict[str, tuple[str, bytes]] = {}

    def bind(self, connection: Connection) -> None:
        """Use the connection of the transaction that is open."""
        self._connection = connection

    def load_by_rules(self, keys: dict[bytes, str]) -> None:
        """Load what was fetched, because of rules, instead of identities; given by their keys."""
        if self._connection is not None:
            found = classes.bodies(self._connection, list(keys), by_rules=True)
            self._by_rules = {keys[key]: body for key, body in found.items()}

    def rules_of(self, host: str) -> list[TrackedRule]:
        """Return the rules of a host."""
        return [] if self._connection is None else rule_rows.of_host(self._connection, host)

    def body_of(self, identity: str) -> tuple[str, bytes] | None:
        """Return the identity of the URL fetched for an identity, and its body's digest."""
        if self._connection is None:
            return None
        key = self._canonicalizer.key_of(identity)
        return self._as_identity(classes.bodies(self._connection, [key]).get(key))

    def body_by_rules(self, identity: str) -> tuple[str, bytes] | None:
        """Return the same for the URL that was fetched instead, because rules said so."""
        return self._as_identity(self._by_rules.get(identity))

    def _as_identity(self, body: tuple[str, bytes] | None) -> tuple[str, bytes] | None:
        return None if body is None else (self._canonicalizer.identity(body[0]), body[1])
