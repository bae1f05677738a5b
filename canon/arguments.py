"""Checks of arguments, and the error for a wrong type: what is wanted, and what was given."""

from collections.abc import Collection

URL_WANTED = "str or bytes"
_ONE_TEXT = (str, bytes, bytearray, memoryview)


def wrong_type(name: str, given: object, wanted: str) -> TypeError:
    """Return the error for a wrong type. It does not show the value, which may hold a password.

    >>> str(wrong_type("the base", None, "str or bytes"))
    'the base has to be str or bytes, not None'
    """
    shown = "None" if given is None else type(given).__qualname__
    return TypeError(f"{name} has to be {wanted}, not {shown}")


def check_text(name: str, given: object) -> None:
    """Refuse an argument that is no text.

    Raises:
        TypeError: it is not a ``str``.
    """
    if not isinstance(given, str):
        raise wrong_type(name, given, "str")


def check_url(given: object, place: int, wanted: str = URL_WANTED) -> None:
    """Refuse an item of several URLs that is neither text nor bytes.

    Args:
        given: the item.
        place: its index among them.
        wanted: what it has to be.

    Raises:
        TypeError: naming the index.
    """
    if not isinstance(given, (str, bytes)):
        raise wrong_type(f"the URL at index {place}", given, wanted)


def check_choice(name: str, given: object, allowed: Collection[str]) -> None:
    """Refuse an argument that is not one of the allowed names.

    Raises:
        TypeError: it is not a ``str``.
        ValueError: it is another text.
    """
    check_text(name, given)
    if given not in allowed:
        message = f"unknown {name} {given!r}; allowed: {', '.join(allowed)}"
        raise ValueError(message)


def check_several(name: str, given: object, of: str) -> None:
    """Refuse a single text, or what is not iterable, where several values are wanted.

    Raises:
        TypeError: it is ``str`` or bytes, or cannot be iterated over.
    """
    if isinstance(given, _ONE_TEXT) or not hasattr(type(given), "__iter__"):
        raise wrong_type(name, given, f"a list or another iterable of {of}")
