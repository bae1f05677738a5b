"""Every reason to know a URL and not fetch it; the value is the sentence that people read."""

from enum import Enum


class Refusal(Enum):
    """Why a URL is held: it stays in the store, and goes out when the limit is lifted."""

    OUT_OF_SCOPE = "it lies outside the scope of the crawl (--scope)"
    TOO_DEEP = "it is more links away from the seeds than allowed (--max-depth)"
    TOO_MANY_HOPS = "too many redirects in a row led to it"
    TOO_LONG = "it is longer than a link may be, as endless sites make them"
    TOO_MANY_SEGMENTS = "its path has more segments than allowed, as endless sites make them"
    REPEATING_PATH = "its path repeats a segment, as relative links on endless sites do"
    PATTERN_BUDGET = "so many URLs of its pattern are fetched already (max_per_pattern)"
    HOST_BUDGET = "so many URLs of its host are fetched already (max_per_host)"
    PORT = "its port is one on which no web server answers, but other protocols do"
    ROBOTS = "the host's robots.txt does not allow it (RFC 9309)"
    SCHEME = "its scheme is not http or https, and nothing else is fetched"
    LEARNED = (
        "a learned rule says that it is a page that is fetched by another name (canonry rules)"
    )
    RECORD = "it is a record that has no URL, or that cannot be read"
    OURS = "Canonry itself failed on it, which is told where it happened; the next run tries again"

    @property
    def label(self) -> str:
        """Return the name under which it is stored and counted."""
        return self.name.lower().replace("_", "-")
