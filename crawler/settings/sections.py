"""The settings by section: each field declares its type, range, default, text and option.

From these (`declared.py`) come the options of ``crawl`` with their help, ``config/canonry.toml``,
what ``canonry settings`` shows and shells complete, and the reference page.
"""

from collections.abc import Callable
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import Meta

from canonry import __title__
from canonry.crawler.settings.header_lines import cookies_of, headers_of, user_and_password
from canonry.crawler.settings.proxies import check_setting
from canonry.crawler.settings.url_patterns import NAMES, MediaTypes, URLPatterns
from canonry.storage.http_status import MAX_REDIRECTS


class SettingsError(ValueError):
    """Invalid settings. The message names the source, the key and what is allowed."""


class Setting(NamedTuple):
    """What is declared of a setting beside the name, the type and the default of its field."""

    text: str  # what it is; also the help of its option
    more: str = ""  # what else people need; it follows the text, but not in the help
    group: str = ""  # where the help of crawl lists its option; "": it has none
    metavar: str = ""  # what the help calls the value
    option: str = ""  # the name of the option, if it is not that of the key
    is_unlisted: bool = False  # its option works, but is not in the help: scripts have it
    unset: str = ""  # the default in words, if the value does not say it
    check: Callable[[Any], object] | None = None  # raises ValueError for what is not allowed
    example: str = ""  # of a table for a host, which has no defaults


WHAT, AGAIN, PACE, WHOM, WAY, SAME, KEPT = GROUPS = (
    *("What to crawl", "Again", "How fast", "As whom", "Which way", "What is the same"),
    "What is kept",
)
_Positive = Annotated[int, Meta(ge=1)]
_Limit = Annotated[int, Meta(ge=0)]
_Seconds = Annotated[float, Meta(ge=0, le=86_400)]
_Age = Annotated[
    str,
    Meta(
        pattern=r"^(0|[0-9]+(\.[0-9]+)?[smhdw])?$",
        description='a time with its unit, such as "90s", "30m", "12h", "7d" or "4w", '
        'or "" for never',
    ),
]
_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_DAY = 86_400.0  # seconds
# Until a page is fetched again: at least, at first if nothing is known of it, and at most.
_LEAST, _FIRST, _MOST = _DAY, 7 * _DAY, 90 * _DAY


class CrawlSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to crawl, and how fast."""

    user_agent: Annotated[
        str,
        Meta(
            pattern=r"^[A-Za-z_-]+(/\S+)?$",
            description="a product token of letters, - and _, and perhaps a slash and a version, "
            "such as mine/1.0 (RFC 9309 section 2.2.1)",
        ),
        Setting(
            "The user agent. Its first word is the product token that robots.txt files name.",
            group=WHOM,
            metavar="TEXT",
        ),
    ] = f"{__title__}/0.1"
    contact: Annotated[
        str,
        Meta(pattern=r"^[ -~]*$", description="a web page or a mail address, in ASCII characters"),
        Setting(
            "How site owners can reach you: a web page or a mail address.",
            "It is added to the user agent, and a mail address is sent as From, too.",
            group=WHOM,
            metavar="TEXT",
        ),
    ] = ""
    delay: Annotated[
        _Seconds,
        Setting(
            "Seconds between two requests to one host, from the moment when the first is sent.",
            "A robots.txt may ask for more.",
            group=PACE,
            metavar="SECONDS",
        ),
    ] = 1.0
    workers: Annotated[
        int,
        Meta(ge=1, le=256),
        Setting(
            "Processes that share the store.",
            "Limits hold for each process by itself, except those for one host.",
            is_unlisted=True,
        ),
    ] = 1
    concurrency: Annotated[
        int,
        Meta(ge=1, le=10_000),
        Setting("Concurrent requests of each process.", group=PACE, metavar="N"),
    ] = 32
    requests_per_host: Annotated[
        _Positive, Setting("Concurrent requests to one host.", group=PACE, metavar="N")
    ] = 4
    warc: Annotated[
        str,
        Setting(
            "Archive all requests and responses as WARC files (ISO 28500) in this folder.",
            '"" archives nothing.',
            group=KEPT,
            metavar="DIR",
        ),
    ] = ""
    log: Annotated[
        str,
        Setting(
            "Append a line of JSON to this file for each URL that was requested.",
            '"-" is standard error, "" is no log.',
            is_unlisted=True,
        ),
    ] = ""
    metrics: Annotated[
        str,
        Meta(pattern=r"^(\S+:)?[0-9]*$", description="a port, or a host and a port: 0.0.0.0:9100"),
        Setting(
            'Serve metrics for Prometheus on this port: "9100" for this machine only, '
            '"0.0.0.0:9100" for all; "" serves none. Needs the extra "metrics".'
        ),
    ] = ""
    scope: Annotated[
        Literal["host", "domain", "prefix", "any"],
        Setting(
            "Which links to follow: on the seeds' hosts (host; on any port), on their registrable "
            "domains (domain), below the seeds' directories (prefix), or any.",
            group=WHAT,
        ),
    ] = "host"
    include: Annotated[
        tuple[str, ...],
        Setting(
            "Follow only links that match one of these patterns: '*/docs/*', '/docs/*' (path and "
            "query), or a regular expression as in 're:[?&]id=[0-9]+$'.",
            "Without any, all links in scope match. Seeds, and what they redirect to, are always "
            'fetched. "canonry scope test" tests URLs.',
            group=WHAT,
            metavar="PATTERN",
            check=URLPatterns,
        ),
    ] = ()
    exclude: Annotated[
        tuple[str, ...],
        Setting(
            "Follow no links that match one of these patterns, which are as for include, and win.",
            group=WHAT,
            metavar="PATTERN",
            check=URLPatterns,
        ),
    ] = ()
    max_pages: Annotated[
        _Limit,
        Setting(
            "Stop when the store holds this many pages, without those that are queued to be "
            "fetched again.",
            "0 is no limit.",
            group=WHAT,
            metavar="N",
            unset="no limit",
        ),
    ] = 0
    max_depth: Annotated[
        int,
        Meta(ge=-1),
        Setting(
            "Follow at most this many links from a seed.",
            "-1 is no limit.",
            group=WHAT,
            metavar="N",
            unset="no limit",
        ),
    ] = -1
    first: Annotated[
        tuple[str, ...],
        Setting(
            "URLs that match one of these patterns are fetched before others of their host.",
            check=URLPatterns,
        ),
    ] = ()
    max_hops: Annotated[
        int,
        Meta(ge=0, le=MAX_REDIRECTS),
        Setting("The longest chain of redirects that is followed."),
    ] = 10
    max_crawl_delay: Annotated[
        _Seconds,
        Setting(
            "The longest delay, in seconds, that a host can get by a Crawl-delay in its "
            "robots.txt, or by being slow."
        ),
    ] = 60.0
    recrawl: Annotated[
        bool,
        Setting(
            "At the start of a run, fetch pages again that are due, by how often each has changed.",
            'recrawl_after then is for pages of which nothing is known; "" is 7d. No page is '
            "fetched more often than once a day, or than recrawl_after says, if that is less.",
            group=AGAIN,
        ),
    ] = False
    recrawl_after: Annotated[
        _Age,
        Setting(
            'At the start of a run, fetch pages again that are older than this: "12h", "7d", "4w".',
            '"" is never. The requests are conditional (ETag, Last-Modified), so unchanged pages '
            "cost little.",
            is_unlisted=True,
        ),
    ] = ""
    forget_after: Annotated[
        _Age,
        Setting(
            "A recrawl forgets what has been gone (404, 410), or has redirected for good, for this",
            'long, so that it costs no more requests; "" is never. A link to it is new then. An '
            "export by cursor says first that its document is gone; a cursor that is older than 30 "
            "days then may have to begin anew.",
        ),
    ] = "180d"
    keep_options: Annotated[
        bool,
        Setting(
            "A crawl that resumes another one has its options, too; false: only those that are "
            "given now."
        ),
    ] = True
    respect_nofollow: Annotated[
        bool,
        Setting(
            "Ignore links that a page marks as nofollow: rel=nofollow, <meta name=robots>, "
            "X-Robots-Tag."
        ),
    ] = True
    purpose: Annotated[
        tuple[Literal["search", "ai-input", "ai-train", "tdm"], ...],
        Setting(
            'What the pages are for: "search", "ai-input" (answers that a model gives from them), '
            '"ai-train", "tdm".',
            "A URL whose robots.txt reserves one of these uses is held. What headers and pages say "
            "is stored with the page: docs/how-to/use-of-pages.md.",
        ),
    ] = ()
    embeds: Annotated[
        bool,
        Setting("Also fetch what pages embed: images (srcset, too), media, style sheets, scripts."),
    ] = False
    sitemaps: Annotated[
        bool,
        Setting(
            "Follow the sitemaps that robots.txt files name (sitemaps.org).",
            "Their links count as links of the first page that was requested from the host.",
        ),
    ] = True
    policy: Annotated[
        str,
        Setting(
            "The policy, which decides which links are the same: a preset, or a TOML file.",
            'Presets are "rfc3986", "rfc2396bis-01", "web", "search" and "archive".',
            group=SAME,
            metavar="NAME|FILE",
            unset="that of the store; web for a new one",
        ),
    ] = "web"

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
    """How to send requests."""

    timeout: Annotated[
        float,
        Meta(gt=0),
        Setting("Seconds for a whole response; a third of them for opening a connection."),
    ] = 30.0
    max_body: Annotated[
        _Positive,
        Setting(
            "The largest body in bytes, after decompression.",
            "A longer one is not read: before it is read, if its Content-Length says so.",
        ),
    ] = 10_485_760
    only_types: Annotated[
        tuple[str, ...],
        Setting(
            "Read only bodies of this Content-Type: text/html, text/*, or a name such as html, "
            "xml, pdf.",
            f"Several can be separated by commas. The names are {', '.join(NAMES)}; [] reads all. "
            f"What has another type is held without "
            'a look at its body ("other-type"), and released when this changes. Redirects, errors '
            "and what has no type are read.",
            group=WHAT,
            metavar="TYPE",
            check=MediaTypes,
        ),
    ] = ()
    retries: Annotated[
        int,
        Meta(ge=0, le=100),
        Setting(
            "Retries after errors that may pass: time-outs, resets, and the statuses 429, 500, "
            "502, 503, 504."
        ),
    ] = 3
    retry_wait: Annotated[
        _Seconds, Setting("Seconds before the first retry. Each further one waits twice as long.")
    ] = 10.0
    allow_private: Annotated[
        bool,
        Setting(
            "Allow requests to IP addresses that are not public (loopback, private, link-local "
            "...).",
            group=WAY,
        ),
    ] = False
    headers: Annotated[
        tuple[str, ...],
        Setting(
            "Send this header to the hosts in scope. What may be a secret, such as Authorization "
            "and Cookie, goes only to the seeds' own hosts.",
            "These are their own origins, or the same host over https. Secrets are told by the "
            "names of headers, and never shown. In CANONRY_FETCH_HEADERS, each has a line.",
            group=WHOM,
            metavar="'NAME: VALUE'",
            option="header",
            check=headers_of,
        ),
    ] = ()
    cookies: Annotated[
        str,
        Setting(
            "Send the cookies in this file, in Netscape's format, as curl and extensions of "
            "browsers write it.",
            '"" is none. Each cookie goes where its line says. Cookies that servers set are kept '
            "only for the redirects of one page.",
            group=WHOM,
            metavar="FILE",
        ),
    ] = ""
    ca_file: Annotated[
        str,
        Setting(
            "A file of certificate authorities to trust, besides those of the system.",
            '"" is none.',
            group=WAY,
            metavar="FILE",
        ),
    ] = ""
    identity: Annotated[
        str,
        Setting(
            'Sign each request (Web Bot Auth) with the private key that "canonry identity" makes '
            'in this file; "" signs nothing. Needs the extra "identity".'
        ),
    ] = ""
    identity_agent: Annotated[
        str, Setting("The https URL of the host that publishes the public half of that key.")
    ] = ""
    proxy: Annotated[
        str,
        Setting(
            "Send requests through this proxy; 'none' ignores HTTP_PROXY and HTTPS_PROXY, too.",
            '"" uses those that HTTP_PROXY, HTTPS_PROXY and ALL_PROXY name, but not for '
            "loopback, hosts in NO_PROXY, and those that connect_to maps.",
            group=WAY,
            metavar="URL",
            check=check_setting,
        ),
    ] = ""
    connect_to: Annotated[
        tuple[str, ...],
        Setting(
            "Connect to ADDR:PORT instead of HOST:PORT, like curl.",
            group=WAY,
            metavar="HOST:PORT:ADDR:PORT",
        ),
    ] = ()


class TrapSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Limits against endless sites."""

    max_url: Annotated[
        _Positive,
        Setting(
            "Links are held if they are longer than this; and if they have more than 40 path "
            "segments, or repeat one segment, or one field of the query with its value, more than "
            "three times."
        ),
    ] = 2_000
    max_links: Annotated[
        _Positive,
        Setting("Read this many links of one page. Further ones are not followed, only counted."),
    ] = 50_000
    max_per_pattern: Annotated[
        _Limit,
        Setting(
            "Fetch this many URLs of one pattern; 0 is no limit.",
            "Further URLs are held, and released when the limit is raised. A pattern is a host and "
            "a "
            'path, with "*" in place of numbers, dates and session ids, plus whether there is a '
            "query. So all days of an endless calendar share one pattern.",
        ),
    ] = 100_000
    max_per_host: Annotated[_Limit, Setting("As max_per_pattern, for all URLs of one host.")] = 0
    max_hosts_per_domain: Annotated[
        _Limit,
        Setting(
            "Fetch from this many hosts of one registrable domain, besides those of the seeds; 0 "
            "is no limit.",
            "URLs on further hosts are held, and released when the limit is raised. Names below a "
            "public suffix (blogspot.com, github.io) are domains of their own.",
        ),
    ] = 1_000
    walls: Annotated[
        bool,
        Setting(
            "Hold URLs whose answers are a wall: one content, such as a form to log in, in place "
            "of many pages.",
            "A few names that do not exist are requested, to see what a host answers for them. A "
            "host that hides all its pages is paused. Only with learning.",
        ),
    ] = True


class LearnSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whether to learn rules."""

    enabled: Annotated[
        bool,
        Setting(
            "Learn from redirects, canonical links and equal pages which URLs of a host are the "
            "same, and fetch only one of them.",
            '"canonry rules list" shows the learned rules. "canonry rules revoke" revokes one and '
            "puts the URLs that it suppressed back into the queue.",
            option="learn",
            is_unlisted=True,
        ),
    ] = True


class FrontierSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """For ``canonry frontier``, which hands out URLs to another engine."""

    delay: Annotated[
        _Seconds,
        Setting(
            "So many seconds lie between two times that a queue hands out URLs, unless the engine "
            "sets another delay."
        ),
    ] = 1.0
    status: Annotated[
        str,
        Setting(
            "The name of metadata in which the engine says the HTTP status of a URL.",
            "This name and those below are as Apache StormCrawler writes them if its "
            'metadata.persist lists them; "" reads none.',
        ),
    ] = "fetch.statusCode"
    redirect: Annotated[str, Setting("The target of a redirect.")] = "_redirTo"
    canonical: Annotated[str, Setting("The canonical link of a page.")] = "canonical"
    error: Annotated[str, Setting("Why a URL could not be fetched.")] = "error.cause"
    signature: Annotated[str, Setting("A hash of the page.")] = "signature"
    depth: Annotated[str, Setting("How many links the URL is away from the seeds.")] = "depth"


class HostSettings(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """What is different for some hosts, in a table for each.

    ``[hosts."*.a.example"]`` is for all hosts below a.example; a host's own table overrides it, and
    a nearer domain's that of a farther one. All keys can be left out.
    """

    delay: Annotated[
        _Seconds | None,
        Setting(
            "As in [crawl], as are the next two; where they are looser than the limits for the "
            "host's address, these do not count for it.",
            example="5.0",
        ),
    ] = None
    requests_per_host: Annotated[_Positive | None, Setting("As in [crawl].", example="1")] = None
    max_crawl_delay: Annotated[_Seconds | None, Setting("As in [crawl].", example="10.0")] = None
    max_pages: Annotated[
        _Limit | None,
        Setting(
            "As max_per_host in [traps]: fetch at most this many URLs of the host.", example="500"
        ),
    ] = None
    max_depth: Annotated[
        Annotated[int, Meta(ge=-1)] | None, Setting("As in [crawl].", example="3")
    ] = None
    headers: Annotated[
        tuple[str, ...], Setting("As in [fetch].", example='["X-Team: search"]', check=headers_of)
    ] = ()
    basic_auth: Annotated[
        str | None,
        Setting("The user and the password.", example='"user:password"', check=user_and_password),
    ] = None
    cookies: Annotated[
        str | None, Setting("As in a Cookie header.", example='"a=b; c=d"', check=cookies_of)
    ] = None


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All settings, by section; ``hosts`` has a table for each host, or for all below a domain."""

    crawl: CrawlSettings = CrawlSettings()
    fetch: FetchSettings = FetchSettings()
    traps: TrapSettings = TrapSettings()
    hosts: dict[str, HostSettings] = {}
    learn: LearnSettings = LearnSettings()
    frontier: FrontierSettings = FrontierSettings()

    @property
    def longest_delay(self) -> float:
        """Return the longest pause in seconds between two requests to any host, ours or its own."""
        return max([self.crawl.delay, *(own.delay or 0.0 for own in self.hosts.values())])
