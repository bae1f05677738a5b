"""Reports: what an engine says of a URL, and what came of it for the store. Pure.

An engine's metadata are names with texts. Which names say what is set in ``[frontier]``.
"""

import hashlib
from collections.abc import Mapping
from typing import NamedTuple

from canonry.crawler.fetch.faults import Fault
from canonry.crawler.settings import FrontierSettings
from canonry.storage import Page, State
from canonry.storage.http_status import FIRST_ERROR, NOT_MODIFIED, OK, RETRIED

_DIGEST = 16  # bytes
_FOUND = 302  # of a redirect whose status is not said: nothing is learned from a temporary one


class Item(NamedTuple):
    """A URL as an engine puts it."""

    url: str
    queue: str  # "": that of its host
    metadata: bytes  # as it came
    is_known: bool = False  # the engine says what came of it; else it has found it
    again_at: int = 0  # it is to be fetched again then, in seconds since 1970; 0: never
    notes: Mapping[str, str] = {}


class Report(NamedTuple):
    """What came of a URL."""

    state: State
    reason: str | None = None
    page: Page | None = None
    tells_content: bool = False  # the page's digest can be compared with that of others
    redirect: str | None = None  # where it leads, as written
    canonical: str | None = None  # the URL that the page names as canonical, as written
    status: int = OK  # HTTP status; of a redirect, if nothing says it, that of a temporary one
    retries: bool = False  # it failed, and the engine wants it again


def names_of(settings: FrontierSettings) -> frozenset[str]:
    """Return the names of metadata that say something."""
    return frozenset(
        {settings.status, settings.redirect, settings.canonical, settings.error}
        | {settings.signature, settings.depth}
    ) - {""}


def depth_of(notes: Mapping[str, str], settings: FrontierSettings) -> int:
    """Return how many links away from the seeds an engine says that a URL is."""
    return _number(notes.get(settings.depth, ""))


def report_of(item: Item, settings: FrontierSettings) -> Report:
    """Return what came of a URL, from an engine's metadata.

    A page without a signature, of which nobody knows the content, is compared with no other, but
    for what the site itself says: two pages that name one canonical URL are the same.
    """
    notes = item.notes
    status = _status(notes.get(settings.status, ""))
    if redirect := notes.get(settings.redirect):
        return Report(State.REDIRECTED, redirect=redirect, status=status or _FOUND)
    error = notes.get(settings.error)
    if status in RETRIED or (error and status < FIRST_ERROR):
        label = Fault.SERVER.label if status in RETRIED else f"engine: {_short(str(error))}"
        return Report(State.FAILED, label, status=status, retries=item.again_at > 0)
    if status == NOT_MODIFIED:
        return Report(State.FETCHED, status=status)
    signature, canonical = notes.get(settings.signature), notes.get(settings.canonical)
    content = signature or canonical
    if not (status or content):
        return Report(State.FETCHED)
    text = content or item.url
    page = Page(
        status=status or OK,
        elapsed=0.0,
        content_type=None,
        size=int(bool(signature)),
        digest=hashlib.blake2b(text.encode(errors="replace"), digest_size=_DIGEST).digest(),
        title=None,
        canonical=canonical,
        links=0,
    )
    return Report(
        State.FETCHED,
        page=page,
        tells_content=bool(content),
        canonical=canonical,
        status=page.status,
    )


def _status(text: str) -> int:
    """Return a status code, which has three digits (RFC 9110 section 15); 0 for anything else."""
    return _number(text) if len(text) == 3 else 0  # noqa: PLR2004 - see above


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0  # noqa: PLR2004


def _short(text: str) -> str:
    """Return the first words of an error, so that there are few kinds of them."""
    return " ".join(text.replace("\0", " ").split())[:40].casefold()
