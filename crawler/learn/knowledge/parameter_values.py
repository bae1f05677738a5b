"""The values of one parameter on a site: do they look like the identifiers of sessions? Pure.

Such a parameter is worth a question early, because each of its values makes a new URL of every
page. The shape proves nothing: identifiers of documents and signed links can look the same.
"""

import re
from collections import OrderedDict

_REMEMBERED = 64  # values
_FEWEST = 4  # different values, before anything is said
_MOST_REPEATED = 0.1  # the share of values that came back on another page
_SHORTEST = 8.0  # characters, on average
_DIGITS_ONLY = 10.0
# Random letters and digits change their kind at two to five of ten places, words and numbers less.
_LEAST_CHANGES = 0.25
_KINDS = re.compile(r"[0-9]+|[a-z]+|[A-Z]+")
_SEPARATORS = re.compile(r"[^0-9A-Za-z]+|%[0-9A-F]{2}")


class ParameterValues:
    """What is remembered of the values of one parameter; bounded in size."""

    __slots__ = ("_changes", "_digits", "_length", "_places", "_sources", "different", "repeated")

    def __init__(self) -> None:
        """Start without values."""
        self.different = 0  # values that were not remembered when they came
        self.repeated = 0  # values that came back on another page
        self._length = 0  # letters and digits of all different values
        self._digits = 0
        self._changes = 0  # places between characters of two kinds
        self._places = 0  # places between characters
        self._sources: OrderedDict[int, int] = OrderedDict()

    def add(self, value: str, source: int) -> None:
        """Remember a value.

        Args:
            value: as the URL has it.
            source: the page that it was found on, such as its row. All links of a page often have
                one new value, so only values that come back on other pages are repeated.
        """
        mark = hash(value)
        before = self._sources.get(mark)
        if before is not None:
            self.repeated += before != source
            return
        self._sources[mark] = source
        if len(self._sources) > _REMEMBERED:
            self._sources.popitem(last=False)
        self.different += 1
        plain = _SEPARATORS.sub("", value)
        self._length += len(plain)
        self._digits += sum(map(str.isdigit, plain))
        self._places += max(len(plain) - 1, 0)
        self._changes += max(len(_KINDS.findall(plain)) - 1, 0)

    def look_like_sessions(self) -> bool:
        """Return True if the values nearly never come back and look random."""
        if self.different < _FEWEST or self.repeated > _MOST_REPEATED * self.different:
            return False
        length = self._length / self.different
        if self._digits == self._length:  # clocks and random numbers
            return length >= _DIGITS_ONLY
        return length >= _SHORTEST and self._changes >= _LEAST_CHANGES * self._places
