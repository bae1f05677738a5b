"""The table of panels, in the order of the page's menu; and the table of actions.

CONTRIBUTING says how to add one.
"""

from canonry.crawler.web import viewer_actions
from canonry.crawler.web.panel import Action, Panel
from canonry.crawler.web.views import (
    growth_view,
    recent_view,
    seen_view,
    store_views,
    strip_view,
    summary_view,
)

STRIP = Panel(  # on every page
    "strip",
    "Now",
    "Speed, queue, errors and the time left.",
    strip_view.view,
    every=1.0,
    listed=False,
)

PANELS: tuple[Panel, ...] = (
    STRIP,
    Panel(
        "summary",
        "At a glance",
        "What is held, which hosts need a look, and what was learned.",
        summary_view.view,
        every=5.0,
        front=True,
        listed=False,
    ),
    Panel(
        "growth",
        "Growth",
        "URLs over time: known, fetched, merged, held and queued.",
        growth_view.view,
        every=2.0,
        front=True,
    ),
    Panel(
        "merges",
        "Merges",
        "Which rules made URLs one, how many, and the latest examples.",
        store_views.merges,
        every=10.0,
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
    Panel(
        "patterns",
        "Patterns",
        "What the most URLs have in common, against the limits of such URLs.",
        store_views.patterns,
    ),
    Panel(
        "pages",
        "Last pages",
        "Pages as they come.",
        recent_view.view,
        every=1.0,
        front=True,
    ),
    Panel(
        "seen",
        "Seen set",
        "Keys of all known URLs, and the filter in front of them.",
        seen_view.view,
        every=2.0,
    ),
)

ACTIONS: tuple[Action, ...] = (
    Action("revoke", "rules", viewer_actions.revoke),
    Action("reinstate", "rules", viewer_actions.reinstate),
    Action("release", "refused", viewer_actions.release),
    Action("block", "hosts", viewer_actions.block),
    Action("unblock", "hosts", viewer_actions.unblock),
    Action("exclude", "patterns", viewer_actions.exclude),
    Action("include", "patterns", viewer_actions.include),
)
