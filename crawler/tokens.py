"""Tokens: what a server asks of those that it serves."""

from hmac import compare_digest

from canonry import __title__
from canonry.crawler.settings import SettingsError

TOKEN = f"{__title__.upper()}_TOKEN"  # the variable that may hold one
_SHORTEST = 8  # characters


def check_token(token: str | None) -> None:
    """Refuse a token that keeps nobody out, or cannot be sent; None is no token.

    Raises:
        SettingsError: it is too short, or has characters that headers cannot have.
    """
    if token is not None and (
        len(token) < _SHORTEST or not token.isascii() or not token.isprintable() or " " in token
    ):
        raise SettingsError(
            f"the token (of --token, the first line of --token-file, or {TOKEN}): it has to "
            f"have at least {_SHORTEST} ASCII characters, and no spaces"
        )


def is_same(token: str, given: str) -> bool:
    """Return True if a token was given, in a time that says nothing of it."""
    return compare_digest(token.encode(), given.encode("utf-8", "surrogateescape"))
