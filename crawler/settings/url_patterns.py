"""Patterns for URLs: globs, and regular expressions after ``re:``."""

import fnmatch
import re
from collections.abc import Callable, Iterable

_REGEX = "re:"
_WHOLE = ("*", "?", "[", "http")
_HOST = r"[a-z]+://[^/?#]*"  # what stands before the path of a URL that can be fetched


class URLPatterns:
    """Patterns, of which the first that matches a URL can be named."""

    def __init__(self, texts: Iterable[str]) -> None:
        """Compile patterns.

        Args:
            texts: a glob matches a whole URL, or path and query if it begins with ``/``. After
                ``re:``, a regular expression matches anywhere in the URL.

        Raises:
            ValueError: naming a pattern that cannot be used, and what is allowed.
        """
        self._matchers = [(text, _compiled(text)) for text in texts]

    def __bool__(self) -> bool:
        """Return True if there is any."""
        return bool(self._matchers)

    def find(self, url: str) -> str | None:
        """Return the first pattern that matches a URL, or None."""
        for text, matches in self._matchers:
            if matches(url):
                return text
        return None


def _compiled(text: str) -> Callable[[str], re.Match[str] | None]:
    """Return a test of whether a URL matches."""
    if text.startswith(_REGEX):
        try:
            return re.compile(text.removeprefix(_REGEX)).search
        except re.error as error:
            message = f'"{text}" is no regular expression: {error}'
            raise ValueError(message) from None
    if text.startswith("/"):
        return re.compile(_HOST + fnmatch.translate(text)).match
    if text.startswith(_WHOLE):
        return re.compile(fnmatch.translate(text)).match
    message = (
        f'"{text}" matches no URL: allowed are globs that begin with *, with / (the path), or with '
        f"http:// or https://, such as *{text.strip('*')}*, and regular expressions after re:"
    )
    raise ValueError(message)
