"""Known links: the store has rows for their URLs, so that pages need only count them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from canonry.crawler.admission.url_filter import directory_of, shortest_base

_REMEMBERED = 1 << 14  # links: some 5 MiB


class KnownLinks:
    """Remembers which links need no claim, because the store has the rows of their URLs.

    Navigation is on every page of a site, so most links are known. Rows are never deleted while a
    crawl runs, so a link that is known stays known. The memory is bounded and is cleared when full.
    """

    def __init__(self, most: int = _REMEMBERED) -> None:
        """Start with nothing known; remember this many links at most."""
        self._most = most
        self._rules: dict[str, str] = {}  # by raw URL, as for `learn`
        self._directories: dict[str, _Directory] = {}
        self._held = 0  # references in `_directories`

    def learn(self, merged_by: Mapping[str, str]) -> None:
        """Remember links whose URLs are in the store, durably.

        Args:
            merged_by: by raw URL, the rules that merge it with the first raw URL of its URL; ""
                where the two are equal.
        """
        if len(self._rules) + len(merged_by) > self._most:
            self._rules.clear()
        self._rules.update(merged_by)

    def add(self, reference: str, base: str, raw_url: str) -> None:
        """Remember how a reference is spelled as an absolute URL.

        Args:
            reference: as written in a page.
            base: of the page.
            raw_url: as the candidate has it.
        """
        bare = reference.partition("#")[0]
        if shortest_base(bare, base) is base:  # it means another URL on every page
            return
        if self._held >= self._most:
            self._directories.clear()
            self._held = 0
        here = self._directories.setdefault(directory_of(base), _Directory({}, {}))
        if reference not in here.rules:
            self._held += reference not in here.raw_urls
            here.raw_urls[reference] = raw_url

    def without(self, references: Sequence[str], base: str) -> tuple[Sequence[str], dict[str, int]]:
        """Return those of a page's references that need a claim, and count the others.

        Of the links that the same rules merge with known URLs, the page's last one is claimed, too,
        so that the store has it as an example.

        Args:
            references: each once.
            base: the page's.

        Returns:
            The references to claim, and the number of the others by the rules that merge them.
        """
        directory = self._directories.get(directory_of(base))
        if directory is None or not references:
            return references, {}
        rules = list(map(directory.rules.get, references))
        if directory.raw_urls and None in rules:
            rules = [
                self._asked(directory, reference) if names is None else names
                for reference, names in zip(references, rules, strict=True)
            ]
        if rules.count("") == len(rules):  # as on most pages, after the first ones of a site
            return (), {"": len(rules)}
        counts_by_rule = Counter(rules)
        if counts_by_rule.pop(None, 0) == len(rules):
            return references, {}
        last = {names: at for at, names in enumerate(rules) if names}
        rest = [
            reference
            for at, (reference, names) in enumerate(zip(references, rules, strict=True))
            if names is None or (names and last[names] == at)
        ]
        counts_by_rule.subtract(last.keys())
        return rest, {
            names: count for names, count in counts_by_rule.items() if names is not None and count
        }

    def _asked(self, here: "_Directory", reference: str) -> str | None:
        """Return the rules of a reference, and keep them for the next page; None if unknown."""
        raw_url = here.raw_urls.get(reference)
        rules = None if raw_url is None else self._rules.get(raw_url)
        if rules is not None:
            here.rules[reference] = rules
            del here.raw_urls[reference]
        return rules


class _Directory(NamedTuple):
    """The references of a directory's pages, as written."""

    rules: dict[str, str]  # of known references
    raw_urls: dict[str, str]  # of other references, as absolute URLs
