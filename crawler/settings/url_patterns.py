"""Patterns for URLs (globs, and regular expressions after ``re:``) and for media types."""

import fnmatch
import re
from collections.abc import Callable, Iterable

from canonry.canon.policies import did_you_mean
from canonry.crawler.media_types import media_type

_REGEX = "re:"
_WHOLE = ("*", "?", "[", "http")
_HOST = r"[a-z]+://[^/?#]*"  # the part before the path
# Names for groups of media types.
NAMES = {
    "html": ("text/html", "application/xhtml+xml"),
    "xml": ("text/xml", "application/xml", "*/*+xml"),
    "sitemap": ("text/xml", "application/xml", "application/gzip", "application/x-gzip"),
    "feed": ("application/rss+xml", "application/atom+xml", "application/feed+json"),
    "text": ("text/*",),
    "pdf": ("application/pdf",),
    "json": ("application/json", "*/*+json"),
    "css": ("text/css",),
    "script": ("text/javascript", "application/javascript", "application/ecmascript"),
    "image": ("image/*",),
    "audio": ("audio/*",),
    "video": ("video/*",),
    "font": ("font/*",),
}
_TYPE = re.compile(r"[\w!#$&^.+*\-]+/[\w!#$&^.+*\-]+", re.ASCII)


class URLPatterns:
    """An ordered list of patterns, which returns the first one that matches a URL."""

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
        """Return True if there are any patterns."""
        return bool(self._matchers)

    def find(self, url: str) -> str | None:
        """Return the first pattern that matches a URL, or None."""
        for text, matches in self._matchers:
            if matches(url):
                return text
        return None


def _compiled(text: str) -> Callable[[str], re.Match[str] | None]:
    """Return a function that matches a URL against a pattern."""
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


class MediaTypes:
    """A set of media types; an empty one contains all types."""

    def __init__(self, texts: Iterable[str]) -> None:
        """Read types: ``text/html``, ``text/*``, or a name of `NAMES`; several have commas.

        Raises:
            ValueError: naming a text that is not a type or a name, and what is allowed.
        """
        globs: list[str] = []
        for text in (part for given in texts for part in given.split(",")):
            wanted = text.strip().lower()
            if wanted in NAMES:
                globs += NAMES[wanted]
            elif _TYPE.fullmatch(wanted):
                globs.append(wanted)
            else:
                names = ", ".join(NAMES)
                message = (
                    f'"{text}" is no type{did_you_mean(wanted, NAMES)}; allowed are types such as '
                    f"text/html and text/*, and the names {names}"
                )
                raise ValueError(message)
        self._pattern = re.compile("|".join(map(fnmatch.translate, globs))) if globs else None

    def __contains__(self, content_type: str | None) -> bool:
        """Return True if the type of a response is in the set, or is not known."""
        if self._pattern is None or not content_type:
            return True
        bare = media_type(content_type)
        return not bare or self._pattern.match(bare) is not None
