"""The door: what a raw link comes to, and whether it is to be fetched.

Seeds, links and redirects all pass here.
"""

from canon import Canonicalizer, InvalidURL
from canon.trace import merged_by
from crawler import traps
from crawler.refusal import Refusal
from crawler.scope import Scope, host_of
from crawler.settings import Settings
from storage import Candidate

_FETCHED = ("http://", "https://")


class Door:
    """Turns references into candidates for the store."""

    def __init__(self, canonicalizer: Canonicalizer, scope: Scope, settings: Settings) -> None:
        """Bind what it judges by."""
        self.canonicalizer = canonicalizer
        self.scope = scope
        self._crawl = settings.crawl
        self._traps = settings.traps

    def candidate(
        self, reference: str, base: str | None, *, depth: int, hops: int, source: int | None
    ) -> Candidate | Refusal:
        """Return what a reference asks to be remembered as.

        Args:
            reference: as written in the document or header.
            base: what it is relative to.
            depth: links from a seed.
            hops: redirects in a row that led to it.
            source: the row of the URL that named it.

        Returns:
            A candidate, held where a limit says so; or `Refusal.SCHEME` for what is never fetched.

        Raises:
            InvalidURL: when the reference is no URL.
        """
        # Two fragments of one page are never two requests, whatever the policy makes of them.
        canonical = self.canonicalizer(reference.partition("#")[0], base)
        url = canonical.url
        if not is_fetched(url):
            return Refusal.SCHEME
        refusal = self.judge(url, depth, hops)
        return Candidate(
            url=url,
            spelling=spelled(reference, url),
            key=canonical.key,
            host=host_of(url),
            depth=depth,
            hops=hops,
            source=source,
            held=None if refusal is None else refusal.label,
        )

    def judge(self, url: str, depth: int, hops: int) -> Refusal | None:
        """Return why a URL is not to be fetched under the limits of this crawl, or None."""
        if hops > self._crawl.max_hops:
            return Refusal.TOO_MANY_HOPS
        if 0 <= self._crawl.max_depth < depth:
            return Refusal.TOO_DEEP
        if url not in self.scope:
            return Refusal.OUT_OF_SCOPE
        return traps.judge(url, self._traps)

    def why(self, spelling: str, same_as: str) -> str:
        """Name the rules that made two spellings one, "" when they are spelled alike."""
        return why(self.canonicalizer, spelling, same_as)


def is_fetched(url: str) -> bool:
    """Say whether a URL, as it is requested, is of a scheme that is fetched."""
    return url.startswith(_FETCHED)


def why(canonicalizer: Canonicalizer, spelling: str, same_as: str) -> str:
    """Name the rules that made two spellings one, in the order of the table, joined by " + "."""
    one, other = spelling, same_as
    names: tuple[str, ...] = ()
    if "fragment" in canonicalizer.policy.practice:  # what stands in a fragment merged nothing
        (one, _, here), (other, _, there) = one.partition("#"), other.partition("#")
        names = ("fragment",) if here != there else ()
    if one != other:
        try:
            names = (*merged_by(canonicalizer.explain(one), canonicalizer.explain(other)), *names)
        except InvalidURL:  # pragma: no cover - both were canonicalized before
            return ""
    return " + ".join(names)


def spelled(reference: str, url: str) -> str:
    """Return how a link was spelled, made absolute: rules act on this, not on where it stood."""
    bare = reference.strip()
    if is_fetched(bare[:8].lower()):
        return bare
    _, mark, fragment = bare.partition("#")
    return f"{url}{mark}{fragment}"
