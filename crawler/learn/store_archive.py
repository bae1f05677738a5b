"""The store as the learner's archive: rules of sites, and what became of their URLs."""

from collections.abc import Iterable, Iterator

from sqlalchemy import Connection

from canonry.canon import Canonicalizer
from canonry.canon.learned import site_in, without_port
from canonry.crawler.learn.knowledge.site_facts import Fact
from canonry.crawler.learn.rules.rewriting import identities
from canonry.storage.http_status import OK
from canonry.storage.learned import history, rule_rows
from canonry.storage.learned.history import PastAnswer, PastHop
from canonry.storage.learned.tracked_rule import TrackedRule
from canonry.storage.seen.key_rows import rows_of_keys


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

    def facts_of(self, site: str, most: int) -> Iterator[Fact]:
        """Yield what the latest so many URLs of a site answered."""
        if self._connection is None or not self.has_history:
            return
        for answer in history.answers_of(self._connection, without_port(site), most):
            url = self._canonicalizer.identity(answer.url)
            if site_in(url) == site:
                yield self._fact(url, answer)

    def hops_of(self, site: str, most: int) -> Iterator[PastHop]:
        """Yield where a site's latest URLs led, by identities: redirects and canonical links."""
        if self._connection is None or not self.has_history:
            return
        for hop in history.hops_of(self._connection, without_port(site), most):
            found = self._by_identities(hop)
            if found.url != found.target and site_in(found.url) == site:
                yield found

    def known_about(self, urls: Iterable[str]) -> Iterator[Fact | PastHop]:
        """Yield what some URLs answered, and where they led.

        If a rule holds a URL, another row is under its key: then nothing is known of it.
        """
        if self._connection is None:
            return
        names = set(urls)
        keys = [self._canonicalizer.key_of(url) for url in names]
        rows = list(rows_of_keys(self._connection, keys).values())
        for answer in history.answers_at(self._connection, rows):
            url = self._canonicalizer.identity(answer.url)
            if url in names:
                yield self._fact(url, answer)
        for hop in history.hops_at(self._connection, rows):
            found = self._by_identities(hop)
            if found.url != found.target and found.url in names:
                yield found

    def answered_on(self, site: str) -> Iterator[str]:
        """Yield the URLs of a site that have answered, or led elsewhere."""
        if self._connection is None:
            return
        for some in history.answered_of(self._connection, without_port(site)):
            for url in identities(self._canonicalizer, some):
                if site_in(url) == site:
                    yield url

    def linked_on(self, url: str) -> str | None:
        """Return the page on which a link to a URL was found first; None if that is not known."""
        if self._connection is None:
            return None
        found = history.source_of(self._connection, self._canonicalizer.key_of(url))
        return None if found is None else self._canonicalizer.identity(found)

    def _by_identities(self, hop: PastHop) -> PastHop:
        """Return a hop between identities, as the learner names URLs."""
        identity = self._canonicalizer.identity
        return hop._replace(url=identity(hop.url), target=identity(hop.target))

    def _fact(self, url: str, answer: PastAnswer) -> Fact:
        """Return what an identity answered."""
        if answer.status != OK:
            return Fact(url, answer.at, missing=True)
        named = answer.canonical
        names = None if named is None else self._canonicalizer.identity(named)
        return Fact(url, answer.at, answer.digest, answer.sketch, names=names)
