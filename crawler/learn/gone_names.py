"""Count how many URLs of one page have answered 404 or 410. Pure."""

from collections import OrderedDict

_ENOUGH = 3  # gone URLs of a page, after which its other URLs count as gone, too
_REMEMBERED = 65_536  # pages


class GoneNames:
    """Counts the URLs of a page that answered 404 or 410, until one answers with the page.

    One gone URL proves nothing about the others, which may still lead to the page. But where each
    link has a fresh session id, a missing page has a new URL in every link.

    Each process counts for itself, and starts at zero with each crawl, so several workers may
    request a missing page more often. That costs requests, never a page.
    """

    def __init__(self) -> None:
        """Start with no counts."""
        self._names: OrderedDict[bytes, int] = OrderedDict()  # by the key of the page

    def __bool__(self) -> bool:
        """Return True if any URL is counted as gone."""
        return bool(self._names)

    def add(self, key: bytes) -> None:
        """Count one more gone URL of a page."""
        self._names[key] = self._names.pop(key, 0) + 1
        if len(self._names) > _REMEMBERED:
            self._names.popitem(last=False)

    def found(self, key: bytes) -> None:
        """Reset the count of a page that one of its URLs has led to."""
        self._names.pop(key, None)

    def are_enough(self, key: bytes) -> bool:
        """Return True if so many URLs of a page are gone that its others need no request."""
        return self._names.get(key, 0) >= _ENOUGH

    def clear(self) -> None:
        """Forget all counts."""
        self._names.clear()
