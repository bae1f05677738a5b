"""What is deployed fits the program: names of metrics, options of the command, files that exist."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from prometheus_client import CollectorRegistry, generate_latest

from canonry.crawler.cli.commands import main
from canonry.crawler.observe.metrics import Collector
from canonry.crawler.observe.progress import LiveCrawl

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
COMPOSE = yaml.safe_load((DEPLOY / "compose.yml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def served() -> set[str]:
    """The names that a scrape gets; those with labels only when there is something to count."""
    registry = CollectorRegistry()
    registry.register(Collector("sqlite:///no.db", LiveCrawl()))
    text = generate_latest(registry).decode()
    return {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE canonry_")}


def expressions() -> Iterator[str]:
    dashboard = json.loads((DEPLOY / "grafana/dashboards/canonry.json").read_text(encoding="utf-8"))
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            yield target["expr"]


def test_the_dashboard_asks_for_metrics_that_are_served(served: set[str]) -> None:
    asked = set(re.findall(r"canonry_\w+", " ".join(expressions())))
    assert asked == served


def test_the_labels_of_the_dashboard_are_served() -> None:
    labels = {
        family.name: set(family._labelnames)  # noqa: SLF001 - the library has no other way to ask
        for family in Collector("sqlite:///no.db", LiveCrawl()).collect()
        if family.name.startswith("canonry_store_")
    }
    for text in expressions():
        for label, name in re.findall(r"by \((\w+)\) \((canonry_\w+)\)", text):
            assert label in labels[name], text


def test_the_page_of_metrics_names_them_as_they_are_served(served: set[str]) -> None:
    page = (ROOT / "docs/reference/log-and-metrics.md").read_text(encoding="utf-8")
    assert set(re.findall(r"`(canonry_\w+)`", page)) == served


@pytest.mark.parametrize("service", ["crawl", "page"])
def test_the_options_of_the_services_exist(service: str) -> None:
    words = COMPOSE["services"][service]["command"]
    if service == "crawl":  # it is a line for a shell
        words = words[0].removeprefix("exec canonry ").split()
    done = CliRunner().invoke(main, [*words, "--help"])
    assert done.exit_code == 0, done.output


def test_what_is_mounted_and_copied_exists() -> None:
    services: dict[str, dict[str, Any]] = COMPOSE["services"]
    mounted = [volume for service in services.values() for volume in service.get("volumes", ())]
    files = [volume.partition(":")[0] for volume in mounted if volume.startswith(".")]
    assert len(files) > 2
    assert all((DEPLOY / name).exists() for name in files)
    named = {volume.partition(":")[0] for volume in mounted if not volume.startswith(".")}
    assert named == set(COMPOSE["volumes"])
    sent = (DEPLOY / "Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
    assert all((ROOT / line[1:]).exists() for line in sent if line.startswith("!"))
