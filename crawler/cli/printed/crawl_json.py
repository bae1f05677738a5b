"""What the commands around a crawl print as JSON: ``scope test``, ``demo``."""

import msgspec

from canonry.crawler.cli.printed.store_json import MergedJSON


class JudgedJSON(msgspec.Struct, frozen=True, kw_only=True, rename={"inside": "in"}):
    """A URL, and whether a crawl would follow a link to it."""

    url: str
    inside: bool
    reason: str | None  # to hold it
    setting: str  # that decides
    value: str | None  # of the setting


class ScopeJSON(msgspec.Struct, frozen=True, kw_only=True):
    """Which URLs a crawl would follow."""

    urls: list[JudgedJSON]


class DemoJSON(msgspec.Struct, frozen=True, kw_only=True):
    """A crawl of the demo site, compared with the truth."""

    policy: str
    resources: int  # on the site
    fetched: int  # of these
    missed: list[str]
    fetched_again: int
    again_for_want_of: dict[str, int]  # by the rule that would have spared the request
    repeated: int  # requests for a URL that was requested before: to learn what changes by itself
    disallowed: int  # requests that robots.txt disallows
    endless: int  # pages of crawler traps that were fetched
    requests: int
    seconds: float
    links: int
    merged: list[MergedJSON]
    aliases: dict[str, int]  # by kind and HTTP status
    is_right: bool  # none missed, none disallowed, none twice for which the policy has a rule
