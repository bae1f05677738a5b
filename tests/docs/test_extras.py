"""Extras: a missing package is named, with a hint that does not rely on a name on PyPI."""

import re
import sys
import tomllib
from collections.abc import Callable
from importlib import import_module
from io import BufferedReader, BytesIO
from pathlib import Path
from subprocess import run

import pyarrow as pa
import pytest

from canonry import columns
from canonry.crawler.compression import decompressed
from canonry.crawler.observe import warc
from canonry.crawler.observe.progress import Progress
from canonry.crawler.rule_lists import convert
from canonry.crawler.web import listening
from canonry.extras import PACKAGES, MissingExtraError, require

ROOT = Path(__file__).parents[2]


def serve_metrics() -> None:
    with listening.served("9100", "sqlite://", Progress):
        pass


@pytest.mark.parametrize(
    ("package", "extra", "feature", "use"),
    [
        ("pyarrow", "arrow", "Arrow data", lambda: columns.canonicalize(pa.array(["x"]))),
        (
            "pyarrow",
            "arrow",
            "zst",
            lambda: decompressed(BufferedReader(BytesIO(b"\x28\xb5\x2f\xfd"))),
        ),
        ("prometheus_client", "metrics", "--metrics", serve_metrics),
        ("yaml", "yaml", "YAML", lambda: convert(b"rules: []", "rules.yaml")),
        ("warcio", "warc", "--warc", lambda: warc.WarcArchive("folder", "agent")),
    ],
)
def test_a_missing_package_is_named_with_its_extra(
    monkeypatch: pytest.MonkeyPatch,
    package: str,
    extra: str,
    feature: str,
    use: Callable[[], object],
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError) as caught:
        use()
    assert str(caught.value) == (
        f"{feature} needs {package}; in a checkout of Canonry: pip install '.[{extra}]'"
    )


def test_a_missing_package_is_wrong_usage(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['warcio'] = None\n"
        "from canonry.crawler.cli.commands import main\n"
        "main(['crawl', 'http://a.example/', '--warc', 'folder'])\n"
    )
    done = run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, timeout=60, check=False
    )
    assert done.returncode == 2
    assert b"canonry: --warc needs warcio; " in done.stderr


def test_the_extras_are_those_of_the_distribution() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(PACKAGES) == set(project["optional-dependencies"]) - {"all"}
    for extra in PACKAGES.keys() - {"crawl4ai", "datatrove", "gs"}:  # large
        require(extra, "this test")


def test_the_command_has_all_it_can_use_by_one_extra() -> None:
    """What is not in `all` goes into another program, which its users have, or is large."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    [named] = project["optional-dependencies"]["all"]
    others = {"crawl4ai", "crawlee", "datatrove", "duckdb", "pandas", "polars", "scrapy", "spark"}
    others |= {"gs", "sail"}
    assert set(re.findall(r"\w+", named)) - {"canonry"} == set(PACKAGES) - others


@pytest.mark.parametrize("peer", ["crawl4ai", "crawlee", "datatrove"])
def test_an_adapter_without_its_peer_says_what_to_install(
    peer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, peer, None)
    monkeypatch.delitem(sys.modules, f"canonry.{peer}", raising=False)
    with pytest.raises(
        MissingExtraError, match=rf"canonry\.{peer} needs {peer}; .* '\.\[{peer}\]'"
    ):
        import_module(f"canonry.{peer}")


def test_no_hint_relies_on_a_name_on_pypi() -> None:
    """Canonry is not published. Until it is, anybody could take the name."""
    folders = ("canon", "crawler", "storage", "config", "docs", "canonry", "benchmarks")
    paths = [path for folder in folders for path in (ROOT / folder).rglob("*.*")]
    for path in [*paths, *ROOT.glob("*.*")]:
        if path.suffix in {".py", ".md", ".toml"}:
            text = path.read_text(encoding="utf-8")
            assert not re.search(r"pip\s+install\s+['\"]?canonry", text), path
