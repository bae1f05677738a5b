"""List the texts that a simple pattern matches, if they are few."""

from itertools import product

from canonry.crawler.rule_lists.conversion import Lost
from canonry.crawler.rule_lists.scopes import UnsayableError

_MOST = 64  # texts of one pattern
_DEEPEST = 16  # groups within groups
_SPECIAL = frozenset("^$*+?{}")


def listed(pattern: str, lost: Lost, *, dots: bool = False) -> tuple[str, ...]:
    """Return all texts that a pattern matches from beginning to end.

    Args:
        pattern: a regular expression. Literals, groups, classes, ``?`` and counts are understood.
        lost: the reason to give if the texts cannot be listed.
        dots: True to read an unescaped dot as a literal dot, which leaves out other characters.

    Raises:
        UnsayableError: if the pattern has anything else, or matches too many texts.
    """
    reader = _Reader(pattern, lost, dots=dots)
    found = reader.alternatives(0)
    if reader.rest():
        raise UnsayableError(lost)
    return found


class _Reader:
    """Reads a pattern from left to right."""

    def __init__(self, pattern: str, lost: Lost, *, dots: bool) -> None:
        self._pattern = pattern
        self._lost = lost
        self._dots = dots
        self._at = 0

    def rest(self) -> str:
        """Return what has not been read."""
        return self._pattern[self._at :]

    def alternatives(self, depth: int) -> tuple[str, ...]:
        """Read to the end of a group; refuse ``|`` outside of groups, as anchors bind closer."""
        found = list(self._sequence(depth))
        while self._next("|"):
            if not depth:
                raise UnsayableError(self._lost)
            found += self._sequence(depth)
        return self._few(found)

    def _sequence(self, depth: int) -> tuple[str, ...]:
        """Read to the end of an alternative."""
        found: tuple[str, ...] = ("",)
        while self.rest() and self.rest()[0] not in "|)":
            atom = self._counted(self._atom(depth))
            found = self._few([a + b for a, b in product(found, atom)])
        return found

    def _atom(self, depth: int) -> tuple[str, ...]:
        """Read a character, a class or a group."""
        character = self.rest()[0]
        self._at += 1
        if character == "(":
            return self._group(depth + 1)
        if character == "[":
            return self._class()
        if character == "\\":
            return (self._escaped(),)
        if character in _SPECIAL or (character == "." and not self._dots):
            raise UnsayableError(self._lost)
        return (character,)

    def _group(self, depth: int) -> tuple[str, ...]:
        """Read a group, capturing or not."""
        if not self._next("?:") and self.rest().startswith("?"):
            raise UnsayableError(self._lost)
        if depth > _DEEPEST:
            raise UnsayableError(self._lost)
        found = self.alternatives(depth)
        if not self._next(")"):
            raise UnsayableError(self._lost)
        return found

    def _class(self) -> tuple[str, ...]:
        """Read a class of characters."""
        inside, closed, _ = self.rest().partition("]")
        if not closed or not inside or inside[0] == "^" or "\\" in inside or "[" in inside:
            raise UnsayableError(self._lost)
        self._at += len(inside) + 1
        characters: list[str] = []
        at = 0
        while at < len(inside):
            if inside[at + 1 : at + 2] == "-" and at + 2 < len(inside):
                characters += [chr(n) for n in range(ord(inside[at]), ord(inside[at + 2]) + 1)][:99]
                at += 3
            else:
                characters.append(inside[at])
                at += 1
        return self._few(characters)

    def _escaped(self) -> str:
        """Read an escaped character, which has to be punctuation that stands for itself."""
        character = self.rest()[:1]
        if not character or character.isalnum() or not character.isascii():
            raise UnsayableError(self._lost)
        self._at += 1
        return character

    def _counted(self, atom: tuple[str, ...]) -> tuple[str, ...]:
        """Read a quantifier; return the texts of the repeated atom."""
        least = most = 1
        if self._next("?"):
            least = 0
        elif self._next("{"):
            inside, closed, _ = self.rest().partition("}")
            first, comma, last = inside.partition(",")
            counts = (first, last if comma else first)
            if not closed or not all(count.isdecimal() and len(count) < 3 for count in counts):  # noqa: PLR2004 - digits
                raise UnsayableError(self._lost)
            self._at += len(inside) + 1
            least, most = (int(count) for count in counts)
        self._next("?")  # a lazy quantifier matches the same whole texts
        texts: list[str] = []
        for count in range(least, min(most, _MOST) + 1):
            several: tuple[str, ...] = ("",)
            for _ in range(count):
                several = self._few([a + b for a, b in product(several, atom)])
            texts += several
        return self._few(texts)

    def _next(self, text: str) -> bool:
        """Consume a text if it is next; return whether it was."""
        if not self._pattern.startswith(text, self._at):
            return False
        self._at += len(text)
        return True

    def _few(self, found: list[str]) -> tuple[str, ...]:
        """Return distinct texts, or raise if there are none or too many."""
        several = tuple(dict.fromkeys(found))
        if not several or len(several) > _MOST:
            raise UnsayableError(self._lost)
        return several
