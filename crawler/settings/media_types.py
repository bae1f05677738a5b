"""Media types: which responses ``only_types`` lets in (RFC 9110 section 8.3)."""

import fnmatch
import re
from collections.abc import Iterable

from canonry.canon.policies import did_you_mean

# What names stand for.
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


class MediaTypes:
    """A set of media types; an empty one has them all."""

    def __init__(self, texts: Iterable[str]) -> None:
        """Read types: ``text/html``, ``text/*``, or a name of `NAMES`; several have commas.

        Raises:
            ValueError: naming a text that is none of them, and what is allowed.
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
        """Return True if the type of a response is one of them, or not known."""
        if self._pattern is None or not content_type:
            return True
        bare = content_type.partition(";")[0].strip().lower()
        return not bare or self._pattern.match(bare) is not None
