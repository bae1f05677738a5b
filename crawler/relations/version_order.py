"""The order of releases by the names of their directories. Pure."""

import re
from collections.abc import Collection

_RELEASED = ("stable", "latest", "current", "")  # after all numbers; "" is no directory at all
_COMING = frozenset(
    {
        *("main", "master", "trunk", "head", "dev", "devel", "develop", "development", "edge"),
        *("next", "nightly", "snapshot", "unstable"),
    }
)
# The pages of a year are those of no other: archives, conferences.
_YEAR = re.compile(r"(?:19|20)[0-9]{2}")
_NUMBERS = re.compile(r"[0-9]+(?:[._][0-9]+)*")
_EARLY = re.compile(r"(?:a|b|c|alpha|beta|rc|dev|pre|preview|snapshot)[.-]?[0-9]*\Z")
_LAST = 1 << 62

ReleasePlace = tuple[int, tuple[int, ...], int, str]


def says_release(name: str) -> bool:
    """Return True if the name of a directory says that it is a release."""
    if _YEAR.fullmatch(name):
        return False
    return bool(_NUMBERS.search(name)) or name.lower() in _COMING or name.lower() in _RELEASED


def is_coming(name: str) -> bool:
    """Return True if a release is not out yet: ``main``, ``2.0rc1``."""
    is_early = _EARLY.search(name.lower()) is not None and _NUMBERS.search(name) is not None
    return is_early or name.lower() in _COMING


def place_of(name: str, names: Collection[str] = ()) -> ReleasePlace:
    """Return where a release stands among others: ``1.10`` after ``1.9``, and ``main`` last.

    Args:
        name: of a directory; "" is what has none, as ``/docs/`` beside ``/docs/1.9/``.
        names: of all. A number beside longer ones is the last of these: https://docs.python.org/3/
            is newer than ``/3.11/``.
    """
    name = name.lower()
    if name in _RELEASED:
        return 1, (_RELEASED.index(name),), 1, name
    if name in _COMING:
        return 2, (), 1, name
    numbers = _numbers(name)
    if len(numbers) == 1 and any(
        len(more) > 1 and more[0] == numbers[0] for more in map(_numbers, names)
    ):
        numbers += (_LAST,)
    return 0, numbers, not is_coming(name), name


def _numbers(name: str) -> tuple[int, ...]:
    found = _NUMBERS.search(name)
    return () if found is None else tuple(map(int, re.split("[._]", found[0])))


def preferred(names: Collection[str], prefer: str, canonical: str | None = None) -> str:
    """Return the release that represents the others.

    Args:
        names: of the directories, at least one.
        prefer: ``newest``, ``oldest`` or ``stable``.
        canonical: the one that the site names as canonical, if it does.
    """
    order = sorted(names, key=lambda name: place_of(name, names))
    if prefer == "oldest":
        return order[0]
    if prefer == "newest":
        return order[-1]
    if canonical is not None:
        return canonical
    return next((name for name in reversed(order) if not is_coming(name)), order[-1])
