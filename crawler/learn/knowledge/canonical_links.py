"""Canonical links: which pages of a site name which others, and whether these links are meant."""

from collections.abc import Container
from dataclasses import dataclass, field
from typing import Self

from canonry.canon.syntax import Parts, query

_MEANT = 3  # links that drop parameters


@dataclass(slots=True)
class CanonicalLinks:
    """The canonical links of a site's pages to other URLs.

    A link is confirmed if what it leads to has answered as a page that names itself, or nothing.
    So all links to one URL are confirmed with the first of them.

    Attributes:
        targets: of the confirmed ones, by the identity of a page.
        dropping: how many of these have had fewer parameters than the page that has them.
        waiting: the pages whose links are not confirmed yet, by where they lead.
    """

    targets: dict[str, str] = field(default_factory=dict)
    dropping: int = 0
    waiting: dict[str, dict[str, None]] = field(default_factory=dict)
    _confirmed: set[str] = field(default_factory=set)  # the targets

    def note(self, source: str, target: str) -> None:
        """Note the link of a page: it waits, unless another one that leads there is confirmed."""
        if target in self._confirmed:
            self._add(source, target)
        else:
            self.waiting.setdefault(target, {})[source] = None

    def confirm(self, target: str) -> list[str]:
        """Confirm all links that lead to a URL; return the pages whose links have waited for it."""
        found = [*self.waiting.pop(target, ())]
        for source in found:
            self._add(source, target)
        return found

    def are_confirmed(self, target: str) -> bool:
        """Return True if the links that lead to a URL are confirmed."""
        return target in self._confirmed

    def _add(self, source: str, target: str) -> None:
        """Add a confirmed link."""
        is_new = source not in self.targets
        self.targets[source] = target
        self._confirmed.add(target)
        self.dropping += is_new and bool(_names_in(source) - _names_in(target))

    @property
    def are_meant(self) -> bool:
        """Return True if so many links drop parameters that the site chooses what they have.

        Else they may only repeat the URL that was requested.
        """
        return self.dropping >= _MEANT

    def only(self, kept: Container[str]) -> Self:
        """Return what stays if all other pages are forgotten."""
        left = {url: target for url, target in self.targets.items() if url in kept}
        waiting = {
            target: some
            for target, urls in self.waiting.items()
            if (some := {url: None for url in urls if url in kept})
        }
        return type(self)(left, self.dropping, waiting, set(left.values()))


def _names_in(url: str) -> set[str]:
    """Return the names of the parameters in the query of a URL."""
    text = Parts.of(url).query
    return set(query.names(text)) if text else set()
