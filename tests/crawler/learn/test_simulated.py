"""Crawls of sites of the simulated web that learn by blocks, inside the process of the test."""

from pathlib import Path

import pytest
from support.simweb import webcrawls
from support.simweb.web import Spec, sites
from support.simweb.webjudge import figures
from support.simweb.webmatter import EVERY, MATTERS
from support.simweb.websites import Site

pytestmark = pytest.mark.slow
SPEC = Spec(seed=5, resources=100)
GONE_ASTRAY = {"exceptions", "turning"}  # whoever avoids anything there may lose something


def _half(given: list[Site]) -> list[Site]:
    """Return one of the two sites of each habit: a static one, a dynamic one, and so on."""
    return [site for n, site in enumerate(given) if n % 4 in {0, 3}]


@pytest.mark.parametrize("matter", MATTERS)
def test_what_pages_are_made_of_does_not_matter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, matter: str
) -> None:
    chosen = [site for site in sites(SPEC) if site.kind == "parameter" and site.frame.dynamic]
    number = list(MATTERS).index(matter)
    judged = webcrawls.crawl(tmp_path, chosen, monkeypatch, matter=number)
    found = figures(judged.tallies)
    assert found.lost == 0
    assert found.fetches < 2.2 * found.resources, "each page has three names"


def test_adversaries_lose_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = _half([site for site in sites(SPEC) if not site.honest])
    judged = webcrawls.crawl(tmp_path, chosen, monkeypatch, matter=EVERY)
    assert {t.site.home: t.lost for t in judged.tallies if t.lost} == {}


def test_honest_sites_lose_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = _half([s for s in sites(SPEC) if s.honest and s.kind not in GONE_ASTRAY])
    judged = webcrawls.crawl(tmp_path, chosen, monkeypatch, matter=EVERY)
    assert {t.site.home: t.lost for t in judged.tallies if t.lost} == {}
    found = figures(judged.tallies)
    assert found.fetches < 1.7 * found.resources, "most pages have three names"
