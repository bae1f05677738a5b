"""Asking: what learning wants to be requested of a site, beside and before what waits anyway."""

from collections.abc import Iterator

from sqlalchemy import Connection

from canonry.canon import Canonicalizer
from canonry.canon.learned import site_in, without_port
from canonry.crawler.learn.learner import Learner
from canonry.crawler.learn.questions.choosing import LOOKED_AT
from canonry.crawler.learn.questions.probes import Probe, again, beside
from canonry.crawler.learn.rules.rewriting import identities
from canonry.storage.learned import history


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
