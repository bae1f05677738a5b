"""The store as the learner's archive: rules of sites, and what became of their URLs."""

from collections.abc import Iterator

from sqlalchemy import Connection

from canonry.canon import Canonicalizer
from canonry.canon.learned import site_in, without_port
from canonry.crawler.learn.evidence.site_facts import Fact
from canonry.storage.http_status import OK
from canonry.storage.learned import history, rule_rows
from canonry.storage.learned.history import PastHop
from canonry.storage.learned.tracked_rule import TrackedRule


class StoreArchive:
    """The store as the learner's archive; it answers while a transaction is open.

    Attributes:
        has_history: True if sites may have answered before this process met them: earlier, or to
            other workers. Else the store is not asked what it knows of them.
    """

    def __init__(self, canonicalizer: Canonicalizer) -> None:
        """Start without a connection: then nothing is known.

        Args:
            canonicalizer: makes identities, without learned rules.
        """
        self._connection: Connection | None = None
        self._canonicalizer = canonicalizer
        self.has_history = False

    def bind(self, connection: Connection) -> None:
        """Use the connection of the transaction that is open."""
        self._connection = connection

    def rules_of(self, site: str) -> list[TrackedRule]:
        """Return the rules of a site."""
        return [] if self._connection is None else rule_rows.of_host(self._connection, site)

    def facts_of(self, site: str) -> Iterator[Fact]:
        """Yield what a site's URLs answered."""
        if self._connection is None or not self.has_history:
            return
        for answer in history.answers_of(self._connection, without_port(site)):
            url = self._canonicalizer.identity(answer.url)
            if site_in(url) == site:
                is_page = answer.status == OK
                digest, sketch = (answer.digest, answer.sketch) if is_page else (b"", None)
                yield Fact(url, answer.at, digest, sketch, missing=not is_page)

    def hops_of(self, site: str) -> Iterator[PastHop]:
        """Yield where a site's URLs led, by identities: redirects and canonical links."""
        if self._connection is None or not self.has_history:
            return
        for hop in history.hops_of(self._connection, without_port(site)):
            url = self._canonicalizer.identity(hop.url)
            target = self._canonicalizer.identity(hop.target)
            if url != target and site_in(url) == site:
                yield hop._replace(url=url, target=target)
