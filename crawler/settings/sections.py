"""The sections of the settings, with the type and the range of each key."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from canonry.storage.http_status import MAX_REDIRECTS

_Positive = Annotated[int, Meta(ge=1)]
_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_Seconds = Annotated[float, Meta(ge=0, le=86_400)]
_Age = Annotated[
    str,
    Meta(
        pattern=r"^(0|[0-9]+(\.[0-9]+)?[smhdw])?$",
        description='a time with its unit, such as "90s", "30m", "12h", "7d" or "4w", '
        'or "" for never',
    ),
]
_DAY = 86_400.0  # seconds
# Until a page is fetched again: at least, at first if nothing is known of it, and at most.
_LEAST, _FIRST, _MOST = _DAY, 7 * _DAY, 90 * _DAY


class SettingsError(ValueError):
    """Invalid settings. The message names the source, the key and what is allowed."""


class CrawlSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to crawl, and how fast. ``config/canonry.toml`` explains each key."""

    user_agent: Annotated[
        str,
        Meta(
            pattern=r"^[A-Za-z_-]+(/\S+)?$",
            description="a product token of letters, - and _, and perhaps a slash and a version, "
            "such as mine/1.0 (RFC 9309 section 2.2.1)",
        ),
    ]
    contact: Annotated[
        str,
        Meta(
            pattern=r"^[ -~]*$",
            description="a web page or a mail address, in ASCII characters",
        ),
    ]
    delay: _Seconds
    concurrency: Annotated[int, Meta(ge=1, le=10_000)]
    requests_per_host: _Positive
    workers: Annotated[int, Meta(ge=1, le=256)]
    warc: str
    log: str
    metrics: Annotated[
        str,
        Meta(pattern=r"^(\S+:)?[0-9]*$", description="a port, or a host and a port: 0.0.0.0:9100"),
    ]
    scope: Literal["host", "domain", "prefix", "any"]
    max_pages: Annotated[int, Meta(ge=0)]
    max_depth: Annotated[int, Meta(ge=-1)]
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    first: tuple[str, ...]
    max_hops: Annotated[int, Meta(ge=0, le=MAX_REDIRECTS)]
    max_crawl_delay: _Seconds
    recrawl_after: _Age
    recrawl: bool
    forget_after: _Age
    keep_options: bool
    respect_nofollow: bool
    purpose: tuple[Literal["search", "ai-input", "ai-train", "tdm"], ...]
    embeds: bool
    sitemaps: bool
    policy: str

    @property
    def token(self) -> str:
        """Return the product token, which selects the groups of a robots.txt (RFC 9309, 2.2.1)."""
        return self.user_agent.partition("/")[0]

    @property
    def recrawl_seconds(self) -> float | None:
        """Return the age in seconds at which a page is fetched again, or None for never."""
        return _seconds(self.recrawl_after) if self.recrawl_after else None

    @property
    def forget_seconds(self) -> float | None:
        """Return how long a URL has to be gone until it is forgotten, or None for never."""
        return _seconds(self.forget_after) if self.forget_after else None

    @property
    def is_recrawl(self) -> bool:
        """True if known pages are fetched again: those that are due, or those of an age."""
        return self.recrawl or self.recrawl_seconds is not None

    @property
    def intervals(self) -> tuple[float, float, float]:
        """Return the least, the first and the longest interval of a recrawl, in seconds.

        The least one is a day, unless the age at which a page is fetched again is shorter.
        """
        first = self.recrawl_seconds or (_FIRST if self.recrawl_seconds is None else _LEAST)
        return min(first, _LEAST), first, max(first, _MOST)


def _seconds(text: str) -> float:
    """Return a time such as "12h" in seconds."""
    unit = _UNITS.get(text[-1])
    return float(text) if unit is None else float(text[:-1]) * unit


class FetchSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How to send requests. ``config/canonry.toml`` explains each key."""

    timeout: Annotated[float, Meta(gt=0)]
    max_body: _Positive
    only_types: tuple[str, ...]
    retries: Annotated[int, Meta(ge=0, le=100)]
    retry_wait: _Seconds
    allow_private: bool
    ca_file: str
    identity: str
    identity_agent: str
    headers: tuple[str, ...]
    cookies: str
    proxy: str
    connect_to: tuple[str, ...]


class TrapSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Limits against endless sites. ``config/canonry.toml`` explains each key."""

    max_url: _Positive
    max_links: _Positive
    max_per_pattern: Annotated[int, Meta(ge=0)]
    max_per_host: Annotated[int, Meta(ge=0)]
    max_hosts_per_domain: Annotated[int, Meta(ge=0)]
    walls: bool


class LearnSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whether and how to learn rules. ``config/canonry.toml`` explains each key."""

    enabled: bool


class FrontierSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What another engine's metadata mean. ``config/canonry.toml`` explains each key."""

    delay: _Seconds
    status: str
    redirect: str
    canonical: str
    error: str
    signature: str
    depth: str


class HostSettings(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """What is different for some hosts; ``config/canonry.toml`` explains each key."""

    delay: _Seconds | None = None
    requests_per_host: _Positive | None = None
    max_crawl_delay: _Seconds | None = None
    max_pages: Annotated[int, Meta(ge=0)] | None = None
    max_depth: Annotated[int, Meta(ge=-1)] | None = None
    headers: tuple[str, ...] = ()
    basic_auth: str | None = None
    cookies: str | None = None


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All settings, by section; ``hosts`` has a table for each host, or for all below a domain."""

    crawl: CrawlSettings
    fetch: FetchSettings
    traps: TrapSettings
    learn: LearnSettings
    frontier: FrontierSettings
    hosts: dict[str, HostSettings] = {}

    @property
    def longest_delay(self) -> float:
        """Return the longest pause in seconds between two requests to any host, ours or its own."""
        return max([self.crawl.delay, *(own.delay or 0.0 for own in self.hosts.values())])


SECTIONS: dict[str, type[msgspec.Struct]] = {
    "crawl": CrawlSettings,
    "fetch": FetchSettings,
    "traps": TrapSettings,
    "learn": LearnSettings,
    "frontier": FrontierSettings,
}
HOSTS = "hosts"
# Keys that people look for, and what there is.
HINTS = {
    "robots": "robots.txt is always obeyed; max_crawl_delay limits the pause that it asks for",
}
HINTS_OF_HOSTS = HINTS | {
    "max_per_host": "it is max_pages here",
    "concurrency": "it is requests_per_host here",
}
