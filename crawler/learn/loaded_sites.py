"""The sites that a session has in memory: loaded when they answer, and kept within a limit."""

from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from sqlalchemy import Connection

from canonry.canon import Canonicalizer
from canonry.crawler.learn import site_records
from canonry.crawler.learn.learned_site import LearnedSite
from canonry.crawler.learn.request_policy import RequestPolicy
from canonry.crawler.learn.walls import WallPauses, Walls
from canonry.storage.learned import ledger
from canonry.storage.recrawls import absences

# Approximate memory for all sites, what they are reduced to if they take more, and what each may
# have however many there are.
_MOST_BYTES, _ENOUGH_BYTES, _SMALL = 60_000_000, 48_000_000, 20_000
_MET = 100_000  # sites that were loaded once
_MOST_UNANSWERED = 30_000  # queued URLs of sites that have not answered


class LoadedSite(NamedTuple):
    """A site with its request policy and its walls."""

    site: LearnedSite
    policy: RequestPolicy
    walls: Walls | None

    @property
    def size(self) -> int:
        """The approximate memory that it takes, in bytes."""
        return self.site.size + (self.walls.size if self.walls else 0)

    def shrink(self, most_bytes: int) -> None:
        """Let it forget the oldest, so that it takes about this much memory."""
        self.site.shrink(most_bytes // 2)
        if self.walls is not None:
            self.walls.shrink(most_bytes // 2)


class LoadedSites:
    """Sites by name, without ``www.``; one exists from its first answer on.

    If all take too much memory, the largest keep their latest pages only. So a broad crawl keeps a
    little of each site, and does not load one for each answer.

    Attributes:
        connection: of the current transaction; None before the first.
        is_known: True if the store has URLs of an earlier run, or rules.
    """

    connection: Connection | None = None
    is_known: bool = False

    def __init__(
        self,
        canonicalizer: Canonicalizer,
        pauses: WallPauses | None,
        began: float,
    ) -> None:
        """Start without sites.

        Args:
            canonicalizer: makes identities, without learned rules.
            pauses: of hosts that a wall hides; None looks for no walls.
            began: when this run did, in all of its processes; seconds since 1970.
        """
        self._canonicalizer = canonicalizer
        self._pauses = pauses
        self._began = began
        self._since: float | None = None  # when the last run ended; None: not known
        self._sites: OrderedDict[str, LoadedSite] = OrderedDict()  # the latest at the end
        self._sizes: dict[str, int] = {}  # in bytes
        self._bytes = 0  # the sum of these sizes
        self._met: set[int] = set()  # hashes of the names of sites that were loaded once
        self._whole: set[str] = set()  # sites to be loaded once more: the store knows better
        self._has_absences: bool | None = None  # None: not known
        self._has_dropped = False  # True: some sites had no room
        # Queued URLs of sites that have not answered, with their ids.
        self._unanswered: dict[str, dict[str, int]] = {}
        self._number_unanswered = 0

    def __getitem__(self, name: str) -> LoadedSite:
        """Return a site, loaded from the store if need be."""
        loaded = self._sites.get(name)
        if loaded is None:
            loaded = self._sites[name] = self._load(name)
        self._sites.move_to_end(name)
        return loaded

    def items(self) -> Iterator[tuple[str, LearnedSite]]:
        """Yield the sites that are in memory, with their names."""
        return ((name, loaded.site) for name, loaded in list(self._sites.items()))

    def found(self, name: str, identity: str, url_id: int) -> None:
        """Note a new URL of a site that waits in the queue.

        Of sites that have not answered, too many of the oldest are forgotten.
        """
        if name in self._sites:
            self[name].site.found(identity, url_id)
            return
        queued = self._unanswered.setdefault(name, {})
        self._number_unanswered += identity not in queued
        queued[identity] = url_id
        while self._number_unanswered > _MOST_UNANSWERED:
            self._number_unanswered -= len(self._unanswered.pop(next(iter(self._unanswered))))

    def forget(self, names: Collection[str]) -> None:
        """Forget sites of which the store knows better; they are loaded when they answer again."""
        for name in names:
            self._whole.add(name)
            self._drop(name)

    def forget_all(self) -> None:
        """Forget all sites."""
        self.forget([*self._sites, *self._unanswered])
        self._unanswered.clear()
        self._number_unanswered = 0

    def fit(self, names: Iterable[str]) -> None:
        """Keep the limit of memory after some sites have learned.

        Args:
            names: of these sites.
        """
        for name in names:
            self._measure(name)
        if self._bytes <= _MOST_BYTES:
            return
        if len(self._sites) > _MOST_BYTES // _SMALL:
            # Those without rules first, and then as they were used.
            unused = sorted(self._sites, key=lambda name: bool(self._sites[name].site.rules))
            for name in unused[: len(unused) - _ENOUGH_BYTES // _SMALL]:
                self._drop(name)
            self._has_dropped = True
        share = _MOST_BYTES // len(self._sites)
        for name, size in list(self._sizes.items()):
            if self._bytes > _ENOUGH_BYTES and size > share:
                self._sites[name].shrink(share // 2)
                self._measure(name)

    def _measure(self, name: str) -> None:
        size = self._sites[name].size
        self._bytes += size - self._sizes.get(name, 0)
        self._sizes[name] = size

    def _drop(self, name: str) -> None:
        self._bytes -= self._sizes.pop(name, 0)
        self._sites.pop(name, None)

    def _load(self, name: str) -> LoadedSite:
        """Return a site with what the store knows of it, and with what was found of it."""
        site = LearnedSite()
        is_first = hash(name) not in self._met and len(self._met) < _MET
        if is_first:
            self._met.add(hash(name))
        # Once for each site, if the store has URLs that this session has not seen.
        is_whole = name in self._whole or (self.is_known and is_first)
        self._whole.discard(name)
        if self.connection is not None and (is_whole or (self._has_dropped and not is_first)):
            # One that had no room gets its rules back, and its URLs no more.
            if self._since is None:
                self._since = ledger.end_of_last_run(self.connection, self._began)
            site_records.load(
                self.connection,
                name,
                self._canonicalizer,
                site,
                whole=is_whole,
                since=self._since,
            )
        unanswered = self._unanswered.pop(name, {})
        self._number_unanswered -= len(unanswered)
        for identity, url_id in unanswered.items():
            site.found(identity, url_id)
        known = partial(self._first_pages_of, name)
        walls = None if self._pauses is None else Walls(self._pauses, known, self._titles_before)
        return LoadedSite(site, RequestPolicy(site), walls)

    def _titles_before(self, url_ids: Sequence[int]) -> set[str | None]:
        """Return the titles that pages of URLs had before a recrawl, where these are others now."""
        if self.connection is None:
            return set()
        if self._has_absences is None:
            self._has_absences = absences.has_begun(self.connection)
        return absences.titles_before(self.connection, url_ids) if self._has_absences else set()

    def _first_pages_of(self, name: str) -> list[str]:
        """Return the URLs of some pages of a site that an earlier run has fetched."""
        if not self.is_known or self.connection is None:
            return []
        return site_records.first_pages_of(self.connection, name, self._began)
