"""An archive for the learner that knows all that was recorded, as a store does."""

from collections.abc import Iterable, Iterator

from canonry.crawler.learn.knowledge.site_facts import Fact
from canonry.crawler.learn.memory.archive import NoArchive
from canonry.crawler.learn.news import Answered, Moved

from canonry.canon.learned import site_in
from canonry.storage.learned.history import PastHop


class Records(NoArchive):
    """Knows all that was recorded, and counts the facts that were read when sites were met."""

    def __init__(self) -> None:
        self.read = 0
        self._known: dict[str, list[Fact | PastHop]] = {}
        self._sites: dict[str, list[str]] = {}

    def record(self, news: Moved | Answered) -> None:
        found: Fact | PastHop
        if isinstance(news, Answered):
            found = Fact(
                news.url, news.at, news.digest, news.sketch, None, news.missing, news.names
            )
        else:
            found = PastHop(news.source, news.target, news.kind, news.at)
        if found.url not in self._known:
            self._sites.setdefault(site_in(found.url), []).append(found.url)
        self._known.setdefault(found.url, []).append(found)

    def facts_of(self, site: str, most: int) -> Iterator[Fact]:
        for found in self._latest(site, most):
            if isinstance(found, Fact):
                self.read += 1
                yield found

    def hops_of(self, site: str, most: int) -> Iterator[PastHop]:
        for found in self._latest(site, most):
            if not isinstance(found, Fact):
                self.read += 1
                yield found

    def known_about(self, urls: Iterable[str]) -> Iterator[Fact | PastHop]:
        for url in urls:
            yield from self._known.get(url, ())

    def answered_on(self, site: str) -> list[str]:
        return self._sites.get(site, [])

    def _latest(self, site: str, most: int) -> Iterator[Fact | PastHop]:
        for url in self._sites.get(site, [])[-most:]:
            yield from self._known[url]
