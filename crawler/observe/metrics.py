"""Metrics: where a crawl stands, in Prometheus' format, on a port of its own."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from canonry.crawler.observe.progress import Progress
from canonry.crawler.settings import SettingsError
from canonry.extras import require
from canonry.storage import StoreError, report

if TYPE_CHECKING:
    from prometheus_client.core import Metric

# Of this run: name, what it is, and what the progress calls it.
_COUNTERS = (
    ("canonry_pages", "Pages fetched by this run", "pages"),
    ("canonry_pages_unchanged", "Known pages that still stood", "unchanged"),
    ("canonry_redirects", "Redirects that this run met", "redirects"),
    ("canonry_failures", "URLs given up by this run", "failed"),
    ("canonry_retries", "Tries that failed and come again", "retries"),
    ("canonry_links", "Links found by this run", "links"),
    ("canonry_links_known", "Links whose resource was known", "duplicates"),
    ("canonry_bytes", "Bytes of bodies, decoded", "bytes"),
    ("canonry_response_seconds", "Seconds that servers took, added up", "waited"),
    ("canonry_learning_seconds", "Seconds of CPU time spent on learning", "learning"),
)
_GAUGES = (
    ("canonry_requests_in_flight", "Requests in flight", "in_flight"),
    ("canonry_hosts", "Hosts that have URLs in memory", "hosts"),
)
# Of the store: name, what it is, the label, and where the status has it.
_STORED = (
    ("canonry_store_urls", "URLs that the store holds", "state", "urls"),
    ("canonry_store_pages", "Pages that the store holds", "status", "pages_by_status"),
    ("canonry_store_held", "URLs that are held", "reason", "held"),
    ("canonry_store_failed", "URLs that were given up", "reason", "failed"),
)


class Collector:
    """What is asked for at each scrape."""

    def __init__(self, store: str, progress: Callable[[], Progress]) -> None:
        """Bind where to look."""
        self._store = store
        self._progress = progress

    def collect(self) -> "Iterator[Metric]":
        """Yield all metrics: of this run, and of the store."""
        from prometheus_client.core import (  # noqa: PLC0415 - few need it
            CounterMetricFamily,
            GaugeMetricFamily,
        )

        progress = self._progress()
        for name, about, field in _COUNTERS:
            yield CounterMetricFamily(name, about, value=getattr(progress, field))
        for name, about, field in _GAUGES:
            yield GaugeMetricFamily(name, about, value=getattr(progress, field))
        found = self._status()
        for name, about, label, part in _STORED:
            family = GaugeMetricFamily(name, about, labels=[label])
            for value, count in found.get(part, {}).items():
                family.add_metric([value], count)
            yield family
        merged = GaugeMetricFamily("canonry_store_merged", "Links merged", labels=["rules"])
        for row in found.get("merged", ()):
            merged.add_metric([row["rules"]], row["links"])
        yield merged

    def _status(self) -> Mapping[str, Any]:
        """Return what the store holds; nothing while it cannot say."""
        try:
            with report.reading(self._store) as connection:
                return report.status(connection)
        except StoreError:
            return {}


@contextmanager
def served(where: str, store: str, progress: Callable[[], Progress]) -> Iterator[None]:
    """Answer scrapes while a crawl runs.

    Args:
        where: ``PORT`` of this machine alone, or ``HOST:PORT``; "" serves nothing.
        store: a SQLAlchemy URL.
        progress: returns where the run stands.

    Raises:
        MissingExtraError: if prometheus_client is not installed.
        SettingsError: if the port cannot be opened.
    """
    if not where:
        yield
        return
    require("metrics", "--metrics")
    from prometheus_client import CollectorRegistry, start_http_server  # noqa: PLC0415 - optional

    host, _, port = where.rpartition(":")
    registry = CollectorRegistry()
    registry.register(Collector(store, progress))
    try:
        server, thread = start_http_server(int(port), host or "127.0.0.1", registry)
    except (OSError, ValueError, OverflowError) as error:
        raise SettingsError(f"--metrics {where}: {error}; PORT or HOST:PORT is allowed") from None
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
