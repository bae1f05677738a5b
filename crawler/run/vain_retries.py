"""Vain retries: after a server error, which URLs are not worth another request."""

from collections import Counter

from canonry.crawler.admission.scope import host_of
from canonry.crawler.admission.url_filter import pattern
from canonry.storage import Queued

_ENOUGH = 3  # vain retries in a directory, after which none is made there
_ON_HOST = 12  # the same in all directories of a host
# A failed retry is in vain only if its host answered this many other URLs meanwhile: else the whole
# host may be down. First retries need more, as some answers belong to earlier requests.
_ANSWERS, _ON_THEIR_WAY = 1, 20
_MOST = 65_536  # URLs that are remembered, some 10 MB


class VainRetries:
    """Counts the retries of this run that were in vain, by host and by directory.

    A server may fail for a time, or always under some paths. Where retries never succeed although
    the host answers other URLs, none is made any more. Until that is known, retries are put off
    while others in their directory fail; only a URL's last retry is never put off.
    """

    def __init__(self, pause: float, retries: int) -> None:
        """Start with no retry made.

        Args:
            pause: seconds before the first retry.
            retries: of a URL.
        """
        self._pause = pause
        self._retries = retries
        self._answers: dict[str, int] = {}  # since its first server error, by host
        self._failed: dict[int, int] = {}  # by URL id: `_answers` of its host at its last error
        self._latest: dict[str, list[float]] = {}  # by directory: when retries failed last
        self._vain: Counter[str] = Counter()
        self._cured: set[str] = set()

    def answered(self, queued: Queued) -> None:
        """Note that a host has answered a URL without a server error."""
        host = host_of(queued.url)
        if host in self._answers:
            self._answers[host] += 1
        if self._failed.pop(queued.url_id, None) is not None:
            self._cured.update((host, _directory(queued.url)))
            self._latest.pop(_directory(queued.url), None)

    def failed(self, queued: Queued, now: float) -> None:
        """Note a server error that is no overload and names no time to wait."""
        if len(self._failed) >= _MOST:
            for memory in (self._answers, self._failed, self._latest, self._vain, self._cured):
                memory.clear()
        host, directory = host_of(queued.url), _directory(queued.url)
        answers = self._answers.setdefault(host, 0)
        before = self._failed.get(queued.url_id)
        if before is not None:
            self._latest[directory] = [*self._latest.get(directory, ()), now][-_ENOUGH:]
            enough = _ANSWERS if queued.attempts > 1 else _ON_THEIR_WAY
            self._vain.update((host, directory) if answers - before >= enough else ())
        self._failed[queued.url_id] = answers

    def is_hopeless(self, queued: Queued) -> bool:
        """Return True if a URL had a server error in this run, and is not to be retried."""
        if queued.url_id not in self._failed:
            return False
        limits = ((_directory(queued.url), _ENOUGH), (host_of(queued.url), _ON_HOST))
        return any(self._vain[place] >= most and place not in self._cured for place, most in limits)

    def is_premature(self, queued: Queued, now: float) -> bool:
        """Return True if a retry is to be put off: others in its directory failed just now."""
        if queued.url_id not in self._failed or queued.attempts >= self._retries:
            return False
        latest = self._latest.get(_directory(queued.url), [])
        return len(latest) == _ENOUGH and 0.0 <= now - latest[0] < self._pause


def _directory(url: str) -> str:
    """Return the host and the directory of a URL, with "*" for numbers and ids."""
    return pattern(url).rpartition("/")[0] + "/"
