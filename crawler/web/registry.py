"""The table of panels, in the order of the page's menu. CONTRIBUTING says how to add one."""

from canonry.crawler.web.panel import Panel
from canonry.crawler.web.views import (
    growth_view,
    recent_view,
    store_views,
    strip_view,
    summary_view,
)

STRIP = Panel(  # on every page
    "strip",
    "Now",
    "Speed, queue, errors and the time left.",
    strip_view.view,
    live=True,
    listed=False,
)

PANELS: tuple[Panel, ...] = (
    STRIP,
    Panel(
        "summary",
        "At a glance",
        "What is held, which hosts need a look, and what was learned.",
        summary_view.view,
        live=True,
        front=True,
        listed=False,
    ),
    Panel(
        "growth",
        "Growth",
        "URLs over time: known, fetched, merged, held and queued.",
        growth_view.view,
        live=True,
        front=True,
    ),
    Panel(
        "merges",
        "Merges",
        "Which rules made URLs one, how many, and the latest examples.",
        store_views.merges,
    ),
    Panel(
        "rules",
        "Learned rules",
        "What the crawl has learned of each host, with the evidence.",
        store_views.rules,
    ),
    Panel(
        "refused",
        "Held and failed",
        "The refused URLs, by reason, and what would release them.",
        store_views.refused,
    ),
    Panel(
        "hosts",
        "Hosts",
        "What waits for each host, how often it is asked and why, and what went wrong.",
        store_views.hosts,
    ),
    Panel("why", "Ask", "All that the store knows of one URL.", store_views.why),
    Panel("pages", "Last pages", "Pages as they come.", recent_view.view, live=True, front=True),
)
