"""axe-core, which finds what keeps people from using a page: in Chromium, on the page as it is."""

from functools import cache
from typing import Any

from playwright.sync_api import Page
from support.browsing.npm_packages import Package, unpacked

_PACKAGE = Package(
    "axe-core",
    "4.14.1",
    "FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ==",
)
_GRAVE = frozenset({"serious", "critical"})


def findings(page: Page) -> list[str]:
    """Return what axe-core finds that is serious or critical: the rule, the element, the reason.

    Raises:
        UnavailableError: axe-core could not be fetched.
    """
    page.evaluate(_source())
    found: dict[str, Any] = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    assert found["passes"], "it has looked at something"
    return [
        f"{rule['id']}: {node['html'][:200]}: {node['failureSummary']}"
        for rule in found["violations"]
        if rule["impact"] in _GRAVE
        for node in rule["nodes"]
    ]


@cache
def _source() -> str:
    """Return the program, once for this process."""
    return (unpacked(_PACKAGE) / "axe.min.js").read_text(encoding="utf-8")
