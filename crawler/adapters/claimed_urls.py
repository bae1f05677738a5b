"""For a crawler of your own: claim its URLs from a store, in three calls."""

import hashlib
import time
from collections import Counter
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Self

from sqlalchemy import select

from canonry.canon import Canonical, Canonicalizer, Policy, Refused, redact
from canonry.crawler import opening
from canonry.crawler.admission.scope import host_of
from canonry.crawler.admission.url_filter import is_fetched
from canonry.crawler.fetch.faults import Fault
from canonry.crawler.learn.rules.in_force import StoredRules
from canonry.storage import Admission, Candidate, Hop, Outcome, Page, Queued, State
from canonry.storage.http_status import FIRST_ERROR, MAX_SAME, OK
from canonry.storage.sql.schema import urls as url_rows

_FIRST_REDIRECT = 300


def _silent(_message: str) -> None:
    """Notify nobody."""


class ClaimedURLs:
    """The URLs of a crawler, each resource claimed once; a context manager.

    What `claim` has returned is in the store, durably, until `finish` is told what became of it.
    The store's learned rules apply. One thread at a time may call an object; any number of
    processes may have one on the same store.
    """

    def __init__(
        self,
        store: str,
        policy: str | Policy = "web",
        notify: Callable[[str], None] = _silent,
    ) -> None:
        """Open a store; create it if there is none.

        Args:
            store: a path or a SQLAlchemy URL.
            policy: which rules make the identity; a preset without a version means the version that
                the store was made with.
            notify: receives sentences for people, such as which URL is refused and why.

        Raises:
            StoreError: if the store was made under another policy, or is none.
        """
        named = opening.policy_for(store, policy) if isinstance(policy, str) else policy
        self._make = Canonicalizer(named)
        self._notify = notify
        self._store = opening.open_store(store, self._make.policy, notify)
        self._store.rules = StoredRules(self._make)
        self._queued_by_url: dict[str, Queued] = {}  # by URL: those handed out by this object
        self._links: Counter[str] = Counter()  # of these, how many links were claimed
        self._same: Counter[str] = Counter()  # of these, how many redirects led to the same

    def __enter__(self) -> Self:
        """Return the object."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the store."""
        self.close()

    def claim(self, urls: Iterable[str], found_on: str | None = None) -> list[str]:
        """Claim URLs; return those to request: nobody has claimed them under any name.

        Args:
            urls: absolute URLs, or references to ``found_on``.
            found_on: the URL of the page that they stand on.

        Raises:
            InvalidURL: ``found_on`` is not an absolute URL.
        """
        results = list(self._make.many(urls, found_on))
        found = [one for one in results if self._is_usable(one)]
        source = self._queued_by_url.get(found_on or "")
        if source is not None:
            self._links[source.url] += len(results)
        given = [self._candidate(one, source) for one in found if isinstance(one, Canonical)]
        answers = self._store.admit(given, time.time())
        return self._handed_out(given, answers)

    def unfinished(self, limit: int = 1_000) -> list[str]:
        """Return claimed URLs of which nobody knows what became: after a crash, those in flight.

        Args:
            limit: the largest number of URLs.
        """
        our_ids = [queued.url_id for queued in self._queued_by_url.values()]
        query = (
            select(url_rows.c.id, url_rows.c.url, url_rows.c.depth, url_rows.c.hops)
            .where(url_rows.c.state == State.QUEUED)
            .order_by(url_rows.c.id)
            .limit(limit + len(our_ids))
        )
        with self._store.leasing() as connection:
            rows = connection.execute(query).all()
        ours = set(our_ids)
        some = [Queued(url_id, url, depth, hops, 0) for url_id, url, depth, hops in rows]
        new = [queued for queued in some if queued.url_id not in ours][:limit]
        self._queued_by_url |= {queued.url: queued for queued in new}
        return [queued.url for queued in new]

    def finish(
        self,
        url: str,
        status: int | None,
        *,
        location: str | None = None,
        body: bytes = b"",
        content_type: str | None = None,
        title: str | None = None,
    ) -> list[str]:
        """Tell what became of a URL; return the target of its redirect, if it is to be requested.

        The target is claimed in the same transaction. Tell each hop by itself: a client that
        follows redirects hides them.

        Args:
            url: as `claim`, `unfinished` or `finish` returned it.
            status: of the answer; None if there was none.
            location: the header ``Location`` of a redirect.
            body: of the answer, for its digest and size.
            content_type: of the answer.
            title: of the page.

        Raises:
            ValueError: the URL was not handed out here, or is finished already.
        """
        queued = self._queued_by_url.get(url)
        if queued is None:
            raise ValueError(f"{redact(url)}: not handed out here, or finished already")
        target = None
        if location is not None and _FIRST_REDIRECT <= (status or 0) < FIRST_ERROR:
            [target] = self._make.many([location], url)
        if isinstance(target, Canonical) and self._is_usable(target):
            if target.key == self._make(url).key and target.url != url:
                # The target is the same resource under another URL, which has to be requested.
                self._same[queued.url] += 1
                if self._same[queued.url] <= MAX_SAME:
                    self._queued_by_url[target.url] = self._queued_by_url.pop(url)
                    return [target.url]
                outcome = Outcome(queued, State.FAILED, Fault.LOOP.label)
            else:
                hops = (Hop("redirect", status or 0, self._candidate(target, queued, hops=1)),)
                outcome = Outcome(queued, State.REDIRECTED, leads=hops)
        elif status is None or not OK <= status < FIRST_ERROR or location is not None:
            reason = f"http-{status}" if status else "no-answer"
            outcome = Outcome(queued, State.FAILED, reason)
        else:
            digest = hashlib.blake2b(body, digest_size=16).digest()
            links = self._links[queued.url]
            page = Page(status, 0.0, content_type, len(body), digest, title, None, links)
            outcome = Outcome(queued, State.FETCHED, page=page)
        [answers] = self._store.record([outcome], time.time())
        del self._queued_by_url[url]
        self._links.pop(queued.url, None)
        self._same.pop(queued.url, None)
        return self._handed_out([hop.target for hop in outcome.leads], answers)

    def close(self) -> None:
        """Close the store; unfinished URLs stay unfinished."""
        self._store.close()

    def _is_usable(self, found: Canonical | Refused) -> bool:
        """Return False for a URL that cannot be requested; notify people if it is refused."""
        if isinstance(found, Refused):
            self._notify(f"refused: {found.reason.value}: {redact(found.text)[:200]}")
            return False
        return is_fetched(found.url)

    @staticmethod
    def _candidate(found: Canonical, source: Queued | None, hops: int = 0) -> Candidate:
        """Return the candidate with which a URL is claimed."""
        return Candidate(
            url=found.url,
            raw_url=found.url,
            key=found.key,
            host=host_of(found.url),
            depth=0 if source is None else source.depth + (not hops),
            hops=0 if source is None else (source.hops + 1) * hops,
            source=None if source is None else source.url_id,
            listed=source is None,
        )

    def _handed_out(self, given: list[Candidate], answers: list[Admission]) -> list[str]:
        """Remember the ids of new URLs, and return these URLs."""
        new = [(one, answer) for one, answer in zip(given, answers, strict=True) if answer.new]
        self._queued_by_url |= {
            one.url: Queued(to.url_id, one.url, one.depth, one.hops, 0) for one, to in new
        }
        return [one.url for one, _ in new]
