"""Gone names: how many names of one page have answered that there is no such page. Pure."""

from collections import OrderedDict

_ENOUGH = 3  # names, before the others are believed to be gone, too
_REMEMBERED = 65_536  # pages


class GoneNames:
    """Counts the names of a page that answered 404 or 410, until one answers with a page.

    A name that is gone does not represent others, since they may lead to the page all the same. But
    where each link has a fresh session id, a page that is not there has a name in every link.

    Each process counts for itself, and starts anew with each crawl: of a page that is not there,
    several workers together may ask for so many names each. That costs requests, never a page.
    """

    def __init__(self) -> None:
        """Start without names."""
        self._names: OrderedDict[bytes, int] = OrderedDict()  # by the key of the page

    def __bool__(self) -> bool:
        """Return True if any name is gone."""
        return bool(self._names)

    def add(self, key: bytes) -> None:
        """Count a name of a page that is gone."""
        self._names[key] = self._names.pop(key, 0) + 1
        if len(self._names) > _REMEMBERED:
            self._names.popitem(last=False)

    def found(self, key: bytes) -> None:
        """Forget that names are gone of a page that another name has led to."""
        self._names.pop(key, None)

    def are_enough(self, key: bytes) -> bool:
        """Return True if so many names of a page are gone that its others need not be asked."""
        return self._names.get(key, 0) >= _ENOUGH

    def clear(self) -> None:
        """Forget all."""
        self._names.clear()
