"""Extras: a missing package is named, with a hint that does not rely on a name on PyPI."""

import re
import sys
import tomllib
from collections.abc import Callable
from importlib import import_module
from io import BufferedReader, BytesIO
from pathlib import Path
from subprocess import CompletedProcess, run

import pyarrow as pa
import pytest

from canonry import __version__, columns
from canonry.crawler.cli.commands import COMMANDS
from canonry.crawler.compression import decompressed
from canonry.crawler.observe.progress import Progress
from canonry.crawler.web import listening
from canonry.extras import PACKAGES, MissingExtraError, require

ROOT = Path(__file__).parents[2]
# Made first: an array that is made while pyarrow is hidden lets pyarrow believe, for good, that
# there is no pandas.
TEXTS = pa.array(["x"])


def serve_metrics() -> None:
    with listening.served("9100", "sqlite://", Progress):
        pass


@pytest.mark.parametrize(
    ("package", "extra", "feature", "use"),
    [
        ("pyarrow", "arrow", "Arrow data", lambda: columns.canonicalize(TEXTS)),
        (
            "pyarrow",
            "arrow",
            "zst",
            lambda: decompressed(BufferedReader(BytesIO(b"\x28\xb5\x2f\xfd"))),
        ),
        ("prometheus_client", "metrics", "crawl.metrics", serve_metrics),
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


def run_without(
    extras: tuple[str, ...], folder: Path, *words: str, module: str = "canonry"
) -> CompletedProcess[str]:
    """Run a module where the packages of some extras are not installed."""
    missing = [package for extra in extras for package in PACKAGES[extra]]
    code = (
        "import runpy, sys\n"
        f"sys.modules.update(dict.fromkeys({missing}))\n"
        f"sys.argv = ['canonry', *{words}]\n"
        f"runpy.run_module({module!r}, run_name='__main__', alter_sys=True)"
    )
    return run(
        [sys.executable, "-c", code],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_missing_package_is_wrong_usage(tmp_path: Path) -> None:
    words = ("crawl", "http://a.example/", "--config", "crawl.metrics=9100")
    done = run_without(("metrics",), tmp_path, *words)
    assert done.returncode == 2
    assert "canonry: crawl.metrics needs prometheus_client; " in done.stderr


def test_the_library_needs_no_extra(tmp_path: Path) -> None:
    code = """
import canonry
assert canonry.same("http://a.example/#x", "http://A.example")
assert str(canonry.Canonicalizer("search").explain("http://a.example:80/?b&a"))
assert canonry.columns.canonicalize(["http://a.example/"]).identity == ["http://a.example/"]
print([*map(canonry.surt, ["http://a.example/"])], *canonry.__all__)
"""
    (tmp_path / "used.py").write_text(code)
    done = run_without(tuple(PACKAGES), tmp_path, module="used")
    assert done.stderr == ""
    assert done.stdout.startswith("['example,a)/'] ")


def test_the_library_alone_says_what_the_command_needs(tmp_path: Path) -> None:
    done = run_without(tuple(PACKAGES), tmp_path, "crawl", "http://a.example/")
    assert done.returncode == 2
    assert "only the library is installed" in done.stderr
    assert "pip install '.[crawl]'" in done.stderr
    assert "migrate" in done.stderr
    done = run_without(tuple(PACKAGES), tmp_path, "--version")
    assert done.returncode == 0
    assert done.stdout.startswith(f"canonry, version {__version__}, ")
    assert "only the library is installed" in done.stderr


WITHOUT_A_STORE = (
    ("canon", "HTTP://A.example"),
    ("dedup", "urls.txt"),
    ("explain", "HTTP://A.example"),
    ("extract", "urls.txt"),
    ("keys", "info", "seen.keys"),
    ("migrate", "urls.txt", "--from", "w3lib"),
    ("policy", "list"),
    ("settings",),
)


@pytest.mark.parametrize("words", WITHOUT_A_STORE, ids=lambda words: words[0])
def test_what_needs_no_store_needs_no_packages_of_a_crawl(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "urls.txt").write_text("http://a.example/\n")
    others = tuple(PACKAGES.keys() - {"dedup", "arrow"})
    if words[0] == "keys":
        run_without(others, tmp_path, "dedup", "urls.txt", "--seen", "seen.keys")
    done = run_without(others, tmp_path, *words)
    assert (done.returncode, "canonry: " in done.stderr) == (0, False), done.stderr
    assert done.stdout


WITH_A_STORE = COMMANDS.keys() - {words[0] for words in WITHOUT_A_STORE}


@pytest.mark.parametrize("name", sorted(WITH_A_STORE - {"completion", "identity"}))
def test_a_command_of_the_store_names_its_extra(name: str, tmp_path: Path) -> None:
    done = run_without(tuple(PACKAGES.keys() - {"dedup"}), tmp_path, name)
    assert done.returncode == 2
    assert re.fullmatch(
        rf"canonry: canonry {name} needs \w+; in a checkout of Canonry: pip install "
        r"'\.\[crawl\]'\n",
        done.stderr,
    )


def test_an_option_that_names_a_store_names_its_extra(tmp_path: Path) -> None:
    (tmp_path / "urls.txt").write_text("http://a.example/\n")
    others = tuple(PACKAGES.keys() - {"dedup"})
    done = run_without(others, tmp_path, "dedup", "urls.txt", "--store", "crawl.db")
    assert done.returncode == 2
    assert done.stderr.startswith("canonry: a store needs sqlalchemy; ")


def test_the_extras_are_those_of_the_distribution() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(PACKAGES) == set(project["optional-dependencies"]) - {"all"}
    for extra in PACKAGES.keys() - {"crawl4ai", "datatrove", "gs"}:  # large
        require(extra, "this test")


def test_the_command_has_all_it_can_use_by_one_extra() -> None:
    """What is not in `all` goes into another program, which its users have, or is large."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    [named] = project["optional-dependencies"]["all"]
    crawl = project["optional-dependencies"]["crawl"]
    assert crawl[0] == "canonry[dedup]"
    others = {"crawl4ai", "crawlee", "datatrove", "duckdb", "pandas", "polars", "scrapy", "spark"}
    others |= {"dedup", "gs", "sail"}
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
