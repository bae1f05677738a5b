"""Links of a response: which URLs it leads to, and which links are not to be followed."""

import asyncio
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple

from canonry.canon import Canonical, InvalidURL, redact, redaction
from canonry.crawler.admission.known_links import KnownLinks
from canonry.crawler.admission.scope import host_of
from canonry.crawler.admission.url_filter import URLFilter
from canonry.crawler.documents.document import (
    FOLLOWED,
    Document,
    header_forbids_following,
    link_headers,
)
from canonry.crawler.fetch.response import Response
from canonry.crawler.hold_reason import HoldReason
from canonry.crawler.settings import Settings
from canonry.storage import Candidate, Queued, RefusedLink
from canonry.storage.records import NO_LINKS, NOFOLLOW, NOT_A_PAGE, EarlierLinks

_AT_ONCE = 500  # links of a page, before other tasks get their turn
_WAITING = 512  # links of one page in memory, if they can be recorded before the page
# Schemes of links that run a script, write a mail, call somebody, or carry their content.
_NOT_PAGES = re.compile(
    r"[\x00-\x20]*(?:javascript|vbscript|mailto|tel|callto|sms|fax|skype|whatsapp|geo|data|blob|about):",
    re.ASCII | re.IGNORECASE,
)
_SHOWN = 100  # characters of such a link
_LEVELS, _FURTHER = 4, 100  # levels of sitemaps on a host, and sitemaps of all further ones
_HOSTS = 10_000  # of which sitemaps are counted
_REMOVED = str.maketrans("", "", "\t\r\n")  # by browsers, anywhere in a URL


# Records links before their page is; returns how many of them are new.
RecordLinks = Callable[[Sequence[Candidate]], Awaitable[int]]


class PageLinks(NamedTuple):
    """The links of one response."""

    links: tuple[Candidate, ...] = ()
    refused: tuple[RefusedLink, ...] = ()
    canonical: Candidate | None = None
    known: Mapping[str, int] = NO_LINKS  # further links, as in `canonry.storage.Outcome`
    earlier: EarlierLinks = EarlierLinks()  # further links, recorded already
    listed: tuple[tuple[bytes, float], ...] = ()  # as in `canonry.storage.Outcome`

    @property
    def total(self) -> int:
        """How many links the page has."""
        given = len(self.links) + len(self.refused) + self.earlier.links
        return given + sum(self.known.values())


class _Sitemaps:
    """Counts by host the sitemaps that were read, to end those that name themselves for ever.

    sitemaps.org has two levels: an index, and the sitemaps in it. Further levels are followed, but
    only a few of their sitemaps.
    """

    def __init__(self) -> None:
        self._levels: dict[str, Counter[int]] = {}  # by host and depth in the crawl

    def is_one_too_many(self, host: str, depth: int) -> bool:
        """Count a sitemap; return True if its links are not to be followed."""
        if host not in self._levels and len(self._levels) >= _HOSTS:
            self._levels.clear()
        levels = self._levels.setdefault(host, Counter())
        levels[depth] += 1
        further = list(levels)[_LEVELS:]  # in the order in which they were found
        return depth in further and sum(levels[one] for one in further) > _FURTHER


class LinkFinder:
    """Finds the links of responses, for one crawl."""

    def __init__(self, url_filter: URLFilter, settings: Settings) -> None:
        """Bind the URL filter and the settings."""
        self._url_filter = url_filter
        self._crawl = settings.crawl
        self._most = settings.traps.max_links
        self._sitemaps = _Sitemaps()
        self.known = KnownLinks()

    async def find(
        self,
        queued: Queued,
        response: Response,
        document: Document | None,
        record: RecordLinks | None = None,
    ) -> PageLinks:
        """Return the links in a response's document and in its ``Link`` headers.

        Args:
            queued: the URL of the response.
            response: with its headers.
            document: what was read of its body; None if it is of a type that has no links.
            record: gets the first links of a page that has very many, so that they need not all
                be in memory at once. None returns all of them.
        """
        named = list(link_headers(_all(response.headers, "Link")))
        endless = self._endless(document, queued, response.url)
        followed = document.links if document and not endless else ()
        unfollowed = document.unfollowed if document else ()
        linked = [reference for reference, relations in named if relations & FOLLOWED]
        if self._crawl.respect_nofollow:
            if header_forbids_following(_all(response.headers, "X-Robots-Tag"), self._crawl.token):
                followed, linked, unfollowed = (), [], (*linked, *followed, *unfollowed)
        else:
            followed, unfollowed = (*followed, *unfollowed), ()
        links: list[Candidate] = []
        refused = [RefusedLink(NOFOLLOW, redact(link)) for link in unfollowed[: self._most]]
        refused += endless
        unreadable = document.unreadable if document else ()
        refused += [RefusedLink("entity", redact(link)) for link in unreadable[: self._most]]
        base = document.base if document else response.url
        by_base = ((response.url, linked), (base, followed[: self._most]))
        counts_by_rule: Counter[str] = Counter()
        earlier = EarlierLinks()
        for relative_to, written in by_base:
            references, counted = self.known.without(written, relative_to)
            counts_by_rule.update(counted)
            for number, reference in enumerate(references, 1):
                if number % _AT_ONCE == 0:
                    await asyncio.sleep(0)
                link = self.one(queued, reference, relative_to)
                if isinstance(link, Candidate):
                    if record is not None and len(links) == _WAITING:
                        new = await record(links)
                        earlier = EarlierLinks(earlier.links + len(links), earlier.new + new)
                        links = []
                    links.append(link)
                    self.known.add(reference, relative_to, link.raw_url)
                else:
                    refused.append(link)
        if beyond := max(len(followed) + len(unfollowed) - self._most, 0):
            last = redact((*followed, *unfollowed)[-1])
            refused += [RefusedLink("too-many-links", last)] * beyond
        canonical = document.canonical if document else None
        if canonical is None:
            canonical = next((link for link, relations in named if "canonical" in relations), None)
        target = None if canonical is None else self.one(queued, canonical, response.url)
        return PageLinks(
            tuple(links),
            tuple(refused),
            target if isinstance(target, Candidate) else None,
            counts_by_rule,
            earlier,
            self._listed(document) if document and self._crawl.recrawl else (),
        )

    def _endless(self, document: Document | None, queued: Queued, url: str) -> list[RefusedLink]:
        """Return the links of a sitemap that are not to be followed."""
        if document is None or not document.is_sitemap:
            return []
        if not self._sitemaps.is_one_too_many(host_of(url), queued.depth):
            return []
        return [
            RefusedLink("too-many-sitemaps", redact(one)) for one in document.links[: self._most]
        ]

    def _listed(self, document: Document) -> tuple[tuple[bytes, float], ...]:
        """Return the keys of links that have a date, with the date."""
        dates = dict(list(document.dates.items())[: self._most])
        keys = self._url_filter.canonicalizer.many(list(dates))
        return tuple(
            (found.key, at)
            for found, at in zip(keys, dates.values(), strict=True)
            if isinstance(found, Canonical)
        )

    def one(self, queued: Queued, reference: str, base: str) -> Candidate | RefusedLink:
        """Return a link as a candidate, or as a refused link if no crawl can fetch it."""
        try:
            candidate = self._url_filter.candidate(
                reference, base, depth=queued.depth + 1, hops=0, source=queued.url_id
            )
        except InvalidURL as error:
            if _is_no_page(reference):
                return RefusedLink(NOT_A_PAGE, redact(reference[:_SHOWN]))
            return RefusedLink(error.reason.name.lower(), redaction.redact_refused(error.text)[0])
        if isinstance(candidate, HoldReason):
            if _is_no_page(reference):
                return RefusedLink(NOT_A_PAGE, redact(reference[:_SHOWN]))
            return RefusedLink(candidate.label, redact(reference))
        return candidate


def _is_no_page(reference: str) -> bool:
    """Return True if a link that cannot be fetched is not meant to lead to a page."""
    return _NOT_PAGES.match(reference[:_SHOWN].translate(_REMOVED)) is not None


def _all(headers: Mapping[str, str], name: str) -> list[str]:
    """Return the values of all headers of one name."""
    return [value for key, value in headers.items() if key.lower() == name.lower()]
