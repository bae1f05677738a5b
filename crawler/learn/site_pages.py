"""The URLs of a site, their answers, and which of them may be the same page. Pure."""

import zlib
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from canonry.canon.syntax import Parts
from canonry.crawler.documents.text_blocks import place_of
from canonry.crawler.learn.rules.infer import as_read
from canonry.crawler.learn.rules.loose_forms import (
    loose_forms,
    loose_name,
    loose_path,
    without_slug,
)
from canonry.crawler.learn.text.comparison import MOST_ANSWERS, PageAnswer
from canonry.crawler.learn.text.site_text import SiteText

_MOST = 20_000  # URLs of a site that are remembered
_MOST_BYTES = 2_000_000  # of the blocks of a site that are kept
_BYTES_OF_URL, _BYTES_OF_ANSWER = 1_000, 150  # approximate, without blocks
_EARLIER = 2  # answers of earlier runs that are kept when a page answers in another one
PARTNERS = 4  # URLs of one loose form that are kept from its start; as many from its end
_SIGNED = 8  # most URLs that are kept for one sign of their content


@dataclass(slots=True)
class SitePage:
    """A URL of a site and its answers."""

    url_id: int  # in the store; 0: not known
    parts: Parts  # as its host reads it: with ``&`` for ``;``
    answers: tuple[PageAnswer, ...] = ()
    has_answered: bool = False
    is_page: bool = False  # 200
    is_gone: bool = False  # 404 or 410
    names: str | None = None  # the identity that it names as canonical
    leads: str | None = None  # the target of its permanent redirect
    requested: int = 0  # how often it was requested for learning alone
    is_current: bool = False  # it has answered in this run: what it says is about now
    is_awaited: bool = False  # such a request has not been answered yet
    signs: tuple[int, ...] = ()  # hashes of its content, under which it is filed


class SitePages:
    """The URLs of a site, indexed so that URLs which may be the same page are found together.

    Attributes:
        unsaved: URLs with answers that the store does not have yet.
        forgotten: ids of URLs whose answers were dropped.
    """

    def __init__(self, text: SiteText) -> None:
        """Start without URLs.

        Args:
            text: what is known about the text of the site.
        """
        self._text = text
        self._pages: dict[str, SitePage] = {}  # the one that answered last is at the end
        self._queued: set[str] = set()
        self._forms: dict[int, list[str]] = {}  # by loose form
        self._signed: dict[int, list[str]] = {}  # by sign
        self._kept: dict[str, None] = {}  # URLs with answers, the oldest first
        self._bytes = 0  # size of these answers
        self._most_bytes = _MOST_BYTES
        self.unsaved: dict[str, None] = {}
        self.forgotten: list[int] = []

    def __getitem__(self, identity: str) -> SitePage:
        """Return a URL that is known."""
        return self._pages[identity]

    def __contains__(self, identity: str) -> bool:
        """Return True if a URL is known."""
        return identity in self._pages

    def __len__(self) -> int:
        """Return how many URLs are known."""
        return len(self._pages)

    @property
    def size(self) -> int:
        """The approximate memory that the URLs and the sample of their text take, in bytes."""
        return self._bytes + _BYTES_OF_URL * len(self._pages) + self._text.size

    def get(self, identity: str) -> SitePage | None:
        """Return a URL; None if it is not known."""
        return self._pages.get(identity)

    def all(self) -> Iterable[SitePage]:
        """Return the URLs that are known."""
        return self._pages.values()

    def found(self, identity: str, url_id: int) -> None:
        """Note a new URL that waits in the queue."""
        if identity not in self._pages and len(self._pages) < _MOST:
            self._add(identity, url_id)
            self._queued.add(identity)

    def answered(self, identity: str, url_id: int) -> SitePage:
        """Mark a URL as answered, by a page or a redirect, and return it."""
        page = self._pages.pop(identity, None) or self._add(identity, url_id)
        self._pages[identity] = page
        page.url_id = url_id or page.url_id
        page.has_answered = True
        page.is_awaited = False
        self._queued.discard(identity)
        return page

    def waits(self, identity: str) -> None:
        """Note that a known URL waits in the queue, to be asked again."""
        if identity in self._pages:
            self._queued.add(identity)

    def queued(self) -> Iterator[Parts]:
        """Yield the known URLs that wait in the queue."""
        return (self._pages[identity].parts for identity in self._queued)

    @property
    def number_queued(self) -> int:
        """How many known URLs wait in the queue."""
        return len(self._queued)

    def is_queued(self, identity: str) -> bool:
        """Return True if a URL is known to wait in the queue."""
        return identity in self._queued

    def begin_visit(self, identity: str, page: SitePage, answer: PageAnswer) -> None:
        """Forget a page's answers of earlier runs if its text has changed; else the oldest.

        So there is room for what it answers now.
        """
        if page.answers and not page.is_current:
            kept = () if self._has_changed(page, answer) else page.answers[-_EARLIER:]
            if len(kept) < len(page.answers):
                self._forget_answers(identity, page)
                for one in kept:
                    self._keep(identity, page, one)
        page.is_current = True

    def _has_changed(self, page: SitePage, answer: PageAnswer) -> bool:
        """Return True if an answer lacks text that all earlier ones had.

        Where pages change by themselves, one earlier answer shows only which places lost it all.
        """
        if answer.encoded is None or any(one.encoded is None for one in page.answers):
            return answer.digest != page.answers[-1].digest
        stays = frozenset.intersection(*(one.block_set for one in page.answers))
        lost = {block for block in stays - answer.block_set if not self._text.is_ignored(block)}
        if len(page.answers) > 1 or not self._text.varies:
            return bool(lost)
        return not set(map(place_of, lost)) <= set(map(place_of, stays & answer.block_set))

    def add_answer(self, identity: str, page: SitePage, answer: PageAnswer) -> None:
        """Add the answer of a page, and learn which of its text changes by itself."""
        before = page.answers[-1] if page.answers else None
        if len(page.answers) < MOST_ANSWERS:
            self._keep(identity, page, answer)
        if answer.encoded is None:
            return
        if before is None:
            # The sample counts URLs with the same path and title as one page, whatever their query,
            # and the words beside an id.
            title = next((b for b in answer.blocks[:8] if not self._text.is_ignored(b)), "")
            page_hash = zlib.crc32(f"{without_slug(loose_path(page.parts.path))}|{title}".encode())
            self._text.add_page(page_hash, answer.encoded)
            page.signs = page.signs or self._signs_of(page, answer)
            for sign in page.signs:
                signed = self._signed.setdefault(sign, [])
                if len(signed) < _SIGNED and identity not in signed:
                    signed.append(identity)
        elif before.encoded is not None:
            self._text.add_repeat(before.blocks, answer.blocks)

    def _keep(self, identity: str, page: SitePage, answer: PageAnswer) -> None:
        page.answers += (answer,)
        self._kept[identity] = None
        self._bytes += _size_of(answer)
        self.unsaved[identity] = None

    def partners(self, identity: str) -> list[str]:
        """Return URLs that may be the same page; those that have answered come first."""
        page = self._pages[identity]
        matches: dict[str, None] = {}
        for form in _forms_of(page.parts):
            matches.update(dict.fromkeys(self._forms.get(form, ())))
        for sign in page.signs:
            matches.update(dict.fromkeys(self._signed.get(sign, ())))
        matches.pop(identity, None)
        return sorted(matches, key=lambda other: not self._pages[other].has_answered)

    def trim(self, needed: Collection[str]) -> bool:
        """Forget the oldest pages and answers if too many are kept, except the needed ones.

        Returns:
            True if pages were forgotten.
        """
        if self._bytes > self._most_bytes:
            self._forget_oldest_answers(_MOST_BYTES // 2, needed)
            self._most_bytes = max(_MOST_BYTES, 2 * self._bytes)  # of those that are needed
        if is_full := len(self._pages) > _MOST:
            self._forget_oldest(_MOST // 8, needed)
        return is_full

    def shrink(self, most_bytes: int, needed: Collection[str]) -> None:
        """Forget the oldest pages, so that no more memory is taken than this; the needed ones last.

        Args:
            most_bytes: approximate.
            needed: identities.
        """
        for kept in (needed, ()):
            if (beyond := self.size - most_bytes) > 0:
                self._forget_oldest(beyond // _BYTES_OF_URL + 1, kept)
            self._forget_oldest_answers(most_bytes // 2, kept)

    def _forget_oldest_answers(self, most_bytes: int, needed: Collection[str]) -> None:
        for identity in [identity for identity in self._kept if identity not in needed]:
            if self._bytes <= most_bytes:
                break
            self._forget_answers(identity, self._pages[identity])

    def _forget_oldest(self, number: int, needed: Collection[str]) -> None:
        oldest = (identity for identity in self._pages if identity not in needed)
        for identity in list(islice(oldest, number)):
            self._forget(identity)

    def _forget(self, identity: str) -> None:
        page = self._pages.pop(identity)
        self._forget_answers(identity, page)
        self._queued.discard(identity)
        for form in _forms_of(page.parts):
            if identity in (filed := self._forms.get(form, [])):
                filed.remove(identity)
            if not filed:
                self._forms.pop(form, None)
        for sign in page.signs:
            if identity in (signed := self._signed.get(sign, [])):
                signed.remove(identity)
            if not signed:
                self._signed.pop(sign, None)

    def _forget_answers(self, identity: str, page: SitePage) -> None:
        if page.answers:
            self._bytes -= sum(map(_size_of, page.answers))
            page.answers = ()
            del self._kept[identity]
            self.unsaved.pop(identity, None)
            self.forgotten.append(page.url_id)

    def _add(self, identity: str, url_id: int) -> SitePage:
        page = self._pages[identity] = SitePage(url_id, as_read(Parts.of(identity)))
        for form in _forms_of(page.parts):
            filed = self._forms.setdefault(form, [])
            filed.append(identity)
            if len(filed) > 2 * PARTNERS:  # the first ones and the last ones are enough
                del filed[PARTNERS]
        return page

    def _signs_of(self, page: SitePage, answer: PageAnswer) -> tuple[int, ...]:
        """Return the signs of a page: hashes of its bytes, and of the first blocks of its own."""
        signs = [hash(answer.digest)]  # in an order that is the same in every process
        if self._text.knows_pages:
            own_blocks = list(islice((b for b in answer.blocks if self._text.is_own(b)), 2))
            name = loose_name(page.parts.path)
            signs += [hash((name, *own_blocks[: n + 1])) for n in range(len(own_blocks))]
        return tuple(signs)


def _size_of(answer: PageAnswer) -> int:
    return _BYTES_OF_ANSWER + len(answer.encoded or b"")


def _forms_of(parts: Parts) -> list[int]:
    """Return the loose forms under which a URL meets others."""
    return [hash(form) for form in loose_forms(parts)]
