"""Asking: what learning wants to be requested of a site, beside and before what waits anyway.

Requests that are not in the queue are probes; what they answer is kept until it can be observed.
"""

from collections.abc import Iterator

from sqlalchemy import Connection

from canonry.canon import Canonicalizer
from canonry.canon.learned import site_in, without_port
from canonry.crawler.learn.learner import Learner
from canonry.crawler.learn.questions.choosing import LOOKED_AT
from canonry.crawler.learn.questions.probes import Probe, again, beside
from canonry.crawler.learn.rules.rewriting import identities
from canonry.storage.learned import history
from canonry.storage.records import Outcome, Page


class Asking:
    """Finds what is to be asked for the sake of learning."""

    def __init__(self, learner: Learner, canonicalizer: Canonicalizer) -> None:
        """Bind the learner.

        Args:
            learner: knows which questions are open.
            canonicalizer: makes identities, without learned rules.
        """
        self._learner = learner
        self._canonicalizer = canonicalizer
        self._answered: list[tuple[Probe, Page, bytes | None]] = []  # and not observed yet

    def probes(
        self, connection: Connection, site: str, page: str | None, now: float
    ) -> list[Probe]:
        """Return the probes that the learner wants of a site.

        Args:
            connection: of the store.
            site: that has answered.
            page: the URL of one of its pages, if any was an answer.
            now: seconds since 1970.
        """
        probes = []
        if page is not None and self._learner.wants_missing(site):
            probes.append(beside(page, now))
        for repeated in self._learner.pages_to_repeat(site):
            url = history.url_with_key(connection, self._canonicalizer.key_of(repeated))
            probes += [again(url)] if url is not None else []
        return probes

    @property
    def has_answers(self) -> bool:
        """True if probes have answered that were not observed yet."""
        return bool(self._answered)

    def answered(self, probe: Probe, found: Outcome) -> None:
        """Keep what a probe answered with 200; to observe it, the store may be asked."""
        if found.page is not None:
            self._answered.append((probe, found.page, found.hashes))

    def observe(self) -> list[str]:
        """Pass what probes have answered to the learner, in a transaction; return the sites."""
        sites = []
        for probe, page, hashes in self._answered:
            identity = self._canonicalizer.identity(probe.url)
            sites.append(site_in(identity))
            if probe.kind == "again":
                self._learner.observe_again(identity, page.digest, page.sketch, hashes)
            else:
                self._learner.observe_missing(site_in(identity), page.digest, page.sketch)
        self.clear()
        return sites

    def clear(self) -> None:
        """Forget what probes have answered, as after a transaction that was rolled back."""
        self._answered.clear()

    def questions(self, connection: Connection, site: str) -> list[int]:
        """Return the queued rows of a site whose answers would decide an open question."""
        most = self._learner.room_for_questions(site)
        if not most:
            return []
        rows: dict[str, int] = {}
        starts = f"http://{site}/", f"https://{site}/"  # of nearly all identities

        def queued() -> Iterator[str]:
            host, after = without_port(site), self._learner.place_in_queue(site)
            for found in history.queued_of(connection, host, LOOKED_AT, after):
                known = identities(self._canonicalizer, [url for _row, url in found])
                for identity, (row, _url) in zip(known, found, strict=True):
                    if identity.startswith(starts) or site_in(identity) == site:
                        rows[identity] = row
                        yield identity

        return [rows[identity] for identity in self._learner.questions(site, queued(), most)]
