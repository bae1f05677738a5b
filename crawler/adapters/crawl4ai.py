"""crawl4ai: a filter for deep crawls that lets one URL of each resource pass."""

from collections.abc import Iterable

from crawl4ai.deep_crawling.filters import URLFilter

from canonry.canon import Canonicalizer, InvalidURL, Policy, RuleSet


class DistinctFilter(URLFilter):
    """Lets a URL pass if no other name of it has passed; the last filter of a ``FilterChain``.

    crawl4ai does not filter the start URL: name it in ``seen``. What we refuse passes. A
    filter remembers what passed, so use a new one for each crawl.
    """

    __slots__ = ("_first", "_make")

    def __init__(
        self,
        policy: str | Policy = "web",
        rules: RuleSet | str | None = None,
        seen: Iterable[str] = (),
    ) -> None:
        """Prepare the filter.

        Args:
            policy: which rules make the identity.
            rules: learned rules, or the text of their file.
            seen: URLs that count as passed already.
        """
        super().__init__()
        self._make = Canonicalizer(policy, rules)
        self._first: dict[bytes, str] = {}
        for url in seen:
            self._passes(url)

    def apply(self, url: str) -> bool:
        """Return True unless another name of the URL has passed."""
        passes = self._passes(url)
        self._update_stats(passes)
        return passes

    def _passes(self, url: str) -> bool:
        """Return True for the first URL of a resource, whenever it comes, and False for others."""
        try:
            found = self._make(url)
        except InvalidURL:
            return True
        return self._first.setdefault(found.key, found.url) == found.url
