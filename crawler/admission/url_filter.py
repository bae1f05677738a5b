"""The URL filter: what a link leads to, and whether a crawl fetches it.

Seeds, links and redirects all pass it.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import NamedTuple

from canonry.canon import Canonicalizer
from canonry.canon.syntax import Parts
from canonry.crawler.admission.scope import Scope, ScopeVerdict, host_of, registrable
from canonry.crawler.fetch.ports import is_web_port
from canonry.crawler.hold_reason import HoldReason
from canonry.crawler.settings import Settings, TrapSettings
from canonry.crawler.settings.host_tables import HostTables
from canonry.crawler.settings.url_patterns import URLPatterns
from canonry.storage import Candidate
from canonry.storage.records import FIRST, ORDINARY, Budget
from canonry.storage.rows.budgets import HostBudget

_FETCHED = ("http://", "https://")
_ANY_BASE = "http://any.invalid/"
_REMEMBERED = 8_192  # targets of links, some 6 MiB: most are on many pages of a site
_CANDIDATE = partial(tuple.__new__, Candidate)  # takes a third of the time of calling the class
# A base's authority, and its path up to the last slash (RFC 3986 section 5.2.3).
_BASE = re.compile(r"(https?://[^/?#\\]+)(/(?:[^?#\\]*/)?)[^/?#\\]*(?:[?#].*)?", re.DOTALL)


_SETTINGS = {HoldReason.TOO_LONG: "max_url"}  # that lift a reason to hold
_MOST_SEGMENTS = 40  # of a path
_MOST_REPEATS = 3  # of a segment of a path, or of a field of a query with its value
# The parts in which URLs of one program differ: ids (letters and digits, or UUIDs), and numbers, as
# in dates.
_VARIABLE = re.compile(
    r"(?<![A-Za-z0-9])(?:(?=[A-Za-z]*[0-9])[A-Za-z0-9]{16,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"
    r"(?![A-Za-z0-9])|[0-9]+"
)

NO_LIMIT = 1 << 62
_DEFAULT_PORTS = (None, "", "80", "443")
_MOST_NAMES = 10  # of the parameters of a query; one with more is not told by its names


class _Target(NamedTuple):
    """The target of a reference, as far as it does not depend on the page."""

    url: str
    key: bytes
    host: str
    hold: HoldReason | None  # the reason to hold it that its URL alone gives
    raw_url: str  # the reference, made absolute
    priority: int


class URLFilter:
    """Turns references into candidates for the store."""

    def __init__(self, canonicalizer: Canonicalizer, scope: Scope, settings: Settings) -> None:
        """Bind the canonicalizer and the limits."""
        self.canonicalizer = canonicalizer
        self._scope = scope
        self._crawl = settings.crawl
        self._traps = settings.traps
        self._tables = HostTables(settings.hosts)
        self._first = URLPatterns(settings.crawl.first)
        self._target = lru_cache(_REMEMBERED)(self._find_target)
        self.host_budget = HostBudget(
            registrable, self._traps.max_hosts_per_domain, HoldReason.DOMAIN_BUDGET.label
        )

    def extend_scope(self, *seeds: str) -> None:
        """Extend the scope by the places of more seeds."""
        for seed in seeds:
            self._scope.extend(seed)
        self._target.cache_clear()

    def candidate(
        self, reference: str, base: str | None, *, depth: int, hops: int, source: int | None
    ) -> Candidate | HoldReason:
        """Return a reference as a candidate for the store.

        Args:
            reference: as written in the document or header.
            base: the URL that it is relative to.
            depth: number of links from a seed.
            hops: number of redirects in a row that led to it.
            source: the id of the URL that named it.

        Returns:
            A candidate, held if it is beyond a limit; `HoldReason.SCHEME` for a URL that no crawl
            can fetch.

        Raises:
            InvalidURL: when the reference has no canonical form.
        """
        # Under every policy, URLs that differ only in the fragment are one request.
        bare, mark, _fragment = reference.partition("#")
        url, key, host, hold, raw_url, priority = self._target(
            bare, base and shortest_base(bare, base)
        )
        if hold is HoldReason.SCHEME:
            return hold
        if mark:
            raw_url = spelled(reference, url)
        hold = self._beyond(host, depth, hops) or _unless_seed(hold, depth)
        held = None if hold is None else hold.label
        return _CANDIDATE(
            (url, raw_url, key, host, depth, hops, source, held, False, priority, False, 0.0)
        )

    def _find_target(self, reference: str, base: str | None) -> _Target:
        """Return the target of a reference. An invalid one raises and is not cached."""
        canonical = self.canonicalizer(reference, base)
        url = canonical.url
        hold = self._reason_in(url)
        priority = ORDINARY if self._first.find(url) is None else FIRST
        return _Target(url, canonical.key, host_of(url), hold, spelled(reference, url), priority)

    def reason_to_hold(self, url: str, depth: int, hops: int) -> HoldReason | None:
        """Return the reason for which this crawl holds a URL; None when it may be fetched."""
        return self._beyond(host_of(url), depth, hops) or _unless_seed(self._reason_in(url), depth)

    def judge(self, text: str) -> tuple[str, ScopeVerdict]:
        """Return the URL that a text means, and whether a link to it would be followed, and why.

        Raises:
            InvalidURL: when the text has no canonical form.
        """
        url = self.canonicalizer(text).url
        hold = self._reason_in(url)
        found = self._scope.judge(url) if is_fetched(url) else None
        if hold is None or (found is not None and hold is found.reason):
            assert found is not None  # noqa: S101 - other schemes are held
            return url, found
        return url, ScopeVerdict(hold, _SETTINGS.get(hold, hold.label), hold.value)

    def _beyond(self, host: str, depth: int, hops: int) -> HoldReason | None:
        """Return the reason to hold a URL for the links or redirects that led to it."""
        if hops > self._crawl.max_hops:
            return HoldReason.TOO_MANY_HOPS
        most = self._crawl.max_depth
        if self._tables and (own := self._tables.of(host).max_depth) is not None:
            most = own
        if 0 <= most < depth:
            return HoldReason.TOO_DEEP
        return None

    def _reason_in(self, url: str) -> HoldReason | None:
        """Return the reason to hold a URL that the URL alone gives."""
        if not is_fetched(url):
            return HoldReason.SCHEME
        if url.count(":") > 1 and not is_web_port(Parts.of(url).port):
            return HoldReason.PORT
        if (beyond := self._scope.judge(url).reason) is not None:
            return beyond
        return reason_to_hold(url, self._traps)

    def budgets_of(self, url: str) -> list[Budget]:
        """Return the budgets that a URL counts against when it is queued."""
        most = self._tables.of(host_of(url)).max_pages if self._tables else None
        return budgets_of(url, self._traps, most)


def shortest_base(reference: str, base: str) -> str:
    """Return the shortest base with which a reference has the same target.

    So a link that is on many pages is resolved once. An absolute URL needs any base at all (for its
    dot segments to be removed), a path needs the authority, and other references need the
    directory (RFC 3986 section 5.2.2).
    """
    if reference.startswith(_FETCHED):
        return _ANY_BASE
    first = reference[:1]
    if not ("!" < first <= "~") or first in "?\\" or ":" in reference.partition("/")[0]:
        return base  # it depends on the whole base, or browsers repair it, as "http:x"
    authority, directory = _parts(base)
    return f"{authority}/" if first == "/" and authority else authority + directory


def directory_of(base: str) -> str:
    """Return the directory of a base, in which most references mean the same on all pages."""
    authority, directory = _parts(base)
    return authority + directory


@lru_cache(1024)
def _parts(base: str) -> tuple[str, str]:
    """Return a base's scheme and authority, and its directory; "" and the base if it has none."""
    found = _BASE.fullmatch(base)
    return ("", base) if found is None else (found[1], found[2])


def is_fetched(url: str) -> bool:
    """Return True if a requested URL has a scheme that crawls fetch."""
    return url.startswith(_FETCHED)


def spelled(reference: str, url: str) -> str:
    """Return a link's raw URL as an absolute URL, so that the link's page does not matter."""
    bare = reference.strip()
    if is_fetched(bare[:8].lower()):
        return bare
    _, mark, fragment = bare.partition("#")
    return f"{url}{mark}{fragment}"


def reason_to_hold(url: str, limits: TrapSettings) -> HoldReason | None:
    """Return the reason to hold a URL that looks like a trap's; None when it does not.

    Heritrix has the same rules for paths (TooManyPathSegments, PathologicalPath), and for a length.
    In a query only equal fields with a value count: ``id=1&id=2`` is a list, as forms send it.
    """
    if len(url) > limits.max_url:
        return HoldReason.TOO_LONG
    if url.count("/") > _MOST_REPEATS + 2:  # the two behind the scheme
        segments = [segment for segment in Parts.of(url).path.split("/") if segment]
        if len(segments) > _MOST_SEGMENTS:
            return HoldReason.TOO_MANY_SEGMENTS
        if _repeats(segments, _MOST_REPEATS):
            return HoldReason.REPEATING_PATH
    if url.count("&") >= _MOST_REPEATS:
        fields = (Parts.of(url).query or "").split("&")
        fields = [field for field in fields if field.partition("=")[2]]
        if _repeats(fields, _MOST_REPEATS):
            return HoldReason.REPEATING_PATH
    return None


def _unless_seed(hold: HoldReason | None, depth: int) -> HoldReason | None:
    """Return a reason to hold a URL, unless it looks endless and was given as a seed."""
    is_endless = hold in {HoldReason.TOO_MANY_SEGMENTS, HoldReason.REPEATING_PATH}
    return None if is_endless and depth == 0 else hold


def _repeats(parts: Sequence[str], most: int) -> bool:
    return max(Counter(parts).values(), default=0) > most


def pattern(url: str) -> str:
    """Return what a URL has in common with other URLs of the same program.

    That is its host, and its path with "*" for numbers and ids. A query counts only as "?":
    endless sites vary both the parameters and their values.
    """
    return patterns_of(url)[0]


def shape(url: str) -> str:
    """Return the pattern of a URL with its port, and the names of its query's parameters.

    The names are sorted, each once, with "*" for numbers and ids: so ``/index.php?title=A`` and
    ``/index.php?title=B&action=edit`` share a pattern, and have two shapes.
    """
    return patterns_of(url)[1]


def patterns_of(url: str) -> tuple[str, str]:
    """Return the pattern and the shape of a URL; people may exclude either."""
    _, _, host, port, path, query, _ = Parts.of(url)
    path = _VARIABLE.sub("*", path)
    common = f"{host or ''}{path}"
    shaped = common if port in _DEFAULT_PORTS else f"{host or ''}:{port}{path}"
    if query is None:
        return common, shaped
    names = "&".join([field.partition("=")[0] for field in query.split("&")])
    different = sorted(set(_VARIABLE.sub("*", names).split("&")) - {""})
    told = "*" if len(different) > _MOST_NAMES else "&".join(different)
    return f"{common}?", f"{shaped}?{told}"


def budgets_of(url: str, limits: TrapSettings, most: int | None = None) -> list[Budget]:
    """Return the budgets that a URL counts against.

    Args:
        url: as it is requested.
        limits: of the crawl.
        most: the limit of URLs on its host; None takes that of ``limits``.
    """
    # Patterns without a limit are counted, too: people may exclude one.
    common, shaped = patterns_of(url)
    found = [(common, limits.max_per_pattern or NO_LIMIT, HoldReason.PATTERN_BUDGET)]
    if shaped != common:
        found.append((shaped, NO_LIMIT, HoldReason.PATTERN_BUDGET))
    per_host = limits.max_per_host if most is None else most
    if per_host:
        found.append((Parts.of(url).host or "", per_host, HoldReason.HOST_BUDGET))
    return [Budget(budget_key(name), name, most, reason.label) for name, most, reason in found]


def budget_key(name: str) -> bytes:
    """Return the key of the budget of a pattern, or of a host."""
    return hashlib.blake2b(name.encode(), digest_size=16).digest()
