"""The page of reasons to hold or fail: made from the table that ``why`` and the page read."""

from canonry.crawler.fetch.faults import Fault
from canonry.crawler.hold_reason import HoldReason
from canonry.crawler.inquiry.remedies import REASONS, Case, helps
from canonry.crawler.settings import load

_HEAD = """# Reasons

Why a crawl does not fetch a URL, and what changes that. `make docs` makes this page from the table
that [`canonry why`](crawl.md#why-a-url-was-not-fetched), `canonry refused list`, the last lines of
a crawl and the live page read; they name the limits and hosts of the URL.
"""
_REST = """
Invalid links and those that are not followed are refused, too, but have no rows: `status` counts
them by reason. The reasons are those of `canonry canon`, and `nofollow`, `scheme`, `too-many-links`
(50,000 on a page), `too-many-sitemaps`, `entity`. Links such as `mailto:` lead to no page and are
counted as `not_pages`.
"""
_EXAMPLE = "https://a.example/a"


def reasons_page() -> str:
    """Return the page."""
    limits = {"crawl": {"max_depth": 6, "purpose": ["search"]}, "fetch": {"only_types": ["html"]}}
    case = Case(_EXAMPLE, 7, 11, load(None, limits), [_EXAMPLE], ())
    lines = _HEAD.splitlines()
    for state, kind in (("Held", HoldReason), ("Failed", Fault)):
        lines += ["", f"## {state}", "", "| reason | because | what helps |", "|---|---|---|"]
        for reason in kind:
            because = f"{reason.value}. {REASONS[reason].more}".rstrip(" .")
            lines.append(f"| `{reason.label}` | {because} | {helps(reason, case)} |")
    return "\n".join(lines) + "\n" + _REST
