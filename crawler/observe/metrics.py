"""Metrics of a crawl for Prometheus: what they are, and where each comes from."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from canonry.crawler.observe.progress import LiveCrawl
from canonry.storage import StoreError
from canonry.storage.reading import report

if TYPE_CHECKING:
    from prometheus_client.core import Metric

# Of this run: the name, the help text, and the field of `Progress`.
COUNTERS = (
    ("canonry_pages", "Pages fetched by this run", "pages"),
    ("canonry_pages_unchanged", "Known pages that were unchanged", "unchanged"),
    ("canonry_redirects", "Redirects seen by this run", "redirects"),
    ("canonry_failures", "URLs that failed in this run", "failed"),
    ("canonry_retries", "Failed requests that are retried", "retries"),
    (
        "canonry_probes",
        "Requests for learning alone: pages that are asked again",
        "probes",
    ),
    ("canonry_links", "Links found by this run", "links"),
    ("canonry_links_known", "Links to known resources", "duplicates"),
    ("canonry_bytes", "Bytes of decoded bodies", "bytes"),
    ("canonry_response_seconds", "Total response time in seconds", "waited"),
    ("canonry_learning_seconds", "CPU time spent on learning, in seconds", "learning"),
)
GAUGES = (
    ("canonry_requests_in_flight", "Requests in flight", "in_flight"),
    ("canonry_hosts", "Hosts with URLs in memory", "hosts"),
)
# Of the store: the name, the help text, the label, and the field of `report.status`.
STORED = (
    ("canonry_store_urls", "URLs in the store, by state", "state", "urls"),
    ("canonry_store_pages", "Pages in the store, by HTTP status", "status", "pages_by_status"),
    ("canonry_store_held", "Held URLs, by reason", "reason", "held"),
    ("canonry_store_failed", "Failed URLs, by reason", "reason", "failed"),
)
MERGED = ("canonry_store_merged", "Merged links, by rules", "rules")


class Collector:
    """Collects the metrics at each scrape."""

    def __init__(self, store: str, crawl: LiveCrawl) -> None:
        """Take the store's SQLAlchemy URL, and the crawl of this process."""
        self._store = store
        self._crawl = crawl

    def collect(self) -> "Iterator[Metric]":
        """Yield the metrics of this run and of the store."""
        from prometheus_client.core import (  # noqa: PLC0415 - optional
            CounterMetricFamily,
            GaugeMetricFamily,
        )

        progress = self._crawl.progress
        for name, about, field in COUNTERS:
            yield CounterMetricFamily(name, about, value=getattr(progress, field))
        for name, about, field in GAUGES:
            yield GaugeMetricFamily(name, about, value=getattr(progress, field))
        status = self._status()
        for name, about, label, part in STORED:
            family = GaugeMetricFamily(name, about, labels=[label])
            for value, count in status.get(part, {}).items():
                family.add_metric([value], count)
            yield family
        name, about, label = MERGED
        merged = GaugeMetricFamily(name, about, labels=[label])
        for row in status.get("merged", ()):
            merged.add_metric([row["rules"]], row["links"])
        yield merged

    def _status(self) -> Mapping[str, Any]:
        """Return the status of the store; nothing while it cannot be read."""
        try:
            with report.reading(self._store) as connection:
                return report.status(connection)
        except StoreError:
            return {}
