"""The examples run, and print what they say that they print."""

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from canonry import canonicalize
from canonry.canon.policies import from_toml
from canonry.crawler.cli.commands import main

FOLDER = Path(__file__).parents[2] / "examples"
EXAMPLES = sorted(FOLDER.glob("*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_prints_what_it_says(example: Path, tmp_path: Path) -> None:
    said = example.read_text(encoding="utf-8").partition("Output:\n")[2].partition('"""')[0]
    expected = [line[4:] for line in said.splitlines()]
    run = [sys.executable, str(example)]
    done = subprocess.run(
        run, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert expected
    assert done.stdout.splitlines() == expected


def test_the_policy_is_right() -> None:
    file = FOLDER / "shop.toml"
    assert CliRunner().invoke(main, ["policy", "check", str(file)]).exit_code == 0
    shop = from_toml(file.read_text(encoding="utf-8"), "shop.toml")
    found = canonicalize("https://shop.example/p?view=list&b=2&a=1", policy=shop)
    assert found == "https://shop.example/p?a=1&b=2"


def test_each_example_is_on_their_page() -> None:
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert len(EXAMPLES) >= 3
    for path in [*EXAMPLES, *FOLDER.glob("*.toml")]:
        assert f"examples/{path.name}" in page
