"""The archive: what the learner can ask for more than it remembers."""

from collections.abc import Iterable
from typing import Protocol

from canonry.crawler.learn.knowledge.site_facts import Fact
from canonry.storage.learned.history import PastHop
from canonry.storage.learned.tracked_rule import TrackedRule


class Archive(Protocol):
    """Knows rules and facts for longer than the memory does.

    Attributes:
        has_history: True if it may know of sites that the memory has not met, or has forgotten.
    """

    has_history: bool

    def rules_of(self, site: str) -> Iterable[TrackedRule]:
        """Return the rules of a site; called when the learner meets the site (again)."""
        ...

    def facts_of(self, site: str, most: int) -> Iterable[Fact]:
        """Return what the latest so many URLs of a site answered, if it has a history."""
        ...

    def hops_of(self, site: str, most: int) -> Iterable[PastHop]:
        """Return where a site's latest URLs led, by identities: redirects and canonical links."""
        ...

    def known_about(self, urls: Iterable[str]) -> Iterable[Fact | PastHop]:
        """Return what some URLs answered, and where they led."""
        ...

    def answered_on(self, site: str) -> Iterable[str]:
        """Return the URLs of a site that have answered, or led elsewhere."""
        ...

    def linked_on(self, url: str) -> str | None:
        """Return the page on which a link to a URL was found first; None if that is not known."""
        ...


class NoArchive:
    """An archive that remembers nothing."""

    has_history = False

    def rules_of(self, site: str) -> Iterable[TrackedRule]:
        """Return nothing."""
        del site
        return ()

    def facts_of(self, site: str, most: int) -> Iterable[Fact]:
        """Return nothing."""
        del site, most
        return ()

    def hops_of(self, site: str, most: int) -> Iterable[PastHop]:
        """Return nothing."""
        del site, most
        return ()

    def known_about(self, urls: Iterable[str]) -> Iterable[Fact | PastHop]:
        """Return nothing."""
        del urls
        return ()

    def answered_on(self, site: str) -> Iterable[str]:
        """Return nothing."""
        del site
        return ()

    def linked_on(self, url: str) -> str | None:
        """Return nothing."""
        del url
        return None
