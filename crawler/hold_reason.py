"""The reasons for which a crawl holds a URL. Each value is the sentence that people read."""

from enum import Enum


class HoldReason(Enum):
    """Why a URL is held. It stays in the store, and is released when the reason is gone."""

    OUT_OF_SCOPE = "it is outside the scope of the crawl (--scope)"
    EXCLUDED = "a pattern of --exclude matches it"
    NOT_INCLUDED = "no pattern of --include matches it"
    TOO_DEEP = "it is more links away from the seeds than --max-depth allows"
    TOO_MANY_HOPS = "it comes after too many redirects in a row (max_hops)"
    TOO_LONG = "it is longer than max_url, like the links of endless sites"
    TOO_MANY_SEGMENTS = "its path has more than 40 segments, as on endless sites"
    REPEATING_PATH = (
        "its path repeats a segment, or its query a field, more than three times, as on endless "
        "sites"
    )
    OTHER_TYPE = "its Content-Type is none of --only-types, so its body was not read"
    PATTERN_BUDGET = "the limit of URLs with its pattern is reached (max_per_pattern)"
    HOST_BUDGET = "the limit of URLs on its host is reached (max_per_host)"
    DOMAIN_BUDGET = "the limit of hosts in its registrable domain is reached (max_hosts_per_domain)"
    PORT = "its port belongs to another protocol than HTTP"
    ROBOTS = "the host's robots.txt disallows it (RFC 9309)"
    USE_RESERVED = "its robots.txt reserves the use that this crawl is for (crawl.purpose)"
    SCHEME = "its scheme is not http or https, and only those are fetched"
    LEARNED = "a learned rule says that another URL gives the same page (canonry rules)"
    RECORD = "it is a record without a URL, or one that cannot be read"
    WALL = "its answer was a wall: one content that the site gives in place of many pages"
    HOST_BLOCKED = "its host is blocked (canonry hosts)"
    PATTERN_EXCLUDED = "its pattern is excluded (canonry patterns)"
    UNDISCOVERED = "another URL leads to it, and the engine that fetches has not found it itself"
    DELETED = "the engine that fetches has deleted it; it is new when it comes again"
    LONG_GONE = "it has been gone, or redirected for good, for as long as forget_after says"
    OURS = "Canonry itself failed on it; a message said how, and the next run tries again"

    @property
    def label(self) -> str:
        """Return the name that the store, reports and metrics use."""
        return self.name.lower().replace("_", "-")
