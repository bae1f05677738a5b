"""Links of an answer: what it leads to, judged at the door, and what it asks not to be followed."""

from collections.abc import Mapping
from typing import NamedTuple

from canonry.canon import InvalidURL, redact
from canonry.crawler.admission.url_filter import URLFilter
from canonry.crawler.documents.by_type import read_document
from canonry.crawler.documents.directives import header_forbids_following, link_headers
from canonry.crawler.documents.document import FOLLOWED, Document
from canonry.crawler.fetch.response import Response
from canonry.crawler.settings import Settings
from canonry.storage import Candidate, Queued

Refused = tuple[str, str]  # why a link is none to follow, and the link


class Found(NamedTuple):
    """What an answer says of other URLs."""

    links: tuple[Candidate, ...] = ()
    refused: tuple[Refused, ...] = ()
    canonical: Candidate | None = None
    document: Document | None = None  # None: of a kind that has no links


class Links:
    """Finds links, for one crawl."""

    def __init__(self, url_filter: URLFilter, settings: Settings) -> None:
        """Bind what judges links, and what is to be respected."""
        self._url_filter = url_filter
        self._crawl = settings.crawl
        self._longest = settings.fetch.max_body
        self._most = settings.traps.max_links

    def of(self, queued: Queued, response: Response) -> Found:
        """Return what an answer leads to: by its document, and by its ``Link`` headers."""
        document = read_document(
            response.body,
            response.headers,
            response.url,
            own_name=self._crawl.token,
            embeds=self._crawl.embeds,
            max_unpacked=self._longest,
        )
        named = list(link_headers(_all(response.headers, "Link")))
        followed = document.links if document else ()
        unfollowed = document.unfollowed if document else ()
        linked = [reference for reference, relations in named if relations & FOLLOWED]
        if self._crawl.respect_nofollow:
            if header_forbids_following(_all(response.headers, "X-Robots-Tag"), self._crawl.token):
                followed, linked, unfollowed = (), [], (*linked, *followed, *unfollowed)
        else:
            followed, unfollowed = (*followed, *unfollowed), ()
        links: list[Candidate] = []
        refused = [("nofollow", redact(link)) for link in unfollowed[: self._most]]
        base = document.base if document else response.url
        given = ((response.url, linked), (base, followed[: self._most]))
        for relative_to, references in given:
            for reference in references:
                found = self.one(queued, reference, relative_to)
                if isinstance(found, Candidate):
                    links.append(found)
                else:
                    refused.append(found)
        if beyond := max(len(followed) + len(unfollowed) - self._most, 0):
            refused += [("too-many-links", redact((*followed, *unfollowed)[-1]))] * beyond
        canonical = document.canonical if document else None
        if canonical is None:
            canonical = next((link for link, how in named if "canonical" in how), None)
        meant = None if canonical is None else self.one(queued, canonical, response.url)
        return Found(
            tuple(links),
            tuple(refused),
            meant if isinstance(meant, Candidate) else None,
            document,
        )

    def one(self, queued: Queued, reference: str, base: str) -> Candidate | Refused:
        """Return what a link comes to, or why it is none: a bad link is the web's weather."""
        try:
            found = self._url_filter.candidate(
                reference, base, depth=queued.depth + 1, hops=0, source=queued.row
            )
        except InvalidURL as error:
            return error.reason.name.lower(), redact(error.text)
        return found if isinstance(found, Candidate) else (found.label, redact(reference))


def _all(headers: Mapping[str, str], name: str) -> list[str]:
    """Return the values of all headers of a name."""
    return [value for key, value in headers.items() if key.lower() == name.lower()]
