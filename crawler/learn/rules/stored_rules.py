"""The rules of a store for jobs that do not learn: they hold URLs, and test nothing."""

from sqlalchemy import Connection

from canonry.canon import Canonicalizer
from canonry.canon.pipeline.rewriting import Rewritten
from canonry.crawler.learn.rules.in_force import RulesInForce
from canonry.storage.learned import rule_rows
from canonry.storage.learned.tracked_rule import IN_FORCE


class StoredRules:
    """The rules of a store for jobs that do not learn: they hold URLs, and test nothing."""

    def __init__(self, canonicalizer: Canonicalizer) -> None:
        """Start without rules; the first transaction loads them.

        Args:
            canonicalizer: makes identities, without learned rules.
        """
        self._canonicalizer = canonicalizer
        self._in_force = RulesInForce((), canonicalizer)
        self._generation: int | None = None  # of the rules; None if it is not known

    def refresh(self, connection: Connection) -> None:
        """Load the rules of the store, if they have changed."""
        self._load(connection)

    def _load(self, connection: Connection) -> bool:
        """Load the rules of the store; return True if they have changed."""
        generation = rule_rows.generation(connection)
        if generation == self._generation:
            return False
        if self._generation is None:
            self._in_force = RulesInForce.load(connection, self._canonicalizer)
        else:
            self._in_force = self._in_force.refreshed(
                connection, rule_rows.states_by_host(connection, IN_FORCE)
            )
        self._generation = generation
        return True

    def forget(self) -> None:
        """Let the next transaction load the rules again."""
        self._generation = None

    def rewrite(self, url: str) -> Rewritten | None:
        """Return what active rules make of a URL; None if no rule is about its site."""
        return self._in_force.rewrite(url)

    def is_verified(self, rewritten: Rewritten, now: float) -> bool:
        """Return False: nothing is fetched to test rules."""
        del rewritten, now
        return False

    def is_gone(self, rewritten: Rewritten) -> bool:
        """Return False: what answered is not remembered."""
        del rewritten
        return False
