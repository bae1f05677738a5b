"""New text: what share of the text of a host's pages no earlier page of it had. Pure.

Endless spaces show there: calendars, facets, sort orders times filters times pages. Their pages
differ, but what they say was said before.
"""

from collections import OrderedDict, deque
from dataclasses import dataclass, field

from canonry.crawler.admission.url_filter import patterns_of
from canonry.crawler.documents.text_blocks import TextBlock, block_set
from canonry.storage.rows.little_new import LittleNew

_WEIGHT = 0.02  # of the latest page in the average of a host: some fifty pages count
_LEAST = 200  # pages of a host, before anything is said of it; so many of the latest are looked at
_EVERY = 8  # after so many pages of a host, one of eight is looked at
_OF_PATTERN = 10  # of these, with a pattern that is named
_LITTLE, _ENOUGH = 0.05, 0.1  # shares of new text at which a host begins and ends to bring little
_MOST_BLOCKS = 150_000  # of a host, of which as many are remembered from before
_MOST_OF_ALL = 3_000_000  # of all hosts


@dataclass(slots=True)
class _Host:
    """The text of one host's pages."""

    met: int = 0  # pages
    pages: int = 0  # of these, that were looked at
    share: float = 1.0
    brings_little: bool = False
    recent: set[TextBlock] = field(default_factory=set)
    before: set[TextBlock] = field(default_factory=set)
    latest: deque[tuple[str, float]] = field(default_factory=lambda: deque(maxlen=_LEAST))


class NewText:
    """Watches the hosts of a crawl."""

    def __init__(self) -> None:
        """Start without any."""
        self._hosts: OrderedDict[str, _Host] = OrderedDict()  # the latest at the end
        self._blocks = 0

    def add(self, name: str, url: str, encoded: bytes) -> bool | None:
        """Note the text of a page.

        Args:
            name: its host.
            url: its URL.
            encoded: its blocks.

        Returns:
            True if its host brings little new text from now on, False if it does no longer; None if
            nothing has changed.
        """
        host = self._hosts.setdefault(name, _Host())
        self._hosts.move_to_end(name)
        host.met += 1
        if host.met > _LEAST and host.met % _EVERY:
            return None
        share = self._share(host, encoded)
        host.pages += 1
        host.share += _WEIGHT * (share - host.share)
        host.latest.append((url, share))
        limit = _ENOUGH if host.brings_little else _LITTLE
        brings_little = host.pages >= _LEAST and host.share < limit
        if brings_little == host.brings_little:
            return None
        host.brings_little = brings_little
        return brings_little

    def _share(self, host: _Host, encoded: bytes) -> float:
        """Return the share of a page's text that is new, and remember it."""
        blocks = block_set(encoded)
        if not blocks:
            return 0.0
        new = blocks - host.recent - host.before
        host.recent |= new
        self._blocks += len(new)
        if len(host.recent) > _MOST_BLOCKS:
            self._blocks -= len(host.before)
            host.before, host.recent = host.recent, set()
        while self._blocks > _MOST_OF_ALL and len(self._hosts) > 1:
            _name, gone = self._hosts.popitem(last=False)
            self._blocks -= len(gone.recent) + len(gone.before)
        return len(new) / len(blocks)

    def found(self, name: str) -> LittleNew:
        """Return what is known of a host that brings little."""
        host = self._hosts[name]
        shares: dict[str, list[float]] = {}
        for url, share in host.latest:
            for text in dict.fromkeys(reversed(patterns_of(url))):
                shares.setdefault(text, []).append(share)
        poor = {
            text: found
            for text, found in shares.items()
            if len(found) >= _OF_PATTERN and sum(found) < _LITTLE * len(found)
        }
        text = max(poor, key=lambda text: len(poor[text]), default="")
        pages = len(poor.get(text, ()))
        pattern_share = sum(poor[text]) / pages if pages else host.share
        return LittleNew(name, round(host.share, 4), text, pages, round(pattern_share, 4))
