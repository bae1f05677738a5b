"""Advice: what people who start a crawl may want to know about its settings."""

from collections.abc import Iterator, Sequence

from canonry.crawler.admission.scope import host_of
from canonry.crawler.settings import Settings, load
from canonry.crawler.settings.host_tables import HostTables
from canonry.crawler.settings.media_types import MediaTypes
from canonry.crawler.settings.proxies import Proxies


def of(settings: Settings, seeds: Sequence[str]) -> Iterator[str]:
    """Yield sentences about settings that are missing, or that can do nothing.

    Args:
        settings: of the run.
        seeds: as they are requested.
    """
    crawl, fetch = settings.crawl, settings.fetch
    if not (crawl.contact or fetch.connect_to or fetch.allow_private):
        yield (
            "site owners cannot tell who crawls: give --contact, or set contact in [crawl], to a "
            "page or a mail address of yours"
        )
    if crawl.sitemaps and "application/xml" not in MediaTypes(fetch.only_types):
        yield "--only-types leaves out the sitemaps that robots.txt files name: add sitemap"
    all_mapped = any(rule.startswith("::") for rule in fetch.connect_to)
    yield from Proxies(fetch.proxy).notices(all_mapped=all_mapped)
    hosts = {host_of(seed) for seed in seeds}
    if len(hosts) != 1 or crawl.scope not in {"host", "prefix"}:
        return
    own = HostTables(settings.hosts).of(hosts.pop())
    at_once = crawl.requests_per_host if own.requests_per_host is None else own.requests_per_host
    delay = crawl.delay if own.delay is None else own.delay
    if crawl.concurrency > at_once and crawl.concurrency != _usual():
        pause = f" and one every {delay:g} s (--delay)" if delay else ""
        yield (
            f"--concurrency {crawl.concurrency} can do nothing here: all seeds are on one host, "
            f"which gets at most {at_once} requests at once (--requests-per-host){pause}"
        )


def _usual() -> int:
    """Return the concurrency that nobody asked for."""
    return load(None, {}).crawl.concurrency
