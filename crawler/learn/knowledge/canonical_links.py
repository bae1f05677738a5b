"""Canonical links: which pages of a site name which others, and whether these links are meant."""

from collections.abc import Container
from dataclasses import dataclass, field
from typing import Self

from canonry.canon.syntax import Parts, query

_MEANT = 3  # links that drop parameters


@dataclass(slots=True)
class CanonicalLinks:
    """The confirmed canonical links of a site's pages to other URLs.

    Attributes:
        targets: by the identity of a page.
        dropping: how many links have had fewer parameters than the page that has them.
    """

    targets: dict[str, str] = field(default_factory=dict)
    dropping: int = 0

    def add(self, source: str, target: str) -> bool:
        """Add the link of a page; return True if the links are known to be meant from now on."""
        is_new = source not in self.targets
        self.targets[source] = target
        if not is_new or not _names_in(source) - _names_in(target):
            return False
        self.dropping += 1
        return self.dropping == _MEANT

    @property
    def are_meant(self) -> bool:
        """Return True if so many links drop parameters that the site chooses what they have.

        Else they may only repeat the URL that was requested.
        """
        return self.dropping >= _MEANT

    def only(self, kept: Container[str]) -> Self:
        """Return what stays if all other pages are forgotten."""
        left = {url: target for url, target in self.targets.items() if url in kept}
        return type(self)(left, self.dropping)


def _names_in(url: str) -> set[str]:
    """Return the names of the parameters in the query of a URL."""
    text = Parts.of(url).query
    return set(query.names(text)) if text else set()
