"""The documentation is true: its examples run, and generated pages are up to date."""

import doctest
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from click import Context, Option
from generate import PAGES
from generators.api_page import SECTIONS
from generators.rfc9309 import FETCHED

import canonry
from canonry.crawler.cli.commands import COMMANDS, main
from canonry.crawler.compression import COMPRESSED_ENDINGS
from canonry.crawler.fetch.faults import Fault
from canonry.crawler.files.formats import INPUT_FORMATS
from canonry.crawler.files.tables import OUTPUT_FORMATS
from canonry.crawler.hold_reason import HoldReason

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
GRAMMARS = (ROOT / "docs/reference/grammars.md").read_text(encoding="utf-8")
INDEX = (ROOT / "docs/index.md").read_text(encoding="utf-8")
DEDUP = (ROOT / "docs/reference/dedup.md").read_text(encoding="utf-8")
FORMATS = (ROOT / "docs/reference/formats.md").read_text(encoding="utf-8")
ADAPTERS = (ROOT / "docs/how-to/adapters.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(("page", "least"), [(README, 6), (DEDUP, 6), (GRAMMARS, 4), (ADAPTERS, 5)])
def test_the_library_examples_run(page: str, least: int) -> None:
    for package in ("polars", "pyarrow", "surt"):
        pytest.importorskip(package, reason=f"needs {package}")
    examples = doctest.DocTestParser().get_doctest(page, {}, "a page", None, 0)
    assert len(examples.examples) >= least
    report: list[str] = []
    result = doctest.DocTestRunner().run(examples, out=report.append)
    assert result.failed == 0, "".join(report)


def commands_of(page: str) -> list[tuple[str, str]]:
    """Return the command lines of a page's console blocks, each with its output."""
    found = "".join(re.findall(r"```console\n(.*?)```", page, re.DOTALL))
    blocks = re.split(r"^\$ ", found, flags=re.MULTILINE)[1:]
    return [(b.partition("\n")[0], b.partition("\n")[2]) for b in blocks]


@pytest.mark.parametrize(("page", "least"), [(README, 3), (INDEX, 6), (DEDUP, 9)])
def test_the_command_examples_run(tmp_path: Path, page: str, least: int) -> None:
    """They run in one folder, in order; a dedup replaces the crawl of a public site."""
    bin_folder = Path(sys.executable).parent
    lines = commands_of(page)
    assert len(lines) >= least
    for line, printed in lines:
        command = line.partition("  #")[0].strip()
        if command.startswith("canonry crawl"):
            command = (
                "printf 'http://a.example/' | canonry dedup - --store sqlite:///canonry.db -o o"
            )
        done = subprocess.run(
            ["/bin/sh", "-c", command],
            cwd=tmp_path,
            env={"PATH": f"{bin_folder}:/usr/bin:/bin", "LANG": "C.UTF-8"},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, (line, done.stderr)
        if printed:
            assert done.stdout == printed, line


def test_every_input_and_output_format_is_on_the_page() -> None:
    for name in INPUT_FORMATS:
        assert f"| `{name}` |" in FORMATS
    for ending in (*list(OUTPUT_FORMATS)[1:], *(ending[1:] for ending in COMPRESSED_ENDINGS)):
        assert f"`.{ending}`" in FORMATS


def test_every_command_is_on_its_page() -> None:
    page = (ROOT / "docs/reference/commands.md").read_text(encoding="utf-8")
    assert len(COMMANDS) >= 10
    for name in COMMANDS:
        command = main.get_command(Context(main), name)
        assert command is not None
        assert f"## `canonry {name}" in page
        for parameter in command.params:
            if isinstance(parameter, Option) and not parameter.hidden:
                assert parameter.opts[0] in page


@pytest.mark.parametrize("name", PAGES)
def test_generated_pages_are_up_to_date(name: str) -> None:
    page = ROOT / "docs/reference" / name
    assert page.read_text(encoding="utf-8") == PAGES[name](), "make docs"


def test_links_between_pages_lead_somewhere() -> None:
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("benchmarks/*.md")]
    local = [
        (page, target)
        for page in pages
        for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8"))
        if "://" not in target
    ]
    assert len(local) > 40
    for page, target in local:
        assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_first_page_of_the_docs_names_every_page() -> None:
    """The site's table of contents is made from it."""
    docs = ROOT / "docs"
    named = set(re.findall(r"\]\(([^)#]+\.md)", (docs / "index.md").read_text(encoding="utf-8")))
    pages = {page.relative_to(docs).as_posix() for page in docs.rglob("*.md")}
    pages |= {f"../{page.name}" for page in ROOT.glob("*.md")}
    assert {page for page in pages if not page.startswith("decisions/0")} <= {*named, "index.md"}


def test_the_map_names_every_room_and_nothing_that_is_missing() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:canon|storage|crawler)/[\w/]*(?:\.\w+)?)`", text))
    for name in named:
        assert (ROOT / name).exists(), f"{name} is on the map, and does not exist"
    for package in ("canon", "storage", "crawler"):
        rooms = {
            f"{package}/{path.parent.name}/" for path in (ROOT / package).glob("*/__init__.py")
        }
        files = {f"{package}/{path.name}" for path in (ROOT / package).glob("[!_]*.py")}
        assert rooms | files <= named, f"not on the map: {sorted((rooms | files) - named)}"


@pytest.mark.parametrize("package", ["canon", "storage", "crawler"])
def test_the_picture_has_the_rooms_in_the_order_of_the_layers(package: str) -> None:
    """A room is above those that it knows, as import-linter checks them."""
    picture = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").split("```")[1]
    box = picture.partition(f"│ {package}/")[2].partition("└")[0].splitlines()[1:]
    shown = [name for line in box for name in re.findall(r"\w+", line[4:26])]
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    [layers] = [
        contract["layers"]
        for contract in contracts["tool"]["importlinter"]["contracts"]
        if contract.get("containers") == [f"canonry.{package}"]
    ]
    names = [name for layer in layers for name in re.findall(r"\w+", layer)]
    assert shown == [name for name in names if (ROOT / package / name).is_dir()]


def test_contributing_names_what_exists() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for name in re.findall(
        r"`((?:canon|storage|crawler|config|docs|tests)/[\w/]+(?:\.\w+)?)`", page
    ):
        assert "NAME" in name or "_N" in name or (ROOT / name).exists(), name
    tests = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py"))
    for name in re.findall(r"`(test_\w+)`", page):
        assert f"def {name}(" in tests, name


def test_the_rows_of_conformance_name_what_exists() -> None:
    page = (ROOT / "tests/conformance.md").read_text(encoding="utf-8")
    rows = re.findall(
        r"^\| [^|]+ \| [^|]+ \| ([^|]+) \| `([^`]+)` \| `([^`:]+)::(\w+)` \|$", page, re.MULTILINE
    )
    assert len(rows) == sum(line.count(" | `") > 0 for line in page.splitlines()) > 100
    for answer, code, test, name in rows:
        assert answer in {"kept", "departs"}
        assert (ROOT / code).exists(), code
        assert f"def {name}(" in (ROOT / test).read_text(encoding="utf-8"), (test, name)


def test_the_robots_page_names_tests_that_exist() -> None:
    tests = [path.read_text(encoding="utf-8") for path in (ROOT / "tests/crawler").rglob("*.py")]
    for row in FETCHED:
        assert any(f"def {row.test}(" in text for text in tests), row.test


def test_a_page_names_all_reasons() -> None:
    page = (ROOT / "docs/reference/reasons.md").read_text(encoding="utf-8")
    for reason in (*HoldReason, *Fault):
        assert f"| `{reason.label}` | {reason.value}" in page


def test_the_page_of_the_library_has_every_public_name() -> None:
    page = (ROOT / "docs/reference/api.md").read_text(encoding="utf-8")
    listed = {name for _place, names in SECTIONS.values() for name in names}
    assert set(canonry.__all__) - listed == {"__version__", "columns", "redaction"}  # two modules
    for name in listed:
        assert re.search(rf"^\| `{name}[`(]", page, re.MULTILINE), name
    assert " at 0x" not in page
